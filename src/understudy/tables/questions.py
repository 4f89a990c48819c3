"""What an owner is asked about a column, shown of it, and says about it: the words of `understudy schema init`.

A glance at the rows is private: it is for the owner's eyes, is never written anywhere, and no answer is taken from it
unless the owner says it, as something that is known without these rows.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables.aside import ASIDE, Aside, AsideKind
from understudy.tables.column import BOUNDED, LISTED, NOMINAL, OTHER, Category, Column, Kind
from understudy.tables.coordinates.cells import Distinct, factorise
from understudy.tables.coordinates.known import Known, kind_of
from understudy.tables.coordinates.readings import COUNT, DURATIONS, MOMENTS, NUMBERS, STEPS, Reading
from understudy.tables.forms import duration_text

LETTERS: dict[str, Kind | AsideKind | None] = {
    "n": "continuous",
    "w": "integer",
    "c": "categorical",
    "k": "code",
    "o": "ordinal",
    "y": "boolean",
    "d": "datetime",
    "u": "duration",
    "i": "id",
    "t": "text",
    "x": "drop",
    "l": None,
}
"""What an owner types for each kind; None is to have all of it learnt."""
WORDS = (
    "n number, w whole number, c category, k code (zeros kept), o ordered category, y yes/no, d date or time, "
    "u duration, i id, t text, x drop, l learn it"
)
# A column of so few different values is taken for a category at a glance.
_FEW = 12


@dataclass(frozen=True)
class Glance:
    """Private, for the owner's eyes: what the rows look like, in words, and the kind that they look like."""

    words: str
    kind: Kind | AsideKind


def letter_of(kind: Kind | AsideKind | None) -> str:
    return next(letter for letter, meant in LETTERS.items() if meant == kind)


def glance(series: pd.Series) -> Glance:
    """Looks at private rows; nothing of this may be published."""
    cells, distinct = factorise(series)
    counts = np.bincount(cells[cells >= 0], minlength=len(distinct.readings))
    missing = int((cells < 0).sum())
    absent = f", {missing:,} of {len(cells):,} missing" if missing else ", none missing"
    if not len(counts):
        return Glance("nothing but missing values", "drop")
    kind = _looks_like(distinct, counts)
    different = f"{len(counts):,} different"
    if kind in ("integer", "continuous"):
        numbers = distinct.as_kind("number")
        what = "whole numbers" if kind == "integer" else "numbers"
        return Glance(f"{what} from {np.nanmin(numbers):.12g} to {np.nanmax(numbers):.12g}, {different}{absent}", kind)
    if kind == "datetime":
        moments = distinct.as_kind("datetime")
        ends = [str(pd.Timestamp(end, unit="s")).removesuffix(" 00:00:00") for end in (np.nanmin(moments), np.nanmax(moments))]  # fmt: skip
        return Glance(f"{ends[0]} to {ends[1]}, {different}{absent}", kind)
    if kind == "duration":
        lengths = distinct.as_kind("duration")
        shortest, longest = (duration_text(length) for length in (np.nanmin(lengths), np.nanmax(lengths)))
        return Glance(f"durations from {shortest} to {longest}, {different}{absent}", kind)
    if len(counts) <= _FEW:
        order = np.argsort(-counts, kind="stable")
        shown = ", ".join(distinct.label(int(place)) for place in order)
        return Glance(f"{different}: {shown}{absent}", kind)
    return Glance(f"{different} in {len(cells):,} rows{absent}", kind)


def _looks_like(distinct: Distinct, counts: np.ndarray) -> Kind | AsideKind:
    """Private. The kind that most cells read as."""
    readings = np.bincount(distinct.readings, counts, COUNT)
    there = readings.sum()
    alone = len(counts) == there > _FEW
    if readings[Reading.TRUTH] >= 0.9 * there:
        return "boolean" if distinct.labels is None or len(counts) <= 2 else "categorical"
    if readings[list(MOMENTS)].sum() >= 0.9 * there:
        return "datetime"
    if readings[list(DURATIONS)].sum() >= 0.9 * there:
        return "duration"
    if readings[Reading.CODE] and (readings[Reading.CODE] + readings[list(NUMBERS)].sum()) >= 0.9 * there:
        return "code"
    if readings[list(NUMBERS)].sum() >= 0.9 * there:
        whole = all(STEPS[reading] >= 1 for reading in NUMBERS if readings[reading] > 0.01 * there)
        if whole and alone:
            numbers = distinct.as_kind("number")
            if np.nanmax(numbers) - np.nanmin(numbers) < 2 * there:
                return "id"  # a running number
        if whole and len(counts) <= 2:
            return "categorical"
        return "integer" if whole else "continuous"
    if alone:
        spaced = sum(" " in str(label) for label in (distinct.labels if distinct.labels is not None else ())[:200])
        return "text" if spaced > 0.5 * min(len(counts), 200) else "id"
    return "categorical"


def known_as(name: str, kind: Kind | AsideKind | None, *, target: bool = False) -> Known:
    """The column as far as its kind is declared, for its price."""
    return Known(
        name,
        None if kind is None or kind in ("id", "text", "drop") else kind_of(kind),
        step=1.0 if kind == "integer" else None,
        target=target,
    )


def bounds_from(text: str, name: str, kind: Kind) -> tuple[object, object]:
    """The two ends that were typed: `0 to 120`, `0 120` or `0, 120`, two dates or two durations."""
    if kind == "duration" and " to " in text:
        checked = Column(name, kind, tuple(text.split(" to ", 1))).bounds  # pyright: ignore[reportArgumentType]
        assert checked is not None
        return checked
    parts = [part for part in text.replace(" to ", " ").replace(",", " ").split(" ") if part]
    if kind == "datetime" and len(parts) == 4:  # two dates with their times
        parts = [" ".join(parts[:2]), " ".join(parts[2:])]
    if len(parts) != 2:
        raise InputError(f"{text!r}: write two values, lowest and highest, as in `0 to 120`.")
    ends: list[object] = list(parts)
    if kind not in ("datetime", "duration"):
        ends = [_number(part) for part in parts]
    checked = Column(name, kind, (ends[0], ends[1])).bounds  # pyright: ignore[reportArgumentType]
    assert checked is not None
    return checked


def _number(text: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number.") from None
    return int(number) if math.isfinite(number) and number == int(number) and "." not in text else number


def categories_from(text: str, name: str, kind: Kind) -> tuple[tuple[Category, ...], bool]:
    """The values that were typed, with commas between them, and whether there may be others (a * among them).

    They are numbers where all of them are whole numbers as a file writes them: 01 is text.
    """
    labels = [label.strip() for label in next(csv.reader([text], skipinitialspace=True), []) if label.strip()]
    other = "*" in labels and kind in NOMINAL
    labels = [label for label in labels if label not in ("*", OTHER if other else "*")]
    if not labels:
        raise InputError(f"{text!r}: write the values with commas between them, as in `low, middle, high`.")
    numbers = kind != "code" and all(label.lstrip("-").isdigit() and str(int(label)) == label for label in labels)
    categories: tuple[Category, ...] = tuple(int(label) if numbers else label for label in labels)
    Column(name, kind, categories=categories, other=other)
    return categories, other


def said(
    name: str,
    kind: Kind | AsideKind,
    place: int,
    *,
    bounds: tuple[object, object] | None = None,
    categories: tuple[Category, ...] | None = None,
    other: bool = False,
    nullable: bool = True,
    pattern: str | None = None,
) -> Column | Aside:
    """One answer as the schema has it."""
    if kind in ASIDE:
        return Aside(name, kind, place, pattern)
    return Column(name, kind, bounds, categories, nullable, other=other)  # pyright: ignore[reportArgumentType]


def asks_for(kind: Kind | AsideKind) -> str | None:
    """What else is asked about a column of this kind: bounds, categories or a pattern."""
    if kind in BOUNDED:
        return "bounds"
    if kind in LISTED:
        return "categories"
    return "pattern" if kind == "id" else None


assert set(LETTERS.values()) == {*get_args(Kind), *ASIDE, None}
