"""A table as points of a Euclidean space and back, for the Gaussian model: public once the marginals are paid for.

- a number is one axis: asinh((x - median) / scale) where a private marginal knows the two (tails are pulled in, so that a
  few large values do not set the noise for all), else its place between the schema's bounds, from -1 to 1;
- a boolean, an ordinal and "is missing" are one axis from 0 to 1; a category is an axis for each of its values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from understudy.methods.moments.codebook import Codebook, Slot
from understudy.methods.moments.marginals import Marginal

# One-hot rows then have length one over sqrt(2): two rows of different category are one apart.
_ONE_HOT = 0.5**0.5


@dataclass(frozen=True)
class Axis:
    """The axes `start` up to `stop` of one column; `missing` is the one that says so."""

    slot: Slot
    start: int
    stop: int
    missing: int | None
    centre: float = 0.0
    scale: float = 1.0
    curved: bool = False
    marginal: Marginal | None = None


class Axes:
    """Between cells (see `Codebook`) and points."""

    def __init__(self, book: Codebook, marginals: list[Marginal] | None) -> None:
        self.book = book
        self.axes: list[Axis] = []
        known = iter(marginals or [])
        at = 0
        for slot in book.slots:
            width = slot.categories if slot.code is not None else 1
            missing = at + width if slot.column.nullable else None
            stop = at + width + (missing is not None)
            marginal = next(known, None) if slot.cells is not None else None
            self.axes.append(Axis(slot, at, stop, missing, *_scaling(slot, marginal), marginal))
            at = stop
        self.width = at

    def points(self, cells: np.ndarray) -> np.ndarray:
        """Private. Points of private cells; a missing value lies at the centre of its axis."""
        made = np.zeros((len(cells), self.width))
        for place, axis in enumerate(self.axes):
            values = cells[:, place].astype(np.float64)
            absent = values < 0
            if axis.slot.code is not None:
                rows = np.flatnonzero(~absent)
                made[rows, axis.start + cells[rows, place]] = _ONE_HOT
            else:
                line = (values - axis.centre) / axis.scale
                made[:, axis.start] = np.where(absent, 0.0, np.arcsinh(line) if axis.curved else line)
            if axis.missing is not None:
                made[absent, axis.missing] = _ONE_HOT
        return made

    def widths(self) -> np.ndarray:
        """How far apart the tenth and ninetieth percentile of each axis' marginal lie; NaN where none is known."""
        found = np.full(self.width, np.nan)
        for axis in self.axes:
            if axis.marginal is not None and not axis.slot.column.nullable:
                line = (axis.marginal.quantile(np.array([0.1, 0.9])) - axis.centre) / axis.scale
                found[axis.start] = max(float(np.diff(np.arcsinh(line))[0]), 0.1)
        return found

    def cells(self, points: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Cells from points of one class whose axes have these means and standard deviations.

        An axis that stands for a choice is cut where a Gaussian of that mean and spread leaves the chance that the
        mean says above the cut: the chances come out right, and what goes together stays together.
        """
        made = np.empty((len(points), len(self.axes)))
        for place, axis in enumerate(self.axes):
            here = slice(axis.start, axis.stop if axis.slot.code is not None else axis.start + 1)
            slot = axis.slot
            if slot.code is not None:
                over = _over(points[:, here], mean[here], spread[here])
                chosen = over.argmax(axis=1)
                made[:, place] = np.where(chosen == slot.categories, -1, chosen)
                continue
            if slot.column.kind == "boolean":
                at = axis.start
                chance = np.clip(mean[at], 0, 1)
                cut = mean[at] - spread[at] * special.ndtri(np.clip(chance, 1e-6, 1 - 1e-6))
                made[:, place] = points[:, at] > cut
            else:
                line = np.sinh(points[:, axis.start]) if axis.curved else points[:, axis.start]
                values = line * axis.scale + axis.centre
                top = slot.categories if slot.cells is None else slot.cells
                if slot.whole or slot.cells is None:
                    values = np.rint(values)
                made[:, place] = np.clip(values, 0, top - (1 if slot.whole or slot.cells is None else 1e-6))
            if axis.missing is not None:
                at = axis.missing
                chance = np.clip(mean[at] / _ONE_HOT, 1e-6, 1 - 1e-6)
                absent = points[:, at] > mean[at] - spread[at] * special.ndtri(chance)
                made[absent, place] = -1
        return made


def _over(points: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """How far each category's axis passes its cut, in standard deviations."""
    chance = np.clip(mean / _ONE_HOT, 1e-6, None)
    chance = np.clip(chance / chance.sum(), 1e-6, 1 - 1e-6)
    cut = mean - spread * special.ndtri(chance)
    return (points - cut) / spread


def _scaling(slot: Slot, marginal: Marginal | None) -> tuple[float, float, bool]:
    """Centre, scale (in cells) and whether the tails are pulled in."""
    top = slot.categories if slot.cells is None else slot.cells
    if slot.code is not None:
        return 0.0, 1.0, False
    if slot.cells is None:
        return 0.0, float(max(top - 1, 1)), False
    if marginal is None:
        return (top - 1) / 2, max((top - 1) / 2, 1.0), False
    low, lower, middle, upper, high = marginal.quantile(np.array([0.1, 0.25, 0.5, 0.75, 0.9]))
    # For a Gaussian both are its standard deviation; the larger one does not break where half the values are equal.
    scale = max((upper - lower) / 1.349, (high - low) / 2.563, 0.5)
    return float(middle), float(scale), True
