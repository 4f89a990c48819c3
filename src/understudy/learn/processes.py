"""The teacher axis over several processes: who they are, which teachers are one's own, and a table of one's own rows alone.

After `jax.distributed.initialize(...)` the devices of all processes make one mesh. The shards follow from public
numbers (rows, teachers, seed), so every process knows, without asking, which rows its teachers need; it loads those and
never sees another. Vote counts are summed across processes, and nothing else crosses.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from understudy.errors import InputError
from understudy.learn.partition import Shards

AXIS = "teachers"

HEARTBEAT_SECONDS = 30
"""So long a process may say nothing before the others take it for dead, and end too."""
_JOIN_SECONDS, _LEAVE_SECONDS = 300, 5


@dataclass(frozen=True)
class Processes:
    """Which process of a run this is, and how many there are. What they gather is as private as what each of them holds."""

    number: int = 0
    count: int = 1

    @classmethod
    def join(cls, coordinator: str, number: int, count: int) -> Processes:
        """Meet the others where the first process listens, "host:port". Before anything else asks JAX for devices."""
        if not 0 <= number < count:
            raise InputError(
                f"the number of a process (={number}) must lie between 0 and {count - 1}: there are {count}."
            )
        if count == 1:
            return cls()
        assert coordinator is not None
        _check_door(coordinator, own=number == 0)
        jax.config.update("jax_cpu_collectives_implementation", "gloo")  # of no account where there are GPUs
        try:
            jax.distributed.initialize(
                coordinator,
                num_processes=count,
                process_id=number,
                initialization_timeout=_JOIN_SECONDS,
                heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
                shutdown_timeout_seconds=_LEAVE_SECONDS,
            )
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{count} processes did not meet at {coordinator}: {error}. Nothing was spent.") from None
        joined = cls(number, count)
        with _remarks_aside():
            joined.gather(np.zeros(1, np.uint8))  # connected now, they notice at once when one of them ends
        return joined

    @property
    def first(self) -> bool:
        """The one that talks to the gate, to the ledger and to the disk where the release is."""
        return self.number == 0

    def gather(self, values: np.ndarray) -> np.ndarray:
        """An array of the same shape from every process, in the order of their numbers."""
        if self.count == 1:
            return values[None]
        from jax.experimental.multihost_utils import process_allgather

        try:
            return np.asarray(process_allgather(values))
        except (ValueError, RuntimeError) as error:
            raise InputError(
                f"another process of this run has ended (process {self.number} of {self.count} lost touch: {error}). Start the "
                "same command again everywhere, with as many processes as you like: finished blocks of teachers are kept."
            ) from None


def _check_door(coordinator: str, *, own: bool) -> None:
    """Refuse in words what would end this process with a crash of JAX: a port that is taken, a host that nobody knows, and nobody there."""
    host, _, port = coordinator.rpartition(":")
    if own:
        with socket.socket() as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                door.bind(("", int(port)))
            except OSError as error:
                raise InputError(
                    f"process 0 cannot be met at {coordinator}: {error.strerror}. Choose another port, the same one for all "
                    "processes. Nothing was spent."
                ) from None
        return
    until = time.monotonic() + _JOIN_SECONDS
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            return
        except socket.gaierror as error:
            raise InputError(
                f"process 0 cannot be met at {coordinator}: {error.strerror}. Is the name of its machine right? Nothing was spent."
            ) from None
        except OSError as error:
            if time.monotonic() > until:
                raise InputError(
                    f"nobody answered at {coordinator} for {_JOIN_SECONDS} seconds ({error.strerror or error}). Is process 0 "
                    "running, and can this machine reach it? Nothing was spent."
                ) from None
            time.sleep(0.5)


@contextmanager
def _remarks_aside() -> Generator[None]:
    """What a library says on standard output goes where errors go: the output of a command may be read by a program."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


ALONE = Processes()
"""A run of one process."""


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
