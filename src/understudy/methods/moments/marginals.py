"""Private marginals of numeric columns: trees of noisy counts that refine themselves where the rows are.

The scale of a column decides how much of it survives the noise, and the schema's bounds say little about it: they may be
a hundred times wider than the values. A tree finds the scale for a small share of the budget. Each level splits the
intervals that still hold many rows into four; an interval that is sparse, or that drowns in the noise, stays whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.privacy import Budget, GaussianCounts

FINEST = 4**7
"""Cells of a column that is not counted value by value: a wide range in steps of one part in sixteen thousand."""
BRANCHES = 4


@dataclass(frozen=True)
class Marginal:
    """Public once paid for: intervals of whole-number cells, `edges[i]` up to but not including `edges[i + 1]`."""

    edges: np.ndarray
    mass: np.ndarray
    cells: int

    @classmethod
    def even(cls, cells: int) -> Marginal:
        """All cells alike: what is known without a look."""
        parts = min(cells, 64)
        return cls(np.arange(parts + 1) * cells // parts, np.full(parts, 1 / parts), cells)

    def bins(self, number: int) -> np.ndarray:
        """Edges of about `number` bins of equal mass; an interval heavier than that is a bin by itself."""
        heavy = self.mass > 1 / number
        target = max(float(self.mass[~heavy].sum()), 1e-12) / number
        chosen = [int(self.edges[0])]
        filled = 0.0
        for place, mass in enumerate(self.mass):
            if heavy[place]:
                chosen += [int(self.edges[place]), int(self.edges[place + 1])]
                filled = 0.0
                continue
            filled += float(mass)
            if filled >= target * (1 - 1e-9):
                chosen.append(int(self.edges[place + 1]))
                filled = 0.0
        return np.unique([*chosen, int(self.edges[-1])])

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Cells (fractional) below which so much of the mass lies."""
        known = np.concatenate([[0.0], np.cumsum(self.mass)])
        return np.interp(levels, known / known[-1], self.edges)

    def draw(self, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Fractional cells between edges `low` and `high`, spread as the mass is."""
        known = np.concatenate([[0.0], np.cumsum(self.mass + 1e-9 * np.diff(self.edges))])
        at = np.interp(np.stack([low, high]), self.edges, known)
        return np.interp(at[0] + rng.random(len(low)) * (at[1] - at[0]), known, self.edges)

    def exact(self, cells: np.ndarray) -> np.ndarray:
        """Fractional cells, where those in an interval of a single cell are all the same: its middle, or the bound.

        Such an interval is most often one value that many rows share, a zero for instance. Spread over the cell, it
        would give a tree places to split where the table has none.
        """
        at = np.clip(np.searchsorted(self.edges, cells, side="right") - 1, 0, len(self.mass) - 1)
        low = self.edges[at]
        value = np.where(low == 0, 0.0, np.where(low == self.cells - 1, float(self.cells), low + 0.5))
        return np.where(np.diff(self.edges)[at] == 1, value, cells)


def to_arrays(marginals: list[Marginal]) -> dict[str, np.ndarray]:
    """What a bundle keeps of marginals, one after the other."""
    return {
        "edges": np.concatenate([np.zeros(0, np.int64), *(m.edges for m in marginals)]),
        "mass": np.concatenate([np.zeros(0), *(m.mass for m in marginals)]),
        "intervals": np.array([len(m.mass) for m in marginals], dtype=np.int64),
    }


def from_arrays(arrays: Mapping[str, np.ndarray], cells: Sequence[int]) -> list[Marginal]:
    """The marginals that `to_arrays` wrote."""
    marginals: list[Marginal] = []
    start = edge = 0
    for count, size in zip(arrays["intervals"].tolist(), cells, strict=False):
        edges = arrays["edges"][edge : edge + count + 1]
        marginals.append(Marginal(edges, arrays["mass"][start : start + count], size))
        start, edge = start + count, edge + count + 1
    return marginals


def levels_of(cells: int) -> int:
    """How many levels it takes to tell so many cells apart."""
    return max(1, math.ceil(math.log(max(cells, 2), BRANCHES) - 1e-9))


def grow(values: np.ndarray, cells: list[int], sigma: float, rows: int, budget: Budget) -> list[Marginal]:
    """Touches private data: `values` (rows x columns, whole cells; -1 is missing and counted nowhere).

    Every level of every column counts a row at most once, so a level of c columns is `c` moved cells at `sigma`. Which
    intervals are split depends on noisy counts of the levels before, and on nothing else that is private.
    """
    columns = len(cells)
    ordered = [np.sort(values[values[:, j] >= 0, j]) for j in range(columns)]
    edges = [np.array([0, size]) for size in cells]
    mass = [np.array([math.inf]) for _ in cells]
    for level in range(max((levels_of(size) for size in cells), default=0)):
        active = [j for j in range(columns) if level < levels_of(cells[j])]
        plans = [_split(edges[j], mass[j], sigma, rows) for j in active]
        counts = [_count(ordered[j], plan) for j, plan in zip(active, plans, strict=True)]
        # The cell at the end is always there: whether anything is split must not decide whether there is a release.
        exact = np.concatenate([*counts, [0]]).astype(np.int64)
        noisy = GaussianCounts(sigma / math.sqrt(len(active)), len(active)).release(exact, budget)
        start = 0
        for j, plan, count in zip(active, plans, counts, strict=True):
            edges[j], mass[j] = _refine(edges[j], mass[j], plan, noisy[start : start + len(count)].astype(np.float64))
            start += len(count)
    # A column of one value was never split.
    whole = [np.where(np.isfinite(m), m, 1.0) for m in mass]
    return [Marginal(e, m / m.sum(), size) for e, m, size in zip(edges, whole, cells, strict=True)]


@dataclass(frozen=True)
class _Plan:
    """Which intervals are split, and the edges of their children (parents x BRANCHES + 1)."""

    parents: np.ndarray
    children: np.ndarray


def _split(edges: np.ndarray, mass: np.ndarray, sigma: float, rows: int) -> _Plan:
    # Four children of a parent below this would be mostly noise; above 1/64 of the rows a finer look pays.
    worth = (mass > max(6 * sigma, rows / 64)) & (np.diff(edges) > 1)
    parents = np.flatnonzero(worth)
    width = np.diff(edges)[parents]
    steps = np.arange(BRANCHES + 1)[None, :] * width[:, None] // BRANCHES
    return _Plan(parents, edges[parents][:, None] + steps)


def _count(ordered: np.ndarray, plan: _Plan) -> np.ndarray:
    """Private. Rows in each child of the intervals that are split, from the column's sorted cells."""
    if len(plan.parents) == 0:
        return np.zeros(0, dtype=np.int64)
    below = np.searchsorted(ordered, plan.children)
    return np.diff(below, axis=1).ravel()


def _refine(edges: np.ndarray, mass: np.ndarray, plan: _Plan, noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Children take the place of their parents; they are made to sum to the parent, none below zero."""
    new_edges, new_mass = list(edges[:-1]), list(mass)
    shares = noisy.reshape(-1, BRANCHES)
    for place in range(len(plan.parents) - 1, -1, -1):
        parent, children = int(plan.parents[place]), plan.children[place]
        # The sum of four noisy counts has four times the variance of the parent's; the root was never counted.
        summed = shares[place].sum()
        total = (4 * mass[parent] + summed) / 5 if math.isfinite(mass[parent]) else summed
        counts = _simplex(shares[place], total)
        keep = np.diff(children) > 0
        new_edges[parent : parent + 1] = [int(edge) for edge in children[:-1][keep]]
        new_mass[parent : parent + 1] = [float(count) for count in counts[keep]]
    return np.array([*new_edges, int(edges[-1])]), np.array(new_mass)


def _simplex(counts: np.ndarray, total: float) -> np.ndarray:
    """The nearest counts that are not negative and sum to `total`."""
    total = max(total, 1e-9)
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = np.flatnonzero(ordered - excess > 0)[-1]
    return np.maximum(counts - excess[last], 0.0)
