"""Private columns of few different cells: which these are, told without a look at each row's own value, and which row holds which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

# So many different cells at most, and for that many rows at least: fewer are read one by one.
_MOST, _MANY_ROWS = 1 << 17, 1 << 12
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
# So many rows, and what is made of them on the way, stay in the processor's own memory.
_CHUNK = 1 << 15


@dataclass(frozen=True)
class Few:
    """Private. Cells of a column, as one of the same type, and each row's place among them; -1 is the last."""

    rows: np.ndarray
    cells: pd.Series

    def counts(self, weights: np.ndarray | None = None) -> np.ndarray:
        """How many rows hold each cell, or what these weigh."""
        found = counted(self.rows, weights, len(self.cells), least=-1)
        found[-1] += found[0]
        return found[1:]

    def take(self, values: np.ndarray) -> np.ndarray:
        """Of values, one for each cell, those of the rows."""
        found = np.empty(len(self.rows), dtype=values.dtype)
        for start in range(0, len(self.rows), _CHUNK):
            here = slice(start, start + _CHUNK)
            values.take(self.rows[here], out=found[here], mode="wrap")
        return found


def counted(places: np.ndarray, weights: np.ndarray | None, size: int, *, least: int = 0) -> np.ndarray:
    """Private. How many rows have each of the whole numbers from the `least` up to `size`, or what these weigh."""
    found = np.zeros(size - least, dtype=np.int64)
    for start in range(0, len(places), _CHUNK):
        here = slice(start, start + _CHUNK)
        away = np.subtract(places[here], least, dtype=np.intp)
        np.add.at(found, away, 1 if weights is None else weights[here])  # it takes less time than a bincount
    return found


def few_cells(series: pd.Series) -> Few | None:
    """Private. The few cells of a column and who holds them; None where they are many."""
    dtype = series.dtype
    if len(series) < _MANY_ROWS:
        return None
    if isinstance(dtype, pd.CategoricalDtype):
        levels = len(dtype.categories)
        if levels >= _MOST:
            return None
        cells = pd.Categorical.from_codes([*range(levels), -1], dtype=dtype)
        return Few(series.cat.codes.to_numpy(), pd.Series(cells))
    if isinstance(dtype, pd.BooleanDtype):
        return Few(series.to_numpy(np.int8, na_value=-1), pd.Series([False, True, None], dtype="boolean"))
    if not isinstance(dtype, np.dtype):
        return None
    if dtype.kind in "iu":
        return _near(series.to_numpy(), 1, dtype)
    if dtype.kind == "M" and (day := _DAY.get(np.datetime_data(dtype)[0])) is not None:
        return _near(series.to_numpy().view(np.int64), day, dtype)
    return None


def _near(values: np.ndarray, step: int, dtype: np.dtype) -> Few | None:
    """Whole numbers, or whole days, that lie near one another."""
    low, high = int(values.min()), int(values.max())
    number = (high - low) // step + 1
    if number > min(_MOST, len(values)) or max(abs(low), abs(high)) > 1 << 62:
        return None
    rows = np.empty(len(values), dtype=np.uint16 if number <= 1 << 16 else np.uint32)
    for start in range(0, len(values), _CHUNK):
        away = np.subtract(values[start : start + _CHUNK], low, dtype=np.int64)
        places = away // step if step > 1 else away
        if step > 1 and not np.array_equal(places * step, away):
            return None
        rows[start : start + _CHUNK] = places
    cells = np.arange(number, dtype=np.int64) * step + low
    return Few(rows, pd.Series(cells.view(dtype) if dtype.kind == "M" else cells.astype(dtype)))
