"""Private rows in released coordinates, batch by batch: the cells of each row that a model describes, and its class."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from understudy.methods.moments.targets import Target
from understudy.tables.batches import Batch, TableRows
from understudy.tables.coordinates import (
    Bins,
    Chances,
    Coordinates,
    coded_column,
    pass_over,
    read_column,
    smallest,
)
from understudy.tables.io import column_of

_Made = TypeVar("_Made")
CELLS, CODES = "cells", "codes"
"""The names by which the cells of a batch, and its codes, are kept from one look to the next, each with the classes."""


@dataclass(frozen=True)
class Cells:
    """Private: the rows of one batch, cells x columns of a model, with their classes. A look at codes alone reads no cells."""

    batch: Batch
    goal: Target

    @property
    def cells(self) -> np.ndarray:
        return self.keep(CELLS, self._read)[0]

    @property
    def classes(self) -> np.ndarray:
        return self.keep(CELLS, self._read)[1]

    @property
    def weights(self) -> np.ndarray | None:
        """The parts that each row counts; None where every row is a record."""
        return self.batch.weights

    def chances(self, *path: int) -> Chances:
        return self.batch.chances(*path)

    def keep(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """What was made of these rows before by this name, or is made now."""
        return self.batch.keep(name, make)

    def coded(self, bins: Bins) -> tuple[np.ndarray, np.ndarray]:
        """The codes (rows x columns) of the cells, and the class of each row."""
        if CELLS in self.batch.kept:
            return self.keep(CODES, lambda: (bins.encode(self.cells), self.classes))
        return self.keep(CODES, lambda: self._coded(bins))

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        cells = all_cells(self.batch, self.goal.coordinates)
        return cells[:, self.goal.kept], self.goal.classes(cells, self.batch.frame)

    def _coded(self, bins: Bins) -> tuple[np.ndarray, np.ndarray]:
        """As `_read` and `Bins.encode`, column by column: every row has the same draws."""
        goal, frame, chances = self.goal, self.batch.frame, self.batch.chances(7)
        codes = np.empty((len(frame), len(bins.sizes)), dtype=smallest(max(bins.sizes)), order="F")
        value, kept = np.zeros(0), {place: at for at, place in enumerate(goal.kept)}
        for place, column in enumerate(goal.coordinates):
            series = column_of(frame, column.name)
            if (at := kept.get(place)) is not None:
                codes[:, at] = coded_column(series, bins, at, chances)
            elif place == goal.number and goal.edges is not None:
                value = read_column(series, column, chances)
            elif not (column.nullable or column.empty):
                pass_over(chances, len(frame))
        classes = goal.classes_of(value, frame)
        return codes, classes.astype(np.int16) if goal.n_classes < 1 << 15 else classes


@dataclass
class CellRows:
    """Private: rows as the coordinates of a target have them, wherever they are."""

    rows: TableRows
    goal: Target

    def total(self, look: Callable[[Cells], _Made]) -> _Made:
        """The sum of what a look says of the cells of every batch."""
        return self.rows.total(InCells(self.goal, look), self.goal.coordinates.names)

    def forget(self, *names: Hashable) -> None:
        self.rows.forget(*names)


@dataclass(frozen=True)
class InCells:
    """A look at cells, as one at rows."""

    goal: Target
    look: Callable[[Cells], Any]

    @property
    def needs(self) -> tuple[Hashable, ...]:
        """A look at codes alone needs no rows."""
        return getattr(self.look, "needs", ())

    @property
    def makes(self) -> tuple[Hashable, ...]:
        return self.needs

    def __call__(self, batch: Batch) -> Any:
        return self.look(Cells(batch, self.goal))


def all_cells(batch: Batch, coordinates: Coordinates) -> np.ndarray:
    """Private. The cells of all columns, the target's among them."""
    return coordinates.cells(batch.frame, batch.chances(7))
