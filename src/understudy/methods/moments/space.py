"""The coordinates that a look works in: those that were declared are free, the others are bought first.

What the schema lists is counted by the look itself, so only numbers, moments and what nobody declared are looked at
beforehand. Where the rows are too few for that to tell anything, and the schema says all, nothing is bought.
"""

from __future__ import annotations

import math

import numpy as np

from understudy.methods.moments.plan import multiplier
from understudy.release.intake import Intake
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates, Described, Known, known_columns, plan_at
from understudy.tables.coordinates.ladder import bounded
from understudy.tables.coordinates.plan import DELTA_SHARE

# The part of the precision that coordinates take.
SHARE = 0.07
# With a complete schema they are bought from so many rows for one of the noise on a count on.
_ENOUGH = 60.0
_PARTS = 64


def buy(rows: Intake) -> Coordinates:
    """Touches private data: the released description of every column, charged to the budget. Safe to publish."""
    declared, target = rows.declared, rows.target
    known = known_columns(rows.frame, declared, target, typed=rows.typed)
    wanted = [column for column in known if not column.settled]
    free = {column.name: _declared(column) for column in known if column.settled or _complete(column)}
    if not wanted:
        return Coordinates(tuple(free[column.name] for column in known), len(rows))
    noise = multiplier(rows.budget.epsilon, rows.budget.delta) / math.sqrt(SHARE)
    thin = len(rows) < _ENOUGH * plan_at(wanted, len(rows), noise, DELTA_SHARE * rows.budget.delta).sigma
    if thin and all(_complete(column) for column in wanted):
        return Coordinates(tuple(free[column.name] for column in known), len(rows))
    part = rows.frame[[column.name for column in wanted]]
    said = None if declared is None else _only(declared, [column.name for column in wanted])
    goal = target if target in part.columns else None
    bought = Coordinates.release(part, said, rows.budget, noise=noise, target=goal, rows=len(rows), typed=rows.typed)
    every = free | {column.name: column for column in bought}
    return Coordinates(tuple(every[column.name] for column in known), len(rows), bought.plan)


def _complete(known: Known) -> bool:
    return known.column is not None and known.column.complete


def _only(schema: Schema, names: list[str]) -> Schema | None:
    columns = tuple(column for column in schema if column.name in names)
    return Schema(columns) if columns else None


def _declared(known: Known) -> Described:
    """What the schema says of a column, with nothing looked at: spread evenly."""
    nullable = bool(known.nullable)
    if known.kind in ("number", "datetime"):
        assert known.bounds is not None
        step = known.step if known.step is not None else (1.0 if known.kind == "datetime" else 0.0)
        edges = bounded(known.bounds, step, _PARTS, log=known.log)
        mass = np.diff(edges) if not known.log else np.ones(len(edges) - 1)
        return Described(
            known.name,
            known.kind,
            step=step,
            edges=tuple(edges.tolist()),
            mass=tuple((mass / mass.sum()).tolist()),
            nullable=nullable,
            target=known.target,
            found=False,
            declared=known.column,
        )
    labels = ("False", "True") if known.kind == "boolean" else tuple(known.categories or ())
    labels = (*labels, "other") if known.other else labels
    return Described(
        known.name,
        known.kind or "categorical",
        labels=labels,
        shares=(1 / len(labels),) * len(labels),
        other=known.other,
        nullable=nullable,
        target=known.target,
        declared=known.column,
    )
