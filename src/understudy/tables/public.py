"""A schema from rows that are public already: what they show may be used for free."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.column import OTHER, Column
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
        _, distinct = values.distinct(series)
        if isinstance(series.dtype, pd.CategoricalDtype):
            distinct = series.cat.categories.tolist()  # of a public table, what its type lists is public too
        if not distinct:
            raise InputError(f"column {column.name!r} has no value in the public rows: drop it, or say its categories.")
        # A value that is called "other" is left to the category of that name.
        named = tuple(value for value in distinct if value != OTHER)
        return replace(column, categories=named, other=True) if named else replace(column, categories=(OTHER,))
    if column.needs == "bounds":
        numbers, missing = values.numbers(series, column)
        if missing.all():
            raise InputError(f"column {column.name!r} has no value in the public rows: drop it, or say its bounds.")
        low, high = (number.item() for number in (numbers[~missing].min(), numbers[~missing].max()))
        if column.kind == "datetime":
            return replace(column, bounds=(_moment(low), _moment(high)))
        return replace(column, bounds=(low, high))
    return column


def _moment(seconds: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)
