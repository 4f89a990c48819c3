"""A first guess at each column from its name and type, without a look at any value."""

from __future__ import annotations

import pandas as pd
from pandas.api import types

from understudy.errors import InputError
from understudy.tables.column import Column, Kind
from understudy.tables.io import Table, as_frame, column_of
from understudy.wording import did_you_mean


def draft_columns(table: Table, target: str | None) -> tuple[Column, ...]:
    """One column for each of the table's, incomplete on purpose: bounds and categories would have to come from values.

    A categorical type's own list of categories is left alone as well: pandas and Arrow build it from the data.
    """
    frame = as_frame(table, empty_allowed=True)
    if target is not None and target not in frame.columns:
        raise InputError(f"the table has no column {target!r} to be the target.{did_you_mean(target, frame.columns)}")
    columns: list[Column] = []
    for name in frame.columns:
        kind = _kind(name, column_of(frame, name).dtype)
        if name == target:
            columns.append(Column(name, "categorical" if kind == "integer" else kind))
        else:
            # Not even int64 against Int64 is asked: readers choose between them by whether a value is missing.
            columns.append(Column(name, kind, nullable=True))
    return tuple(columns)


def _kind(name: str, dtype: object) -> Kind:
    # The categorical type comes first: a category of booleans also passes for a boolean.
    if isinstance(dtype, pd.CategoricalDtype):
        return "categorical"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_integer_dtype(dtype):
        return "integer"
    if types.is_float_dtype(dtype):
        return "continuous"
    if types.is_datetime64_any_dtype(dtype):
        return "datetime"
    if types.is_timedelta64_dtype(dtype):
        return "duration"
    if types.is_string_dtype(dtype) or types.is_object_dtype(dtype):
        return "categorical"
    raise InputError(
        f"column {name!r} is of type {dtype}, which no kind of column fits. Convert it to numbers, text or dates."
    )
