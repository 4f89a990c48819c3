"""Private columns as codes at once: what a cell becomes is worked out once for each different cell, where these are few.

A code is the one that `Bins.encode` gives the cell that `read_column` reads. Both look at one cell alone, so a column of few
levels, of whole numbers that lie near one another, or of days is read and coded as its different cells are, and rows look theirs up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from understudy.tables.coordinates.bins import Bins
from understudy.tables.coordinates.chances import Chances, pass_over
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.rows import read_column

# So many different cells at most, and for that many rows at least: fewer are read one by one.
_MOST, _MANY_ROWS = 1 << 16, 1 << 12
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def smallest(size: int) -> type[np.unsignedinteger]:
    """The shortest type that holds so many codes."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def coded_column(series: pd.Series, bins: Bins, place: int, chances: Chances) -> np.ndarray:
    """Private. The codes of one of the columns of `bins`, in the shortest type."""
    column, kind = bins.columns[place], smallest(bins.sizes[place])
    few = None if column.empty else few_cells(series)
    if few is not None:
        rows, cells = few
        places = read_column(cells, replace(column, nullable=True), np.random.default_rng(0))
        missing = np.isnan(places)
        # What is missing where nothing may be is drawn, for each row apart.
        if column.nullable or not missing.any() or not missing.take(rows).any():
            if not column.nullable:
                pass_over(chances, len(series))
            codes = bins.encode_column(place, np.where(missing, 0.0, places) if not column.nullable else places)
            return codes.astype(kind).take(rows)
    return bins.encode_column(place, read_column(series, column, chances)).astype(kind)


def read_listed(series: pd.Series, column: Described) -> np.ndarray:
    """Private. The codes of a column's labels, NaN where a cell is none of them."""
    known, few = replace(column, nullable=True), few_cells(series)
    if few is None:
        return read_column(series, known, np.random.default_rng(0))
    return read_column(few[1], known, np.random.default_rng(0)).take(few[0])


def few_cells(series: pd.Series) -> tuple[np.ndarray, pd.Series] | None:
    """Private. Each row's place among cells, and these as a column of the same type; -1 is the last. None where they are many."""
    dtype = series.dtype
    if len(series) < _MANY_ROWS:
        return None
    if isinstance(dtype, pd.CategoricalDtype):
        levels = len(dtype.categories)
        if levels >= _MOST:
            return None
        cells = pd.Categorical.from_codes([*range(levels), -1], dtype=dtype)
        return series.cat.codes.to_numpy(), pd.Series(cells)
    if isinstance(dtype, pd.BooleanDtype):
        return series.to_numpy(np.int8, na_value=-1), pd.Series([False, True, None], dtype="boolean")
    if not isinstance(dtype, np.dtype):
        return None
    if dtype.kind in "iu":
        return _near(series.to_numpy(), 1, dtype)
    if dtype.kind == "M" and (day := _DAY.get(np.datetime_data(dtype)[0])) is not None:
        return _near(series.to_numpy().view(np.int64), day, dtype)
    return None


def _near(values: np.ndarray, step: int, dtype: np.dtype) -> tuple[np.ndarray, pd.Series] | None:
    """Whole numbers, or whole days, that lie near one another."""
    low, high = int(values.min()), int(values.max())
    number = (high - low) // step + 1
    if number > min(_MOST, len(values)) or max(abs(low), abs(high)) > 1 << 62:
        return None
    rows = values.astype(np.int64) - low
    if step > 1:
        rows //= step
        if not np.array_equal(rows * step + low, values):
            return None
    cells = np.arange(number, dtype=np.int64) * step + low
    return rows, pd.Series(cells.view(dtype) if dtype.kind == "M" else cells.astype(dtype))
