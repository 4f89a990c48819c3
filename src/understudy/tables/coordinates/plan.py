"""How much noise each look gets, how many looks there are and how fine they are: one rule, from public sizes alone.

Public are the number of rows and of columns, what is declared about them, epsilon and delta. The plan is fixed before the
first look and nothing that is found changes it, so the charge does not either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.privacy import Budget, DeltaEvent, Event, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.persons import grid_of
from understudy.tables.coordinates.known import Known

READINGS_SHARE = 0.15
"""The part of the precision that goes to the readings of cells, where any column needs it."""
DELTA_SHARE = 0.25
"""The part of delta for categories that nobody declared."""
_TOLERANCE = 1e-3
# Where the rows are is found in one round and looked at in a second; from so many deviations of the noise in rows on, a
# third and a fourth pay.
_ONE_MORE = (100.0, 2000.0)
_FEWEST_BINS, _MOST_BINS = 4, 256


@dataclass(frozen=True)
class Plan:
    """Public. `noise` is the noise multiplier of all looks together; `rounds` says how often each column is counted.

    A column's part of the precision is the same for all columns, and is divided evenly over its rounds. `rows` are records:
    persons, where one may have up to `each` rows.
    """

    rows: int
    noise: float
    asked: int
    rounds: tuple[int, ...]
    publishing: int
    delta: float
    each: int = 1

    @property
    def grid(self) -> int:
        """The parts in which rows are counted."""
        return grid_of(self.each)

    @property
    def readings_sigma(self) -> float:
        """The noise on a count of readings: one cell of each asked column moves."""
        return self.noise * math.sqrt(self.asked / READINGS_SHARE)

    @property
    def sigma(self) -> float:
        """The noise on a column's counts, all of its rounds taken together."""
        share = 1 - READINGS_SHARE if self.asked else 1.0
        return self.noise * math.sqrt(max(len(self.rounds), 1) / share)

    def round_sigma(self, rounds: int) -> float:
        """The noise on a count of one round of a column that is counted so often."""
        return self.sigma * math.sqrt(rounds)

    @property
    def bins(self) -> int:
        """About how many intervals a number is told by: more would be mostly noise, fewer would lose its shape."""
        return int(min(max((self.rows / self.sigma) ** (2 / 3), _FEWEST_BINS), _MOST_BINS))

    def events(self) -> list[Event]:
        """Everything that will be charged."""
        found: list[Event] = []
        if self.publishing:
            found.append(self.failure())
        if self.asked:
            found.append(GaussianEvent(self.readings_sigma, self.asked, "discrete", integer_unit=self.each == 1))
        for rounds in sorted(set(self.rounds)):
            moved = rounds * self.rounds.count(rounds)
            found.append(GaussianEvent(self.round_sigma(rounds), moved, "discrete", integer_unit=self.each == 1))
        return found

    def failure(self) -> DeltaEvent:
        """The chance that a category of a single record is published."""
        return DeltaEvent(self.delta, f"publishing categories that occur, in up to {self.publishing} columns")

    def to_dict(self) -> dict[str, Any]:
        """For people: what `describe` and `plan` print."""
        return {
            "rows": self.rows,
            "columns": len(self.rounds),
            "columns_asked_for_kind_or_grid": self.asked,
            "noise_on_readings": self.readings_sigma if self.asked else None,
            "noise_on_counts": self.sigma,
            "bins": self.bins,
            "rounds": max(self.rounds, default=0),
            "delta_for_categories": self.delta if self.publishing else 0.0,
        }


def plan_at(known: Sequence[Known], rows: int, noise: float, delta: float, each: int = 1) -> Plan:
    """The plan at a noise multiplier for the whole; `delta` is what categories that nobody declared may cost."""
    asked = sum(column.asks for column in known)
    share = 1 - READINGS_SHARE if asked else 1.0
    signal = rows / (noise * math.sqrt(max(len(known), 1) / share))
    refined = 2 + sum(signal >= enough for enough in _ONE_MORE)
    rounds = tuple(1 if column.settled else refined + column.open_target for column in known)
    publishing = sum(column.publishes for column in known)
    return Plan(rows, noise, asked, rounds, publishing, delta if publishing else 0.0, each)


def plan_within(
    known: Sequence[Known], rows: int, epsilon: float, delta: float, spent: Sequence[Event] = (), each: int = 1
) -> Plan:
    """The plan with the least noise that (epsilon, delta) allows after what is `spent`."""
    part = DELTA_SHARE * delta
    noise = smallest_noise(
        lambda n: [*spent, *plan_at(known, rows, n, part, each).events()], epsilon, delta, tolerance=_TOLERANCE
    )
    return plan_at(known, rows, noise, part, each)


def charge_all_or_nothing(plan: Plan, budget: Budget) -> None:
    """Refuse a plan that the budget does not cover before any part of it is charged; charge the part of delta."""
    if not budget.affords(*plan.events()):
        budget.charge(*plan.events())  # refused, with all of it in the message
    if plan.publishing:
        budget.charge(plan.failure())
