"""A table as points of a Euclidean space and back, for the Gaussian model: public once the coordinates are paid for.

- a number is one axis: asinh((x - median) / scale) where a released marginal knows the two (tails are pulled in, so that a
  few large values do not set the noise for all), else its rank between the declared bounds, from -1 to 1;
- a yes or no, an ordinal and "is missing" are one axis from 0 to 1; a category is an axis for each of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from understudy.methods.moments.evening import counts_of, moved
from understudy.methods.moments.margins import shrunk
from understudy.tables.coordinates import Chances, Described
from understudy.tables.coordinates.histogram import simplex

# One-hot rows then have length one over sqrt(2): two rows of different category are one apart.
_ONE_HOT = 0.5**0.5
# Where the model has less than this part of what an interval should hold, its shape there says nothing.
_TRUSTED = 0.2
_TENTHS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@dataclass(frozen=True)
class Axis:
    """The axes `start` up to `stop` of one column; `missing` is the one that says so.

    `curved`: the column's released marginal gives `centre` and `scale`, in places of its grid.
    """

    column: Described
    start: int
    stop: int
    missing: int | None
    centre: float = 0.0
    scale: float = 1.0
    curved: bool = False

    @property
    def one_hot(self) -> bool:
        return not self.column.ordered and not self.ranked

    @property
    def ranked(self) -> bool:
        """Whether it is a choice with an order, on one axis."""
        declared = self.column.declared
        return self.column.kind == "boolean" or (declared is not None and declared.kind == "ordinal")

    @property
    def top(self) -> int:
        return max(len(self.column.labels) - 1, 1)

    def line(self, cells: np.ndarray, chances: Chances) -> np.ndarray:
        """Private where the cells are. Points of cells that are not missing."""
        if self.ranked:
            return cells / self.top
        if self.curved:
            return np.arcsinh((cells - self.centre) / self.scale)
        return 2 * self.column.marginal.ranks(cells, chances) - 1

    def back(self, points: np.ndarray) -> np.ndarray:
        """The inverse of `line`; places on the grid are rounded later."""
        if self.curved:
            return np.sinh(points) * self.scale + self.centre
        return self.column.marginal.places(np.clip((points + 1) / 2, 1e-6, 1 - 1e-6))


class Axes:
    """Between cells (see `Coordinates.cells`) and points."""

    def __init__(self, columns: Sequence[Described], rows: int) -> None:
        self.rows = rows
        self.axes: list[Axis] = []
        at = 0
        for column in columns:
            draft = Axis(column, at, at, None)
            width = len(column.labels) if draft.one_hot else 1
            missing = at + width if column.nullable else None
            stop = at + width + (missing is not None)
            self.axes.append(Axis(column, at, stop, missing, *_scaling(column)))
            at = stop
        self.width = at
        self.numbers = [axis for axis in self.axes if axis.column.ordered]

    def points(self, cells: np.ndarray, chances: Chances) -> np.ndarray:
        """Private. Points of private cells; a missing value lies at the centre of its axis."""
        points = np.zeros((len(cells), self.width))
        for number, axis in enumerate(self.axes):
            values = cells[:, number]
            absent = np.isnan(values)
            if axis.one_hot:
                rows = np.flatnonzero(~absent)
                points[rows, axis.start + values[rows].astype(np.int64)] = _ONE_HOT
            else:
                points[:, axis.start] = np.where(absent, 0.0, axis.line(np.where(absent, 0.0, values), chances))
            if axis.missing is not None:
                points[absent, axis.missing] = _ONE_HOT
        return points

    def widths(self) -> np.ndarray:
        """How far apart the tenth and ninetieth percentile of each axis' marginal lie; NaN where none is known."""
        widths = np.full(self.width, np.nan)
        for axis in self.axes:
            if axis.curved and not axis.column.nullable:
                ends = axis.column.marginal.quantiles(np.array([0.1, 0.9]))
                widths[axis.start] = max(float(np.diff(np.arcsinh((ends - axis.centre) / axis.scale))[0]), 0.1)
        return widths

    def cells(
        self, points: np.ndarray, mean: np.ndarray, spread: np.ndarray, quantiles: Quantiles | None
    ) -> np.ndarray:
        """Cells from points of one class whose axes have these means (of all points, or of each) and standard deviations.

        An axis that stands for a choice is cut where a Gaussian of that mean and spread leaves the chance that the
        mean says above the cut: the chances come out right, and what goes together stays together. A number with a
        released marginal takes the value that has its rank there (`quantiles` says which rank a point has).
        """
        cells = np.empty((len(points), len(self.axes)))
        for number, axis in enumerate(self.axes):
            at = axis.start
            if axis.one_hot:
                here = slice(at, axis.stop)
                chosen = _over(points[:, here], mean[..., here], spread[here]).argmax(axis=1)
                cells[:, number] = np.where(chosen == len(axis.column.labels), np.nan, chosen)
                continue
            if axis.column.kind == "boolean":
                chance = np.clip(np.clip(mean[..., at], 0, 1), 1e-6, 1 - 1e-6)
                cells[:, number] = points[:, at] > mean[..., at] - spread[at] * special.ndtri(chance)
            elif axis.ranked:
                cells[:, number] = np.clip(np.rint(points[:, at] * axis.top), 0, axis.top)
            else:
                cells[:, number] = self._number(axis, points[:, at], quantiles)
            if axis.missing is not None:
                chance = np.clip(mean[..., axis.missing] / _ONE_HOT, 1e-6, 1 - 1e-6)
                cut = mean[..., axis.missing] - spread[axis.missing] * special.ndtri(chance)
                cells[points[:, axis.missing] > cut, number] = np.nan
        return cells

    def shares(self, mean: np.ndarray, noise: float) -> np.ndarray:
        """How common each choice is, by the mean of all rows and its noise; zero on the axes of numbers."""
        found = np.zeros(self.width)
        for axis in self.axes:
            here = slice(axis.start, axis.stop)
            if axis.one_hot:
                # Clipping takes the same part of all of a row's axes.
                whole = max(float(mean[here].sum()), _TRUSTED * _ONE_HOT)
                alike = shrunk(mean[here], np.full(axis.stop - axis.start, noise))
                found[here] = simplex((mean[here] if alike is None else alike) / whole, 1.0)
            elif axis.column.kind == "boolean":
                found[axis.start] = np.clip(mean[axis.start], 0.0, 1.0)
        return found

    def evened(
        self,
        cells: np.ndarray,
        points: np.ndarray,
        shares: np.ndarray,
        quantiles: Quantiles | None,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Cells of rows of all classes, as common in each column as the looks say: choices by their `shares` (one for each axis),
        numbers by their released marginals, in which a row has the rank that its point has among the points of all rows."""
        cells = cells.copy()
        for number, axis in enumerate(self.axes):
            here = slice(axis.start, axis.stop)
            if axis.one_hot or (axis.column.kind == "boolean" and axis.missing is None):
                at = axis.start
                known = shares[here] if axis.one_hot else np.array([1 - shares[at], shares[at]])
                likely = points[:, here] if axis.one_hot else np.column_stack([np.zeros(len(points)), points[:, at]])
                likely = likely / np.maximum(likely.std(axis=0), 1e-9)
                codes = np.where(np.isnan(cells[:, number]), len(known) - 1, cells[:, number]).astype(np.int64)
                even = moved(
                    codes,
                    counts_of(len(cells), known, rng),
                    lambda rows, code, likely=likely, codes=codes: likely[rows, code] - likely[rows, codes[rows]],
                    rng,
                )
                cells[:, number] = np.where(even == len(axis.column.labels), np.nan, even)
            elif axis.curved and quantiles is not None:
                there = np.flatnonzero(~np.isnan(cells[:, number]))
                own = points[there, axis.start]
                ranks = (np.argsort(np.argsort(own, kind="stable")) + rng.random(len(own))) / max(len(own), 1)
                cells[there, number] = self._number(axis, own, quantiles, ranks)
        return cells

    def _number(
        self, axis: Axis, points: np.ndarray, quantiles: Quantiles | None, ranks: np.ndarray | None = None
    ) -> np.ndarray:
        """Places of points: those that have the same rank in the released marginal as the points have in the model, or `ranks`.

        The marginal is believed as far as it differs from the model's own by more than its noise (James and Stein 1961).
        Within an interval rows are spread as the model spreads them, or evenly where it has next to none there.
        """
        marginal = axis.column.marginal
        if quantiles is None or not axis.curved:
            places = axis.back(points)
            return marginal.clip(np.rint(places) if marginal.whole else places)
        ends = quantiles.ranks(axis.start, np.arcsinh((marginal.edges - axis.centre) / axis.scale))
        ends[0], ends[-1] = 0.0, 1.0
        own = np.diff(ends)
        away = marginal.mass - own
        noise = (axis.column.sigma / max(self.rows, 1)) ** 2 * len(own)
        wanted = own + np.clip(1 - noise / max(float(away @ away), 1e-300), 0.0, 1.0) * away
        reached = np.concatenate([[0.0], np.cumsum(wanted / wanted.sum())])
        ranks = quantiles.ranks(axis.start, points) if ranks is None else ranks
        at = np.clip(np.searchsorted(reached, ranks, side="right") - 1, 0, len(own) - 1)
        within = np.clip((ranks - reached[at]) / np.maximum(np.diff(reached)[at], 1e-12), 0.0, 1.0 - 1e-9)
        low, high = marginal.edges[at], marginal.edges[at + 1]
        even = low + within * (high - low)
        shaped = axis.back(quantiles.points_at(axis.start, ends[at] + within * own[at]))
        places = np.where(own[at] < _TRUSTED * wanted[at], even, np.clip(shaped, low, high))
        if marginal.whole:
            return np.clip(np.floor(places), low, high - 1)
        return marginal.clip(np.where(marginal.spikes[at], 0.0, places))


@dataclass(frozen=True)
class Quantiles:
    """Public: where the model's own points lie on each axis, all classes together (levels x axes)."""

    points: np.ndarray

    @property
    def levels(self) -> np.ndarray:
        """Finer towards the ends."""
        return special.ndtr(np.linspace(-3.7, 3.7, len(self.points)))

    @classmethod
    def of(cls, drawn: np.ndarray, number: int = 129) -> Quantiles:
        return cls(np.quantile(drawn, special.ndtr(np.linspace(-3.7, 3.7, number)), axis=0))

    def ranks(self, axis: int, points: np.ndarray) -> np.ndarray:
        """The ranks of points on an axis."""
        return np.interp(points, self._known(axis), self.levels)

    def points_at(self, axis: int, ranks: np.ndarray) -> np.ndarray:
        """The points that have these ranks."""
        return np.interp(ranks, self.levels, self._known(axis))

    def _known(self, axis: int) -> np.ndarray:
        return np.maximum.accumulate(self.points[:, axis] + 1e-12 * np.arange(len(self.points)))


def _over(points: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """How far each category's axis passes its cut, in standard deviations."""
    chance = np.clip(mean / _ONE_HOT, 1e-6, None)
    chance = np.clip(chance / chance.sum(axis=-1, keepdims=True), 1e-6, 1 - 1e-6)
    return (points - mean + spread * special.ndtri(chance)) / spread


def _scaling(column: Described) -> tuple[float, float, bool]:
    """Centre, scale and whether the tails are pulled in."""
    if not column.ordered or not column.found:
        return 0.0, 1.0, False
    low, lower, middle, upper, high = column.marginal.quantiles(_TENTHS)
    # For a Gaussian both are its standard deviation; the larger one does not break where half the values are equal.
    least = 0.5 if column.step > 0 else 1e-9 + (column.edges[-1] - column.edges[0]) * 1e-5
    scale = max((upper - lower) / 1.349, (high - low) / 2.563, least)
    return float(middle), float(scale), True
