"""What the classes are: those of the target, bins of a target that is a number, or one class where there is no target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.moments.marginals import Marginal
from understudy.tables import Column, Encoder, Schema, values
from understudy.tables.io import column_of


@dataclass(frozen=True)
class Target:
    """Public. Of a schema: how a row's class is read, and how it is written again.

    A listed or boolean target is taken out of the features, and its values are the classes. A numeric one stays among
    the features: its classes are bins of its private marginal, and rows get their value like any other column.
    """

    encoder: Encoder
    column: Column | None
    listed: bool

    @property
    def features(self) -> Schema:
        """The columns that the model describes within a class."""
        schema = self.encoder.schema
        return Schema(schema.features.columns) if self.listed else Schema(schema.columns)

    @property
    def labels(self) -> list[Any]:
        """The classes of a listed target."""
        assert self.column is not None
        return [False, True] if self.column.kind == "boolean" else list(self.column.labels)

    def read(self, frame: pd.DataFrame) -> np.ndarray:
        """Touches private data: the class of each row; zero where the target is not a list."""
        if self.column is None or not self.listed:
            return np.zeros(len(frame), dtype=np.int64)
        series = column_of(frame, self.column.name)
        if self.column.kind == "boolean":
            return values.booleans(series, self.column)[0].astype(np.int64)
        return values.codes(series, self.column)

    def attach(self, frame: pd.DataFrame, classes: np.ndarray) -> pd.DataFrame:
        """The rows with their class written into the target's column."""
        if self.column is None or not self.listed:
            return frame
        labels = self.labels
        kind = object if len({isinstance(label, str) for label in labels}) > 1 else None
        found = pd.Series(labels, dtype=kind).take(classes).reset_index(drop=True)
        return frame.assign(**{self.column.name: found})

    def class_of(self, wanted: Mapping[str, Any]) -> int | None:
        """The class that conditions ask for, if they name one."""
        if self.column is None or not self.listed or self.column.name not in wanted:
            return None
        return self.labels.index(wanted[self.column.name])


def target_of(schema: Schema) -> Target:
    """The target of a complete schema."""
    encoder = Encoder(schema)
    if schema.target is None:
        return Target(encoder, None, False)
    column = schema[schema.target]
    listed = column.kind == "boolean" or column.categories is not None
    target = Target(encoder, column, listed)
    if listed and len(target.labels) < 2:
        raise InputError(f"the target {column.name!r} has one class only in the schema; there is nothing to learn.")
    if listed and len(schema) == 1:
        raise InputError(f"the table has no column beside the target {column.name!r}.")
    return target


def class_ratio(counts: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Public. How often each class is drawn: as often as it was counted, and one that drowned in the noise never.

    Rows that only bear the name of a class say nothing about it. Whoever asks for such a class by a
    condition still gets its rows; and where fewer than two classes stand out all are drawn.
    """
    shown = np.ones(len(counts), dtype=bool)
    if len(counts) - len(hidden) >= 2:
        shown[hidden] = False
    drawn = np.where(shown, counts, 0.0)
    return drawn / drawn.sum()


def number_classes(cells: np.ndarray, marginal: Marginal, bins: int) -> tuple[np.ndarray, int]:
    """Touches private data: classes of a numeric target, about `bins` bins of equal mass, and how many there are."""
    edges = marginal.bins(bins)
    return np.searchsorted(edges, cells, side="right") - 1, len(edges) - 1
