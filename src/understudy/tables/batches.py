"""Private rows, in one batch or in many, and what adds up over them.

A look is a function of a batch: it turns rows into whole numbers, each row by itself, so what it says of two batches is the
sum of what it says of each. Whoever holds the rows (a frame in memory, a folder of files, a cluster) reads, batches and adds, and
nothing else: the integers at the gate are the same whatever the batches, and whoever added them. The noise is drawn there, once.

A look may say by name what it `makes` of a batch that later looks ask for too, as a tuple of arrays and small things, and what it
`needs`: of a batch of which all of that was kept no row is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.coordinates.chances import Chances

_Made = TypeVar("_Made")
_Sum = TypeVar("_Sum")


@dataclass(frozen=True)
class Batch:
    """Private: some rows of a table, the parts that each counts (None: every row is a record), and each row's public chances.

    What looks make of the rows on their way is kept as long as the batch is: of rows in memory for the next look.
    """

    frame: pd.DataFrame
    weights: np.ndarray | None = None
    draws: Callable[..., Chances] | None = None
    alone: bool = True
    """Whether these are all rows that there are."""
    passes_on: bool = False
    """Whether what a look `makes` is kept for the next pass over the rows, which are not in memory."""
    kept: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.frame)

    def chances(self, *path: int) -> Chances:
        """Public randomness for each row, from the row's own place or key alone."""
        assert self.draws is not None, "these rows have no chances of their own"
        return self.draws(*path)

    def keep(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """What was made of the rows before by this name, or is made now."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]


@runtime_checkable
class TableRows(Protocol):
    """Private: the rows of a table, wherever they are."""

    @property
    def types(self) -> pd.DataFrame:
        """A frame of which only the names and types of the columns are looked at: it may hold no row."""
        ...

    def total(self, look: Callable[[Batch], _Sum], columns: Sequence[str] | None = None) -> _Sum:
        """The sum of what a look says of every batch. It needs these columns; all, if they are not named."""
        ...

    def forget(self, *names: Hashable) -> None:
        """Let go of what looks have kept by these names."""
        ...


@dataclass(frozen=True)
class HeldRows:
    """Private: rows in memory, as one batch."""

    batch: Batch

    @classmethod
    def of(
        cls, frame: pd.DataFrame, weights: np.ndarray | None = None, draws: Callable[..., Chances] | None = None
    ) -> HeldRows:
        return cls(Batch(frame, weights, draws))

    @property
    def types(self) -> pd.DataFrame:
        return self.batch.frame

    def total(self, look: Callable[[Batch], _Sum], columns: Sequence[str] | None = None) -> _Sum:
        del columns
        return look(self.batch)

    def forget(self, *names: Hashable) -> None:
        for name in names:
            self.batch.kept.pop(name, None)


def summed(sums: Iterable[Any]) -> Any:
    """The sum of them all, each let go of once it is added; None where there is none."""
    total = None
    for number, one in enumerate(sums):
        total = one if number == 0 else added(total, one)
    return total


def added(one: Any, other: Any) -> Any:
    """Two sums as one: whole numbers and arrays of them, what knows how to add itself, and mappings and lists of such things."""
    if isinstance(one, Mapping):
        assert one.keys() == other.keys(), "looks at two batches must say the same things"
        return {name: added(one[name], other[name]) for name in one}
    if isinstance(one, list | tuple):
        return type(one)(added(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        assert np.issubdtype(one.dtype, np.integer), "sums of floating point would depend on their order"
        assert one.dtype == other.dtype
        assert one.shape == other.shape
    return one + other
