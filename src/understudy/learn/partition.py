"""Which teacher owns which row: fixed before training, from row positions alone.

The privacy of a vote rests on this file. One row may change one teacher and thereby one vote; it follows that no row
may belong to two teachers, and that a row's values may never decide where any row goes.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, UInt

from understudy.errors import InputError


@dataclass(frozen=True, eq=False)
class Shards:
    """A disjoint assignment of row positions to teachers, as one rectangle.

    `index[t, s]` is the row in slot `s` of teacher `t`. Shards may differ in size, so unused slots hold the number
    `rows`, which is the position of no row: a use of one that forgets the mask fails instead of reading another
    teacher's row. An assignment in which two teachers share a row cannot be constructed.
    """

    index: Int[np.ndarray, "teachers width"]
    rows: int
    idle: bool = False
    """Whether a teacher may have no rows: where chance deals, one may be left with none."""

    def __post_init__(self) -> None:
        index = np.array(self.index, dtype=np.int64)
        if index.ndim != 2 or index.size == 0:
            raise InputError(
                f"`index` must have the shape (teachers, width) with at least one of each, not {index.shape}. "
                "Use `shards(...)` to make one."
            )
        outside = np.argwhere((index < 0) | (index > self.rows))
        if outside.size:
            teacher, slot = outside[0]
            raise InputError(
                f"Teacher {teacher} holds position {index[teacher, slot]} in slot {slot}, but the table has "
                f"{self.rows} rows. Give positions from 0 to {self.rows - 1}, and {self.rows} for an empty slot."
            )
        uses = np.bincount(index[index < self.rows], minlength=self.rows)
        if np.any(uses > 1):
            row = int(np.argmax(uses > 1))
            holders = np.argwhere(index == row)[:, 0].tolist()
            raise InputError(
                f"Row {row} is in {uses[row]} slots (teachers {holders}). Every row must belong to one teacher at "
                "most, once: otherwise a single row moves more than one vote."
            )
        if not self.idle and not np.all((index < self.rows).any(axis=1)):
            idle = int(np.argmin((index < self.rows).any(axis=1)))
            raise InputError(f"Teacher {idle} has no rows. Give every teacher at least one, or leave the teacher out.")
        index.setflags(write=False)
        object.__setattr__(self, "index", index)

    @property
    def teachers(self) -> int:
        return self.index.shape[0]

    @property
    def width(self) -> int:
        """Slots of the largest shard."""
        return self.index.shape[1]

    @property
    def mask(self) -> Bool[np.ndarray, "teachers width"]:
        """True where a slot holds a row."""
        return self.index < self.rows

    @property
    def sizes(self) -> Int[np.ndarray, " teachers"]:
        return self.mask.sum(axis=1)

    def of(self, teacher: int) -> Int[np.ndarray, " size"]:
        """The row positions of one teacher."""
        held = self.index[teacher]
        return held[held < self.rows]

    def owner(self) -> Int[np.ndarray, " rows"]:
        """The teacher of every row, or -1 for a row that no teacher holds."""
        owner = np.full(self.rows, -1, dtype=np.int64)
        teacher, slot = np.nonzero(self.mask)
        owner[self.index[teacher, slot]] = teacher
        return owner


def shards(n_rows: int, teachers: int, *, seed: int) -> Shards:
    """Deal the row positions 0 … n_rows−1 to teachers, as evenly as possible.

    Nothing but the public number of rows, the number of teachers and the seed goes in, so no value of any row can move
    a row: blanking or editing one leaves the assignment as it was. Sizes differ by at most one.
    """
    if teachers < 1:
        raise InputError(f"`teachers` (={teachers}) must be at least 1.")
    if n_rows < teachers:
        raise InputError(
            f"There are fewer rows ({n_rows}) than teachers ({teachers}), and every teacher needs a row of its own. "
            f"Use at most {n_rows} teachers, or more rows."
        )
    if seed < 0:
        raise InputError(f"`seed` (={seed}) must be zero or a positive number.")
    width = -(-n_rows // teachers)
    dealt = np.full(width * teachers, n_rows, dtype=np.int64)
    dealt[:n_rows] = np.random.default_rng(seed).permutation(n_rows)
    return Shards(index=dealt.reshape(width, teachers).T, rows=n_rows)


def shards_by_key(keys: UInt[np.ndarray, " groups"], each: int, teachers: int) -> Shards:
    """Deal groups of `each` row positions, one after the other, whole: each to the teacher that its own key says.

    A group's key depends on nothing but the group's name, so no other group moves it: not even one that comes or goes.
    """
    if teachers < 1:
        raise InputError(f"`teachers` (={teachers}) must be at least 1.")
    owner = (keys % np.uint64(teachers)).astype(np.int64)
    held = [np.flatnonzero(owner == teacher) for teacher in range(teachers)]
    index = np.full((teachers, max(*map(len, held), 1) * each), len(keys) * each, dtype=np.int64)
    for teacher, groups in enumerate(held):
        index[teacher, : len(groups) * each] = (groups[:, None] * each + np.arange(each)).ravel()
    return Shards(index=index, rows=len(keys) * each, idle=True)
