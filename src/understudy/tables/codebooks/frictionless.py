"""JSON Table Schema, by itself or in a data package of Frictionless."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.codebooks.plain import bounded, json_of, listed
from understudy.tables.column import Column
from understudy.tables.forms import CLOCK_FORMAT, ISO_FORMAT
from understudy.wording import did_you_mean
from understudy.wording import listed as names_of

_PRIVATE_TEXT = ("email", "uri", "uuid", "binary")


def is_one(path: Path) -> bool:
    plain = json_of(path)
    return isinstance(plain.get("fields"), list) or isinstance(plain.get("resources"), list)


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry for each field of the table."""
    plain = json_of(path)
    if isinstance(plain.get("resources"), list):
        plain = _resource(plain["resources"], path, table)
    fields = plain.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, dict) and "name" in field for field in fields):
        raise InputError(f"{path}: a Table Schema has `fields`, each with a `name`; this has not.")
    keys = plain.get("primaryKey", [])
    keys = [keys] if isinstance(keys, str) else keys
    # A key of several fields tells rows apart by what they say together; each of them may be worth learning.
    return [_entry(field, keys == [field["name"]]) for field in fields]


def _resource(resources: list[Any], path: Path, table: str | None) -> dict[str, Any]:
    named = {
        str(r.get("name")): r["schema"] for r in resources if isinstance(r, dict) and isinstance(r.get("schema"), dict)
    }
    if not named:
        raise InputError(f"{path}: no resource of this package holds its schema.")
    if table is None and len(named) > 1:
        raise InputError(f"{path} has the tables {names_of(list(named))}: choose one with --table.")
    table = next(iter(named)) if table is None else table
    if table not in named:
        raise InputError(f"{path} has no table {table!r}.{did_you_mean(table, named)}")
    return named[table]


def _entry(field: dict[str, Any], key: bool) -> Column | Aside:
    name, kind = str(field["name"]), str(field.get("type", "string"))
    limits = field.get("constraints") or {}
    nullable = not limits.get("required", False)
    if key or limits.get("unique"):
        return Aside(name, "id", 0)
    values = limits.get("enum") or _categories(field)
    if values and kind != "boolean":
        return listed(name, values, nullable=nullable, ordered=bool(field.get("categoriesOrdered")))
    ends = (limits.get("minimum"), limits.get("maximum"))
    if kind in ("integer", "year"):
        return bounded(name, "integer", *ends, nullable=nullable)
    if kind == "number":
        return bounded(name, "continuous", *ends, nullable=nullable)
    if kind in ("date", "datetime"):
        return bounded(
            name, "datetime", *(None if end is None else str(end).rstrip("Z") for end in ends), nullable=nullable
        )
    if kind == "duration":
        return bounded(name, "duration", *ends, nullable=nullable, format=ISO_FORMAT)
    if kind == "time":
        return bounded(name, "duration", *ends, nullable=nullable, format=CLOCK_FORMAT)
    if kind == "string" and re.fullmatch(r"\^?(\[0-9\]|\\d)\{\d+\}\$?", str(limits.get("pattern", ""))):
        return Column(name, "code", nullable=nullable)  # digits of a fixed number
    if kind == "boolean":
        return Column(name, "boolean", nullable=nullable)
    if kind in ("object", "array", "geojson") or field.get("format") in _PRIVATE_TEXT:
        return Aside(name, "text", 0)
    return Column(name, "categorical", nullable=nullable)


def _categories(field: dict[str, Any]) -> list[Any]:
    said = field.get("categories") or []
    return [one.get("value") if isinstance(one, dict) else one for one in said] if isinstance(said, list) else []
