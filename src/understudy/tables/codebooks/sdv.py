"""SDV metadata: the JSON that `Metadata.save_to_json` writes, and its older form with `fields`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.codebooks.plain import json_of, listed
from understudy.tables.column import Column
from understudy.wording import did_you_mean
from understudy.wording import listed as names_of


def is_one(path: Path) -> bool:
    plain = json_of(path)
    return "METADATA_SPEC_VERSION" in plain or any(_looks(part) for part in (plain, *_tables(plain).values()))


def _looks(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    said = part.get("columns") if isinstance(part.get("columns"), dict) else part.get("fields")
    return isinstance(said, dict) and any(
        "sdtype" in one or "type" in one for one in said.values() if isinstance(one, dict)
    )


def _tables(plain: dict[str, Any]) -> dict[str, Any]:
    tables = plain.get("tables")
    return tables if isinstance(tables, dict) else {}


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry for each column of the table."""
    plain = json_of(path)
    tables = _tables(plain)
    if tables:
        if table is None and len(tables) > 1:
            raise InputError(f"{path} has the tables {names_of(list(tables))}: choose one with --table.")
        table = next(iter(tables)) if table is None else table
        if table not in tables:
            raise InputError(f"{path} has no table {table!r}.{did_you_mean(table, tables)}")
        plain = tables[table]
    columns = plain.get("columns", plain.get("fields"))
    if not isinstance(columns, dict) or not all(isinstance(said, dict) for said in columns.values()):
        raise InputError(f"{path}: SDV metadata has `columns` with an `sdtype` for each; this has not.")
    return [_entry(name, said, plain.get("primary_key")) for name, said in columns.items()]


def _entry(name: str, said: dict[str, Any], key: object) -> Column | Aside:
    kind = str(said.get("sdtype", said.get("type", "unknown"))).lower()
    if kind == "id" or name == key:
        return Aside(name, "id", 0, _pattern(said.get("regex_format", said.get("regex"))))
    if kind == "numerical":
        whole = "int" in str(said.get("computer_representation", said.get("subtype", ""))).lower()
        return Column(name, "integer" if whole else "continuous", nullable=True)
    if kind == "categorical":
        order = said.get("order")
        return listed(name, order if isinstance(order, list) else (), nullable=True, ordered=isinstance(order, list))
    if kind == "boolean":
        return Column(name, "boolean", nullable=True)
    if kind == "datetime":
        return Column(name, "datetime", nullable=True, format=_format(name, said.get("datetime_format")))
    if kind == "postcode":
        return Column(name, "code", nullable=True)
    # What is left is a name, an address, a number of a card, or nobody knows what.
    return Aside(name, "text", 0)


def _format(name: str, format: object) -> str | None:
    """The format of its dates, where it says the day; what is ISO 8601 needs none."""
    try:
        return Column(name, "datetime", format=None if format is None else str(format)).format
    except InputError:
        return None


def _pattern(regex: object) -> str | None:
    """`ID_[0-9]{4}` as `ID_####`; None where the expression is none of that form."""
    match = re.fullmatch(r"([^\\\[\](){}|*+?.^$#]*)(?:\[0-9\]|\\d)\{(\d+)\}([^\\\[\](){}|*+?.^$#]*)", str(regex or ""))
    return None if match is None else match[1] + "#" * min(int(match[2]), 18) + match[3]
