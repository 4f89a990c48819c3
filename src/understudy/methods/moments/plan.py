"""What is decided before the look, from public numbers alone: which model, how the budget is split, how much noise.

Public are the schema, the number of rows, epsilon and delta. Nothing here sees a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from understudy.errors import InputError
from understudy.methods.moments.gaussian_model import GaussianPlan, gaussian_events, gaussian_plan, shares_of
from understudy.methods.moments.marginals import levels_of
from understudy.privacy import Budget, Event, GaussianEvent, PairTables
from understudy.privacy.calibration import Accounting, smallest_noise
from understudy.tables import Schema
from understudy.tables.column import BOUNDED

Model = Literal["tables", "gaussian"]
# The tables model needs classes this many times larger, on average, than the noise on a cell of a two-way table.
_ENOUGH = 100.0
# Trees of marginals need this many times more rows than the noise on one of their counts.
_TREES = 40.0
_TOLERANCE = 1e-3
_LADDER = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


@dataclass(frozen=True)
class Shares:
    """How the precision of the noise is divided; chosen on validation rows of the benchmark tables."""

    marginals: float = 0.05
    one_way: float = 0.1


@dataclass(frozen=True)
class TablesPlan:
    """The noise of the tables model: trees of marginals, then all tables."""

    sigma: float
    mechanism: PairTables


def tables_events(noise: float, cells: Sequence[int], columns: int, shares: Shares) -> list[Event]:
    """What the tables model charges at a noise multiplier for the whole."""
    plan = _tables(noise, cells, columns, shares)
    moved = sum(levels_of(size) for size in cells)
    trees: list[Event] = [GaussianEvent(plan.sigma, moved, "discrete", integer_unit=True)] if moved else []
    return [*trees, *plan.mechanism.events(columns)]


def plan_tables(budget: Budget, cells: Sequence[int], columns: int, shares: Shares) -> TablesPlan:
    """The least noise that the rest of the budget allows."""
    # Tables are moves of whole cells, whose loss is known exactly; beside Laplace noise that would take minutes.
    accounting: Accounting = "rdp" if budget.events else "tightest"
    noise = _least(lambda n: tables_events(n, cells, columns, shares), budget, accounting)
    return _tables(noise, cells, columns, shares)


def _tables(noise: float, cells: Sequence[int], columns: int, shares: Shares) -> TablesPlan:
    moved = sum(levels_of(size) for size in cells)
    share = shares.marginals if moved else 0.0
    sigma = math.nextafter(noise * math.sqrt(moved / share), math.inf) if moved else 0.0
    return TablesPlan(sigma, PairTables(noise / math.sqrt(1 - share), shares.one_way))


def _least(events: Callable[[float], list[Event]], budget: Budget, accounting: Accounting) -> float:
    spent = budget.events
    return smallest_noise(
        lambda n: [*spent, *events(n)], budget.epsilon, budget.delta, accounting=accounting, tolerance=_TOLERANCE
    )


def plan_gaussian(budget: Budget, cells: Sequence[int], rows: int, width: int) -> tuple[GaussianPlan, int]:
    """The least noise that the rest of the budget allows, and how many cells of a row the trees count (0: no trees).

    Trees need rows enough to split an interval a few times; below that the schema's bounds are the better scale.
    `width` is the number of axes.
    """
    moved = sum(levels_of(size) for size in cells)
    for_one = rows / multiplier(budget.epsilon, budget.delta)

    def planned(moved: int) -> GaussianPlan:
        shares = shares_of(moved > 0, width, len(cells), for_one)
        noise = _least(lambda n: gaussian_events(gaussian_plan(n, moved, shares), moved), budget, "rdp")
        return gaussian_plan(noise, moved, shares)

    if moved and rows >= _TREES * (found := planned(moved)).trees:
        return found, moved
    return planned(0), 0


def choose(rows: int, schema: Schema, n_classes: int, epsilon: float, delta: float) -> Model:
    """The model that the public sizes ask for: tables for many rows with categories, else means and second moments."""
    noise = multiplier(epsilon, delta)
    pairs = max(len(schema) * (len(schema) - 1) / 2, 1)
    numbers_only = all(column.kind in BOUNDED for column in schema)
    return "gaussian" if numbers_only or rows / n_classes < _ENOUGH * noise * math.sqrt(pairs) else "tables"


def multiplier(epsilon: float, delta: float) -> float:
    """The noise multiplier of one Gaussian release that takes all of the budget."""
    return smallest_noise(lambda n: [GaussianEvent(n)], epsilon, delta, tolerance=_TOLERANCE)


def refuse_hopeless(kind: Model, rows: int, width: int, n_classes: int, epsilon: float, delta: float) -> None:
    """Refuse, before anything is spent, a table whose average class would drown: more columns than the budget carries.

    `width` is the number of columns (tables) or axes (gaussian).
    """

    def needed(given: float) -> float:
        """The rows of a class at which the noise on a two-way cell, or on a mean, is as large as the class itself."""
        noise = multiplier(given, delta)
        return noise * (math.sqrt(width * (width - 1) / 2) if kind == "tables" else math.sqrt(2 * width))

    if rows / n_classes >= needed(epsilon):
        return
    would = next((e for e in _LADDER if rows / n_classes >= needed(e)), None)
    advice = f"An epsilon of {would:g} would do" if would is not None else "No sensible epsilon would do"
    also = ' or model="gaussian", which asks for less' if kind == "tables" else ""
    raise InputError(
        f"{width} {'columns' if kind == 'tables' else 'axes'} are more than epsilon {epsilon:g} carries with {rows} rows "
        f"in {n_classes} classes: the noise would be larger than a class. {advice}; or drop columns, merge classes,"
        f" bring more rows{also}."
    )
