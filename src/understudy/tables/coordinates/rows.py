"""Rows in coordinates and back: cells of a frame as places and codes, and frames from them. Private where the rows are."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api import types

from understudy.tables.coordinates.cells import factorise, typed_numbers
from understudy.tables.coordinates.chances import Chances, pass_over
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.readings import from_index, to_index
from understudy.tables.coordinates.tally import codes_of


def read_column(series: pd.Series, column: Described, chances: Chances) -> np.ndarray:
    """Private. Places on the grid (ordered kinds) or codes of labels as floats, NaN where the value is missing.

    A value that does not fit the kind is missing. What is missing where nothing may be, and a class that was not found,
    is drawn at random from the released spread, whatever the row says elsewhere: no row is refused, none moves another.
    A column of which nothing could be learnt is missing throughout.
    """
    if column.empty:
        return np.full(len(series), np.nan)
    if column.ordered:
        places = _places(series, column)
    else:
        cells, distinct = factorise(series)
        if column.kind == "boolean":
            codes = distinct.as_kind("boolean")
        else:
            named = column.labels[:-1] if column.other else column.labels
            codes = codes_of(distinct, list(named)).astype(np.float64)
            codes[codes < 0] = len(named) if column.other else np.nan
        places = np.append(codes, np.nan)[cells]
    if column.nullable:
        return places
    # There is a draw for every row, needed or not: which rows need it must not move the draws of the others.
    missing = np.isnan(places)
    if missing.any():
        places[missing] = draw(column, chances.random(len(places))[missing])
    else:
        pass_over(chances, len(places))
    return places


def draw(column: Described, chances: np.ndarray) -> np.ndarray:
    """Places or codes of the released spread, one for each chance."""
    if column.ordered:
        return column.marginal.places(chances)
    upto = np.cumsum(column.shares)
    return np.minimum(np.searchsorted(upto, chances * upto[-1], side="right"), len(upto) - 1).astype(np.float64)


def write_column(places: np.ndarray, column: Described) -> object:
    """Values of a column as a file has them: exact grids and labels, the plainest type that holds them."""
    missing = np.isnan(places)
    filled = np.where(missing, 0.0, places)
    if column.kind == "datetime":
        moments = (filled * column.step).astype("datetime64[s]").astype("datetime64[us]")
        return np.where(missing, np.datetime64("NaT", "us"), moments)
    if column.kind == "duration":
        lengths = (filled * column.step).astype("timedelta64[s]").astype("timedelta64[us]")
        return np.where(missing, np.timedelta64("NaT", "us"), lengths)
    if column.kind == "number":
        values = from_index(filled, column.step)
        if column.step < 1:
            return np.where(missing, np.nan, values)
        return _masked(values.astype(np.int64), missing, "Int64") if missing.any() else values.astype(np.int64)
    codes = filled.astype(np.int64)
    if column.kind == "boolean":
        return _masked(codes == 1, missing, "boolean") if missing.any() else codes == 1
    texts = {isinstance(label, str) for label in column.labels}
    if texts == {False} and missing.any() and all(isinstance(label, int) for label in column.labels):
        return _masked(np.array(column.labels)[codes], missing, "Int64")
    kind = object if len(texts) > 1 else None
    taken = pd.Series(list(column.labels), dtype=kind).array.take(
        np.where(missing, -1, codes), allow_fill=bool(missing.any())
    )
    return pd.Series(list(taken), dtype=object) if kind is object else taken


def _places(series: pd.Series, column: Described) -> np.ndarray:
    dtype = series.dtype
    typed = {
        "number": types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype),
        "datetime": types.is_datetime64_any_dtype(dtype),
        "duration": types.is_timedelta64_dtype(dtype),
    }
    if typed[column.kind]:
        numbers, missing = typed_numbers(series)
    else:
        cells, distinct = factorise(series)
        numbers = np.append(distinct.as_kind(column.kind, column.format), np.nan)[cells]
        missing = np.isnan(numbers)
    places = to_index(numbers, column.step) if column.kind == "number" else np.floor(numbers / column.step)
    return np.where(missing, np.nan, places) if missing.any() else places


def _masked(data: np.ndarray, missing: np.ndarray, dtype: str) -> object:
    array = pd.array(data, dtype=dtype)  # pyright: ignore[reportCallIssue, reportArgumentType]
    array[missing] = pd.NA
    return array
