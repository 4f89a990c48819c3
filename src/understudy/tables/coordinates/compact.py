"""Private columns as codes at once: what a cell becomes is worked out once for each different cell, where these are few.

A code is the one that `Bins.encode` gives the cell that `read_column` reads. Both look at one cell alone, so a column of few
levels, of whole numbers that lie near one another, or of days is read and coded as its different cells are, and rows look theirs up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from understudy.tables.coordinates.bins import Bins
from understudy.tables.coordinates.cells import has_numbers
from understudy.tables.coordinates.chances import Chances, pass_over
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.few import few_cells
from understudy.tables.coordinates.rows import read_column

# So many numbers, and what is made of them on the way, stay in the processor's own memory.
_CHUNK = 1 << 16


def smallest(size: int) -> type[np.unsignedinteger]:
    """The shortest type that holds so many codes."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def coded_column(series: pd.Series, bins: Bins, place: int, chances: Chances) -> np.ndarray:
    """Private. The codes of one of the columns of `bins`, in the shortest type."""
    column, kind = bins.columns[place], smallest(bins.sizes[place])
    few = None if column.empty else few_cells(series)
    if few is not None:
        places = _undrawn(few.cells, column)
        missing = np.isnan(places)
        # What is missing where nothing may be is drawn, for each row apart.
        if column.nullable or not missing.any() or not few.take(missing).any():
            if not column.nullable:
                pass_over(chances, len(series))
            codes = bins.encode_column(place, np.where(missing, 0.0, places) if not column.nullable else places)
            return few.take(codes.astype(kind))
    elif not column.empty and has_numbers(series.dtype):
        codes = np.empty(len(series), dtype=kind)
        for start in range(0, len(series), _CHUNK):
            places = _undrawn(series.iloc[start : start + _CHUNK], column)
            if not column.nullable and np.isnan(places).any():
                break
            codes[start : start + _CHUNK] = bins.encode_column(place, places)
        else:
            if not column.nullable:
                pass_over(chances, len(series))
            return codes
    return bins.encode_column(place, read_column(series, column, chances)).astype(kind)


def read_listed(series: pd.Series, column: Described, absent: int) -> np.ndarray:
    """Private. The codes of a column's labels, `absent` where a cell is none of them."""
    few = few_cells(series)
    said = _undrawn(series if few is None else few.cells, column)
    codes = np.where(np.isnan(said), absent, said).astype(np.int64)
    return codes if few is None else few.take(codes)


def _undrawn(series: pd.Series, column: Described) -> np.ndarray:
    """Private. As `read_column`, NaN wherever a cell is missing or was not found."""
    return read_column(series, replace(column, nullable=True), np.random.default_rng(0))
