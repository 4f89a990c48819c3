"""Tables: what is public about them, how they come in and go out, and how they become points of the unit cube.

Names that need pandas are loaded on first use, so that a schema can be read without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from understudy.files import check_writable
from understudy.tables.column import KINDS, OTHER, Column
from understudy.tables.schema import Schema

if TYPE_CHECKING:
    from understudy.tables.coordinates import Coordinates
    from understudy.tables.encoder import Coded, Encoder, Group
    from understudy.tables.io import PrivateTable, Table, check_table_path, read_private, read_table, write_table
    from understudy.tables.validate import validate_frame

_HOMES = {
    "Coded": "encoder",
    "Coordinates": "coordinates",
    "Encoder": "encoder",
    "Group": "encoder",
    "PrivateTable": "io",
    "Table": "io",
    "check_table_path": "io",
    "read_private": "io",
    "read_table": "io",
    "validate_frame": "validate",
    "write_table": "io",
}

__all__ = [
    "KINDS",
    "OTHER",
    "Coded",
    "Column",
    "Coordinates",
    "Encoder",
    "Group",
    "PrivateTable",
    "Schema",
    "Table",
    "check_table_path",
    "check_writable",
    "read_private",
    "read_table",
    "validate_frame",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'understudy.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f"understudy.tables.{_HOMES[name]}"), name)
