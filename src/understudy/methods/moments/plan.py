"""What is decided before the look, from public numbers alone: which model, how the budget is split, how much noise.

Public are the schema, the number of rows, epsilon and delta. Nothing here sees a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from understudy.errors import InputError
from understudy.methods.moments.gaussian_model import GaussianPlan, gaussian_events, gaussian_plan, shares_of
from understudy.privacy import Budget, DeltaEvent, Event, GaussianEvent, PairTables, Parities
from understudy.privacy.calibration import Accounting, smallest_noise
from understudy.tables.coordinates import Described

Model = Literal["tables", "gaussian", "both"]
# The tables model needs classes this many times larger, on average, than the noise on a cell of a two-way table: with
# categories, and where all columns are numbers. Chosen on validation rows of adult and pima, and on fair, nafld1, colon and anes96;
# that of numbers on credit's validation rows at epsilon 0.05 to 1, where the Gaussian model is ahead up to 150 and both from 240 on.
# Where most columns are numbers, but not all, on nafld1 at epsilon 0.1 to 0.5, and thinned, pbcseq and gbsg2.
_ENOUGH = 8.0
_ENOUGH_MOSTLY_NUMBERS = 100.0
_ENOUGH_NUMBERS = 200.0
_MOSTLY = 0.65
# A rare class is reckoned with from so many rows for one of the noise multiplier on.
_MAY_BE_RARE = 5000.0
# A bin of a target that is a number needs so many rows for one of the noise multiplier: with fewer its means drown. Chosen on
# diabetes, randhie, adult (age), pbc (time), covtype (elevation), mgus2 (futime) and anes96 (age).
_ENOUGH_A_BIN = 40.0
TARGET_BINS = 8
"""At most so many bins, where nobody says how many."""
_TOLERANCE = 1e-3
# The look takes what is left: less than a thousandth of epsilon stays unspent.
_TO_THE_LAST = 1e-4
_LADDER = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


# The part of the tables' precision that one-way tables get; chosen on validation rows of the benchmark tables.
ONE_WAY = 0.1
# The part of all precision that the parities of triples get, and how many rows in a hundred must not drown in their noise.
TRIPLES = 0.05
# The part of all precision that the Gaussian model's looks get where both models are fitted; chosen on credit's validation rows.
GAUSSIAN = 0.7
_DECIDED = 0.1
_CLEAR = 6.0
_MOST_COLUMNS = 32
# Noise of so many spreads on the mean of an average class: of 24 such releases 22 taught a classifier nothing
# (`benchmarks/verdict.py`).
_DROWNED = 0.4


@dataclass(frozen=True)
class TablesPlan:
    """The looks of the tables model. `parities` is None where there is no target, or where they would drown."""

    pairs: PairTables
    parities: Parities | None

    def events(self, columns: int) -> list[GaussianEvent]:
        return [*self.pairs.events(columns), *(self.parities.events(columns) if self.parities else [])]


def plan_tables(budget: Budget, columns: int, rows: int, *, labelled: bool, grid: int = 1) -> TablesPlan:
    """All tables, and parities if they serve, with the least noise that the rest of the budget allows.

    `rows` are records; `grid` the parts that one has where it is a person with several rows.
    """
    # Moves of whole cells have a loss that is known exactly; beside Laplace noise that would take minutes.
    exact = all(isinstance(event, GaussianEvent | DeltaEvent) for event in budget.events)
    triples = labelled and _clear_triples(columns, rows, multiplier(budget.epsilon, budget.delta))
    accounting: Accounting = "tightest" if exact and grid == 1 else "rdp"
    noise = _least(lambda n: _tables(n, triples, grid).events(columns), budget, accounting)
    return _tables(noise, triples, grid)


def _clear_triples(columns: int, rows: int, noise: float) -> bool:
    """Whether the parities of triples would not drown, at a noise multiplier of all tables together."""
    drowned = _CLEAR * Parities(noise / TRIPLES**0.5).sigma(columns)
    return 3 <= columns <= _MOST_COLUMNS and drowned <= _DECIDED * rows


def _tables(noise: float, triples: bool, grid: int) -> TablesPlan:
    if not triples:
        return TablesPlan(PairTables(noise, ONE_WAY, grid), None)
    return TablesPlan(PairTables(noise / (1 - TRIPLES) ** 0.5, ONE_WAY, grid), Parities(noise / TRIPLES**0.5, grid))


def _least(events: Callable[[float], Sequence[Event]], budget: Budget, accounting: Accounting) -> float:
    spent = budget.events
    return smallest_noise(
        lambda n: [*spent, *events(n)], budget.epsilon, budget.delta, accounting=accounting, tolerance=_TO_THE_LAST
    )


def plan_gaussian(budget: Budget, numbers: int, rows: int, width: int, *, located: bool, grid: int = 1) -> GaussianPlan:
    """The least noise that the rest of the budget allows, for `width` axes of which so many are `numbers`.

    `located`: released marginals say where numbers lie; without them the centre of all rows is looked for first.
    """
    shares = shares_of(located, width, numbers, rows / multiplier(budget.epsilon, budget.delta))
    noise = _least(lambda n: gaussian_events(gaussian_plan(n, shares), grid), budget, "rdp")
    return gaussian_plan(noise, shares)


def plan_both(
    budget: Budget, columns: int, numbers: int, rows: int, width: int, *, labelled: bool, located: bool, grid: int = 1
) -> tuple[TablesPlan, GaussianPlan]:
    """The looks of both models, with the least noise that the rest of the budget allows."""
    whole = multiplier(budget.epsilon, budget.delta)
    shares = shares_of(located, width, numbers, rows * GAUSSIAN**0.5 / whole)
    triples = labelled and _clear_triples(columns, rows, whole / (1 - GAUSSIAN) ** 0.5)

    def planned(noise: float) -> tuple[TablesPlan, GaussianPlan]:
        return _tables(noise / (1 - GAUSSIAN) ** 0.5, triples, grid), gaussian_plan(noise / GAUSSIAN**0.5, shares)

    def events(noise: float) -> list[Event]:
        tables, gaussian = planned(noise)
        return [*tables.events(columns), *gaussian_events(gaussian, grid)]

    return planned(_least(events, budget, "rdp"))


def choose(
    rows: int, columns: Sequence[Described], n_classes: int, epsilon: float, delta: float, *, listed: bool = True
) -> Model:
    """The model that the public sizes ask for. `listed`: whether the classes are those of a target that is a list.

    Tables for many rows, for fewer if there are categories; means and second moments for the rest. Where all columns are
    numbers and rows are so many that a class of a thousandth of them could be told from the others, both: whether there
    is such a class is private, and the tables alone would lose it.
    """
    noise = multiplier(epsilon, delta)
    pairs = max(len(columns) * (len(columns) - 1) / 2, 1)
    numbers_only = all(column.ordered for column in columns)
    enough = _ENOUGH_MOSTLY_NUMBERS if mostly(column.ordered for column in columns) else _ENOUGH
    if rows / n_classes < (_ENOUGH_NUMBERS if numbers_only else enough) * noise * math.sqrt(pairs):
        return "gaussian"
    return "both" if numbers_only and listed and n_classes > 1 and rows >= _MAY_BE_RARE * noise else "tables"


def mostly(numbers: Iterable[bool]) -> bool:
    """Whether most columns are numbers: two of three, or more."""
    said = list(numbers)
    return sum(said) >= _MOSTLY * len(said)


def number_bins(rows: int, epsilon: float, delta: float, most: int) -> int:
    """How many classes a target that is a number is cut into: each must hold far more rows than the noise on a count."""
    return min(max(int(rows / (_ENOUGH_A_BIN * multiplier(epsilon, delta))), 2), most)


def multiplier(epsilon: float, delta: float) -> float:
    """The noise multiplier of one Gaussian release that takes all of the budget."""
    return smallest_noise(lambda n: [GaussianEvent(n)], epsilon, delta, tolerance=_TOLERANCE)


def refuse_hopeless(kind: Model, rows: int, width: int, n_classes: int, epsilon: float, delta: float) -> None:
    """Refuse, before anything is spent, a table whose average class would drown: more columns than the budget carries.

    `width` is the number of columns (tables) or axes (gaussian).
    """

    def needed(given: float) -> float:
        """The rows of a class at which the noise on a two-way cell is as large as the class, or that on a mean hides it."""
        noise = multiplier(given, delta)
        return noise * (math.sqrt(width * (width - 1) / 2) if kind == "tables" else math.sqrt(width) / _DROWNED)

    if rows / n_classes >= needed(epsilon):
        return
    would = next((e for e in _LADDER if rows / n_classes >= needed(e)), None)
    advice = f"An epsilon of {would:g} would do" if would is not None else "No sensible epsilon would do"
    also = ' or model="gaussian", which asks for less' if kind == "tables" else ""
    raise InputError(
        f"{width} {'columns' if kind == 'tables' else 'axes'} are more than epsilon {epsilon:g} carries with {rows} rows "
        f"in {n_classes} classes: the noise would hide how classes differ. {advice}; or drop columns, merge classes,"
        f" bring more rows{also}. Nothing was spent. To have the noise all the same: anyway=True (--set anyway=true)."
    )
