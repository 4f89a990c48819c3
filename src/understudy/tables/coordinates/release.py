"""The private looks at a table that its coordinates are made of. Everything leaves through the gate.

The guarantee. Neighbours are two tables of the same public number of rows, of which one row is blanked: it is counted in no
cell, not even as missing. Which columns there are, what is declared of them and how much noise each count gets (the `Plan`)
is fixed before any row is seen.

1. *Readings*, for the columns whose kind or grid is not known: each cell of a row is counted under exactly one reading,
   found from that cell alone, so a row moves at most one count by one in each asked column.
2. *Spread*, in rounds: in each round a column's cells are a partition of its values (with what is missing, or does not
   fit, in a cell of its own), so a row moves at most one count by one in each column and round. Which partition it is
   depends on noisy counts of earlier looks. The one exception, values that nobody declared, is proved in `categories`.

So a look at c columns is c moves of one integer cell, which is what `GaussianCounts` charges. Where a record is a person with
several rows, each weighs its part of one, and the move in a column is a vector of norm at most one. The number of looks is
fixed by the plan, and what is done with noisy counts is free. The number of noise draws may depend on how many different
values a column has, but no released number does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from understudy.privacy import Budget, GaussianCounts
from understudy.tables.batches import HeldRows, TableRows
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.kinds import Decided, decide
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.looks import look_at
from understudy.tables.coordinates.plan import Plan, charge_all_or_nothing
from understudy.tables.coordinates.readings import COUNT
from understudy.tables.coordinates.tallies import Tallies

Gate = Callable[[list[np.ndarray], float], list[np.ndarray]]
"""Exact counts of some columns and the noise on each, to noisy counts of the same shapes."""


def describe(rows: TableRows, known: Sequence[Known], plan: Plan, budget: Budget) -> list[Described]:
    """Touches private data. What comes back is safe to publish at what `plan.events()` says, charged before each look."""
    charge_all_or_nothing(plan, budget)
    return _looks(Tallies.of(rows, known, plan.grid), known, plan, PrivateGate(budget, plan.grid))


def describe_public(frame: pd.DataFrame, known: Sequence[Known], plan: Plan) -> list[Described]:
    """The same description of rows that are public already, without noise. Never call this with sensitive rows."""
    counted = Tallies.of(HeldRows.of(frame), known)
    return [column.free() for column in _looks(counted, known, plan, lambda counts, _: counts)]


@dataclass(frozen=True)
class PrivateGate:
    """One release of the counts of several columns, in each of which a record moves one cell, or parts of one in several."""

    budget: Budget
    grid: int = 1

    def __call__(self, counts: list[np.ndarray], sigma: float) -> list[np.ndarray]:
        columns = len(counts)
        # The cell at the end is always there: whether anything is counted must not decide whether there is a release.
        exact = np.concatenate([*counts, [0]]).astype(np.int64)
        noisy = GaussianCounts(sigma / columns**0.5, columns, self.grid).release(exact, self.budget)
        return np.split(noisy[:-1], np.cumsum([len(part) for part in counts])[:-1])


def _looks(counted: Tallies, known: Sequence[Known], plan: Plan, gate: Gate) -> list[Described]:
    """Both phases."""
    kinds = _kinds(counted, known, plan, gate)
    looks = [
        look_at(column, decided, plan, rounds)
        for column, decided, rounds in zip(known, kinds, plan.rounds, strict=True)
    ]
    for rounds in sorted(set(plan.rounds)):
        group = [place for place, count in enumerate(plan.rounds) if count == rounds]
        sigma = plan.round_sigma(rounds)
        for _ in range(rounds):
            noisy = gate(counted.counts({place: looks[place] for place in group}), sigma)
            for place, part in zip(group, noisy, strict=True):
                looks[place].take(part, sigma)
    counted.forget()
    return [look.described() for look in looks]


def _kinds(counted: Tallies, known: Sequence[Known], plan: Plan, gate: Gate) -> list[Decided]:
    asked = [place for place, column in enumerate(known) if column.asks]
    readings = {place: np.zeros(COUNT) for place in range(len(known))}
    if asked:
        noisy = gate([counted.found[place].readings() for place in asked], plan.readings_sigma)
        readings |= {place: part.astype(np.float64) for place, part in zip(asked, noisy, strict=True)}
    return [decide(column, readings[place], plan.readings_sigma, plan.rows) for place, column in enumerate(known)]
