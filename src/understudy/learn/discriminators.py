"""Teacher discriminators on the teacher axis: thousands of them, each on its own shard, trained and asked as one.

Everything that comes out of this module is private but the fakes that went in. Over a mesh the axis is split; vote
counts are summed across devices and nothing else crosses.
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
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from understudy.errors import InputError
from understudy.learn.ensemble import _deal
from understudy.learn.networks import MLP, weight_count
from understudy.learn.partition import Shards
from understudy.learn.processes import AXIS, OwnRows

_SHARDED = PartitionSpec(AXIS)
_EVERYWHERE = PartitionSpec()


@dataclass(frozen=True)
class TeacherPlan:
    """What the programs of this module are compiled for."""

    teachers: int
    features: int
    hidden: tuple[int, ...]
    batch: int
    learning_rate: float
    width: int
    mesh: Mesh

    @property
    def local(self) -> int:
        """Teachers on one device; the axis is padded with teachers without rows or votes."""
        return -(-self.teachers // self.mesh.size)

    @property
    def slots(self) -> int:
        return self.width

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)


class Teachers(NamedTuple):
    """Private: stacked teachers and the state of their optimisers."""

    networks: Any
    moments: Any


class Rows(NamedTuple):
    """Private: each teacher's rows on the teacher's device, and which slots hold one."""

    values: Float[Array, "teachers slots features"]
    held: Bool[Array, "teachers slots"]


def one_device() -> Mesh:
    return Mesh(np.array(jax.local_devices()[:1]), (AXIS,))


def deal_rows(cube: np.ndarray | OwnRows, present: np.ndarray, shards: Shards, plan: TeacherPlan) -> Rows:
    """Touches private data: deal the rows by the fixed shards; a blanked row (not `present`) leaves an empty slot."""
    if shards.rows != len(cube):
        raise InputError(f"`shards` were made for {shards.rows} rows, but the table has {len(cube)}.")
    held: Any = _deal(present.astype(bool), shards, plan)  # type: ignore[arg-type]
    return Rows(_blank(_deal(cube, shards, plan), held), held)  # type: ignore[arg-type]


@jax.jit
def _blank(values: Array, held: Array) -> Array:
    return jnp.where(held[:, :, None], values, 0).astype(jnp.float32)


def start_teachers(plan: TeacherPlan, seed: Sequence[int]) -> Teachers:
    """Untrained teachers. Each is drawn from its own number, so it is the same however the axis is split."""
    total = plan.local * plan.mesh.size
    weights = weight_count(plan.features, plan.hidden, 1)

    def drawn_on(where: tuple[slice, ...] | None) -> np.ndarray:
        numbers = range(total)[where[0] if where is not None else slice(None)]
        drawn = [np.random.default_rng([*seed, n]).random(weights) for n in numbers]
        return (2 * np.stack(drawn) - 1).astype(np.float32)

    return _start(plan, jax.make_array_from_callback((total, weights), NamedSharding(plan.mesh, _SHARDED), drawn_on))


@partial(jax.jit, static_argnums=0)
def _start(plan: TeacherPlan, drawn: Float[Array, "teachers weights"]) -> Teachers:
    def on_one_device(drawn: Array) -> Teachers:
        networks: Any = jax.vmap(lambda numbers: MLP(plan.features, plan.hidden, 1, key=numbers))(drawn)
        return Teachers(networks, jax.vmap(plan.optimiser.init)(networks))

    return jax.shard_map(on_one_device, mesh=plan.mesh, in_specs=_SHARDED, out_specs=_SHARDED)(drawn)


def choose_slots(plan: TeacherPlan, rng: np.random.Generator, steps: int) -> Int[np.ndarray, "steps batch"]:
    """Which slots the teachers learn from in each step.

    A shard that is no larger than a batch is used whole. Of a larger one all teachers take the same slots: rows were
    dealt to slots at random, and a shared choice is one gather.
    """
    if plan.width <= plan.batch:
        return np.tile(np.arange(plan.width, dtype=np.int32), (steps, 1))
    return rng.integers(0, plan.width, (steps, plan.batch), dtype=np.int32)


def _loss(teacher: MLP, real: Array, held: Array, fake: Array) -> Array:
    """Touches private data: cross-entropy of one teacher on its own rows and on fakes (PATE-GAN, equation 6)."""
    on_real = jax.nn.softplus(-teacher(real)[:, 0]) * held
    on_fake = jax.nn.softplus(teacher(fake)[:, 0])
    return jnp.sum(on_real) / jnp.maximum(jnp.sum(held), 1) + jnp.mean(on_fake)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def train_teachers(
    plan: TeacherPlan,
    teachers: Teachers,
    rows: Rows,
    fakes: Float[Array, "steps batch features"],
    slots: Int[Array, "steps chosen"],
) -> Teachers:
    """Touches private data: one step of every teacher for each batch of fakes, on rows of its own shard alone."""

    def on_one_device(teachers: Teachers, rows: Rows, fakes: Array, slots: Array) -> Teachers:
        def step(state: Teachers, given: tuple[Array, Array]) -> tuple[Teachers, None]:
            fake, chosen = given
            real, held = rows
            if plan.width > plan.batch:
                real, held = real[:, chosen], held[:, chosen]
            slope = jax.vmap(jax.grad(_loss), in_axes=(0, 0, 0, None))(state.networks, real, held, fake)
            change, moments = jax.vmap(plan.optimiser.update)(slope, state.moments, state.networks)
            return Teachers(optax.apply_updates(state.networks, change), moments), None

        return jax.lax.scan(step, teachers, (fakes, slots))[0]

    specs = (_SHARDED, _SHARDED, _EVERYWHERE, _EVERYWHERE)
    over_devices = jax.shard_map(on_one_device, mesh=plan.mesh, in_specs=specs, out_specs=_SHARDED, check_vma=False)
    return over_devices(teachers, rows, fakes, slots)


@partial(jax.jit, static_argnums=0)
def count_votes(
    plan: TeacherPlan, teachers: Teachers, asked: Float[Array, "queries features"]
) -> Int[Array, "queries 2"]:
    """Touches private data: how many teachers call each record fake (first) and real (second)."""

    def on_one_device(networks: MLP, asked: Array) -> Array:
        logits = jax.vmap(MLP.by_columns, in_axes=(0, None))(networks, asked.T)[:, 0]
        number = jax.lax.axis_index(AXIS) * plan.local + jnp.arange(plan.local)
        real = jnp.sum((logits > 0) & (number[:, None] < plan.teachers), axis=0, dtype=jnp.int32)
        return jax.lax.psum(real, AXIS)

    real = jax.shard_map(on_one_device, mesh=plan.mesh, in_specs=(_SHARDED, _EVERYWHERE), out_specs=_EVERYWHERE)(
        teachers.networks, asked
    )
    return jnp.stack([plan.teachers - real, real], axis=1)


@partial(jax.jit, static_argnums=(0, 1))
def count_directions(
    plan: TeacherPlan,
    bins: int,
    teachers: Teachers,
    fakes: Float[Array, "batch features"],
    projections: Float[Array, "batch features dimensions"],
    clip: Float[Array, ""],
) -> Int[Array, "batch dimensions bins"]:
    """Touches private data: G-PATE's histograms (Algorithm 2, steps 3 to 8) of all records and dimensions at once.

    Each teacher's gradient of its loss on a fake is projected, clipped to [-clip, clip] and counted into equal bins.
    """

    def on_one_device(networks: MLP, fakes: Array, projections: Array) -> Array:
        def directions(teacher: MLP) -> Array:
            slope = jax.grad(lambda x: jnp.sum(jax.nn.softplus(teacher(x)[:, 0])))(fakes)
            return jnp.einsum("bf,bfk->bk", slope, projections)

        moved = jnp.clip(jax.vmap(directions)(networks), -clip, clip)
        place = jnp.clip(((moved + clip) * (bins / (2 * clip))).astype(jnp.int32), 0, bins - 1)
        number = jax.lax.axis_index(AXIS) * plan.local + jnp.arange(plan.local)
        real = (number < plan.teachers)[:, None, None]
        counts = [jnp.sum((place == b) & real, axis=0, dtype=jnp.int32) for b in range(bins)]
        return jax.lax.psum(jnp.stack(counts, axis=-1), AXIS)

    specs = (_SHARDED, _EVERYWHERE, _EVERYWHERE)
    over_devices = jax.shard_map(on_one_device, mesh=plan.mesh, in_specs=specs, out_specs=_EVERYWHERE, check_vma=False)
    return over_devices(teachers.networks, fakes, projections)
