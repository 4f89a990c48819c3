"""A schema from rows that are public already: what they show may be used for free."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.aside import Aside
from understudy.tables.column import OTHER, Column
from understudy.tables.coordinates.coordinates import public_columns
from understudy.tables.coordinates.known import known_columns
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


def schema_with_sample(
    frame: pd.DataFrame, schema: Schema | None, sample: Table, target: str | None, *, typed: bool
) -> Schema:
    """The schema with what *public* rows show of the columns that it does not say all of. Never give it sensitive rows.

    Of `frame`, which is private, it looks at names and types alone. What the sample does not have stays open; its ranges
    clip and its lists of categories are open-ended, as for `schema_from_public`.
    """
    known = known_columns(frame, schema, target, typed=typed)
    free = public_columns(sample, known, schema, target)
    said = {} if schema is None else {column.name: column for column in schema}
    entries: list[Column | Aside] = []
    for column in known:
        declared = said.get(column.name)
        if declared is not None and declared.complete:
            entries.append(declared)
        elif column.name in free:
            entries.append(free[column.name].column)
        elif declared is not None:
            entries.append(declared)
    for column in () if schema is None else sorted(schema.aside, key=lambda column: column.place):
        entries.insert(column.place, column)
    goal = target if target is not None or schema is None else schema.target
    made = Schema.from_entries(entries, goal)
    assert made is not None  # the sample shares a column, or it was refused
    return made


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
        if column.kind == "duration":
            return replace(column, bounds=(timedelta(seconds=low), timedelta(seconds=high)))
        return replace(column, bounds=(low, high))
    return column


def _moment(seconds: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)
