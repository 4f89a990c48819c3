"""Discriminators on the teacher axis: each learns to tell the real rows of its own shard from fakes.

Everything that comes out of this module is private but the fakes that went in.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from understudy.errors import InputError
from understudy.learn.networks import MLP, weight_count
from understudy.learn.partition import Shards
from understudy.learn.processes import OwnRows
from understudy.learn.teachers import TeacherAxis, Teachers, train_steps


@dataclass(frozen=True)
class Discriminators:
    """What the programs of this module are compiled for. `width` is the number of slots of a shard."""

    axis: TeacherAxis
    features: int
    hidden: tuple[int, ...]
    batch: int
    learning_rate: float
    width: int

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


class RealRows(NamedTuple):
    """Private: each teacher's rows on the teacher's device, and which slots hold one."""

    values: Float[Array, "teachers slots features"]
    held: Bool[Array, "teachers slots"]


def deal_rows(cube: np.ndarray | OwnRows, present: np.ndarray, shards: Shards, axis: TeacherAxis) -> RealRows:
    """Touches private data: deal the rows by the fixed shards; a blank row (not `present`) leaves an empty slot."""
    if shards.rows != len(cube):
        raise InputError(f"`shards` were made for {shards.rows} rows, but the table has {len(cube)}.")
    held: Any = axis.deal(present.astype(bool), shards)
    return RealRows(_blank(axis.deal(cube, shards), held), held)


@jax.jit
def _blank(values: Array, held: Array) -> Array:
    return jnp.where(held[:, :, None], values, 0).astype(jnp.float32)


def start_teachers(plan: Discriminators, seed: Sequence[int]) -> Teachers:
    """Untrained teachers, each drawn from its own number."""
    weights = weight_count(plan.features, plan.hidden, 1)

    def drawn(where: slice) -> np.ndarray:
        numbers = range(plan.axis.padded)[where]
        return (2 * np.stack([np.random.default_rng([*seed, n]).random(weights) for n in numbers]) - 1).astype("f4")

    return _start(plan, plan.axis.place((weights,), drawn))


@partial(jax.jit, static_argnums=0)
def _start(plan: Discriminators, drawn: Float[Array, "teachers weights"]) -> Teachers:
    return plan.axis.start(plan.optimiser, lambda numbers: MLP(plan.features, plan.hidden, 1, key=numbers), drawn)


def choose_slots(plan: Discriminators, rng: np.random.Generator, steps: int) -> Int[np.ndarray, "steps batch"] | None:
    """Which slots the teachers learn from in each step; None where a shard is no larger than a batch and used whole."""
    return None if plan.width <= plan.batch else rng.integers(0, plan.width, (steps, plan.batch), dtype=np.int32)


def _loss(teacher: MLP, rows: RealRows, fake: Array) -> Array:
    """Touches private data: cross-entropy of one teacher on its own rows and on fakes (PATE-GAN, equation 6)."""
    on_real = jax.nn.softplus(-teacher(rows.values)[:, 0]) * rows.held
    on_fake = jax.nn.softplus(teacher(fake)[:, 0])
    return jnp.sum(on_real) / jnp.maximum(jnp.sum(rows.held), 1) + jnp.mean(on_fake)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def train_teachers(
    plan: Discriminators,
    teachers: Teachers,
    rows: RealRows,
    fakes: Float[Array, "steps batch features"],
    slots: Int[Array, "steps chosen"] | None,
) -> Teachers:
    """Touches private data: one step of every teacher for each batch of fakes, on rows of its own shard alone."""

    def on_one_device(teachers: Teachers, rows: RealRows, fakes: Array, slots: Array | None) -> Teachers:
        return train_steps(plan.optimiser, _loss, teachers, rows, slots, fakes)

    return plan.axis.split(on_one_device, teachers, rows, shared=(fakes, slots))


@partial(jax.jit, static_argnums=0)
def count_votes(
    plan: Discriminators, teachers: Teachers, asked: Float[Array, "queries features"]
) -> Int[Array, "queries 2"]:
    """Touches private data: how many teachers call each record fake (first) and real (second)."""

    def choose(networks: MLP, asked: Array) -> Array:
        logits = jax.vmap(MLP.by_columns, in_axes=(0, None))(networks, asked.T)[:, 0]
        return (logits > 0).astype(jnp.int32)

    return plan.axis.count(choose, 2, teachers.networks, shared=(asked,))
