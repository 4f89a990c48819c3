"""Kernel inducing points: the support that kernel ridge regression learns best from, by Adam on its loss.

`distil` works on rows that may be looked at freely (the real ones for KIP, the non-private ceiling; samples of a released
generator otherwise). `distil_privately` is DP-KIP: the same descent on true Poisson batches of private rows, every
record's whole gradient clipped, with noise from the gate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.learn.kernels import Kernel
from understudy.methods.distillation.clipping import norms, terms, weighted_sum
from understudy.privacy import PrepaidSteps

_CHUNK = 50
_ADAM: Any = optax.scale_by_adam()


class Support(NamedTuple):
    """Points (m x d) and their labels (m x classes, centred)."""

    points: Array
    labels: Array


class Source(Protocol):
    """Rows to learn from, a pytree: `draw` gives points and centred labels."""

    def draw(self, key: Array, count: int) -> tuple[Array, Array]: ...


class Rows(NamedTuple):
    """Rows that are all there; drawn with replacement."""

    points: Array
    targets: Array

    def draw(self, key: Array, count: int) -> tuple[Array, Array]:
        places = jax.random.randint(key, (count,), 0, len(self.points))
        return self.points[places], self.targets[places]


class Schedule(NamedTuple):
    """How long and how fast, falling to zero along a cosine; `label_rate` 0 keeps the labels fixed."""

    steps: int
    batch: int
    learning_rate: float
    label_rate: float = 0.0


def distil(
    kernel: Kernel,
    ridge: float,
    source: Source,
    start: Support,
    schedule: Schedule,
    key: Array,
    progress: Callable[[int, float], None] | None = None,
) -> Support:
    """The support after `schedule.steps` of Adam on the loss over rows of `source`; as public as they are."""
    carried = (start, _ADAM.init(start))
    done = np.arange(schedule.steps)
    decay = ((1 + np.cos(np.pi * done / schedule.steps)) / 2).astype(np.float32)
    for begun in range(0, schedule.steps, _CHUNK):
        rates = decay[begun : begun + _CHUNK]
        keys = jax.random.split(jax.random.fold_in(key, begun), len(rates))
        rates = jnp.asarray(np.outer(rates, [schedule.learning_rate, schedule.label_rate]))
        with jax.default_matmul_precision("highest"):
            carried, loss = _descend(kernel, schedule.batch, ridge, source, carried, keys, rates)
        if progress is not None:
            progress(begun + len(keys), float(loss))
    return carried[0]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _descend(
    kernel: Kernel, batch: int, ridge: float, source: Source, carried: Any, keys: Array, rates: Array
) -> tuple[Any, Array]:
    even = jnp.full(batch, 1 / batch)

    def step(carried: Any, now: tuple[Array, Array]) -> tuple[Any, Array]:
        (support, state), (key, rate) = carried, now
        t = terms(kernel, ridge, support.points, support.labels, *source.draw(key, batch))
        # The loss is 1/2 |y - Yᵀ beta|², so its slope by the labels Y is -beta rᵀ.
        slope = Support(weighted_sum(t, even), -(t.beta * even) @ t.residual.T)
        updates, state = _ADAM.update(slope, state)
        support = Support(support.points - rate[0] * updates.points, support.labels - rate[1] * updates.labels)
        return (support, state), jnp.mean(jnp.sum(t.residual**2, axis=0)) / 2

    carried, losses = jax.lax.scan(step, carried, (keys, rates))
    return carried, losses.mean()


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
    progress: Callable[[int, float], None] | None = None,
) -> Support:
    """Touches private data (`points`, `targets`): DP-KIP. Safe to publish: only `paid` noisy sums move the support.

    `present` is False where a row was blanked and contributes nothing. What a noisy sum is divided by is the nominal batch,
    rows x sampling rate, which is public.
    """
    nominal = paid.rows * paid.mechanism.sampling_rate
    shape = start.points.shape
    with jax.enable_x64(True):  # lengths are differences of large sums: float32 could let a record be too long
        rows, wanted = jnp.asarray(points, jnp.float32), jnp.asarray(targets, jnp.float32)
        support, labels = jnp.asarray(start.points, jnp.float64), jnp.asarray(start.labels, jnp.float64)
        state = _ADAM.init(support)
        for step in range(paid.steps):
            chosen = paid.batch()
            chosen = chosen[present[chosen]]
            slots = np.zeros(paid.slots, dtype=np.int32)
            slots[: len(chosen)] = chosen
            held = np.arange(paid.slots) < len(chosen)
            total = clipped_sum(kernel, ridge, support, labels, rows, wanted, slots, held, paid.mechanism.clip)
            noisy = paid.release(np.asarray(total).ravel(), len(chosen)) / nominal
            support, state = _move(learning_rate, support, state, noisy.astype(np.float32).reshape(shape))
            if progress is not None and (step + 1) % _CHUNK == 0:
                progress(step + 1, float("nan"))
        found = np.asarray(support, dtype=np.float32)
    return Support(jnp.asarray(found), start.labels)


@partial(jax.jit, static_argnums=0)
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
) -> Array:
    """Touches private data: the sum over the batch of each record's own gradient, clipped to norm `clip`."""
    t = terms(kernel, ridge, support, labels, rows[slots].astype(support.dtype), targets[slots].astype(support.dtype))
    # The factor pays for the rounding of the sum, which leaves in float32.
    shrink = jnp.minimum(1.0, clip * (1 - 1e-6) / jnp.maximum(norms(t), 1e-300))
    return weighted_sum(t, jnp.where(held, shrink, 0.0)).astype(jnp.float32)


@jax.jit
def _move(learning_rate: float, support: Array, state: Any, slope: Array) -> tuple[Array, Any]:
    updates, state = _ADAM.update(slope, state)
    return support - learning_rate * updates, state
