"""The teacher axis over several processes: which teachers are one's own, and a table of one's own rows alone.

After `jax.distributed.initialize(...)` the devices of all processes make one mesh. The shards follow from public
numbers (rows, teachers, seed), so every process knows, without asking, which rows its teachers need; it loads those and
never sees another. Vote counts are summed across processes, and nothing else crosses.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from understudy.errors import InputError
from understudy.learn.partition import Shards

AXIS = "teachers"


def all_devices() -> Mesh:
    """One axis over the devices of all processes."""
    return Mesh(np.array(jax.devices()), (AXIS,))


def spans_processes(mesh: Mesh) -> bool:
    return any(device.process_index != jax.process_index() for device in mesh.devices.flat)


def own_rows(shards: Shards, mesh: Mesh) -> Int[np.ndarray, " own"]:
    """The positions, in ascending order, of the rows that teachers on this process's devices learn from."""
    local = -(-shards.teachers // mesh.size)
    own = [n for n, device in enumerate(mesh.devices.flat) if device.process_index == jax.process_index()]
    held = np.concatenate([shards.index[n * local : (n + 1) * local].ravel() for n in own])
    return np.sort(held[held < shards.rows])


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Private: some rows of a table, under their positions in the whole table of `rows` rows.

    Takes the place of the whole table wherever teachers are given their shards. A position that is not held is refused.
    """

    values: np.ndarray
    positions: Int[np.ndarray, " own"]
    rows: int

    def __post_init__(self) -> None:
        positions = np.asarray(self.positions)
        if len(positions) != len(self.values):
            raise InputError(f"`values` has {len(self.values)} rows, but `positions` names {len(positions)}.")
        if len(positions) and (np.any(np.diff(positions) <= 0) or positions[0] < 0 or positions[-1] >= self.rows):
            raise InputError(
                f"`positions` must ascend, each once, from 0 to {self.rows - 1}: take them from `own_rows(shards, mesh)`."
            )

    def __len__(self) -> int:
        return self.rows

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.rows, *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def __getitem__(self, wanted: Int[np.ndarray, " wanted"]) -> np.ndarray:
        """Touches private data: rows by their positions in the whole table."""
        held_at = np.searchsorted(self.positions, wanted)
        missing = (held_at >= len(self.positions)) | (
            self.positions[np.minimum(held_at, len(self.positions) - 1)] != wanted
        )
        if np.any(missing):
            raise InputError(
                f"row {np.asarray(wanted)[missing][0]} belongs to a teacher of this process but was not loaded. Load "
                "the rows that `own_rows(shards, mesh)` names."
            )
        return self.values[held_at]
