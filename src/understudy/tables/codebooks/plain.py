"""What codebooks of several formats have in common: text, JSON, categories and ends of a range."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.tables.column import Category, Column, Kind
from understudy.tables.schema_file import from_json

MOST_BYTES = 64 * 2**20


def text_of(path: Path) -> str:
    """The text of a codebook, refused where it is too large to be one."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} is {path.stat().st_size:,} bytes; no codebook is that large. Is it the data?")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (offset {error.start}). Save it as UTF-8.") from None


def json_of(path: Path) -> dict[str, Any]:
    """The JSON object in a file, read strictly."""
    plain = from_json(text_of(path), str(path))
    if not isinstance(plain, dict):
        raise InputError(f"{path}: expected keys and values, got {type(plain).__name__}.")
    return plain


def as_categories(values: Iterable[object]) -> tuple[Category, ...] | None:
    """Distinct values in their order: numbers where all of them are whole numbers as a file writes them, else text."""
    labels = list(dict.fromkeys(_plain(value) for value in values if value is not None and str(value) != ""))
    if not labels:
        return None
    if all(not isinstance(label, str) or re.fullmatch(r"0|-?[1-9][0-9]*", label) for label in labels):
        return tuple(int(label) if isinstance(label, str) else label for label in labels)
    return tuple(str(label) for label in labels)


def _plain(value: object) -> Category:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).strip()
    return int(value) if float(value).is_integer() else value


def bounded(name: str, kind: Kind, low: object, high: object, *, nullable: bool, format: str | None = None) -> Column:
    """A number, a date or a duration whose range is said only where both of its ends are."""
    if low in (None, "") or high in (None, ""):
        return Column(name, kind, nullable=nullable, format=format)
    timed = kind in ("datetime", "duration")
    ends = (low, high) if timed else (_number(low, name), _number(high, name))
    return Column(name, kind, ends, nullable=nullable, format=format)  # pyright: ignore[reportArgumentType]


def listed(
    name: str, values: Iterable[object], *, nullable: bool, ordered: bool = False, other: bool = False
) -> Column:
    """A category or an ordered one; without any values it is left open."""
    categories = as_categories(values)
    if categories is None:
        return Column(name, "categorical", nullable=nullable)
    if ordered:
        return Column(name, "ordinal", categories=categories, nullable=nullable)
    if "other" in categories:
        other = False
    return Column(name, "categorical", categories=categories, nullable=nullable, other=other)


def _number(value: object, name: str) -> float | int:
    try:
        number = float(str(value))
    except ValueError:
        raise InputError(f"column {name!r}: the end {value!r} of its range is not a number.") from None
    return int(number) if number.is_integer() else number
