"""From rows to the numbers that a classifier takes: one-hot categories and scaled numbers, and the class of each row.

What a column may hold comes from the schema; what must be learnt (the value that stands for a missing number, the
columns that say nothing) is learnt from the training rows of the setting alone. Nothing here is released: evaluation is
the data holder's own business, and its results are as private as the real rows it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables import values
from understudy.tables.column import NOMINAL, OTHER, Column
from understudy.tables.encoder import Encoder
from understudy.tables.io import column_of
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed

_MOST_CLASSES = 100
# A number that takes more values than these is a quantity, and no class.
QUANTITY = 20


@dataclass(frozen=True)
class Rows:
    """Rows as numbers: `x` (rows x columns, float32) and `y`, the position of each row's class in the schema's list, or its number.

    As private as the frame they come from. `note` says what had to be left out on the way.
    """

    x: np.ndarray
    y: np.ndarray
    note: str = ""

    def __len__(self) -> int:
        return len(self.y)

    def take(self, positions: np.ndarray) -> Rows:
        return Rows(self.x[positions], self.y[positions], self.note)


def classes(schema: Schema, target: str) -> tuple[Any, ...]:
    """The classes of the target in the schema's order; of two, the last is the positive one."""
    column = schema[target]
    if column.kind == "boolean":
        return (False, True)
    if column.categories is not None:
        return column.labels
    if column.kind == "integer" and column.bounds is not None:
        low, high = (int(bound) for bound in column.number_bounds)
        if high - low < _MOST_CLASSES:
            return tuple(range(low, high + 1))
    raise InputError(
        f"the target {target!r} is {column.kind}: evaluation needs a class to predict. Make it categorical in the "
        "schema, or name another target."
    )


def is_quantity(column: Column) -> bool:
    """Whether a target is a number to be estimated, and not a class."""
    if column.kind == "integer" and column.bounds is not None:
        low, high = column.number_bounds
        return high - low >= QUANTITY
    return column.kind in ("continuous", "integer")


class Featuriser:
    """Touches private data: frames to `Rows`, by a complete schema. Columns that the schema does not know are left aside.

    Without a target every row is of one class. With `numbers` a target may be one, and then `number` is true.
    """

    def __init__(self, schema: Schema, target: str | None, *, numbers: bool = False) -> None:
        if target is not None and target not in schema:
            raise InputError(f"the schema has no column {target!r}.{did_you_mean(target, schema.names)}")
        features = tuple(opened(column) for column in schema if column.name != target)
        if not features:
            raise InputError(f"the table has no column beside the target {target!r}: there is nothing to learn from.")
        self.number = numbers and target is not None and is_quantity(schema[target])
        self.classes = () if target is None or self.number else classes(schema, target)
        self.encoder = Encoder(Schema(features))
        self.labels = self.encoder.labels
        self._target = (
            None if target is None else schema[target] if self.number else _class_column(schema[target], self.classes)
        )

    def rows(self, frame: pd.DataFrame, *, unlabelled: bool = False) -> Rows:
        """The frame as numbers, NaN where one is missing. Rows without a class are left out, or kept with -1 for it."""
        asked = () if self._target is None else (self._target.name,)
        absent = [name for name in (*asked, *self.encoder.schema.names) if name not in frame.columns]
        if absent:
            raise InputError(f"the table lacks {listed(absent)}.{did_you_mean(absent[0], frame.columns)}")
        y = self._labels(frame)
        known = np.ones(len(y), dtype=bool) if unlabelled else ~np.isnan(y) if self.number else y >= 0
        what = "number to estimate" if self.number else "class"
        note = "" if known.all() else f"{int((~known).sum())} rows without a {what} left out"
        x = self.encoder.encode(frame).astype(np.float32)[known]
        for group in self.encoder.groups:
            if group.missing is not None and not group.one_hot:
                x[x[:, group.missing] > 0, group.start] = np.nan
        return Rows(x, y[known], note)

    def _labels(self, frame: pd.DataFrame) -> np.ndarray:
        if self._target is None:
            return np.zeros(len(frame), dtype=np.int64)
        column = column_of(frame, self._target.name)
        if self.number:
            return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
        return values.codes(column, self._target)


def prepare(train: Rows, *others: Rows) -> tuple[Rows, ...]:
    """Touches private data: fills missing numbers with the median of the training rows, drops what is constant there."""
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(train.x)
        low = np.where(known, train.x, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, train.x, -np.inf).max(axis=0, initial=-np.inf)
    keep = np.flatnonzero(low < high)
    middle: np.ndarray | None = None
    ready: list[Rows] = []
    for rows in (train, *others):
        x = rows.x[:, keep]
        lacking = np.isnan(x)
        if lacking.any():
            middle = np.nanmedian(train.x[:, keep], axis=0) if middle is None else middle
            x = np.where(lacking, middle, x).astype(np.float32)
        ready.append(Rows(x, rows.y, rows.note))
    return tuple(ready)


def _class_column(column: Column, labels: tuple[Any, ...]) -> Column:
    listed_classes = tuple(int(label) if isinstance(label, bool) else label for label in labels)
    if column.other:
        listed_classes = tuple(label for label in listed_classes if label != OTHER)
    return Column(column.name, "categorical", categories=listed_classes, nullable=True, other=column.other)


def opened(column: Column) -> Column:
    """The column as an evaluation reads it: a synthetic table may leave a value out or invent one, and is judged by it.

    Whole numbers are read as numbers, since many a synthesiser writes 3.0000001.
    """
    if column.kind in NOMINAL:
        return replace(column, nullable=True, other=column.other or OTHER not in column.labels)
    if column.kind == "integer":
        return replace(column, kind="continuous", nullable=True, format=None)
    return replace(column, nullable=True)
