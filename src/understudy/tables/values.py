"""Private values of one column as its schema's kind reads them: the one place where a value is judged.

The encoder, the check of a frame and the private estimates all read a column here, so a value is accepted by all of
them or by none. Errors name the row and the value: they are for the data holder, and never part of a release.
"""

from __future__ import annotations

from typing import NoReturn, cast

import numpy as np
import pandas as pd
from pandas.api import types

from understudy.errors import InputError
from understudy.tables.column import OTHER, Category, Column, code_text
from understudy.tables.forms import durations_of
from understudy.wording import listed, nth_row


def refuse_missing(missing: np.ndarray, column: Column) -> None:
    """Refuse private values that are missing where the schema says that none is."""
    if not column.nullable and missing.any():
        raise InputError(
            f"column {column.name!r} has a missing value in {nth_row(int(missing.argmax()))}, but the schema does not "
            f"say `nullable: true`. Say so, or drop such rows."
        )


def numbers(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Private numbers of a continuous (float64), integer, datetime or duration (int64, seconds) column, and which are missing.

    Where a value is missing the number is 0. Nothing is clipped yet.
    """
    if column.kind == "datetime":
        return _seconds(series, column)
    if column.kind == "duration":
        return _lengths(series, column)
    if not _could_be_numbers(series.dtype):
        _refuse_type(series, column)
    if types.is_integer_dtype(series.dtype):
        missing = series.isna().to_numpy()
        filled = series.fillna(0) if missing.any() else series
        if types.is_unsigned_integer_dtype(series.dtype):
            filled = filled.clip(upper=np.iinfo(np.int64).max)
        return filled.to_numpy(np.float64 if column.kind == "continuous" else np.int64), missing
    if not types.is_float_dtype(series.dtype):
        series = _parsed(series, cast(pd.Series, pd.to_numeric(series, errors="coerce")), column)
    values = series.to_numpy(np.float64, na_value=np.nan)
    missing = np.isnan(values)
    values = np.where(missing, 0.0, values)
    finite = np.isfinite(values)
    if not finite.all():
        _refuse_value(series, ~finite, column, "is infinite; only finite numbers and missing values can be used")
    if column.kind == "continuous":
        return values, missing
    fraction = values != np.rint(values)
    if fraction.any():
        _refuse_value(series, fraction, column, "is not a whole number; use `kind: continuous` if fractions are right")
    # The largest float below 2^63, so that the conversion cannot wrap around.
    return np.clip(values, -(2.0**63), 2.0**63 - 1024).astype(np.int64), missing


def booleans(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Private truth values (false where missing), and which are missing. The numbers 0 and 1 count as truth values."""
    missing = series.isna().to_numpy()
    if types.is_bool_dtype(series.dtype) and not isinstance(series.dtype, pd.CategoricalDtype):
        return series.to_numpy(bool, na_value=False), missing
    if column.words is not None:
        words = dict(zip(column.words, (False, True), strict=True))
        series = series.map(lambda value: words.get(str(value), value), na_action="ignore")
    wrong = ~series.isin([False, True]).to_numpy() & ~missing
    if wrong.any():
        _refuse_value(series, wrong, column, "is neither true nor false (nor 1 or 0)")
    return np.asarray(series.isin([True]), dtype=bool), missing


def codes(series: pd.Series, column: Column) -> np.ndarray:
    """Private. The position of each value in the column's `labels` (int64), -1 where missing.

    A value that is not listed becomes "other" where the schema has that, and is an error otherwise.
    """
    positions, values = distinct(series)
    if column.kind == "code":
        values = [code_text(value, column.digits) for value in values]
    known = {value: code for code, value in enumerate(column.labels)}
    text = isinstance(column.labels[0], str)
    lookup = np.empty(len(values) + 1, dtype=np.int64)
    lookup[-1] = -1
    for position, value in enumerate(values):
        code = known.get(value)
        if code is None:
            here = positions == position
            if isinstance(value, str) != text:
                have, want = ("text", "numbers") if not text else ("no text", "text")
                _refuse_value(series, here, column, f"is {have}, but the schema's categories are {want}")
            if not column.other:
                _refuse_value(
                    series,
                    here,
                    column,
                    f"is none of its categories ({listed(column.labels, 5)}). Add it, or say `other: true` so that "
                    f"values that are not listed become {OTHER!r}",
                )
            code = known[OTHER]
        lookup[position] = code
    return lookup[positions]


def distinct(series: pd.Series) -> tuple[np.ndarray, list[Category]]:
    """Private. For each row the position of its value among the distinct ones (-1 where missing), and the distinct values.

    A category that no row has, as pandas keeps them after rows were dropped, is no value.
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.cat.remove_unused_categories()
        return series.cat.codes.to_numpy(np.int64), series.cat.categories.tolist()
    try:
        positions, values = pd.factorize(series)
    except TypeError:
        raise InputError(f"column {series.name!r} holds values that are neither text nor numbers.") from None
    return positions, pd.Index(values).tolist()


def _seconds(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    if not types.is_datetime64_any_dtype(series.dtype):
        digits = column.format is not None and types.is_integer_dtype(series.dtype)  # as %Y%m%d writes them
        if not digits and (types.is_numeric_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype)):
            _refuse_type(series, column)
        series = _parsed(series, moments(series, column.format, column.zone), column)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    missing = series.isna().to_numpy()
    values = series.to_numpy().astype("datetime64[s]").astype(np.int64)
    return np.where(missing, 0, values), missing


def moments(series: pd.Series, format: str | None, zone: str | None) -> pd.Series:
    """Private text as moments in UTC, missing where it does not fit; without an offset it is of the zone."""
    texts = series.astype("str") if format is not None else series
    how = "ISO8601" if format is None else format
    parsed = cast(pd.Series, pd.to_datetime(texts, errors="coerce", format=how, utc=True))
    if zone is None or zone == "UTC":
        return parsed
    offset = texts.astype("str").str.contains(r"(?:Z|[+-]\d\d:?\d\d)\s*$", regex=True, na=False).to_numpy(dtype=bool)
    # In the hour that a change of the clock repeats or leaves out, the first reading counts.
    local = parsed.dt.tz_localize(None).dt.tz_localize(
        zone, ambiguous=np.ones(len(parsed), dtype=bool), nonexistent="shift_forward"
    )
    return parsed.where(offset, local.dt.tz_convert("UTC"))


def _lengths(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    if types.is_timedelta64_dtype(series.dtype):
        missing = series.isna().to_numpy()
        found = series.dt.total_seconds().to_numpy(np.float64)
    else:
        if types.is_numeric_dtype(series.dtype) or types.is_datetime64_any_dtype(series.dtype):
            _refuse_type(series, column)
        missing = series.isna().to_numpy()
        found = np.where(missing, np.nan, durations_of(series.astype(str)))
        wrong = np.isnan(found) & ~missing
        if wrong.any():
            _refuse_value(series, wrong, column, "is not a duration like 02:30:00, 1 days 02:30:00 or PT2H30M")
    return np.where(missing, 0, np.trunc(np.where(missing, 0, found))).astype(np.int64), missing


def _could_be_numbers(dtype: object) -> bool:
    if isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype) or types.is_complex_dtype(dtype):
        return False
    return types.is_numeric_dtype(dtype) or types.is_string_dtype(dtype) or types.is_object_dtype(dtype)


def _parsed(series: pd.Series, parsed: pd.Series, column: Column) -> pd.Series:
    wrong = parsed.isna().to_numpy() & ~series.isna().to_numpy()
    if wrong.any():
        form = column.format or "2024-12-31"
        what = f"a date like {form}" if column.kind == "datetime" else "a number"
        _refuse_value(series, wrong, column, f"is not {what}, but the schema says `kind: {column.kind}`")
    return parsed


def _refuse_type(series: pd.Series, column: Column) -> NoReturn:
    raise InputError(
        f"column {column.name!r} is of type {series.dtype}, but the schema says `kind: {column.kind}`. "
        "Convert the column or correct the schema."
    )


def _refuse_value(series: pd.Series, wrong: np.ndarray, column: Column, what: str) -> NoReturn:
    row = int(wrong.argmax())
    shown = series.iloc[row]
    if isinstance(shown, np.generic):
        shown = shown.item()
    text = repr(shown) if len(repr(shown)) <= 60 else repr(shown)[:60] + "..."
    raise InputError(f"column {column.name!r}, {nth_row(row)}: the value {text} {what}.")
