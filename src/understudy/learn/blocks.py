"""An ensemble in blocks of teachers, each trained and asked once, by whichever process is free; its votes are kept.

Blocks are cut from the number of teachers alone, and a teacher learns from its own number and shard: the votes are the same
whoever trains a block, however many processes there are, and however often the run was killed on the way.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int

from understudy.errors import InputError
from understudy.learn.claims import check_name, write_private
from understudy.learn.partition import Shards
from understudy.learn.processes import ALONE, Processes

# Enough for as many processes to have something to do; few enough teachers in one to keep a machine's cores busy.
_MOST_BLOCKS, _FEWEST_TEACHERS = 64, 4
# A file of votes, and what a killed process was about to write.
_OURS = re.compile(r"(\.[0-9a-f]{12}-)?[0-9a-f]{32}-\d{3}\.npy")

AskBlock = Callable[[int, Shards], Int[np.ndarray, "queries classes"]]
"""The votes of some teachers, trained for it: the number of the first of them, and their shards."""


@dataclass(frozen=True)
class VoteBlocks:
    """Private: the votes of blocks of teachers, in files of a folder for one's own eyes only.

    The folder may be one for all processes, or each may have its own. `tell` is told how many blocks of how many are done.
    """

    folder: Path
    processes: Processes = ALONE
    tell: Callable[[int, int], None] | None = None

    def votes(self, run: bytes, shards: Shards, ask: AskBlock) -> Int[np.ndarray, "queries classes"]:
        """Touches private data: the votes of all teachers, the same in every process. `run` is all that they follow from.

        In each round a process does one block that nobody has, and says which it has. So none waits longer than a block takes.
        """
        name = hashlib.sha256(run).digest()
        self._check_alike(name)
        blocks = blocks_of(shards.teachers)
        try:
            check_name(self.folder)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_strangers()
            self.folder.chmod(0o700)  # it may have been there before
        except OSError as error:
            raise InputError(f"cannot make the folder {self.folder}: {error.strerror or error}.") from None
        files = [self.folder / f"{name.hex()[:32]}-{place:03d}.npy" for place in range(len(blocks))]
        mine = np.array([file.exists() for file in files], dtype=np.uint8)
        while True:
            held = self.processes.gather(mine).astype(bool)
            left = np.flatnonzero(~held.any(axis=0))
            if self.tell is not None:
                self.tell(len(blocks) - len(left), len(blocks))
            if not len(left):
                break
            for place in left[self.processes.number :: self.processes.count][:1]:
                first, end = blocks[place]
                some = Shards(shards.index[first:end], shards.rows, shards.idle)
                write_private(files[place], _as_bytes(ask(first, some)))
                mine[place] = 1
        own = np.flatnonzero(np.argmax(held, axis=0) == self.processes.number)
        parts = [_read(files[place]) for place in own]
        # A process without a block does not know how many votes there are: the others tell it.
        shape = self.processes.gather(np.array(parts[0].shape if parts else (0, 0), np.int32)).max(axis=0)
        return self.processes.gather(sum(parts, start=np.zeros(shape, np.int32))).sum(axis=0, dtype=np.int32)

    def _refuse_strangers(self) -> None:
        """Whoever made the release removes this folder: nothing may be in it that is not ours."""
        if strange := sorted(file.name for file in self.folder.iterdir() if not _OURS.fullmatch(file.name)):
            raise InputError(
                f"{self.folder} holds more than votes (it has {strange[0]}), and it would be removed at the end. Move what is in it, "
                "or name another release. Nothing was spent."
            )

    def _check_alike(self, name: bytes) -> None:
        """All processes must be about to do the same, or votes of different tables would be added up."""
        said = self.processes.gather(np.frombuffer(name, dtype=np.uint8))
        for number in np.flatnonzero(np.any(said != said[0], axis=1)):
            raise InputError(
                f"process {number} is not about to do the same as process 0: another table, other public rows, other options or "
                "other versions. Start the same command everywhere, on the same files. Nothing was spent."
            )


def blocks_of(teachers: int) -> list[tuple[int, int]]:
    """The first teacher of each block, and the one after its last."""
    each = max(-(-teachers // _MOST_BLOCKS), _FEWEST_TEACHERS)
    return [(first, min(first + each, teachers)) for first in range(0, teachers, each)]


def _as_bytes(votes: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, votes.astype(np.int32), allow_pickle=False)
    return held.getvalue()


def _read(file: Path) -> np.ndarray:
    try:
        return np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} is damaged ({error}): remove it, and start again.") from None
