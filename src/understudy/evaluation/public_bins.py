"""Columns cut at public places, and questions about ranges: what tables are compared on without looking where rows lie.

The places follow from the schema alone (declared bounds, categories), so figures of two tables, or of two papers, mean the
same. The shares that are counted there are of real rows, and as private as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from understudy.evaluation.features import opened
from understudy.tables import values
from understudy.tables.column import LISTED, Column
from understudy.tables.encoder import Encoder
from understudy.tables.io import column_of
from understudy.tables.schema import Schema

Places = Mapping[str, np.ndarray]
"""What `positions` gives: a value for each row of each column."""

QUERIES = 1000
_MOST_COLUMNS = 3


def positions(frame: pd.DataFrame, schema: Schema) -> dict[str, np.ndarray]:
    """Touches private data. Numbers between 0 and 1 by their declared bounds and scale, NaN where missing; else codes, from 1."""
    found: dict[str, np.ndarray] = {}
    for column in schema:
        wide = opened(column)
        if _listed(column):
            found[column.name] = _codes(frame, wide)
        else:
            unit, missing = Encoder(Schema((wide,))).encode(frame[[column.name]]).astype(np.float64).T
            found[column.name] = np.where(missing > 0, np.nan, unit)
    return found


def _listed(column: Column) -> bool:
    return column.kind in (*LISTED, "boolean")


def _codes(frame: pd.DataFrame, column: Column) -> np.ndarray:
    series = column_of(frame, column.name)
    if column.kind == "boolean":
        truths, missing = values.booleans(series, column)
        return np.where(missing, 0, truths + 1).astype(np.int64)
    return values.codes(series, column) + 1


def cells(column: Column, places: np.ndarray, bins: int) -> np.ndarray:
    """Touches private data: each value's category, or its one of so many bins of equal width, from 1; 0 where it is missing.

    Whole numbers of at most so many values have a bin each.
    """
    if _listed(column):
        return places
    low, high = column.number_bounds
    known = np.nan_to_num(places)
    if column.kind == "integer" and column.scale == "linear" and high - low < bins:
        at = np.rint(known * (high - low))
    else:
        at = np.minimum(np.floor(known * bins), bins - 1)
    return np.where(np.isnan(places), 0, at + 1).astype(np.int64)


def range_error(real: Places, synthetic: Places, schema: Schema, seed: int = 0) -> float:
    """Touches private data: how far two tables' answers lie apart, in shares of the rows, over random questions.

    A question asks for the share of rows within an interval of each of one to three numbers and within half of the values
    of each category, drawn from the schema alone. Missing values lie in no interval.
    """
    asked = questions(schema, seed)
    return float(np.abs(answers(real, asked) - answers(synthetic, asked)).mean())


def questions(schema: Schema, seed: int = 0, many: int = QUERIES) -> list[dict[str, np.ndarray]]:
    """Public: of each column the two ends of an interval, or for each code whether it is asked for."""
    random = np.random.default_rng(seed)
    found: list[dict[str, np.ndarray]] = []
    for size in random.integers(1, _MOST_COLUMNS + 1, many):
        chosen = random.choice(len(schema.columns), min(len(schema.columns), int(size)), replace=False)
        columns = [schema.columns[place] for place in chosen]
        found.append(
            {
                column.name: np.append(False, random.random(_values(column)) < 0.5)
                if _listed(column)
                else np.sort(random.random(2))
                for column in columns
            }
        )
    return found


def _values(column: Column) -> int:
    return 2 if column.kind == "boolean" else len(opened(column).labels)


def answers(places: Places, asked: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
    """Touches private data: the share of rows that each question asks for."""
    return np.array(
        [np.logical_and.reduce([_within(places[name], wanted) for name, wanted in one.items()]).mean() for one in asked]
    )


def _within(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """NaN lies in no interval, since it compares with nothing."""
    return wanted[values] if wanted.dtype == bool else (values >= wanted[0]) & (values <= wanted[1])
