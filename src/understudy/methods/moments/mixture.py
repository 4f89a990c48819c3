"""From noisy two-way tables to a distribution: a mixture of products, fitted to all tables at once. Free of privacy cost.

p(x | class c) = sum_k weights[c, k] prod_j chances[k, x_j]. The components are shared among the classes, which only weigh
them differently: what the tables of a large class say about how columns go together also serves a small one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.methods.moments.margins import code_counts, likely_counts

# How hard components are pulled towards the product of the columns, for one row for one of the noise on a cell, and the
# limits of it; chosen on adult's validation rows, all of them and thinned, and on fair, nafld1, colon and anes96.
_PULL = 30.0
_PULLS = (0.05, 1.0)
_BACK = 0.1


@dataclass(frozen=True)
class Mixture:
    """Public. `chances` (components x D) sum to one over the codes of each column, `weights` (classes x components) do
    over the components."""

    chances: np.ndarray
    weights: np.ndarray
    sizes: tuple[int, ...]

    @property
    def starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def draw(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes (rows x columns) of one row for each entry of `classes`."""
        return self.codes(self.components(classes, rng), rng)

    def components(self, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The component that each row is of."""
        reached = np.cumsum(self.weights, axis=1)
        at = (rng.random(len(classes))[:, None] > reached[classes] / reached[classes, -1:]).sum(axis=1)
        return np.minimum(at, len(self.chances) - 1)

    def codes(self, component: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes (rows x columns) of rows of these components."""
        codes = np.empty((len(component), len(self.sizes)), dtype=np.int64)
        starts = self.starts
        for j, size in enumerate(self.sizes):
            upto = np.cumsum(self.chances[:, starts[j] : starts[j + 1]], axis=1)
            picked = rng.random(len(component)) * upto[component, -1]
            codes[:, j] = np.minimum((picked[:, None] > upto[component]).sum(axis=1), size - 1)
        return codes

    def fill(
        self,
        codes: np.ndarray,
        known: np.ndarray,
        classes: np.ndarray,
        barred: np.ndarray,
        ranks: np.ndarray,
        rank: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes with those of the columns that are not `known` drawn anew given the others, exactly: a component from its
        chance given what is known, then each column from it. Of D codes none of the `barred` comes up, which is known too.

        What is drawn has the uniform rank `rank` among the components, and the `ranks` (rows x columns) among a column's codes; with
        the codes come the ranks within them.
        """
        places = np.flatnonzero(known)
        logs = np.log(np.maximum(self.chances, 1e-12))
        joint = np.log(np.maximum(self.weights, 1e-12))[classes]
        starts = self.starts
        for j in places:
            joint = joint + logs[:, starts[j] + codes[:, j]].T
        for j in np.flatnonzero(~known):
            here = slice(starts[j], starts[j + 1])
            if barred[here].any():
                open_ = self.chances[:, here] @ ~barred[here]
                joint = joint + np.log(np.maximum(open_ / np.maximum(self.chances[:, here].sum(axis=1), 1e-12), 1e-12))
        upto = np.cumsum(np.exp(joint - joint.max(axis=1, keepdims=True)), axis=1)
        component = np.minimum((rank[:, None] * upto[:, -1:] > upto).sum(axis=1), len(self.chances) - 1)
        chances = np.where(barred, 0.0, self.chances + 1e-12)
        found, within = codes.copy(), ranks.copy()
        rows = np.arange(len(codes))
        for j in np.flatnonzero(~known):
            each = chances[:, starts[j] : starts[j + 1]][component]
            here = np.cumsum(each, axis=1)
            picked = ranks[:, j] * here[:, -1]
            found[:, j] = np.minimum((picked[:, None] > here).sum(axis=1), self.sizes[j] - 1)
            own = each[rows, found[:, j]]
            within[:, j] = np.clip(1 - (here[rows, found[:, j]] - picked) / np.maximum(own, 1e-300), 0.0, 1.0 - 1e-12)
        return found, within

    def posterior(self, codes: np.ndarray, ratio: np.ndarray) -> np.ndarray:
        """The chance of each class given the codes, rows x classes."""
        logs = np.log(np.maximum(self.chances, 1e-12)).astype(np.float32)
        joint = one_hot(codes, self.sizes) @ logs.T
        shifted = np.exp(joint - joint.max(axis=1, keepdims=True))
        found = shifted @ (self.weights * ratio[:, None]).T.astype(np.float32) + 1e-30
        return found / found.sum(axis=1, keepdims=True)


def one_hot(codes: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Codes as columns of zeros and ones."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    made = np.zeros((len(codes), starts[-1]), dtype=np.float32)
    np.put_along_axis(made, codes + starts[:-1], np.float32(1), axis=1)
    return made


def fit_mixture(
    tables: np.ndarray, sizes: Sequence[int], counts: np.ndarray, one: float, two: float, *, components: int,
    steps: int, seed: int, likely: tuple[np.ndarray, np.ndarray] | None = None, learning_rate: float = 0.1,
) -> Mixture:  # fmt: skip
    """The mixture whose tables are nearest to the noisy ones, each cell's error measured by its noise.

    `one` and `two` are the noise's standard deviations on one-way (the diagonal) and two-way cells. Components are pulled
    towards the product of the columns' counts, the more so the fewer rows there are for the noise: that keeps them from
    learning it. `likely` are those counts and which codes may be drawn (see `likely_counts`).
    """
    everyone = np.repeat(np.arange(len(sizes)), sizes)
    known, standing = likely_counts(tables, sizes, counts.sum(), one, two) if likely is None else likely
    deviation, kept = code_counts(tables, sizes, one, two)[1], np.flatnonzero(standing)
    owner, diagonal = everyone[kept], np.diagonal(tables, axis1=1, axis2=2)[:, kept]
    # A code that was lowered to nothing may come back.
    pooled = np.maximum(known[kept], _BACK * deviation[kept])
    centre = np.log(pooled / np.bincount(owner, pooled)[owner])
    rng = np.random.default_rng(seed)
    logits = (centre + rng.normal(0, 0.5, (components, len(owner)))).T
    # Arrays of NumPy until here: each step outside of `_fit` would be compiled by itself.
    start = {"logits": np.float32(logits), "weights": np.float32(rng.normal(0, 0.5, (len(tables), components)))}
    apart = tables[:, kept][:, :, kept] * (owner[:, None] != owner[None, :])
    pull = float(np.clip(_PULL * two / counts.sum(), *_PULLS))
    found = _fit(
        start, np.float32(apart), np.float32(diagonal), np.float32(counts), owner, np.float32(centre),
        _padded(np.bincount(owner).tolist()), len(sizes), steps, learning_rate, pull, float(one), max(float(two), 1e-9),
    )  # fmt: skip
    chances = np.zeros((components, len(everyone)))
    chances[:, kept] = np.asarray(found["chances"], np.float64).T
    weights = np.asarray(found["weights"], np.float64)
    return Mixture(chances, weights, tuple(int(size) for size in sizes))


def _padded(sizes: Sequence[int]) -> list[np.ndarray]:
    """The places of the codes of columns of about the same size, columns x longest, group by group.

    Past the end of a shorter column stands the place after the last.
    """
    starts, known = np.concatenate([[0], np.cumsum(sizes)]), np.asarray(sizes)
    lengths = np.array([int(size - 1).bit_length() for size in sizes])
    groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    return [
        np.where((steps := np.arange(known[g].max())) < known[g, None], starts[g, None] + steps, starts[-1])
        for g in groups
    ]


def _chances(logits: Array, owner: Array, columns: int) -> Array:
    """A softmax over the codes of each column, D x components."""
    top = jax.ops.segment_max(logits, owner, columns)[owner]
    raised = jnp.exp(logits - top)
    return raised / jax.ops.segment_sum(raised, owner, columns)[owner]


@jax.custom_vjp
def _along(chances: Array, tables: Array) -> Array:
    """x' T x for the chances x of each component and the symmetric table T of each class: classes x components."""
    return _along_forward(chances, tables)[0]


def _along_forward(chances: Array, tables: Array) -> tuple[Array, Array]:
    product = tables @ chances
    return jnp.sum(product * chances, axis=1), product


def _along_backward(product: Array, gradient: Array) -> tuple[Array, None]:
    # The gradient of x' T x is 2 T x, and T x is there already: half the work of the general rule.
    return 2 * jnp.einsum("cdk,ck->dk", product, gradient), None


_along.defvjp(_along_forward, _along_backward)


def _overlaps(chances: Array, padded: Sequence[Array]) -> Array:
    """For two components the sum of p q over the cells of all two-way tables (both triangles): components x components.

    A sum over pairs of codes factors into a product of sums; pairs within a column are taken off again.
    """
    ended = jnp.concatenate([chances, jnp.zeros((1, chances.shape[1]))])
    own = [jnp.einsum("jsk,jsl->jkl", ended[places], ended[places]) for places in padded]
    return (chances.T @ chances) ** 2 - sum(jnp.sum(each**2, axis=0) for each in own)


# It runs once, for a second or two: what the compiler would take long over is not worth it. The numbers are the same.
@partial(jax.jit, static_argnums=(7, 8), compiler_options={"xla_llvm_disable_expensive_passes": True})
def _fit(
    start: dict[str, Any], tables: Any, diagonal: Any, counts: Any, owner: Any, centre: Any, padded: list[Any],
    columns: int, steps: int, learning_rate: float, pull: float, one: float, two: float,
) -> dict[str, Array]:  # fmt: skip
    def loss(parameters: dict[str, Array]) -> Array:
        chances = _chances(parameters["logits"], owner, columns)
        weights = jax.nn.softmax(parameters["weights"], axis=1) * counts[:, None]
        # The squared distance of w'xx' from T, without ever making a D x D table: w'Hw - 2 w'(x'Tx) + what is constant.
        fitted = jnp.einsum("ck,kl,cl->", weights, _overlaps(chances, padded), weights)
        # Each pair of columns stands in both triangles, hence the 4.
        off = (fitted - 2 * jnp.sum(weights * _along(chances, tables))) / (4 * two**2)
        on = jnp.sum((weights @ chances.T - diagonal) ** 2) / (2 * one**2)
        return off + on + pull * jnp.sum((parameters["logits"] - centre[:, None]) ** 2)

    optimiser = optax.adam(optax.cosine_decay_schedule(learning_rate, steps), b2=0.99)

    def step(
        state: tuple[dict[str, Array], optax.OptState], _: None
    ) -> tuple[tuple[dict[str, Array], optax.OptState], None]:
        parameters, memory = state
        update, memory = optimiser.update(jax.grad(loss)(parameters), memory)
        return (optax.apply_updates(parameters, update), memory), None  # type: ignore[return-value]

    (found, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), None, length=steps)
    chances = _chances(found["logits"], owner, columns)
    return {"chances": chances, "weights": jax.nn.softmax(found["weights"], axis=1)}
