"""What is known of a column before any row is looked at: what the schema says, and what the type of the column says.

Whole numbers and fractions are one type here: a blank turns one into the other in pandas, so wholeness has to be paid for. So
are NumPy's truth values and objects; a file that says its types, and pandas' own "boolean", declare truth values.
The levels of a dictionary (categorical) column count for nothing: they are built from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import pandas as pd
from pandas.api import types

from understudy.errors import InputError
from understudy.tables.aside import without_aside
from understudy.tables.column import Category, Column
from understudy.tables.column import Kind as ColumnKind
from understudy.tables.coordinates.cells import refuse_type
from understudy.tables.io import column_of, is_nested
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed

Kind: TypeAlias = Literal["number", "datetime", "duration", "boolean", "categorical"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ORDERED: tuple[Kind, ...] = ("number", "datetime", "duration")


@dataclass(frozen=True)
class Known:
    """Public. `None` stands for what nobody has said; `step` 0 for a number without a grid.

    `code`: a category whose digits stay text; `zone`: that of a type of moments.
    """

    name: str
    kind: Kind | None = None
    step: float | None = None
    bounds: tuple[float, float] | None = None
    categories: tuple[Category, ...] | None = None
    nullable: bool | None = None
    other: bool = False
    log: bool = False
    target: bool = False
    code: bool = False
    zone: str | None = None
    column: Column | None = None

    @property
    def format(self) -> str | None:
        """How it is written, if the schema says so."""
        return None if self.column is None else self.column.format

    @property
    def asks(self) -> bool:
        """Whether the readings of its cells are counted: its kind or its grid is not known."""
        return self.kind is None or (self.kind in ORDERED and self.step is None)

    @property
    def open_target(self) -> bool:
        """Whether it is a target that may be a number or a class written as one, and nobody has said which."""
        return self.target and self.kind in (None, "number") and self.column is None

    @property
    def publishes(self) -> bool:
        """Whether categories that nobody declared may come out of it."""
        return self.kind is None or (self.kind == "categorical" and self.categories is None) or self.open_target

    @property
    def complete(self) -> bool:
        """Whether the schema says all that it takes to map rows to it."""
        return self.column is not None and self.column.complete

    @property
    def settled(self) -> bool:
        """Whether its values are a public list, so that one count of them is all there is to do."""
        return self.kind == "boolean" or (self.kind == "categorical" and self.categories is not None)


def known_columns(
    frame: pd.DataFrame, schema: Schema | None, target: str | None, *, typed: bool = True
) -> tuple[Known, ...]:
    """What is known of each column of the frame, in the frame's order. Looks at names and types, and at no value.

    A schema may name some of the columns only, and set others aside. `typed=False` says that text may stand for anything, as in a CSV file.
    """
    names = list(without_aside(frame, schema).columns)
    declared: Sequence[Column] = () if schema is None else schema.columns
    target = target if target is not None or schema is None else schema.target
    if absent := [column.name for column in declared if column.name not in names]:
        raise InputError(f"the table lacks {listed(absent)}, which the schema has.{did_you_mean(absent[0], names)}")
    if target is not None and target not in names:
        raise InputError(f"the table has no column {target!r} to be the target.{did_you_mean(target, names)}")
    said = {column.name: column for column in declared}
    for name in names:
        if is_nested(column_of(frame, name).dtype):
            refuse_type(column_of(frame, name))
    return tuple(
        _from_column(said[name], name == target)
        if name in said
        else _from_type(column_of(frame, name), name == target, typed)
        for name in names
    )


def known_from(schema: Schema) -> tuple[Known, ...]:
    """What a schema alone says of its columns."""
    return tuple(_from_column(column, column.name == schema.target) for column in schema)


def _from_column(column: Column, target: bool) -> Known:
    bounds = None if column.bounds is None else column.number_bounds
    return Known(
        column.name,
        kind_of(column.kind),
        step=1.0 if column.kind == "integer" else None,
        bounds=bounds,
        categories=column.categories,
        nullable=column.nullable,
        other=column.other,
        log=column.scale == "log",
        target=target,
        code=column.kind == "code",
        zone=column.zone,
        column=column,
    )


def kind_of(kind: ColumnKind) -> Kind:
    """What the schema's kind is here."""
    kinds: dict[str, Kind] = {
        "continuous": "number",
        "integer": "number",
        "ordinal": "categorical",
        "code": "categorical",
    }
    return kinds.get(kind, kind)  # pyright: ignore[reportReturnType]


def _from_type(series: pd.Series, target: bool, typed: bool) -> Known:
    dtype = series.dtype
    nullable = False if target else None
    name = str(series.name)
    # The categorical type comes first: a category of booleans also passes for a boolean.
    if isinstance(dtype, pd.CategoricalDtype):
        return Known(name, "categorical", nullable=nullable, target=target)
    if isinstance(dtype, pd.BooleanDtype):
        return Known(name, "boolean", nullable=nullable, target=target)
    if types.is_datetime64_any_dtype(dtype):
        zone = str(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else None
        return Known(name, "datetime", nullable=nullable, target=target, zone=zone)
    if types.is_timedelta64_dtype(dtype):
        return Known(name, "duration", nullable=nullable, target=target)
    # A blank turns NumPy's truth values into objects, so they are one type too.
    if types.is_object_dtype(dtype) or types.is_bool_dtype(dtype):
        return Known(name, None, nullable=nullable, target=target)
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return Known(name, "number", nullable=nullable, target=target)
    if types.is_string_dtype(dtype):
        return Known(name, "categorical" if typed else None, nullable=nullable, target=target)
    refuse_type(series)
    raise AssertionError
