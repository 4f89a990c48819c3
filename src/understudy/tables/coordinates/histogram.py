"""Nested noisy histograms of one column, put together: the finest one, corrected by all that were counted before it.

Each round counts every row in exactly one cell of a partition, and a partition refines the one before. The estimate is
that of least squares over all rounds (Hay and others 2010, for trees of uneven branches), with the number of rows, which
is public, at the root. Sees released numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Level:
    """Public once paid for. Noisy counts between `edges`, and of what is missing; `variance` is that of the noise."""

    edges: np.ndarray
    counts: np.ndarray
    variance: np.ndarray
    missing: float
    missing_variance: float

    @classmethod
    def of(cls, edges: np.ndarray, noisy: np.ndarray, sigma: float) -> Level:
        """Counts as a round gives them: the cells, then what is missing."""
        counts = noisy.astype(np.float64)
        return cls(edges, counts[:-1], np.full(len(edges) - 1, sigma**2), float(counts[-1]), sigma**2)

    def within(self, edges: np.ndarray) -> Level:
        """The same counts on coarser or fewer edges: cells between two of them are added up, cells outside dropped."""
        starts = np.searchsorted(self.edges, edges)
        totals = np.concatenate([[0.0], np.cumsum(self.counts)])[starts]
        spread = np.concatenate([[0.0], np.cumsum(self.variance)])[starts]
        return Level(edges, np.diff(totals), np.diff(spread), self.missing, self.missing_variance)


@dataclass(frozen=True)
class Estimate:
    """Public. Counts and their variances on the finest edges."""

    edges: np.ndarray
    counts: np.ndarray
    variance: np.ndarray
    missing: float
    missing_variance: float

    @property
    def deviations(self) -> np.ndarray:
        return np.sqrt(self.variance)


def estimate(levels: list[Level], rows: int, *, shrink: bool = True) -> Estimate:
    """The counts of the last level that agree best with all levels and sum to the number of rows.

    With `shrink`, cells of one parent are drawn towards an even spread over it as far as their differences are noise
    (James and Stein 1961): what drowns is even.
    """
    parents = [_parents(coarse.edges, fine.edges) for coarse, fine in pairwise(levels)]
    counts, variance = [levels[-1].counts], [levels[-1].variance]
    missing, missing_variance = levels[-1].missing, levels[-1].missing_variance
    for level, parent in zip(levels[-2::-1], parents[::-1], strict=True):
        size = len(level.counts)
        summed = np.bincount(parent, counts[0], size)
        spread = np.bincount(parent, variance[0], size)
        weight = spread / (spread + level.variance)
        counts.insert(0, weight * level.counts + (1 - weight) * summed)
        variance.insert(0, weight * level.variance)
        w = missing_variance / (missing_variance + level.missing_variance)
        missing = w * level.missing + (1 - w) * missing
        missing_variance = w * level.missing_variance
    total = variance[0].sum() + missing_variance
    excess = rows - counts[0].sum() - missing
    found, spread = counts[0] + excess * variance[0] / total, variance[0]
    missing += excess * missing_variance / total
    for parent, fine, counted, noisy in zip(parents, levels[1:], counts[1:], variance[1:], strict=True):
        size = len(found)
        share = noisy / np.bincount(parent, noisy, size)[parent]
        raw = counted + share * (found - np.bincount(parent, counted, size))[parent]
        found = _shrunk(raw, noisy, parent, found, np.diff(fine.edges)) if shrink else raw
        spread = noisy * (1 - share) + share**2 * spread[parent]
    return Estimate(levels[-1].edges, found, spread, float(missing), float(missing_variance))


def proportions(found: Estimate, rows: int, *, missing_allowed: bool) -> tuple[np.ndarray, float]:
    """Shares of the cells and of what is missing, none below zero, that sum to one.

    A missing share below two deviations of its noise is none: it would be a state that no row may have.
    """
    missing = found.missing if missing_allowed and found.missing > 2 * np.sqrt(found.missing_variance) else 0.0
    missing = min(missing, float(rows))
    there = simplex(found.counts, max(rows - missing, 1e-9))
    whole = there.sum() + missing
    return there / whole, float(missing / whole)


def simplex(counts: np.ndarray, total: float) -> np.ndarray:
    """The nearest counts that are not negative and sum to `total`."""
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(ordered - excess > 0)[-1]
    return np.maximum(counts - excess[last], 0.0)


def refine(
    found: Estimate, rows: int, bins: int, sigma: float, *, whole: bool, tiny: float, outer: int, heap: int = 0
) -> np.ndarray:
    """Finer edges: a cell that holds more than its part of `bins`, and stands out, is cut into even parts.

    On a grid (`whole`) a cell of one value stays; without one, so does the one that is zero (`tiny`). So do `outer` cells
    on each side. A multiple of `heap` gets a cell of its own wherever a cell with few of them is cut.
    """
    part = max(rows / bins, 1e-9)
    width = np.diff(found.edges)
    inside = found.edges[len(width) - outer] - found.edges[outer]
    parts = np.where(found.counts > np.maximum(1.5 * part, 3 * sigma), np.ceil(found.counts / part), 1)
    # A wide cell, as of a long tail, is worth a closer look with fewer rows, if they stand out.
    parts = np.where(width > inside / 8, np.maximum(parts, np.minimum(found.counts // (3 * sigma), 4)), parts)
    parts[width <= (1.0 if whole else 2 * tiny * (1 + 1e-9))] = 1
    parts[:outer] = parts[len(parts) - outer :] = 1
    pieces = [np.asarray(found.edges, dtype=np.float64)]
    for place in np.flatnonzero(parts > 1):
        low, high, number = found.edges[place], found.edges[place + 1], int(min(parts[place], bins))
        if whole:
            each = np.ceil((high - low) / number)
            pieces.append(np.arange(low + each, high, each))
            round_ones = np.arange(np.ceil(low / heap) * heap, high, heap) if heap > 1 else pieces[0][:0]
            if len(round_ones) <= max(bins // 4, 1):
                pieces += [round_ones, round_ones + 1]
        else:
            pieces.append(np.linspace(low, high, number + 1)[1:-1])
    return np.unique(np.concatenate(pieces))


def _parents(coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
    return np.searchsorted(coarse, fine[:-1], side="right") - 1


def _shrunk(
    raw: np.ndarray, variance: np.ndarray, parent: np.ndarray, totals: np.ndarray, width: np.ndarray
) -> np.ndarray:
    size = len(totals)
    number = np.bincount(parent, minlength=size)
    even = totals[parent] * width / np.bincount(parent, width, size)[parent]
    off = raw - even
    # The parent's total is fixed, which takes one degree of freedom; below three there is nothing to gain.
    unlike = np.bincount(parent, off**2 / variance, size)
    keep = np.clip(1 - (number - 3) / np.maximum(unlike, 1e-12), 0.0, 1.0)
    return even + np.where(number > 3, keep, 1.0)[parent] * off
