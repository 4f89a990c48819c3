"""Columns of a table, counted over its batches: once where the different cells are few or all in one batch, else for every look.

What the gate is given is a sum over rows either way, and the same whole numbers. Only the values that nobody declared need all
of a column's different cells at once: where these are too many they are counted in several shares of the values, one after the
other, and of each share those are kept that more than one record holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pandas as pd

from understudy._parallel import cores
from understudy.privacy.persons import check_weights
from understudy.tables.batches import Batch, TableRows
from understudy.tables.coordinates.cells import has_numbers
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.looks import Look, OpenLook, TargetLook
from understudy.tables.coordinates.readings import COUNT
from understudy.tables.coordinates.tally import ReadingsOnly, Tally, sorted_numbers, tally, tally_sorted
from understudy.tables.io import column_of

# Shares of the values that are counted one after the other, where all of them are too many; four times as many if these are.
_SHARES = 4
# A column is taken to have too many different numbers where nearly all of so many do differ.
_SAMPLE, _DIFFER = 4096, 0.9
_Made = TypeVar("_Made")
NUMBERS = "numbers"
"""With the name of a column: the name by which its numbers are kept, sorted, from one look to the next."""


@dataclass
class Tallies:
    """Private. `found` is what the first pass counted: whole tallies, or readings alone of columns with too many different cells."""

    rows: TableRows
    names: list[str]
    grid: int
    found: list[Tally | ReadingsOnly]
    _repeated: dict[int, Tally] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: TableRows, known: Sequence[Known], grid: int = 1) -> Tallies:
        """Touches private data: one pass over these columns."""
        names = [column.name for column in known]
        asked = tuple(column.asks for column in known)
        return cls(rows, names, grid, rows.total(FirstPass(tuple(names), asked, grid), names))

    def counts(self, looks: Mapping[int, Look]) -> list[np.ndarray]:
        """Private. The next counts of these columns; one pass over those that are not counted whole."""
        known: dict[int, Tally] = {}
        again: dict[int, Look] = {}
        for place, look in looks.items():
            whole = self.found[place]
            if isinstance(whole, Tally):
                known[place] = whole
            elif _is_open(look):
                known[place] = self._open(place)
            else:
                again[place] = look
        found = {place: looks[place].counts(whole) for place, whole in known.items()}
        if again:
            names = {place: self.names[place] for place in again}
            found |= self.rows.total(NextPass(names, again, self.grid), list(names.values()))
        return [found[place] for place in looks]

    def forget(self) -> None:
        """Let go of what was kept for the next counts."""
        self.rows.forget(*((NUMBERS, name) for name in self.names))

    def _open(self, place: int) -> Tally:
        """Private. The cells of a column that more than one record holds, however many different ones there are."""
        shares = _SHARES
        while place not in self._repeated:
            parts: list[Tally] = []
            for share in range(shares):
                part = self.rows.total(OneShare(self.names[place], share, shares, self.grid), [self.names[place]])
                if not isinstance(part, Tally):
                    break
                parts.append(part.of_several())
            if len(parts) == shares:
                whole = parts[0]
                for part in parts[1:]:
                    whole = whole.joined(part)
                self._repeated[place] = whole
            shares *= 4
        return self._repeated[place]


def _is_open(look: Look) -> bool:
    return isinstance(look, OpenLook) or (isinstance(look, TargetLook) and isinstance(look.now, OpenLook))


@dataclass(frozen=True)
class FirstPass:
    """A look at all cells of some columns. `asked`: whose readings count."""

    names: tuple[str, ...]
    asked: tuple[bool, ...]
    grid: int

    @property
    def makes(self) -> tuple[Hashable, ...]:
        return tuple((NUMBERS, name) for name in self.names)

    def __call__(self, batch: Batch) -> list[Tally | ReadingsOnly]:
        check_weights(batch.weights, len(batch), self.grid)
        return _mapped(lambda place: self._column(batch, place), range(len(self.names)), batch)

    def _column(self, batch: Batch, place: int) -> Tally | ReadingsOnly:
        series = column_of(batch.frame, self.names[place])
        if not _many(series):
            return tally(series, batch.weights, self.grid)
        # For a few looks so many need not be told apart.
        if not (self.asked[place] or batch.passes_on):
            return ReadingsOnly(np.zeros(COUNT, np.int64))
        every = _scattered(batch, self.names[place], self.grid)
        return ReadingsOnly(every.readings() if self.asked[place] else np.zeros(COUNT, np.int64))


def _many(series: pd.Series) -> bool:
    """Whether nearly all numbers of a column differ, by a few of them. It decides how they are counted, and no count."""
    if not has_numbers(series.dtype) or len(series) < _SAMPLE:
        return False
    few = series.iloc[:: len(series) // _SAMPLE].dropna()
    return len(few) > _SAMPLE // 2 and few.nunique() > _DIFFER * len(few)


@dataclass(frozen=True)
class NextPass:
    """A look at columns whose different cells are too many to be kept: what each counts next."""

    names: Mapping[int, str]
    looks: Mapping[int, Look]
    grid: int

    @property
    def makes(self) -> tuple[Hashable, ...]:
        return tuple((NUMBERS, name) for name in self.names.values())

    @property
    def needs(self) -> tuple[Hashable, ...]:
        return self.makes

    def __call__(self, batch: Batch) -> dict[int, np.ndarray]:
        def counts(place: int) -> np.ndarray:
            return self.looks[place].counts(_scattered(batch, self.names[place], self.grid))

        return dict(zip(self.looks, _mapped(counts, list(self.looks), batch), strict=True))


@dataclass(frozen=True)
class OneShare:
    """A look at those cells of a column that fall into one share of all values."""

    name: str
    share: int
    shares: int
    grid: int

    def __call__(self, batch: Batch) -> Tally | ReadingsOnly:
        return tally(column_of(batch.frame, self.name), batch.weights, self.grid).in_share(self.share, self.shares)


def _scattered(batch: Batch, name: str, grid: int) -> Tally:
    """Private. A column's cells, not told apart: for one look, or sorted for several where passes leave numbers for the next ones."""
    kept = (NUMBERS, name)
    if kept not in batch.kept:
        series = column_of(batch.frame, name)
        if batch.weights is not None or not batch.passes_on or not has_numbers(series.dtype):
            return tally(series, batch.weights, grid, apart=False)
    return tally_sorted(*batch.keep(kept, lambda: sorted_numbers(column_of(batch.frame, name))))


def _mapped(function: Callable[[int], _Made], places: Sequence[int], batch: Batch) -> list[_Made]:
    """For each column. NumPy sorts while Python's lock is free: the cores share the columns, where they do not share batches."""
    if not batch.alone or cores() == 1:
        return [function(place) for place in places]
    with ThreadPoolExecutor(max(1, min(cores(), len(places)))) as pool:
        return list(pool.map(function, places))
