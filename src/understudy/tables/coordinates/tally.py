"""Rows to integers: how often each cell occurs, and from that the counts that the gate is given. Private, all of it.

A row adds one to the count of one distinct cell, or to what is missing. Every function here maps distinct cells to cells
of a histogram, each to one, so a row adds one to one cell of each histogram, and a row that is blanked to none. Counts on
the same edges add up: batches can be counted apart. Of persons with several rows a row adds the parts of one that it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from understudy.tables.column import Category
from understudy.tables.coordinates.among import places_among
from understudy.tables.coordinates.cells import (
    Distinct,
    TypedDistinct,
    factorise,
    has_numbers,
    typed_distinct,
    typed_numbers,
)
from understudy.tables.coordinates.few import counted, few_cells
from understudy.tables.coordinates.readings import COUNT, TRUTH_WORDS, Reading, to_index

MOST_CELLS = 1 << 17
"""So many different cells of a column are kept over batches; of more, numbers are counted again in every look."""
# From so many rows on it pays to see whether values can be counted without sorting them; whole numbers up to here are exact.
_MANY_ROWS, _EXACT, _DAY = 1 << 12, 2.0**53, 86_400


@dataclass(frozen=True)
class Ordered:
    """Private. Cells of a kind that has an order, sorted by their places, with running counts; the rest is `absent`.

    Without running counts each cell is one row.
    """

    places: np.ndarray
    running: np.ndarray | None
    absent: int

    def histogram(self, edges: np.ndarray) -> np.ndarray:
        """Counts between the edges, then of what is absent. What lies outside is in the first or last cell."""
        at = np.concatenate([[0], np.searchsorted(self.places, edges[1:-1]), [len(self.places)]])
        below = at if self.running is None else self.running[at]
        return np.append(np.diff(below), self.absent).astype(np.int64)


@dataclass(frozen=True)
class Scattered:
    """Private. As `Ordered`, of cells in any order: for one look sorting them would take longer."""

    places: np.ndarray
    counts: np.ndarray | None
    absent: int

    def histogram(self, edges: np.ndarray) -> np.ndarray:
        at = places_among(edges[1:-1], self.places)
        return np.append(counted(at, self.counts, len(edges) - 1), self.absent)


@dataclass(frozen=True)
class ReadingsOnly:
    """Private. Rows by reading, of a column with more different cells than are kept."""

    counts: np.ndarray

    def readings(self) -> np.ndarray:
        return self.counts

    def __add__(self, other: Tally | ReadingsOnly) -> ReadingsOnly:
        return ReadingsOnly(self.counts + other.readings())


@dataclass(frozen=True)
class Tally:
    """Private. The distinct cells of a column, and how many rows hold each, in parts of which one person has `grid`.

    Where cells are not told `apart` there is one for each row; of a column of numbers these may stand in `rising` order. Tallies of
    batches add up.
    """

    distinct: Distinct
    counts: np.ndarray
    missing: int
    grid: int = 1
    apart: bool = True
    rising: bool = False
    _orders: dict[tuple[str, float, str | None], Ordered | Scattered] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __add__(self, other: Tally | ReadingsOnly) -> Tally | ReadingsOnly:
        if isinstance(other, ReadingsOnly):
            return other + self
        both = self.joined(other)
        return both if len(both.counts) <= MOST_CELLS else ReadingsOnly(both.readings())

    def joined(self, other: Tally) -> Tally:
        """The tally of the rows of both."""
        one, two = self.distinct, other.distinct
        assert type(one) is type(two), "a column is of one type in all batches"
        counts, numbers = np.concatenate([self.counts, other.counts]), np.concatenate([one.numbers, two.numbers])
        missing = self.missing + other.missing
        if isinstance(one, TypedDistinct):
            order = np.argsort(numbers, kind="stable")
            starts = _starts(numbers[order])
            found = TypedDistinct(numbers[order][starts], one.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            return Tally(found, np.add.reduceat(counts[order], starts) if len(starts) else counts, missing, self.grid)
        assert one.labels is not None
        assert two.labels is not None
        places, labels = pd.factorize(np.concatenate([one.labels, two.labels]))
        first = np.zeros(len(labels), dtype=np.int64)
        first[places[::-1]] = np.arange(len(places))[::-1]
        readings = np.concatenate([one.readings, two.readings])[first]
        summed = np.zeros(len(labels), dtype=np.int64)
        np.add.at(summed, places, counts)
        return Tally(Distinct(readings, numbers[first], np.asarray(labels, object)), summed, missing, self.grid)

    def _some(self, which: np.ndarray, missing: int) -> Tally:
        one = self.distinct
        if isinstance(one, TypedDistinct):
            found: Distinct = TypedDistinct(one.numbers[which], one.dtype)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            assert one.labels is not None
            found = Distinct(one.readings[which], one.numbers[which], one.labels[which])
        return Tally(found, self.counts[which], missing, self.grid)

    def in_share(self, share: int, shares: int) -> Tally:
        """The cells that fall into one share of all values; what is missing is in the first."""
        one = self.distinct
        hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
        keys = one.numbers if one.labels is None else one.labels
        mine = hashing.hash_array(keys, categorize=False) % np.uint64(shares) == share
        return self._some(mine, self.missing if share == 0 else 0)

    def of_several(self) -> Tally:
        """The cells that more than one record holds."""
        return self._some(self.repeated, self.missing)

    def readings(self) -> np.ndarray:
        """Rows by reading."""
        weights = self.counts if self.apart or self.grid > 1 else None
        found = counted(self.distinct.readings, weights, COUNT)
        found[Reading.MISSING] += self.missing
        return found

    def ordered(self, kind: str, step: float, format: str | None = None) -> Ordered | Scattered:
        """The cells that fit a kind, on its grid."""
        if (kind, step, format) not in self._orders:
            self._orders[kind, step, format] = self._order(kind, step, format)
        return self._orders[kind, step, format]

    def _order(self, kind: str, step: float, format: str | None) -> Ordered | Scattered:
        numbers = self.distinct.as_kind(kind, format)
        # Numbers of a column of such a type are none of them missing.
        whole = isinstance(self.distinct, TypedDistinct) and numbers is self.distinct.numbers
        fits = slice(None) if whole or not (gone := np.isnan(numbers)).any() else ~gone
        # A moment or duration belongs to the day (hour, minute) in which it lies, a number to the nearest place of its grid.
        places = np.floor(numbers[fits] / step) if kind in ("datetime", "duration") else to_index(numbers[fits], step)
        counts = self.counts[fits]
        absent = self.missing + (0 if isinstance(fits, slice) else int(self.counts[~fits].sum()))
        if self.rising and self.grid == 1:
            return Ordered(places, None, absent)
        if not self.apart:
            return Scattered(places, None if self.grid == 1 else counts, absent)
        if np.any(np.diff(places) < 0):
            order = np.argsort(places, kind="stable")
            places, counts = places[order], counts[order]
        running = np.concatenate([[0], np.cumsum(counts)])
        return Ordered(places, running, absent)

    def truths(self) -> np.ndarray:
        """Rows that say no, that say yes, and the rest."""
        return self.ordered("boolean", 1.0).histogram(np.array([0.0, 1.0, 2.0]))

    def words(self) -> np.ndarray:
        """Rows by the words for no and yes, in the order of `TRUTH_WORDS`, then the rest."""
        return self.listed([word for pair in TRUTH_WORDS for word in pair])

    def listed(self, labels: list[Category]) -> np.ndarray:
        """Rows by category, then by "some other value", then missing."""
        codes = codes_of(self.distinct, labels)
        found = np.bincount(np.where(codes < 0, len(labels), codes), self.counts, len(labels) + 1).astype(np.int64)
        return np.append(found, self.missing)

    @cached_property
    def repeated(self) -> np.ndarray:
        """The distinct cells that more than one record holds: what one alone counts is never above its parts.

        In the order of their values, whatever the order of the rows.
        """
        several = np.flatnonzero(self.counts > self.grid)
        if self.distinct.labels is None:
            return several
        return several[np.argsort(self.distinct.labels[several].astype(str), kind="stable")]


def tally(series: pd.Series, weights: np.ndarray | None = None, grid: int = 1, *, apart: bool = True) -> Tally:
    """Private. Count one column, each row once or by its weight. For a single look numbers need not be told `apart`."""
    if not apart or (few := few_cells(series)) is None:
        return _tally(series, weights, grid, apart=apart)
    held = few.counts(weights)
    there = np.flatnonzero(held)
    return _tally(few.cells.iloc[there], held[there], grid)


def _tally(series: pd.Series, weights: np.ndarray | None, grid: int, *, apart: bool = True) -> Tally:
    dtype = series.dtype
    if has_numbers(dtype):
        values, missing = typed_numbers(series)
        there = values[~missing] if missing.any() else values
        known = None if weights is None else weights[~missing]
        absent = int(missing.sum() if weights is None else weights[missing].sum())
        if not apart:
            ones = np.broadcast_to(np.int64(1), len(there)) if known is None else known
            return Tally(typed_distinct(there + 0.0, dtype), ones, absent, grid, apart=False)
        found, counts = _unique(there, known)
        return Tally(typed_distinct(found, dtype), counts, absent, grid)
    places, distinct = factorise(series)
    counts = np.bincount(places + 1, weights, len(distinct.readings) + 1).astype(np.int64)
    return Tally(distinct, counts[1:], int(counts[0]), grid)


def sorted_numbers(series: pd.Series) -> tuple[np.ndarray, int, object]:
    """Private. The numbers of a column of such a type in rising order, how many are missing, and the type."""
    values, missing = typed_numbers(series)
    absent = int(missing.sum())
    numbers = values[~missing] if absent else values
    numbers.sort()
    return numbers, absent, series.dtype


def tally_sorted(numbers: np.ndarray, absent: int, dtype: object) -> Tally:
    """Private. Rows whose numbers need not be told apart, each counted once: of sorted ones a look searches a few."""
    ones = np.broadcast_to(np.int64(1), len(numbers))
    return Tally(typed_distinct(numbers, dtype), ones, absent, apart=False, rising=True)


def codes_of(distinct: Distinct, labels: list[Category]) -> np.ndarray:
    """The place of each distinct cell among the labels, -1 where it is none of them."""
    if distinct.labels is not None and not _all_numbers(labels):
        return pd.Index([_text(label) for label in labels], dtype=object).get_indexer(pd.Index(distinct.labels))
    known = factorise(pd.Series([_text(label) for label in labels], dtype=object))[1].numbers
    # A label that is no number fits none of them; two that are the same number are found as the first.
    order = np.argsort(known, kind="stable")
    numbers = distinct.numbers if distinct.labels is None else _as_numbers(distinct)
    at = np.minimum(np.searchsorted(known[order], numbers), max(len(known) - 1, 0))
    if len(known) == 0:
        return np.full(len(numbers), -1)
    return np.where(known[order][at] == numbers, order[at], -1)


def _as_numbers(distinct: Distinct) -> np.ndarray:
    """Numbers, and a column's own True and False, which count as 1 and 0; NaN for other text."""
    truths = np.isin(np.asarray(distinct.labels, dtype=str), ["True", "False"])
    return np.where(truths, distinct.numbers, distinct.as_kind("number"))


def _all_numbers(labels: list[Category]) -> bool:
    """Whether cells are compared as numbers, also where they are text: 1.0 is the class 1."""
    return bool(labels) and all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)


def _text(label: Category) -> str:
    """As `Distinct.label` writes it."""
    if isinstance(label, float) and label == np.rint(label):
        return str(int(label))
    return str(label)


def _unique(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if (near := _whole_and_near(values)) is not None:
        places, low, step = near
        counts = np.bincount(places, weights).astype(np.int64)
        found = np.flatnonzero(counts)
        return (found * step + low).astype(np.float64), counts[found]
    order = None if weights is None else np.argsort(values, kind="stable")
    ordered = np.sort(values) if order is None else values[order]
    starts = _starts(ordered)
    ends = np.append(starts, len(ordered))
    if weights is None or order is None:
        return ordered[starts] + 0.0, np.diff(ends)
    return ordered[starts] + 0.0, np.diff(np.append(0, np.cumsum(weights[order]))[ends])


def _whole_and_near(values: np.ndarray) -> tuple[np.ndarray, int, int] | None:
    """Values as small counts from the lowest one, if they are whole numbers, or whole days, that lie near one another."""
    if len(values) < _MANY_ROWS:
        return None
    low, high = float(values.min()), float(values.max())
    for step in (1, _DAY):
        if high - low > (len(values) + _MANY_ROWS) * step or max(abs(low), abs(high)) > _EXACT:
            continue
        whole = values.astype(np.int64)
        if not np.array_equal(whole, values):
            return None
        if step == 1 or not np.any(whole % step):
            first = int(whole.min())
            return (whole - first) // step, first, step
    return None


def _starts(ordered: np.ndarray) -> np.ndarray:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.zeros(0, int)
