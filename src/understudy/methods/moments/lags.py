"""How alike a person's row and the next one are, column by column: one look.

Two rows of a person that follow one another are alike in a column where both lie in the same half of it, or have the same
category. For each column that changes, the pairs that are alike and those that are not are counted. A person's pairs together
count for one, as rows do, so a person moves the two counts of a column by a vector of norm at most one: what `GaussianCounts`
charges for so many columns. What is alike by chance, and through what belongs to the person, the model knows already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.methods.moments.cell_rows import all_cells
from understudy.methods.moments.plan import multiplier
from understudy.privacy import GaussianCounts
from understudy.privacy.persons import person_weights
from understudy.release.intake import Intake
from understudy.tables.coordinates import Coordinates, Described
from understudy.tables.visits import Visits, pairs

SHARE = 0.1
"""The part of the precision that this look takes."""


@dataclass(frozen=True)
class Lags:
    """Public: for each column that changes, the noisy counts of pairs that are alike and of those that are not."""

    names: tuple[str, ...]
    counts: np.ndarray
    sigma: float

    @property
    def alike(self) -> np.ndarray:
        """The share of pairs that are alike in each column, those that drown pulled towards what columns have in common.

        The pull is that of James and Stein (1961).
        """
        total = np.maximum(self.counts.sum(axis=1), 1.0)
        middle = float(self.counts[:, 0].sum() / total.sum())
        share = np.clip(self.counts[:, 0] / total, 0.0, 1.0)
        noise = self.sigma * np.sqrt(share**2 + (1 - share) ** 2) / total
        away = share - middle
        trust = (noise**2 + 1e-4) ** -2.0  # a column that hardly has a pair says nothing of how columns differ
        signal = max(float(trust @ (away**2 - noise**2) / trust.sum()), 0.0) if len(trust) else 0.0
        return np.clip(middle + away * signal / np.maximum(signal + noise**2, 1e-300), 0.0, 1.0)


def changing(visits: Visits, coordinates: Coordinates) -> list[int]:
    """The places of the columns that change from row to row, and could be learnt."""
    return [
        at
        for at, column in enumerate(coordinates)
        if visits.changes(column.name) and not column.empty and not column.target
    ]


def _middle(column: Described) -> tuple[float, float]:
    """Where a column with an order is cut in two, and the share of the values below: by its released spread."""
    inside, below = np.array(column.edges)[1:-1], np.cumsum(column.mass)[:-1]
    if not len(inside):
        return float(column.edges[0]), 0.0
    at = int(np.argmin(np.abs(below - 0.5)))
    return float(inside[at]), float(below[at])


def by_chance(column: Described) -> float | None:
    """How often two values of a column are alike if they have nothing to do with each other; None where nothing was released of it."""
    if not column.ordered or not column.found:
        return None
    below = _middle(column)[1]
    return below**2 + (1 - below) ** 2


def halves(column: Described, cells: np.ndarray) -> np.ndarray:
    """As private as the cells. In which part of a column each lies: the lower or upper half, or a category; NaN where it is missing."""
    return np.where(np.isnan(cells), np.nan, cells >= _middle(column)[0]) if column.ordered else cells


def alike(cells: np.ndarray, columns: list[Described], before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """As private as the cells. For each pair and column 1 where they are alike, 0 where not, NaN where one is missing."""
    found = np.empty((len(before), len(columns)))
    for at, column in enumerate(columns):
        half = halves(column, cells[:, at])
        there = ~(np.isnan(half[before]) | np.isnan(half[after]))
        found[:, at] = np.where(there, half[before] == half[after], np.nan)
    return found


def look_back(rows: Intake, coordinates: Coordinates) -> Lags:
    """Touches private data: the noisy counts of alike and other pairs, charged to the budget. Safe to publish."""
    assert rows.visits is not None
    assert rows.persons is not None
    places = changing(rows.visits, coordinates)
    columns = [coordinates.columns[at] for at in places]
    cells = rows.table.total(
        lambda batch: all_cells(batch, coordinates)
    )  # in one batch: a person's rows stand in their order
    before, after = pairs(rows.persons.owner)
    weights = person_weights(rows.persons.owner[before], rows.grid)
    same = alike(cells[:, places], columns, before, after)
    exact = np.stack([weights @ (same == 1), weights @ (same == 0)], axis=1).astype(np.int64)
    noise = multiplier(rows.budget.epsilon, rows.budget.delta) / math.sqrt(SHARE)
    released = GaussianCounts(noise, max(len(places), 1), rows.grid).release(np.append(exact.ravel(), 0), rows.budget)
    counts = np.maximum(released[:-1].reshape(-1, 2).astype(np.float64), 0.0)
    return Lags(tuple(column.name for column in columns), counts, noise * math.sqrt(max(len(places), 1)))
