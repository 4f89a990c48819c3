"""A table as points of the unit cube and back, by what the schema says and nothing else.

There is no `fit`: bounds, categories and missing-value columns all come from the schema, so encoding spends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.column import NOMINAL, Column, Kind
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed, nth_row

# How far apart two neighbouring whole numbers must stay, in units of the cube, to survive rounding: float32 keeps 24
# bits and float64 53; the spare bits pay for the arithmetic around the rounding.
_FLOAT32_STEPS = 2.0**23
_FLOAT64_STEPS = 2.0**50


@dataclass(frozen=True)
class Group:
    """Which columns of the array, `start` up to but not including `stop`, belong to one column of the table.

    `missing` is the array column that is 1 where the value is missing. In a one-hot group it is one more category, so
    that the group always sums to one; elsewhere it stands after the value.
    """

    name: str
    kind: Kind
    start: int
    stop: int
    labels: tuple[str, ...]
    missing: int | None = None

    @property
    def one_hot(self) -> bool:
        return self.kind in NOMINAL

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


@dataclass(frozen=True)
class Coded:
    """A table without one-hot columns: `numeric` (rows x unit-cube columns) and `codes` (rows x categorical columns).

    Private where the table is. A code is the position in the column's `labels`; one past the end means missing.
    """

    numeric: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.numeric)

    def take(self, rows: npt.ArrayLike | slice) -> Coded:
        """Some of the rows, as for a batch."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        return Coded(self.numeric[index], self.codes[index])


class Encoder:
    """Frame to unit cube and back.

    - continuous, integer, datetime, duration: one column, 0 at the lower bound and 1 at the upper, clipped;
    - boolean: one column; ordinal: one column, rank / (k - 1);
    - categorical, code: one column for each category, then "other" if the schema has it;
    - nullable: one more column that is 1 where the value is missing.

    `decode` is the exact inverse for whole numbers, dates (to the second), ordinals, categories, booleans and missing
    values; continuous values come back to within the rounding of `dtype`. The type is float32 unless a column has so
    many values that float32 cannot tell them apart; then it is float64. Any finite array decodes to rows that fit the
    schema.
    """

    def __init__(self, schema: Schema, *, dtype: npt.DTypeLike | None = None) -> None:
        schema.require_complete()
        self.schema = schema
        self.dtype = _choose_dtype(schema, dtype)
        self.groups = _layout(schema)
        self.width = self.groups[-1].stop
        self.labels = tuple(label for group in self.groups for label in group.labels)
        self.code_columns = tuple(column.name for column in schema if column.kind in NOMINAL)
        self.code_sizes = tuple(len(c.labels) + c.nullable for c in schema if c.kind in NOMINAL)
        self._parts = _parts(schema, self.groups)
        self._code_dtype = np.min_scalar_type(max(self.code_sizes, default=0))

    def encode(self, table: Table) -> np.ndarray:
        """Private rows as points of the unit cube, in the schema's order of columns; others are left aside."""
        frame = self._frame(table)
        cube = np.zeros((len(frame), self.width), dtype=self.dtype)
        for column, group, _ in self._parts:
            if group.one_hot:
                codes = _codes(column_of(frame, column.name), column)
                cube[np.arange(len(cube)), group.start + codes] = 1
            else:
                _write_number(column_of(frame, column.name), column, cube[:, group.columns])
        return cube

    def encode_codes(self, table: Table) -> Coded:
        """Private rows with small whole-number codes in place of one-hot columns: compact for wide categories."""
        frame = self._frame(table)
        numeric = np.zeros((len(frame), self.width - sum(self.code_sizes)), dtype=self.dtype)
        codes = np.empty((len(frame), len(self.code_columns)), dtype=self._code_dtype)
        for column, _, slot in self._parts:
            if isinstance(slot, int):
                codes[:, slot] = _codes(column_of(frame, column.name), column)
            else:
                _write_number(column_of(frame, column.name), column, numeric[:, slot])
        return Coded(numeric, codes)

    def expand(self, coded: Coded) -> np.ndarray:
        """The array that `encode` gives, from codes: `expand(coded.take(batch))` makes one batch dense at a time."""
        cube = np.zeros((len(coded), self.width), dtype=self.dtype)
        for _, group, slot in self._parts:
            if isinstance(slot, int):
                cube[np.arange(len(cube)), group.start + coded.codes[:, slot].astype(np.int64)] = 1
            else:
                cube[:, group.columns] = coded.numeric[:, slot]
        return cube

    def decode(self, cube: npt.ArrayLike) -> pd.DataFrame:
        """Rows that fit the schema from any array of this width; as public or private as the array."""
        array = self._array(cube)
        return pd.DataFrame(
            {
                column.name: _labels(np.argmax(array[:, group.columns], axis=1), column)
                if group.one_hot
                else _read_number(array[:, group.columns], column)
                for column, group, _ in self._parts
            }
        )

    def decode_codes(self, coded: Coded) -> pd.DataFrame:
        """Rows from codes, as `decode` makes them."""
        return pd.DataFrame(
            {
                column.name: _labels(coded.codes[:, slot].astype(np.int64), column)
                if isinstance(slot, int)
                else _read_number(coded.numeric[:, slot], column)
                for column, _, slot in self._parts
            }
        )

    def _frame(self, table: Table) -> pd.DataFrame:
        frame = as_frame(table, empty_allowed=True)
        if absent := [name for name in self.schema.names if name not in frame.columns]:
            raise InputError(
                f"the table lacks {listed(absent)}, which the schema has.{did_you_mean(absent[0], frame.columns)}"
            )
        return frame

    def _array(self, cube: npt.ArrayLike) -> np.ndarray:
        array = np.asarray(cube)
        if array.ndim != 2 or array.shape[1] != self.width:
            raise InputError(f"the array to decode is of shape {array.shape}; the schema needs (rows, {self.width}).")
        broken = np.isnan(array)
        if broken.any():
            row, position = np.unravel_index(int(broken.argmax()), array.shape)
            raise InputError(
                f"the array to decode is not a number in {nth_row(int(row))}, column {self.labels[position]!r}."
            )
        return array


def _layout(schema: Schema) -> tuple[Group, ...]:
    groups: list[Group] = []
    start = 0
    for column in schema:
        one_hot = column.kind in NOMINAL
        labels = [f"{column.name}={label}" for label in column.labels] if one_hot else [column.name]
        if column.nullable:
            labels.append(f"{column.name} is missing")
        stop = start + len(labels)
        missing = stop - 1 if column.nullable else None
        groups.append(Group(column.name, column.kind, start, stop, tuple(labels), missing))
        start = stop
    return tuple(groups)


def _parts(schema: Schema, groups: Sequence[Group]) -> tuple[tuple[Column, Group, int | slice], ...]:
    """Each column with its group in the dense array and where it stands in a `Coded` table: a code, or numeric columns."""
    parts: list[tuple[Column, Group, int | slice]] = []
    numeric = code = 0
    for column, group in zip(schema, groups, strict=True):
        if group.one_hot:
            parts.append((column, group, code))
            code += 1
        else:
            width = group.stop - group.start
            parts.append((column, group, slice(numeric, numeric + width)))
            numeric += width
    return tuple(parts)


def _choose_dtype(schema: Schema, asked: npt.DTypeLike | None) -> np.dtype:
    steps = {column.name: _steps(column) for column in schema}
    if lost := [name for name, count in steps.items() if count > _FLOAT64_STEPS]:
        raise InputError(
            f"the bounds of {listed(lost)} are so wide that no floating-point number tells all values between them "
            "apart. Narrow them, or leave the column out: a column like that is usually an identifier."
        )
    wide = [name for name, count in steps.items() if count > _FLOAT32_STEPS]
    dtype = np.dtype((np.float64 if wide else np.float32) if asked is None else asked)
    if dtype not in (np.float32, np.float64):
        raise InputError(f"`dtype` (={dtype}) must be float32 or float64.")
    if dtype == np.float32 and wide:
        raise InputError(
            f"float32 cannot tell the values of {listed(wide)} apart. Leave `dtype` out (float64 is chosen), "
            "or narrow the bounds."
        )
    return dtype


def _steps(column: Column) -> float:
    """How many times finer than 1 the unit interval must be resolved for the column's values to come back exactly."""
    if column.kind == "ordinal":
        return len(column.labels) - 1
    if column.kind not in ("integer", "datetime", "duration"):
        return 0
    low, high = column.number_bounds
    if column.scale == "linear" or low == high:
        return high - low
    # The logarithm is steepest at the lower bound and flattest at the upper: there one step takes least room.
    base = low if low > 0 else 1
    return (high - low + base) * math.log1p((high - low) / base)


def _codes(series: pd.Series, column: Column) -> np.ndarray:
    """Private code of each value: its position in the one-hot group."""
    codes = values.codes(series, column)
    missing = codes < 0
    values.refuse_missing(missing, column)
    return np.where(missing, len(column.labels), codes)


def _labels(codes: np.ndarray, column: Column) -> object:
    return _take(column, np.where(codes == len(column.labels), -1, codes))


def _write_number(series: pd.Series, column: Column, out: np.ndarray) -> None:
    """Private values of one column into `out`, with the missing-value column after them."""
    unit, missing = _unit(series, column)
    values.refuse_missing(missing, column)
    if column.nullable:
        out[:, 0] = np.where(missing, 0, unit)
        out[:, 1] = missing
    else:
        out[:, 0] = unit


def _read_number(part: np.ndarray, column: Column) -> object:
    unit = np.clip(part[:, 0].astype(np.float64), 0.0, 1.0)
    missing = part[:, 1] >= 0.5 if column.nullable else np.zeros(len(part), dtype=bool)
    if column.kind == "boolean":
        return _maybe_missing(unit >= 0.5, missing, column, "boolean")
    if column.kind == "ordinal":
        ranks = np.rint(unit * (len(column.labels) - 1)).astype(np.int64)
        return _take(column, np.where(missing, -1, ranks))
    number = _from_unit(unit, column)
    if column.kind == "continuous":
        return np.where(missing, np.nan, number)
    if column.kind == "integer":
        return _maybe_missing(number, missing, column, "Int64")
    if column.kind == "duration":
        lengths = number.astype("timedelta64[s]").astype("timedelta64[us]")
        return np.where(missing, np.timedelta64("NaT", "us"), lengths)
    moments = number.astype("datetime64[s]").astype("datetime64[us]")
    return np.where(missing, np.datetime64("NaT", "us"), moments)


def _unit(series: pd.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Private values of one column in [0, 1], and which are missing."""
    if column.kind == "boolean":
        return values.booleans(series, column)
    if column.kind == "ordinal":
        codes = values.codes(series, column)
        return codes / max(len(column.labels) - 1, 1), codes < 0
    number, missing = values.numbers(series, column)
    low, high = column.number_bounds
    if low == high:
        return np.zeros(len(number)), missing
    # Whole numbers are subtracted as whole numbers: as floats, neighbours above 2^53 would fall together.
    above = (np.clip(number, low, high) - low).astype(np.float64)
    if column.scale == "linear":
        return above / (high - low), missing
    base = low if low > 0 else 1
    return np.log1p(above / base) / math.log1p((high - low) / base), missing


def _from_unit(unit: np.ndarray, column: Column) -> np.ndarray:
    low, high = column.number_bounds
    if column.scale == "linear":
        above = unit * (high - low)
    else:
        base = low if low > 0 else 1
        above = np.expm1(unit * math.log1p((high - low) / base)) * base
    if column.kind == "continuous":
        return np.clip(low + above, low, high)
    return np.clip(np.rint(above).astype(np.int64) + int(low), int(low), int(high))


def _maybe_missing(data: np.ndarray, missing: np.ndarray, column: Column, masked: str) -> object:
    if not column.nullable:
        return data
    array = pd.array(data, dtype=masked)  # pyright: ignore[reportCallIssue, reportArgumentType]
    array[missing] = pd.NA
    return array


def _take(column: Column, codes: np.ndarray) -> object:
    """The label of each code, missing at -1, in the plainest type that holds them."""
    labels = column.labels
    if column.nullable and all(isinstance(label, int) for label in labels):
        return pd.array(list(labels), dtype="Int64").take(codes, allow_fill=True)
    taken = pd.Series(list(labels)).array.take(codes, allow_fill=column.nullable)
    if len({isinstance(label, str) for label in labels}) > 1:
        # Said outright: codes beside the word "other" must not turn into text where only "other" occurs.
        return pd.Series(list(taken), dtype=object)
    return taken
