"""Kernel inducing points: the support that kernel ridge regression learns best from, by Adam on its loss.

`distil` works on rows that may be looked at freely (the real ones for KIP, the non-private ceiling; samples of a released
generator otherwise). `distil_privately` is DP-KIP: the same descent on true Poisson batches of private rows, every
record's whole gradient clipped, with noise from the gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.learn.kernels import Kernel, ReLUKernel
from understudy.methods.distillation.clipping import norms, terms, weighted_sum
from understudy.privacy import PrepaidSteps
from understudy.release.settings import Limit, Settings, positive, setting, whole

_CHUNK = 50
_ADAM: Any = optax.scale_by_adam()
RATE_OR_ZERO = Limit("must be a finite number, at least 0", lambda v: v == 0 or positive().holds(v))


class Support(NamedTuple):
    """Points (m x d) and their labels (m x classes, centred)."""

    points: Array
    labels: Array


class Source(Protocol):
    """Rows to learn from, a pytree: `draw` gives points and centred labels."""

    def draw(self, key: Array, count: int) -> tuple[Array, Array]: ...


class KnownRows(NamedTuple):
    """Rows that are all there; drawn with replacement."""

    points: Array
    targets: Array

    def draw(self, key: Array, count: int) -> tuple[Array, Array]:
        chosen = jax.random.randint(key, (count,), 0, len(self.points))
        return self.points[chosen], self.targets[chosen]


@dataclass
class Regression(Settings):
    """The kernel ridge regression that a set is distilled for.

    `ridge` is in units of the mean of the kernel's diagonal; `depth` counts the hidden layers of the network whose tangent
    kernel is used.
    """

    ridge: float = setting(1e-6, positive())
    depth: int = setting(1, whole(0))

    def kernel(self, features: int) -> ReLUKernel:
        return ReLUKernel(features, self.depth)


@dataclass
class Descent(Regression):
    """A descent that costs nothing: `steps` of Adam on `batch` rows each.

    `learning_rate` moves the points and `label_rate` the labels (0: they stay), both falling to zero along a cosine.
    """

    steps: int = setting(2000, whole())
    batch: int = setting(500, whole())
    learning_rate: float = setting(1e-2, positive())
    label_rate: float = setting(0.0, RATE_OR_ZERO)


def distil(
    source: Source, start: Support, descent: Descent, key: Array, progress: Callable[[int, int], None] | None = None
) -> Support:
    """The support after a descent on the loss over rows of `source`; as public as they are."""
    kernel = descent.kernel(start.points.shape[1])
    state = (start, _ADAM.init(start))
    decay = ((1 + np.cos(np.pi * np.arange(descent.steps) / descent.steps)) / 2).astype(np.float32)
    for begun in range(0, descent.steps, _CHUNK):
        part = decay[begun : begun + _CHUNK]
        keys = jax.random.split(jax.random.fold_in(key, begun), len(part))
        rates = jnp.asarray(np.outer(part, [descent.learning_rate, descent.label_rate]))
        with jax.default_matmul_precision("highest"):
            state = _descend(kernel, descent.batch, descent.ridge, source, state, keys, rates)
        if progress is not None:
            progress(begun + len(part), descent.steps)
    return state[0]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _descend(
    kernel: Kernel, batch: int, ridge: float, source: Source, state: Any, keys: Array, rates: Array
) -> tuple[Support, Any]:
    even = jnp.full(batch, 1 / batch)

    def step(state: Any, now: tuple[Array, Array]) -> tuple[Any, None]:
        (support, opt_state), (key, rate) = state, now
        t = terms(kernel, ridge, support.points, support.labels, *source.draw(key, batch))
        # The loss is 1/2 |y - Yᵀ beta|², so its gradient by the labels Y is -beta rᵀ.
        gradient = Support(weighted_sum(t, even), -(t.beta * even) @ t.residual.T)
        updates, opt_state = _ADAM.update(gradient, opt_state)
        support = Support(support.points - rate[0] * updates.points, support.labels - rate[1] * updates.labels)
        return (support, opt_state), None

    return jax.lax.scan(step, state, (keys, rates))[0]


# ---- with privacy ----------------------------------------------------------------------------------------------


def distil_privately(
    kernel: Kernel,
    ridge: float,
    points: np.ndarray,
    targets: np.ndarray,
    present: np.ndarray,
    start: Support,
    paid: PrepaidSteps,
    learning_rate: float,
    progress: Callable[[int, int], None] | None = None,
    each: int = 1,
) -> Support:
    """Touches private data (`points`, `targets`): DP-KIP. Safe to publish: only `paid` noisy sums move the support.

    `present` is False where a row was blanked and contributes nothing. What a noisy sum is divided by is the nominal batch,
    rows x sampling rate, which is public. Where a record is a person, it has `each` rows, one after the other, of which some may
    be blank: persons are sampled, and a person's rows are clipped together.
    """
    nominal = paid.rows * paid.mechanism.sampling_rate
    shape = start.points.shape
    with jax.enable_x64(True):  # lengths are differences of large sums: float32 could let a record be too long
        rows, wanted = jnp.asarray(points, jnp.float32), jnp.asarray(targets, jnp.float32)
        support, labels = jnp.asarray(start.points, jnp.float64), jnp.asarray(start.labels, jnp.float64)
        opt_state = _ADAM.init(support)
        for step in range(paid.steps):
            chosen = paid.batch()
            chosen = chosen[present.reshape(-1, each)[chosen].any(axis=1)]
            slots = np.zeros((paid.slots, each), dtype=np.int32)
            slots[: len(chosen)] = chosen[:, None] * each + np.arange(each)
            held = (np.arange(paid.slots) < len(chosen))[:, None] & present[slots]
            shown = slots.ravel(), held.ravel()
            total = clipped_sum(kernel, ridge, support, labels, rows, wanted, *shown, paid.mechanism.clip, each)
            noisy = paid.release(np.asarray(total).ravel(), len(chosen)) / nominal
            support, opt_state = _move(learning_rate, support, opt_state, noisy.astype(np.float32).reshape(shape))
            if progress is not None and (step + 1) % _CHUNK == 0:
                progress(step + 1, paid.steps)
        moved = np.asarray(support, dtype=np.float32)
    return Support(jnp.asarray(moved), start.labels)


@partial(jax.jit, static_argnums=(0, 9))
def clipped_sum(
    kernel: Kernel,
    ridge: float,
    support: Array,
    labels: Array,
    rows: Array,
    targets: Array,
    slots: Array,
    held: Array,
    clip: float,
    each: int = 1,
) -> Array:
    """Touches private data: the sum over the batch of each record's own gradient, clipped to norm `clip`.

    A record is `each` rows, one after the other. The norm of their sum is at most the sum of their norms, so all of them are
    shrunk by what that sum is above `clip`.
    """
    t = terms(kernel, ridge, support, labels, rows[slots].astype(support.dtype), targets[slots].astype(support.dtype))
    # The factor pays for the rounding of the sum, which leaves in float32.
    length = jnp.where(held, norms(t), 0.0).reshape(-1, each).sum(axis=1)
    shrink = jnp.repeat(jnp.minimum(1.0, clip * (1 - 1e-6) / jnp.maximum(length, 1e-300)), each)
    return weighted_sum(t, jnp.where(held, shrink, 0.0)).astype(jnp.float32)


@jax.jit
def _move(learning_rate: float, support: Array, opt_state: Any, gradient: Array) -> tuple[Array, Any]:
    updates, opt_state = _ADAM.update(gradient, opt_state)
    return support - learning_rate * updates, opt_state
