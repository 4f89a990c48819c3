"""What is wrong with a table, said before anything is spent on it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.aside import without_aside
from understudy.tables.column import LISTED, Column
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.schema import Schema
from understudy.tables.written import as_read
from understudy.wording import did_you_mean, listed, nth_row


def validate_frame(table: Table, schema: Schema, target: str | None = None) -> tuple[str, ...]:
    """Looks at private rows and tells the data holder what does not fit the schema; nothing of it may be published.

    Raises `InputError` for missing or extra columns, values of the wrong type, infinite values, missing values where
    the schema allows none, values that are no category, and a target that is missing somewhere or has one class only.
    Returns notes on what is odd but harmless (constant columns, values that will be clipped). An incomplete schema is
    checked as far as it goes.
    """
    frame = as_read(without_aside(as_frame(table), schema), schema)
    check_names(frame, schema)
    target = schema.target if target is None else target
    if target is not None:
        _check_target(frame, schema[target])
    notes: list[str] = []
    for column in schema:
        notes += _check_column(column_of(frame, column.name), column)
    return tuple(notes)


def check_names(frame: pd.DataFrame, schema: Schema) -> None:
    """Refuse a table whose columns are not those of the schema; their names are public."""
    absent = [name for name in schema.names if name not in frame.columns]
    extra = [name for name in frame.columns if name not in schema]
    if absent:
        raise InputError(
            f"the table lacks {listed(absent)}, which the schema has.{did_you_mean(absent[0], extra)}"
            + (f" The table has {listed(extra)} that the schema does not know." if extra else "")
        )
    if extra:
        raise InputError(
            f"the table has {listed(extra)}, which the schema does not know. Add them to the schema or drop them."
        )


def _check_target(frame: pd.DataFrame, column: Column) -> None:
    series = column_of(frame, column.name)
    missing = series.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"the target {column.name!r} is missing in {int(missing.sum())} of {len(series)} rows, first in "
            f"{nth_row(int(missing.argmax()))}. Drop the rows without it."
        )
    if series.nunique() == 1:
        raise InputError(
            f"the target {column.name!r} has one class only ({series.iloc[0]!r} in all {len(series)} rows); "
            "there is nothing to learn. Is it the right column?"
        )


def _check_column(series: pd.Series, column: Column) -> list[str]:
    notes: list[str] = []
    if column.kind in LISTED:
        # Without a list of categories there is nothing to compare with yet.
        codes = values.distinct(series)[0] if column.categories is None else values.codes(series, column)
        missing = codes < 0
        present = codes[~missing]
    elif column.kind == "boolean":
        truths, missing = values.booleans(series, column)
        present = truths[~missing]
    else:
        numbers, missing = values.numbers(series, column)
        present = numbers[~missing]
        if column.bounds is not None:
            low, high = column.number_bounds
            outside = int(np.count_nonzero((present < low) | (present > high)))
            if outside:
                notes.append(
                    f"column {column.name!r}: {outside} of {len(series)} values lie outside its bounds "
                    "and will be clipped"
                )
    values.refuse_missing(missing, column)
    if len(present) == 0:
        notes.append(f"column {column.name!r}: every value is missing")
    elif (present == present[0]).all():
        notes.append(f"column {column.name!r}: constant, the same value in every row")
    return notes
