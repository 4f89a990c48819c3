"""Private rows in released coordinates, batch by batch: the cells of each row that a model describes, and its class."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from understudy.methods.moments.targets import Target
from understudy.tables.batches import Batch, TableRows
from understudy.tables.coordinates import Chances, Coordinates

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Cells:
    """Private: the rows of one batch, cells x columns of a model, with their classes."""

    batch: Batch
    cells: np.ndarray
    classes: np.ndarray

    @property
    def weights(self) -> np.ndarray | None:
        """The parts that each row counts; None where every row is a record."""
        return self.batch.weights

    def chances(self, *path: int) -> Chances:
        return self.batch.chances(*path)

    def keep(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """What was made of these rows before by this name, or is made now."""
        return self.batch.keep(name, make)


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

    def __call__(self, batch: Batch) -> Any:
        cells, classes = batch.keep("cells", lambda: self._read(batch))
        return self.look(Cells(batch, cells, classes))

    def _read(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        cells = all_cells(batch, self.goal.coordinates)
        return cells[:, self.goal.kept], self.goal.classes(cells, batch.frame)


def all_cells(batch: Batch, coordinates: Coordinates) -> np.ndarray:
    """Private. The cells of all columns, the target's among them."""
    return coordinates.cells(batch.frame, batch.chances(7))
