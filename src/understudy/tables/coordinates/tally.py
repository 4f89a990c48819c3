"""Rows to integers: how often each cell occurs, and from that the counts that the gate is given. Private, all of it.

A row adds one to the count of one distinct cell, or to what is missing. Every function here maps distinct cells to cells
of a histogram, each to one, so a row adds one to one cell of each histogram, and a row that is blanked to none. Counts on
the same edges add up: batches can be counted apart. Of persons with several rows a row adds the parts of one that it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from understudy.tables.column import Category
from understudy.tables.coordinates.cells import Distinct, factorise, has_numbers, typed_distinct, typed_numbers
from understudy.tables.coordinates.readings import COUNT, TRUTH_WORDS, Reading, to_index


@dataclass(frozen=True)
class Ordered:
    """Private. Cells of a kind that has an order, sorted by their places, with running counts; the rest is `absent`."""

    places: np.ndarray
    running: np.ndarray
    absent: int

    def histogram(self, edges: np.ndarray) -> np.ndarray:
        """Counts between the edges, then of what is absent. What lies outside is in the first or last cell."""
        at = np.searchsorted(self.places, edges[1:-1])
        below = np.concatenate([[0], self.running[at], [self.running[-1]]])
        return np.append(np.diff(below), self.absent).astype(np.int64)


@dataclass(frozen=True)
class Tally:
    """Private. The distinct cells of a column, and how many rows hold each, in parts of which one person has `grid`."""

    distinct: Distinct
    counts: np.ndarray
    missing: int
    grid: int = 1
    _orders: dict[tuple[str, float, str | None], Ordered] = field(default_factory=dict, repr=False, compare=False)

    def readings(self) -> np.ndarray:
        """Rows by reading."""
        found = np.bincount(self.distinct.readings, self.counts, COUNT).astype(np.int64)
        found[Reading.MISSING] += self.missing
        return found

    def ordered(self, kind: str, step: float, format: str | None = None) -> Ordered:
        """The cells that fit a kind, on its grid."""
        if (kind, step, format) not in self._orders:
            self._orders[kind, step, format] = self._order(kind, step, format)
        return self._orders[kind, step, format]

    def _order(self, kind: str, step: float, format: str | None) -> Ordered:
        numbers = self.distinct.as_kind(kind, format)
        fits = ~np.isnan(numbers)
        # A moment or duration belongs to the day (hour, minute) in which it lies, a number to the nearest place of its grid.
        places = np.floor(numbers[fits] / step) if kind in ("datetime", "duration") else to_index(numbers[fits], step)
        counts = self.counts[fits]
        if np.any(np.diff(places) < 0):
            order = np.argsort(places, kind="stable")
            places, counts = places[order], counts[order]
        running = np.concatenate([[0], np.cumsum(counts)])
        return Ordered(places, running, self.missing + int(self.counts[~fits].sum()))

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
        """The distinct cells that more than one record holds: what one alone counts is never above its parts."""
        return np.flatnonzero(self.counts > self.grid)


def tally(series: pd.Series, weights: np.ndarray | None = None, grid: int = 1) -> Tally:
    """Private. Count one column, each row once or by its weight."""
    dtype = series.dtype
    if has_numbers(dtype):
        values, missing = typed_numbers(series)
        known = None if weights is None else weights[~missing]
        found, counts = _unique(values[~missing] if missing.any() else values, known)
        absent = missing.sum() if weights is None else weights[missing].sum()
        return Tally(typed_distinct(found, dtype), counts, int(absent), grid)
    places, distinct = factorise(series)
    counts = np.bincount(places + 1, weights, len(distinct.readings) + 1).astype(np.int64)
    return Tally(distinct, counts[1:], int(counts[0]), grid)


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
    order = None if weights is None else np.argsort(values, kind="stable")
    ordered = np.sort(values) if order is None else values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.zeros(0, int)
    ends = np.append(starts, len(ordered))
    if weights is None or order is None:
        return ordered[starts] + 0.0, np.diff(ends)
    return ordered[starts] + 0.0, np.diff(np.append(0, np.cumsum(weights[order]))[ends])
