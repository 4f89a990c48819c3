"""The teacher axis: thousands of teachers as one pytree with a leading axis, whatever they are taught.

They start, train and vote in single compiled steps. Over a `jax.sharding.Mesh` each device holds some of the teachers
and their rows; the sum of what they count is the only thing that crosses between devices.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree

from understudy.errors import InputError
from understudy.learn.partition import Shards
from understudy.learn.processes import AXIS, OwnRows

_SPLIT = PartitionSpec(AXIS)
_EVERYWHERE = PartitionSpec()


class Teachers(NamedTuple):
    """Private: stacked teachers and the states of their optimisers."""

    networks: Any
    opt_state: Any


def one_device() -> Mesh:
    return Mesh(np.array(jax.local_devices()[:1]), (AXIS,))


def check_mesh(mesh: Mesh | None) -> None:
    if mesh is not None and mesh.axis_names != (AXIS,):
        raise InputError(f"`mesh` has the axes {mesh.axis_names}, but needs exactly one, named {AXIS!r}.")


@dataclass(frozen=True)
class TeacherAxis:
    """So many teachers over the devices of a mesh; programs are compiled for it.

    Where they do not divide evenly the axis is padded with idle teachers, who have neither rows nor a vote.
    """

    teachers: int
    mesh: Mesh

    @property
    def local(self) -> int:
        """Teachers on one device."""
        return -(-self.teachers // self.mesh.size)

    @property
    def padded(self) -> int:
        """Teachers on all devices, idle ones included."""
        return self.local * self.mesh.size

    def place(self, shape: Sequence[int], values: Callable[[slice], np.ndarray]) -> Array:
        """An array with one entry a teacher; a device asks for the entries of its own teachers only."""

        def held_by(where: tuple[slice, ...] | None) -> np.ndarray:
            return values(slice(None) if where is None else where[0])

        return jax.make_array_from_callback((self.padded, *shape), NamedSharding(self.mesh, _SPLIT), held_by)

    def deal(self, values: np.ndarray | OwnRows, shards: Shards, slots: int | None = None) -> Array:
        """Touches private data: put each teacher's rows on the teacher's device, zeros in empty slots.

        An empty slot is never filled with somebody's row: a value times a mask of zero is still NaN where the value is
        infinite.
        """
        slots = shards.width if slots is None else slots
        index = np.full((self.padded, slots), shards.rows, dtype=np.int64)
        index[: shards.teachers, : shards.width] = shards.index

        def held(where: slice) -> np.ndarray:
            mine = index[where]
            rows = np.zeros((*mine.shape, *values.shape[1:]), dtype=values.dtype)
            rows[mine < shards.rows] = values[mine[mine < shards.rows]]
            return rows

        return self.place((slots, *values.shape[1:]), held)

    def start(
        self,
        optimiser: optax.GradientTransformation,
        make: Callable[[Array], PyTree],
        drawn: Array,
        at_once: int | None = None,
    ) -> Teachers:
        """Untrained teachers, each by `make` from its own entry of `drawn`: the same however the axis is split.

        So many are made `at_once` (None: all), where it takes far more to make one than to keep it.
        """

        def on_one_device(drawn: Array) -> Teachers:
            networks: Any = jax.vmap(make)(drawn) if at_once is None else jax.lax.map(make, drawn, batch_size=at_once)
            return Teachers(networks, jax.vmap(optimiser.init)(networks))

        return self.split(on_one_device, drawn)

    def split(self, work: Callable[..., PyTree], *held: PyTree, shared: Sequence[PyTree] = ()) -> Any:
        """`work` on each device, with what its own teachers hold and with what is the same everywhere."""
        return self._run(work, held, shared, _SPLIT)

    def count(
        self, choose: Callable[..., Int[Array, "teachers ..."]], options: int, *held: PyTree, shared: Sequence[PyTree]
    ) -> Int[Array, "... options"]:
        """Touches private data: how many teachers choose each option, summed over the devices.

        Nothing else leaves a device.
        """

        def on_one_device(*given: PyTree) -> Array:
            chosen = choose(*given)
            voting = self._voting(chosen)
            counts = [jnp.sum((chosen == option) & voting, axis=0, dtype=jnp.int32) for option in range(options)]
            return jax.lax.psum(jnp.stack(counts, axis=-1), AXIS)

        return self._run(on_one_device, held, shared, _EVERYWHERE)

    def sum(
        self, say: Callable[..., Int[Array, "teachers ..."]], *held: PyTree, shared: Sequence[PyTree]
    ) -> Int[Array, ...]:
        """Touches private data: the sum of what teachers say in whole numbers. Nothing else leaves a device."""

        def on_one_device(*given: PyTree) -> Array:
            said = say(*given)
            return jax.lax.psum(jnp.sum(said * self._voting(said), axis=0, dtype=jnp.int32), AXIS)

        return self._run(on_one_device, held, shared, _EVERYWHERE)

    def _voting(self, said: Array) -> Array:
        """Which teachers of a device are not idle, with as many axes as what they say."""
        number = jax.lax.axis_index(AXIS) * self.local + jnp.arange(self.local)
        return (number < self.teachers).reshape(-1, *(1,) * (said.ndim - 1))

    def _run(self, work: Any, held: Sequence[PyTree], shared: Sequence[PyTree], out: PartitionSpec) -> Any:
        specs = (_SPLIT,) * len(held) + (_EVERYWHERE,) * len(shared)
        over_devices = jax.shard_map(work, mesh=self.mesh, in_specs=specs, out_specs=out, check_vma=False)
        return over_devices(*held, *shared)


def train_steps(
    optimiser: optax.GradientTransformation,
    loss: Callable[..., Array],
    teachers: Teachers,
    rows: PyTree,
    slots: Int[Array, "steps chosen"] | None,
    shared: PyTree = None,
) -> Teachers:
    """Touches private data: on one device, steps of every teacher on rows of its own shard alone.

    `loss(teacher, rows, shared)` is one teacher's. A step takes one line of `slots` (None: whole shards) from `rows`,
    whose leaves have the axes (teachers, slots, ...), and one entry of `shared`. All teachers take the same slots: rows
    were dealt to slots at random, and a shared choice is one gather.
    """

    def step(state: Teachers, given: tuple[Array | None, PyTree]) -> tuple[Teachers, None]:
        chosen, extra = given
        mine = rows if chosen is None else jax.tree.map(lambda leaf: leaf[:, chosen], rows)
        gradient = jax.vmap(jax.grad(loss), in_axes=(0, 0, None))(state.networks, mine, extra)
        change, opt_state = jax.vmap(optimiser.update)(gradient, state.opt_state, state.networks)
        return Teachers(optax.apply_updates(state.networks, change), opt_state), None

    return jax.lax.scan(step, teachers, (slots, shared))[0]
