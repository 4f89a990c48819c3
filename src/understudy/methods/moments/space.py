"""The coordinates that a look works in: those that were declared are free, the others are bought first.

What the schema lists is counted by the look itself, so only numbers, moments and what nobody declared are looked at
beforehand. Where the rows are too few for that to tell anything, and the schema says all, nothing is bought.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import numpy as np

from understudy.methods.moments.plan import mostly, multiplier
from understudy.release.intake import Intake
from understudy.tables.coordinates import Coordinates, Described, Known, Plan, declared, known_columns, plan_at
from understudy.tables.coordinates.known import ORDERED
from understudy.tables.coordinates.plan import DELTA_SHARE
from understudy.tables.coordinates.release import describe
from understudy.tables.visits import GAP

# The parts of the precision that coordinates take: those of the features, and those of a target that nobody declared.
SHARE = 0.07
TARGET_SHARE = 0.08
# Of few rows they take more, up to these parts: a column that drowns is lost, and so is a class. Chosen on Pima and the small
# tables of `benchmarks/any_table.py`: what one count must stand out by, in deviations of the noise, if it holds all rows.
_MOST, _TARGET_MOST = 0.3, 0.2
_STANDS_OUT, _TARGET_STANDS_OUT = 40.0, 60.0
# With a complete schema they are bought from so many rows for one of the noise on a count on. Where most columns are numbers, which the
# Gaussian model gives no shape of its own, they are from fewer on, and take more of few rows; chosen on fair, anes96, breast_cancer,
# nafld1 thinned, pbcseq and gbsg2. Tables of very many columns are not: class means need all that there is.
_ENOUGH, _ENOUGH_NUMBERS = 60.0, 28.0
_NUMBERS_STAND_OUT = 300.0
_MOST_NUMBERS = 40


def buy(rows: Intake, *, counted: bool = False) -> Coordinates:
    """Touches private data: the released description of every column, charged to the budget. Safe to publish.

    A target whose classes nobody declared is looked at by itself first: all else hangs on it, and a rare class must
    stand out of the noise to be one. `counted`: what the schema lists is counted too, the target always: for a method that
    starts from how common every value is.
    """
    known = known_columns(rows.frame, rows.declared, rows.target, typed=rows.typed)
    columns = {column.name: declared(column) for column in known if column.settled or column.complete}
    whole = multiplier(rows.budget.epsilon, rows.budget.delta)
    goal = [column for column in known if _by_itself(column, counted)]
    columns |= _bought(rows, goal, whole / math.sqrt(target_share(len(rows), whole)))
    planned = plan_features(known, len(rows), rows.budget.epsilon, rows.budget.delta, counted=counted, each=rows.each)
    if planned is not None:
        others = [column for column in known if (counted or not column.settled) and column not in goal]
        columns |= _bought(rows, others, planned.noise)
    return Coordinates(tuple(columns[column.name] for column in known), len(rows))


def buy_once(rows: Intake, buying: Callable[[], Coordinates]) -> Coordinates:
    """Touches private data: what `buying` releases of the columns; in a run that is resumed, what it released before."""

    def draw() -> np.ndarray:
        return np.frombuffer(json.dumps(buying().to_dict()).encode(), dtype=np.uint8)

    return Coordinates.from_dict(json.loads(rows.run.prelude("coordinates", rows.budget, draw).tobytes()))


def _by_itself(column: Known, counted: bool) -> bool:
    """Whether it is looked at first: a target's classes, or bins of a number, are what the look goes by; and the time between two
    rows of a person has no bounds that anybody knows, and few rows that tell it."""
    return column.name == GAP or (column.target and (counted or not column.settled))


def target_share(rows: int, noise: float) -> float:
    """The part of the precision for a target that nobody declared, from public sizes; `noise` is that of one look with all."""
    return min(max(TARGET_SHARE, (_TARGET_STANDS_OUT * noise / max(rows, 1)) ** 2), _TARGET_MOST)


def feature_share(rows: int, columns: int, noise: float, stands_out: float = 0.0) -> float:
    """The part of the precision for so many columns, of which one count stands out by so many deviations if it holds all rows."""
    return min(max(SHARE, columns * (stands_out * noise / max(rows, 1)) ** 2), _MOST)


def plan_features(
    known: Sequence[Known], rows: int, epsilon: float, delta: float, *, counted: bool = False, each: int = 1
) -> Plan | None:
    """How finely numbers, moments and what nobody declared are looked at, from public sizes; None where nothing is bought.

    A target that nobody declared is looked at by itself, and is not among them; of a look that counts what is listed, no
    target is.
    """
    others = [c for c in known if (counted or not c.settled) and not _by_itself(c, counted)]
    whole = multiplier(epsilon, delta)
    complete = all(column.complete for column in others)
    features = [column for column in known if not column.target]
    numbers = complete and len(others) <= _MOST_NUMBERS and mostly(column.kind in ORDERED for column in features)
    stands_out = _NUMBERS_STAND_OUT if numbers else 0.0 if complete else _STANDS_OUT
    share = feature_share(rows, len(others), whole, stands_out)
    plan = plan_at(others, rows, whole / math.sqrt(share), DELTA_SHARE * delta, each)
    thin = rows < (_ENOUGH_NUMBERS if numbers else _ENOUGH) * plan.sigma
    return None if thin and complete else plan


def _bought(rows: Intake, wanted: Sequence[Known], noise: float) -> dict[str, Described]:
    """Touches private data: some columns, at a noise multiplier for all of them together. Safe to publish."""
    if not wanted:
        return {}
    delta = DELTA_SHARE / 2 * rows.budget.delta
    plan = plan_at(wanted, len(rows), noise, delta, rows.each)
    return {column.name: column for column in describe(rows.table, wanted, plan, rows.budget)}
