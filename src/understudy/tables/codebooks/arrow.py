"""The types that a Parquet or Feather file says of its columns, without a row of it.

The levels of a dictionary column are not taken: whoever wrote the file built them from the rows.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.column import Column, Kind


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry for each column."""
    del table
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            schema = parquet.read_schema(path)
        else:
            with pa.memory_map(os.fspath(path)) as file:
                schema = pa.ipc.open_file(file).schema
    except pa.ArrowException as error:
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None
    return [_entry(field) for field in schema if not field.name.startswith("__index_level_")]


def _entry(field: pa.Field) -> Column | Aside:
    kind = kind_of(field.type)
    if kind is None:
        return Aside(field.name, "drop", 0)
    zone = field.type.tz if pa.types.is_timestamp(field.type) else None
    return Column(field.name, kind, nullable=field.nullable, zone=zone)


def kind_of(type: pa.DataType) -> Kind | None:
    """The kind of a column of this type; None for nested and binary ones."""
    if pa.types.is_boolean(type):
        return "boolean"
    if pa.types.is_integer(type):
        return "integer"
    if pa.types.is_floating(type) or pa.types.is_decimal(type):
        return "continuous"
    if pa.types.is_date(type) or pa.types.is_timestamp(type):
        return "datetime"
    if pa.types.is_duration(type):
        return "duration"
    if pa.types.is_dictionary(type) or pa.types.is_string(type) or pa.types.is_large_string(type):
        return "categorical"
    return None
