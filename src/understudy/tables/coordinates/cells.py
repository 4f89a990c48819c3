"""Private cells of one column, factorised once: what occurs, how it reads, and which row holds what.

A cell is judged by itself, so the same value reads the same whatever else is in the column. Nothing is refused: a cell
that makes no sense is text, and one that does not fit the column's kind is missing there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
import pandas as pd
from pandas.api import types

from understudy.errors import InputError
from understudy.tables.coordinates.readings import (
    DURATIONS,
    DURATIONS_BY_FORM,
    MOMENTS,
    MOMENTS_BY_FORM,
    NUMBERS,
    SAID,
    TRUTHS,
    Reading,
    clock_readings,
    number_readings,
)
from understudy.tables.forms import DURATION_FORMS, MOMENT_FORMS, duration_text, durations_of, moments_of
from understudy.tables.texts import as_text

# Infinities count as the last whole number of its size. The ladder ends before, but declared bounds need not.
FARTHEST = 2.0**62
# Moments outside the years 1800 to 2199 count as the first or the last second of them.
FIRST_SECOND, LAST_SECOND = -5364662400, 7258118399
_FEW_LEVELS = 1 << 10
# How every cell that could be a moment or a duration begins.
_TIMED = r"\d{1,4}[-/.]\d|-?\d+:\d|-?\d+ day|-?P[\dT]"


@dataclass(frozen=True)
class Distinct:
    """Private. The distinct cells of a column without the missing ones: each with its reading and what it stands for.

    `numbers` holds numbers, truth values (0 and 1), moments and durations (seconds), and NaN for other text; `labels` holds
    the text of a cell, or None where the column's type is that of numbers, moments or durations, whose labels are made only
    when published.
    """

    readings: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray | None

    def label(self, place: int) -> str:
        """The text by which a cell is compared with categories: 3.0 and 3 are the same."""
        if self.labels is not None:
            return str(self.labels[place])
        if self.readings[place] in MOMENTS:
            return str(pd.Timestamp(self.numbers[place], unit="s"))
        if self.readings[place] in DURATIONS:
            return duration_text(self.numbers[place])
        return text_of(self.numbers[place])

    def as_kind(self, kind: str, format: str | None = None) -> np.ndarray:
        """The numbers of the cells that fit `number`, `datetime`, `duration` or `boolean`, NaN for the others.

        `format` is that of the column's moments, for cells of which more than one could be meant.
        """
        wanted = {"number": NUMBERS, "datetime": MOMENTS, "duration": DURATIONS, "boolean": (Reading.TRUTH, *NUMBERS)}[
            kind
        ]
        fits = np.isin(self.readings, wanted)
        if kind == "boolean":
            fits &= (self.numbers == 0) | (self.numbers == 1)
        numbers = np.where(fits, self.numbers, np.nan)
        if kind == "datetime" and self.labels is not None:
            for form, readings in zip(MOMENT_FORMS, MOMENTS_BY_FORM, strict=True):
                if form.also is not None and form.also == format:
                    unsure = np.flatnonzero(np.isin(self.readings, readings))
                    numbers[unsure] = _in_time(moments_of(pd.Series(self.labels[unsure], dtype=object), format))
        return numbers


class TypedDistinct(Distinct):
    """Private. Cells of a column whose type is that of numbers, moments or durations: read only where somebody asks."""

    def __init__(self, numbers: np.ndarray, dtype: object) -> None:
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "labels", None)
        object.__setattr__(self, "dtype", dtype)

    @cached_property
    def readings(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        dtype: object = self.dtype  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        if types.is_datetime64_any_dtype(dtype):
            return clock_readings(self.numbers, MOMENTS_BY_FORM[0])
        if types.is_timedelta64_dtype(dtype):
            return clock_readings(self.numbers, DURATIONS_BY_FORM[0])
        return number_readings(self.numbers, np.float32 if dtype == np.float32 else np.float64)

    def as_kind(self, kind: str, format: str | None = None) -> np.ndarray:
        dtype: object = self.dtype  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        fits = {
            "datetime": types.is_datetime64_any_dtype(dtype),
            "duration": types.is_timedelta64_dtype(dtype),
        }.get(kind, not (types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)))
        if not fits:
            return np.full(len(self.numbers), np.nan)
        if kind == "boolean":
            return np.where((self.numbers == 0) | (self.numbers == 1), self.numbers, np.nan)
        return self.numbers


def text_of(number: float) -> str:
    """A number as a label: whole ones without a fraction."""
    return str(int(number)) if number == np.rint(number) else repr(float(number))


def factorise(series: pd.Series) -> tuple[np.ndarray, Distinct]:
    """Private. The place of each row's cell among the distinct ones (-1 where it is missing), and those."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # Two levels may be one as text; the last entry is where the code of a missing cell, -1, points to.
        known = series.cat.categories
        words = known.tolist() if len(known) <= _FEW_LEVELS else []
        if words and all(isinstance(word, str) for word in words):
            # By their order, since each batch of a file lists the same words as they come.
            order = sorted(range(len(words)), key=words.__getitem__)
            places, distinct = _of_words(tuple(words[place] for place in order))
            levels = np.append(places[np.argsort(order)], -1)
        else:
            levels, distinct = _of_levels(pd.Series(known))
        return levels[series.cat.codes.to_numpy()], distinct
    if has_numbers(dtype):
        values, missing = typed_numbers(series)
        places, found = pd.factorize(np.where(missing, np.nan, values))
        return places, typed_distinct(np.asarray(found), dtype)
    if not (types.is_string_dtype(dtype) or types.is_object_dtype(dtype)):
        refuse_type(series)
    places, found = pd.factorize(_texts(series))
    return places, _of_text(pd.Series(found))


def _of_levels(levels: pd.Series) -> tuple[np.ndarray, Distinct]:
    """Private. The place of each level among those that differ as text, -1 at the end for a missing cell; and these."""
    places, found = pd.factorize(_texts(levels))
    return np.append(places, -1), _of_text(pd.Series(found))


@lru_cache(maxsize=64)
def _of_words(levels: tuple[str, ...]) -> tuple[np.ndarray, Distinct]:
    """Private. The same, kept in memory: the batches of a file have the same few levels, and to parse them takes longer than to count."""
    return _of_levels(pd.Series(levels, dtype=object))


def has_numbers(dtype: object) -> bool:
    """Whether a column's type says numbers, truth values, moments or durations."""
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    timed = types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)
    return timed or types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype)


def _in_time(seconds: np.ndarray) -> np.ndarray:
    return np.clip(seconds, FIRST_SECOND, LAST_SECOND)


def typed_numbers(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Private. A column of such a type as new float64 numbers, and which are missing. Infinities count as very large numbers."""
    if types.is_timedelta64_dtype(series.dtype):
        missing = series.isna().to_numpy()
        return np.where(missing, 0.0, np.floor(series.dt.total_seconds().to_numpy(np.float64))), missing
    if types.is_datetime64_any_dtype(series.dtype):
        if isinstance(series.dtype, pd.DatetimeTZDtype):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        missing = series.isna().to_numpy()
        seconds = series.to_numpy().astype("datetime64[s]").astype(np.int64)
        return _in_time(np.where(missing, 0, seconds)).astype(np.float64), missing
    if types.is_complex_dtype(series.dtype):
        refuse_type(series)
    values = series.to_numpy(np.float64, na_value=np.nan)
    missing = np.isnan(values)
    return np.clip(np.where(missing, 0.0, values) if missing.any() else values, -FARTHEST, FARTHEST), missing


def typed_distinct(numbers: np.ndarray, dtype: object) -> Distinct:
    """Private. Distinct numbers of a column of such a type, with their readings."""
    if types.is_bool_dtype(dtype):
        readings = np.full(len(numbers), Reading.TRUTH, dtype=np.uint8)
        labels = np.array(["False", "True"], dtype=object)[numbers.astype(np.int64)]
        return Distinct(readings, numbers, labels)
    return TypedDistinct(numbers, dtype)


def refuse_type(series: pd.Series) -> None:
    """Refuse a column by its type alone, before anything is looked at."""
    raise InputError(
        f"column {series.name!r} is of type {str(series.dtype).removesuffix('[pyarrow]')}, which no kind of column fits. Convert it to numbers, text "
        "or dates, or leave it out (on the command line --drop)."
    )


def _texts(series: pd.Series) -> pd.Series:
    """Private. Every cell as text, missing where it is missing: True and 1 would otherwise count as the same thing."""
    missing = series.isna().to_numpy()
    if types.is_object_dtype(series.dtype) or not types.is_string_dtype(series.dtype):
        floats = types.is_float_dtype(series.dtype)
        series = series.map(text_of, na_action="ignore") if floats else as_text(series)
    return series.astype(object).where(~missing, None)


def _of_text(texts: pd.Series) -> Distinct:
    """Private. Distinct texts, parsed: the reading of each and the number that it stands for."""
    size = len(texts)
    readings = np.full(size, Reading.TEXT, dtype=np.uint8)
    numbers = np.full(size, np.nan)
    labels = texts.to_numpy(dtype=object)
    if size == 0:
        return Distinct(readings, numbers, labels)
    plain = texts.astype(str)
    truth = plain.isin(TRUTHS).to_numpy()
    code = plain.str.fullmatch(r"[-+]?0[0-9]+").to_numpy(dtype=bool)
    open_ = ~(truth | code)
    parsed = np.full(size, np.nan)
    parsed[open_] = cast(pd.Series, pd.to_numeric(plain[open_], errors="coerce")).to_numpy(np.float64)
    number = ~np.isnan(parsed)
    numbers[number] = np.clip(parsed[number], -FARTHEST, FARTHEST)
    readings[number] = number_readings(numbers[number])
    _read_times(plain, open_ & ~number, numbers, readings)
    readings[truth] = Reading.TRUTH
    numbers[truth] = cast(pd.Series, plain[truth]).str.lower().map(SAID).to_numpy(np.float64)
    readings[code] = Reading.CODE
    return Distinct(readings, numbers, labels)


def _read_times(plain: pd.Series, asked: np.ndarray, numbers: np.ndarray, readings: np.ndarray) -> None:
    """Private. The cells among the asked that are moments or durations: by the first form that a cell has."""
    rest = np.flatnonzero(asked & plain.str.match(_TIMED).to_numpy(dtype=bool))
    if not len(rest):
        return
    # What is left over may still be ISO 8601 in another dress, such as fractions of a second.
    moments = [*zip(MOMENT_FORMS, MOMENTS_BY_FORM, strict=True)]
    forms = [(form.look, form.format, its) for form, its in moments] + [(r"\d{4}-\d.*", None, MOMENTS_BY_FORM[0])]
    for look, format, its in forms:
        fits = plain.iloc[rest].str.fullmatch(look).to_numpy(dtype=bool)
        if fits.any():
            found = moments_of(plain.iloc[rest[fits]], format)
            places = rest[fits][~np.isnan(found)]
            numbers[places] = _in_time(found[~np.isnan(found)])
            readings[places] = clock_readings(numbers[places], its)
            rest = rest[~fits]
    for form, its in zip(DURATION_FORMS, DURATIONS_BY_FORM, strict=True):
        fits = plain.iloc[rest].str.fullmatch(form.look).to_numpy(dtype=bool)
        found = np.trunc(durations_of(plain.iloc[rest[fits]]))
        places = rest[fits][~np.isnan(found)]
        numbers[places] = found[~np.isnan(found)]
        readings[places] = clock_readings(numbers[places], its)
        rest = rest[~fits]
