"""What the classes are: those of the target, bins of a target that is a number, or one class where there is no target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.privacy import ABSENT
from understudy.tables.coordinates import Coordinates, Described, Marginal, read_listed, write_column
from understudy.tables.coordinates.among import places_among
from understudy.tables.io import column_of

# The ends of a number are the last counts that are larger than so many deviations of the noise.
_CLEAR = 1.0


@dataclass(frozen=True)
class Target:
    """Public. Of coordinates: how a row's class is read, and how it is written again.

    The target is taken out of the features. Of a list its values are the classes; of a number they are about `bins` bins
    of its marginal, and a row gets a value within the bin of its class.
    """

    coordinates: Coordinates
    number: int | None
    """The place of the target among the columns."""
    bins: int | None = None
    """About how many classes a target that is a number has; None where it is one of the features (older releases)."""

    @property
    def column(self) -> Described | None:
        return None if self.number is None else self.coordinates.columns[self.number]

    @property
    def listed(self) -> bool:
        return self.column is not None and not self.column.ordered

    @cached_property
    def marginal(self) -> Marginal:
        """Where a target that is a number lies. What the noise put far out is cut off: a few such rows would rule every mean."""
        assert self.column is not None
        whole = self.column.marginal
        clear = np.flatnonzero(whole.mass > _CLEAR * self.column.sigma / max(self.coordinates.rows, 1))
        if not len(clear):
            return whole
        kept = slice(clear[0], clear[-1] + 1)
        mass = whole.mass[kept]
        return Marginal(whole.edges[clear[0] : clear[-1] + 2], mass / mass.sum(), whole.whole)

    @cached_property
    def edges(self) -> np.ndarray | None:
        """The ends of the bins of a target that is a number; None for any other."""
        if self.bins is None or self.column is None or not self.column.ordered or self.column.empty:
            return None
        return self.marginal.bins(self.bins)

    @property
    def n_classes(self) -> int:
        return len(self.labels) if self.listed else 1 if self.edges is None else len(self.edges) - 1

    @property
    def labels(self) -> list[Any]:
        """The classes of a listed target."""
        assert self.column is not None
        return [False, True] if self.column.kind == "boolean" else list(self.column.labels)

    @property
    def kept(self) -> list[int]:
        """The places of the columns that the model describes within a class; of empty ones there is nothing to describe."""
        apart = self.listed or self.edges is not None
        beside = [i for i in range(len(self.coordinates)) if not (apart and i == self.number)]
        return [i for i in beside if not self.coordinates.columns[i].empty] or beside[:1]

    @property
    def features(self) -> Coordinates:
        columns = tuple(self.coordinates.columns[i] for i in self.kept)
        return Coordinates(columns, self.coordinates.rows)

    def classes(self, cells: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
        """Touches private data: the class of each row; zero where there is no target.

        A row whose class was not found is in none: given one at random it would only blur those that were.
        """
        return self.classes_of(np.zeros(0) if self.number is None else cells[:, self.number], frame)

    def classes_of(self, value: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
        """Touches private data: the same from the target's cells alone, at which nobody looks where its values are listed."""
        if self.column is None or not (self.listed or self.edges is not None):
            return np.zeros(len(frame), dtype=np.int64)
        if self.edges is not None:
            inside = self.marginal.clip(np.where(np.isnan(value), self.edges[0], value))
            return np.where(np.isnan(value), ABSENT, places_among(self.edges, inside) - 1)
        return read_listed(column_of(frame, self.column.name), self.column, ABSENT)

    def attach(self, frame: pd.DataFrame, classes: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
        """The rows with their class written into the target's column, and with the columns that are left empty."""
        absent = [column for column in self.coordinates if column.empty and column.name not in frame]
        nothing = np.full(len(frame), np.nan)
        frame = frame.assign(**{column.name: write_column(nothing, column) for column in absent}) if absent else frame
        if self.column is not None and self.edges is not None:
            drawn = self.marginal.draw(self.edges[classes], self.edges[classes + 1], rng)
            return frame.assign(**{self.column.name: write_column(drawn, self.column)})
        if not self.listed or self.column is None:
            return frame
        labels = self.labels
        kind = object if len({isinstance(label, str) for label in labels}) > 1 else None
        values = pd.Series(labels, dtype=kind).take(classes).reset_index(drop=True)
        return frame.assign(**{self.column.name: values})

    def class_of(self, wanted: Mapping[str, Any]) -> int | None:
        """The class that conditions ask for, if they name one."""
        if not self.listed or self.column is None or self.column.name not in wanted:
            return None
        return self.labels.index(wanted[self.column.name])


def target_of(coordinates: Coordinates, bins: int | None) -> Target:
    """The target of released coordinates; a number is cut into about so many `bins`."""
    name = coordinates.target
    target = Target(coordinates, None if name is None else coordinates.names.index(name), bins)
    if (target.listed or target.edges is not None) and len(coordinates) == 1:
        raise InputError(f"the table has no column beside the target {name!r}.")
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
