"""Coordinates: what every column is and how it is spread, released once; rows are mapped to it and back."""

from understudy.tables.coordinates.bins import Bins
from understudy.tables.coordinates.chances import Chances, KeyedChances, RowChances, pass_over
from understudy.tables.coordinates.compact import coded_column, read_listed, smallest
from understudy.tables.coordinates.coordinates import Coordinates, Ranked
from understudy.tables.coordinates.declared import declared
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.known import Known, known_columns
from understudy.tables.coordinates.marginal import Marginal
from understudy.tables.coordinates.plan import Plan, plan_at, plan_within
from understudy.tables.coordinates.rows import read_column, write_column

__all__ = [
    "Bins",
    "Chances",
    "Coordinates",
    "Described",
    "KeyedChances",
    "Known",
    "Marginal",
    "Plan",
    "Ranked",
    "RowChances",
    "coded_column",
    "declared",
    "known_columns",
    "pass_over",
    "plan_at",
    "plan_within",
    "read_column",
    "read_listed",
    "smallest",
    "write_column",
]
