"""Coordinates: what every column is and how it is spread, released once; rows are mapped to it and back."""

from understudy.tables.coordinates.bins import Bins
from understudy.tables.coordinates.chances import Chances, RowChances
from understudy.tables.coordinates.coordinates import Coordinates, Ranked
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.known import Known, known_columns
from understudy.tables.coordinates.marginal import Marginal
from understudy.tables.coordinates.plan import Plan, plan_at, plan_within

__all__ = [
    "Bins",
    "Chances",
    "Coordinates",
    "Described",
    "Known",
    "Marginal",
    "Plan",
    "Ranked",
    "RowChances",
    "known_columns",
    "plan_at",
    "plan_within",
]
