"""In which forms files write moments and durations, and the way from text to seconds and back.

The lists are public. Which form a column has is declared, said by the file's own types, or paid for with the column's kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

DAY, HOUR, MINUTE, SECOND = 86400.0, 3600.0, 60.0, 1.0
CLOCK = (DAY, HOUR, MINUTE, SECOND)
"""From the coarsest to the finest, in seconds."""


@dataclass(frozen=True)
class Form:
    """Public. A way of writing: `format` as the schema says it, which cells are written so, and which clocks it can tell.

    `also` is a format that the same cells could have: 01/02/2024 is a day in January or in February.
    """

    format: str | None
    look: str
    clock: tuple[float, ...] = CLOCK
    also: str | None = None


_DATE, _TIME, _OFFSET = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d", r"[+-]\d\d:?\d\d"
# The first that fits a cell is its form; what is ISO 8601 and none of the others has the first.
MOMENT_FORMS: tuple[Form, ...] = (
    Form(None, rf"{_DATE}(?: {_TIME})?"),
    Form("%Y-%m-%dT%H:%M:%S", rf"{_DATE}T{_TIME}"),
    Form("%Y-%m-%dT%H:%M:%SZ", rf"{_DATE}T{_TIME}Z"),
    Form("%Y-%m-%dT%H:%M:%S.%fZ", rf"{_DATE}T{_TIME}\.\d+Z"),
    Form("%Y-%m-%dT%H:%M:%S%z", rf"{_DATE}T{_TIME}{_OFFSET}"),
    Form("%Y-%m-%d %H:%M:%S%z", rf"{_DATE} {_TIME}{_OFFSET}"),
    Form("%Y-%m-%d %H:%M", rf"{_DATE} \d\d:\d\d", CLOCK[:3]),
    Form("%Y-%m-%dT%H:%M", rf"{_DATE}T\d\d:\d\d", CLOCK[:3]),
    Form("%Y-%m-%dT%H:%MZ", rf"{_DATE}T\d\d:\d\dZ", CLOCK[:3]),
    Form("%d.%m.%Y", r"\d{1,2}\.\d{1,2}\.\d{4}", (DAY,)),
    Form("%d.%m.%Y %H:%M", r"\d{1,2}\.\d{1,2}\.\d{4} \d\d:\d\d", CLOCK[:3]),
    Form("%d.%m.%Y %H:%M:%S", rf"\d{{1,2}}\.\d{{1,2}}\.\d{{4}} {_TIME}"),
    Form("%Y/%m/%d", r"\d{4}/\d\d/\d\d", (DAY,)),
    Form("%m/%d/%Y", r"(?:0?[1-9]|1[0-2])/(?:1[3-9]|2\d|3[01])/\d{4}", (DAY,)),
    Form("%d/%m/%Y", r"(?:1[3-9]|2\d|3[01])/(?:0?[1-9]|1[0-2])/\d{4}", (DAY,)),
    Form("%m/%d/%Y", r"(?:0?[1-9]|1[0-2])/(?:0?[1-9]|1[0-2])/\d{4}", (DAY,), also="%d/%m/%Y"),
)

CLOCK_FORMAT, SHORT_FORMAT, DAYS_FORMAT, ISO_FORMAT = "%H:%M:%S", "%H:%M", "%d days %H:%M:%S", "ISO8601"
DURATION_FORMS: tuple[Form, ...] = (
    Form(DAYS_FORMAT, r"-?\d+ days?(?:,? [+-]?\d{1,2}:[0-5]\d:[0-5]\d(?:\.\d+)?)?"),
    Form(CLOCK_FORMAT, r"-?\d+:[0-5]\d:[0-5]\d(?:\.\d+)?"),
    Form(SHORT_FORMAT, r"-?\d+:[0-5]\d", CLOCK[:3]),
    Form(ISO_FORMAT, r"-?P(?=\d|T\d)(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?"),
)
DURATION_FORMATS = tuple(cast(str, form.format) for form in DURATION_FORMS)

_CLOCKED = re.compile(r"(?:(-?\d+) days?)?,? ?([+-])?(?:(\d+):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?")
_ISO = re.compile(r"(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.\d+)?S)?)?")
_ANY_DURATION = re.compile("|".join(form.look for form in DURATION_FORMS))
# Beyond this many seconds (a hundred thousand years) nothing is meant.
_LONGEST = 3e12


def moments_of(texts: pd.Series, format: str | None) -> np.ndarray:
    """Seconds since 1970 in UTC of cells that are written so; NaN where one is not."""
    import pandas as pd

    iso = format is None or format.startswith(("%Y-%m-%d ", "%Y-%m-%dT"))
    parsed = pd.to_datetime(texts.astype(object), errors="coerce", format="ISO8601" if iso else format, utc=True)
    missing = parsed.isna().to_numpy()
    seconds = parsed.dt.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.float64)
    return np.where(missing, np.nan, seconds)


def duration_of(text: str) -> float:
    """The seconds of a duration in any of the forms; NaN where it is in none."""
    if not _ANY_DURATION.fullmatch(text):
        return float("nan")
    if (iso := _ISO.fullmatch(text)) is not None:
        weeks, days, hours, minutes, seconds = (float(part or 0) for part in iso.groups()[1:])
        total = weeks * 7 * DAY + days * DAY + hours * HOUR + minutes * MINUTE + seconds
        return _within(-total if iso[1] else total)
    match = _CLOCKED.fullmatch(text.removeprefix("-")) if "day" not in text else _CLOCKED.fullmatch(text)
    if match is None:
        return float("nan")
    days, hours, minutes, seconds = (float(match[group] or 0) for group in (1, 3, 4, 5))
    clock = hours * HOUR + minutes * MINUTE + seconds
    if match[1] is None:
        return _within(-clock if text.startswith("-") else clock)
    return _within(days * DAY + (-clock if match[2] == "-" else clock))


def _within(seconds: float) -> float:
    return seconds if abs(seconds) <= _LONGEST else float("nan")


def durations_of(texts: pd.Series) -> np.ndarray:
    """Seconds of each cell; NaN where it is no duration."""
    return np.array([duration_of(str(text)) for text in texts], dtype=np.float64)


def _days_form(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    plus = "+" if days < 0 and rest else ""
    return f"{days} days {plus}{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def _clock_form(seconds: int) -> str:
    size = abs(seconds)
    return f"{'-' if seconds < 0 else ''}{size // 3600:02d}:{size // 60 % 60:02d}:{size % 60:02d}"


def _iso_form(seconds: int) -> str:
    days, rest = divmod(abs(seconds), 86400)
    parts = ((rest // 3600, "H"), (rest // 60 % 60, "M"), (rest % 60, "S"))
    clock = "".join(f"{number}{letter}" for number, letter in parts if number)
    said = (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"{'-' if seconds < 0 else ''}P{said or 'T0S'}"


_WRITERS: dict[str, Callable[[int], str]] = {
    DAYS_FORMAT: _days_form,
    CLOCK_FORMAT: _clock_form,
    SHORT_FORMAT: lambda seconds: _clock_form(seconds)[:-3],
    ISO_FORMAT: _iso_form,
}


def duration_text(length: timedelta | float, format: str = DAYS_FORMAT) -> str:
    """A duration in one of the forms, to the second."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return _WRITERS[format](int(seconds))


def written_durations(series: pd.Series, format: str) -> pd.Series:
    """A column of durations as text, missing where it is missing."""
    write = _WRITERS[format]
    return series.map(lambda length: write(int(length.total_seconds())), na_action="ignore").astype("str")
