"""A schema from rows that are public already: what they show may be used for free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.column import Column
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.schema import Schema


def schema_from_public(table: Table, target: str | None = None) -> Schema:
    """Bounds and categories as the *public* rows show them. Never call this with sensitive rows.

    Every column may be missing and every category list is open (`other: true`), since sensitive rows may hold what no
    public row does; their values are clipped to the bounds. A `target` column is left out.
    """
    frame = as_frame(table)
    if len(frame) == 0:
        raise InputError("the public table has no rows: nothing can be learnt from it.")
    if target is not None and target in frame.columns:
        frame = frame.drop(columns=[target])
    drafted = Schema.draft(frame)
    return Schema(tuple(_filled(column_of(frame, column.name), column) for column in drafted))


def _filled(series: pd.Series, column: Column) -> Column:
    if column.needs == "categories":
        _, found = values.distinct(series)
        if not found:
            raise InputError(f"column {column.name!r} has no value in the public rows: drop it, or say its categories.")
        return replace(column, categories=tuple(found), other=True)
    if column.needs == "bounds":
        numbers, missing = values.numbers(series, column)
        if missing.all():
            raise InputError(f"column {column.name!r} has no value in the public rows: drop it, or say its bounds.")
        low, high = float(np.min(numbers[~missing])), float(np.max(numbers[~missing]))
        if low == high:
            high = low + 1
        if column.kind == "integer":
            return replace(column, bounds=(int(low), int(high)))
        if column.kind == "datetime":
            moments = pd.to_datetime([low, high], unit="s", utc=True)
            return replace(column, bounds=(moments[0].to_pydatetime(), moments[1].to_pydatetime()))
        return replace(column, bounds=(low, high))
    return column
