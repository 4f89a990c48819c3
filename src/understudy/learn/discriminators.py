"""Critics on the teacher axis: each learns to tell the real rows of its own shard from fakes.

They are Wasserstein critics with a gradient penalty (Gulrajani et al. 2017), or learn by cross-entropy. Every fake is set against a real row of the same
class, so that each class counts as often as the fakes have it, however rare it is among the rows; a teacher without a row
of a class says nothing about fakes of that class. Everything that comes out of this module is private but the fakes that
went in.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from understudy.errors import InputError
from understudy.learn.networks import MLP, weight_count
from understudy.learn.partition import Shards
from understudy.learn.picture_networks import PictureTeacher, Shape
from understudy.learn.processes import OwnRows
from understudy.learn.teachers import TeacherAxis, Teachers, train_steps

# Of the gradient penalty, as Gulrajani et al. have it.
_PENALTY = 10.0
# Teachers of pictures whose first weights are drawn at once: random bits take as much room as the weights.
_MADE_AT_ONCE = 64
GRID = 2.0**-16
"""Vectors of norm 1 are rounded to multiples of this, and added up as whole numbers: the sum is the same in any order."""
MOST_TEACHERS = 1 << 14
"""So many vectors of whole numbers may be added up without an overflow."""


@dataclass(frozen=True)
class Picture:
    """Records are pictures of that shape and their class: teachers look at them with so many `kernels`."""

    shape: Shape
    kernels: int
    light: bool = False
    """Adam's moments are kept in bfloat16: they are two thirds of what thousands of such teachers keep and move."""


@dataclass(frozen=True)
class Discriminators:
    """What the programs of this module are compiled for. `published`: they learn by cross-entropy, as the papers have it."""

    axis: TeacherAxis
    features: int
    hidden: tuple[int, ...]
    learning_rate: float
    published: bool = False
    picture: Picture | None = None

    @property
    def optimiser(self) -> optax.GradientTransformation:
        adam = optax.adam(self.learning_rate, b1=0.5, b2=0.9)
        return _light(adam) if self.picture is not None and self.picture.light else adam

    def network(self, drawn: Array) -> Any:
        """One teacher, from its own numbers or its own key."""
        if self.picture is None:
            return MLP(self.features, self.hidden, 1, key=drawn)
        classes = self.features - math.prod(self.picture.shape)
        key = jax.random.wrap_key_data(drawn)
        return PictureTeacher(self.picture.shape, classes, self.picture.kernels, self.hidden[0], key=key)


def _light(adam: optax.GradientTransformation) -> optax.GradientTransformation:
    """The same with a state in bfloat16 between the steps."""

    def kept(state: Any, dtype: Any, instead: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf.astype(instead) if leaf.dtype == dtype else leaf, state)

    def init(params: Any) -> Any:
        return kept(adam.init(params), jnp.float32, jnp.bfloat16)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        change, state = adam.update(updates, kept(state, jnp.bfloat16, jnp.float32), params)
        return change, kept(state, jnp.float32, jnp.bfloat16)

    return optax.GradientTransformation(init, update)


class RealRows(NamedTuple):
    """Private: each teacher's rows on the teacher's device, in the order of their classes; blank rows and empty slots last.

    The rows of class c of teacher t stand in `counts[t, c]` slots from `first[t, c]` on.
    """

    values: Float[Array, "teachers slots features"]
    first: Int[Array, "teachers classes"]
    counts: Int[Array, "teachers classes"]


class Fakes(NamedTuple):
    """Public: fakes with their classes, and the numbers that choose a real row for each and a place between the two."""

    values: Float[Array, "*steps batch features"]
    classes: Int[Array, "*steps batch"]
    row: Float[Array, "*steps batch"]
    between: Float[Array, "*steps batch"]


def deal_rows(
    values: np.ndarray | OwnRows, classes: np.ndarray | OwnRows, shards: Shards, axis: TeacherAxis, n_classes: int
) -> RealRows:
    """Touches private data: deal the rows by the fixed shards. The class of a blank row is -1: its slot stays empty."""
    if shards.rows != len(values):
        raise InputError(f"`shards` were made for {shards.rows} rows, but the table has {len(values)}.")
    named = (
        OwnRows(classes.values + 1, classes.positions, classes.rows) if isinstance(classes, OwnRows) else classes + 1
    )
    return _arrange(n_classes, axis, axis.deal(values, shards), axis.deal(named, shards))


@partial(jax.jit, static_argnums=(0, 1))
def _arrange(n_classes: int, axis: TeacherAxis, values: Array, kinds: Array) -> RealRows:
    """`kinds` is 1 + the class of a row, 0 for no row."""

    def on_one_device(values: Array, kinds: Array) -> RealRows:
        order = jnp.argsort(jnp.where(kinds == 0, n_classes + 1, kinds), axis=1, stable=True)
        count = jnp.sum(kinds[:, :, None] == jnp.arange(1, n_classes + 1), axis=1, dtype=jnp.int32)
        held = jnp.where((kinds > 0)[:, :, None], values, 0).astype(jnp.float32)
        return RealRows(jnp.take_along_axis(held, order[:, :, None], axis=1), jnp.cumsum(count, axis=1) - count, count)

    return axis.split(on_one_device, values, kinds)


def start_teachers(plan: Discriminators, seed: Sequence[int]) -> Teachers:
    """Untrained teachers, each drawn from its own number."""
    if plan.picture is not None:  # billions of weights are drawn where they are used
        return _start(plan, plan.axis.place((2,), partial(_keys, plan.axis.padded, seed)))
    weights = weight_count(plan.features, plan.hidden, 1)

    def drawn(where: slice) -> np.ndarray:
        numbers = range(plan.axis.padded)[where]
        return (2 * np.stack([np.random.default_rng([*seed, n]).random(weights) for n in numbers]) - 1).astype("f4")

    return _start(plan, plan.axis.place((weights,), drawn))


def _keys(teachers: int, seed: Sequence[int], where: slice) -> np.ndarray:
    return np.stack([np.random.SeedSequence([*seed, n]).generate_state(2) for n in range(teachers)[where]])


@partial(jax.jit, static_argnums=0)
def _start(plan: Discriminators, drawn: Array) -> Teachers:
    return plan.axis.start(plan.optimiser, plan.network, drawn, None if plan.picture is None else _MADE_AT_ONCE)


def _loss(published: bool, teacher: Any, rows: RealRows, fakes: Fakes) -> Array:
    """Touches private data: one teacher's loss on its own rows and on fakes of the same classes.

    Published is cross-entropy (PATE-GAN, equation 6).
    """
    count = rows.counts[fakes.classes]
    slots = rows.first[fakes.classes] + jnp.minimum((fakes.row * count).astype(jnp.int32), jnp.maximum(count - 1, 0))
    known = (count > 0).astype(jnp.float32)
    real = rows.values[jnp.minimum(slots, len(rows.values) - 1)] * known[:, None]
    if isinstance(teacher, PictureTeacher):  # its weights are many: both go through them at once
        on_both = teacher(jnp.concatenate([real, fakes.values]))[:, 0]
        on_real, on_fake = on_both[: len(real)], on_both[len(real) :]
    else:
        on_real, on_fake = teacher(real)[:, 0], teacher(fakes.values)[:, 0]
    if published:
        each = jax.nn.softplus(-on_real) + jax.nn.softplus(on_fake)
        return jnp.sum(each * known) / jnp.maximum(jnp.sum(known), 1)
    middle = fakes.between[:, None] * real + (1 - fakes.between[:, None]) * fakes.values
    gradient = jax.grad(lambda x: jnp.sum(teacher(x)))(middle)
    steep = jnp.square(jnp.sqrt(jnp.sum(jnp.square(gradient), axis=1) + 1e-12) - 1)
    each = on_fake - on_real + _PENALTY * steep
    return jnp.sum(each * known) / jnp.maximum(jnp.sum(known), 1)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def train_teachers(plan: Discriminators, teachers: Teachers, rows: RealRows, fakes: Fakes) -> Teachers:
    """Touches private data: one step of every teacher for each batch of fakes, on rows of its own shard alone."""

    def on_one_device(teachers: Teachers, rows: RealRows, fakes: Fakes) -> Teachers:
        return train_steps(plan.optimiser, partial(_loss, plan.published), teachers, rows, None, fakes)

    return plan.axis.split(on_one_device, teachers, rows, shared=(fakes,))


# ---- what teachers say -----------------------------------------------------------------------------------------------


def _known(count: Int[Array, " classes"], classes: Int[Array, " batch"]) -> Array:
    """Which fakes a teacher may speak about: those of a class that it has rows of."""
    return (count[classes] > 0).astype(jnp.float32)


def _scores(teacher: Any, count: Array, fakes: Array, classes: Array) -> Float[Array, " batch"]:
    """Private. One teacher's scores of fakes, less its mean within each class."""
    known = _known(count, classes)
    score = teacher(fakes)[:, 0] * known
    same = (classes[:, None] == classes) * known
    return (score - same @ score / jnp.maximum(same.sum(axis=1), 1)) * known


def _directions(teacher: Any, count: Array, fakes: Array, classes: Array) -> Float[Array, "batch features"]:
    """Private. Where one teacher's score of each fake rises (G-PATE, Algorithm 1, line 8)."""
    known = _known(count, classes)
    return jax.grad(lambda x: jnp.sum(teacher(x)[:, 0] * known))(fakes)


def _unit(vector: Float[Array, " size"]) -> Int[Array, " size"]:
    """A vector at norm 1, in whole multiples of `GRID`. What is not finite counts as nothing, and never as an error."""
    largest = jnp.max(jnp.abs(vector))
    scaled = vector / jnp.where(largest > 0, largest, 1)
    norm = jnp.sqrt(jnp.sum(jnp.square(scaled)))
    # The factor pays for the rounding of float32, so that no vector is longer than 1.
    unit = scaled * ((1 - 1e-5) / jnp.where(norm > 0, norm, 1))
    return jnp.where(jnp.isfinite(largest) & jnp.isfinite(norm), jnp.rint(unit / GRID), 0).astype(jnp.int32)


def _signs(keep: int, vector: Float[Array, " size"]) -> Int[Array, " size"]:
    """The signs of the `keep` largest elements, 0 elsewhere: norm at most sqrt(keep)."""
    finite = jnp.where(jnp.all(jnp.isfinite(vector)), vector, 0)
    _, places = jax.lax.top_k(jnp.abs(finite), keep)
    return jnp.zeros(len(vector), jnp.int32).at[places].set(jnp.sign(finite[places]).astype(jnp.int32))


@partial(jax.jit, static_argnums=(0, 1))
def sum_directions(
    plan: Discriminators,
    form: tuple[int | None, tuple[int, ...]],
    teachers: Teachers,
    count: Int[Array, "teachers classes"],
    fakes: Float[Array, "batch features"],
    classes: Int[Array, " batch"],
    lens: Float[Array, "seen pixels"] | None = None,
) -> Int[Array, " sums"]:
    """Touches private data: every teacher's directions for the whole batch as one vector, in whole numbers, summed.

    `form` says how many signs are kept (None: the vector at norm 1), and which columns the directions are for. What leaves
    of those columns is seen through a public `lens`, if there is one.
    """
    keep, columns = form
    shape = _unit if keep is None else partial(_signs, keep)

    def say(network: Any, count: Array, fakes: Array, classes: Array, lens: Array | None) -> Array:
        said = _directions(network, count, fakes, classes)[:, np.array(columns)]
        return shape((said if lens is None else said @ lens.T).ravel())

    return _sum(plan, say, teachers, count, fakes, classes, lens)


@partial(jax.jit, static_argnums=(0, 1))
def sum_scores(
    plan: Discriminators,
    signs: bool,
    teachers: Teachers,
    count: Int[Array, "teachers classes"],
    fakes: Float[Array, "batch features"],
    classes: Int[Array, " batch"],
) -> Int[Array, " batch"]:
    """Touches private data: every teacher's centred scores of the batch, at norm 1 or as signs, summed."""

    def say(network: Any, count: Array, fakes: Array, classes: Array) -> Array:
        scores = _scores(network, count, fakes, classes)
        return _signs(len(fakes), scores) if signs else _unit(scores)

    return _sum(plan, say, teachers, count, fakes, classes)


def _sum(plan: Discriminators, say: Any, teachers: Teachers, count: Array, *shared: Array | None) -> Array:
    def each(networks: Any, count: Array, *shared: Array | None) -> Array:
        return jax.vmap(say, in_axes=(0, 0, *(None,) * len(shared)))(networks, count, *shared)

    return plan.axis.sum(each, teachers.networks, count, shared=shared)


@partial(jax.jit, static_argnums=0)
def count_votes(
    plan: Discriminators,
    teachers: Teachers,
    count: Int[Array, "teachers classes"],
    asked: Float[Array, "queries features"],
    classes: Int[Array, " queries"],
) -> Int[Array, "queries 2"]:
    """Touches private data: how many teachers call each record fake (first) and real (second)."""

    def choose(networks: MLP, count: Array, asked: Array, classes: Array) -> Array:
        logits = jax.vmap(MLP.by_columns, in_axes=(0, None))(networks, asked.T)[:, 0]
        return ((logits > 0) & (count[:, classes] > 0)).astype(jnp.int32)

    return plan.axis.count(choose, 2, teachers.networks, count, shared=(asked, classes))


@partial(jax.jit, static_argnums=(0, 1))
def count_directions(
    plan: Discriminators,
    bins: int,
    teachers: Teachers,
    count: Int[Array, "teachers classes"],
    fakes: Float[Array, "batch features"],
    classes: Int[Array, " batch"],
    projections: Float[Array, "batch features dimensions"],
    clip: Float[Array, ""],
) -> Int[Array, "batch dimensions bins"]:
    """Touches private data: G-PATE, Algorithm 1, lines 7 to 9, and Algorithm 2, lines 3 to 8."""

    def choose(networks: Any, count: Array, fakes: Array, classes: Array, projections: Array) -> Array:
        def projected(teacher: Any, count: Array) -> Array:
            # Line 8 of Algorithm 1: the gradient of the teacher's loss at each fake; line 3 of Algorithm 2: times R.
            known = _known(count, classes)
            perturbations = jax.grad(lambda x: jnp.sum(jax.nn.softplus(teacher(x)[:, 0]) * known))(fakes)
            return jnp.einsum("bf,bfk->bk", perturbations, projections)

        # Lines 7 and 8: clip to (-c, c), and the bin of width 2c/B that each element falls into.
        clipped = jnp.clip(jax.vmap(projected)(networks, count), -clip, clip)
        return jnp.clip(((clipped + clip) * (bins / (2 * clip))).astype(jnp.int32), 0, bins - 1)

    return plan.axis.count(choose, bins, teachers.networks, count, shared=(fakes, classes, projections))
