"""The public schema of each table, as a YAML file beside this one: from codebooks and natural limits, not from rows."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Any

from understudy.datasets.registry import info, names
from understudy.errors import InputError
from understudy.tables.schema import Schema
from understudy.tables.schema_file import read_schema_file


def schema(name: str) -> Schema:
    """The public schema of the table `name`; nothing is read from the data."""
    if info(name).kind != "table":
        tables = ", ".join(other for other in names() if info(other).kind == "table")
        raise InputError(
            f"{name!r} is a set of images: its values are public bytes from 0 to 255 and need no schema. "
            f"Schemas exist for {tables}."
        )
    return _read(name)


@cache
def _read(name: str) -> Schema:
    with as_file(files("understudy.datasets").joinpath("schemas", f"{name}.yaml")) as file:
        plain: Any = read_schema_file(file)
    # `repeat: [1, 617]` writes the same column for each number: signals and components have hundreds alike.
    columns = [column for entry in plain["columns"] for column in _repeated(entry)]
    return Schema.from_dict(plain | {"columns": columns}, where=f"schema of {name}")


def _repeated(entry: dict[str, Any]) -> list[dict[str, Any]]:
    if "repeat" not in entry:
        return [entry]
    first, last = entry["repeat"]
    alike = {key: value for key, value in entry.items() if key not in ("name", "repeat")}
    return [{"name": entry["name"].format(number)} | alike for number in range(first, last + 1)]
