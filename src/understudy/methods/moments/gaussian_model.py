"""The Gaussian model: the radius, mean and shape of each class. For tables of few rows, or of many numbers.

Each class is an elliptical distribution: a mean, a shape (the second moment of rows clipped to a middling radius, so that
a few far rows do not set the noise for all), and a histogram of the distance from the mean, which gives back what
clipping took away. What the noise hides falls back on what all classes share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from understudy.errors import InputError
from understudy.learn.shrinkage import Spreads, class_shapes, shrink_means
from understudy.methods.moments.axes import Axes, Axis, Quantiles
from understudy.methods.moments.cell_rows import CellRows, Cells
from understudy.methods.moments.evening import FEWEST, evenly
from understudy.methods.moments.evidence import gaussian_evidence
from understudy.methods.moments.luck import Luck
from understudy.methods.moments.targets import class_ratio
from understudy.privacy import ABSENT, Budget, ClippedMoments, Event, GaussianCounts
from understudy.release.arrays import fitting
from understudy.release.verdict import Evidence

# Radii are counted in bins of half an octave below the longest row that the schema allows.
RADII = 28
_RATIO = 2**0.5
# A class lies at most so many of these bins further out or in than all rows do.
_FARTHEST = 8
# Bins that hardly stand out of the noise count only within so many of one that does.
_REACH = 4
# Rows are clipped to the radius below which this share of their class lies.
MEAN_LEVEL = 0.8
SHAPE_LEVEL = 0.5
# Spreads are compared between these quantiles, on so many rows of the model's own, so many times.
_LEVELS = (0.1, 0.9)
_CALIBRATION_ROWS = 4000
_ROUNDS = 3
_SPREAD_ROWS = 1000
# So many rows of its own tell the model where its points lie; of very many axes fewer, whose marginals have far more noise.
_RANKED_ROWS = 40_000
_RANKED_NUMBERS = 1 << 24
_FEWEST_RANKED = 4000
# So many rows of its own tell the model how axes go together; axes that are all but the same are kept apart by this ridge.
_CONDITIONAL_ROWS = 20_000
_RIDGE = 1e-4
# A class with fewer rows than this many standard deviations of the noise on their number is not told apart.
_STANDS_OUT = 1.5
# Deviations are looked at in tables of so many rows for one of the noise multiplier, or of so many axes and fewer rows.
_ENOUGH = 20_000.0
_MANY_AXES = 100
_ENOUGH_IF_WIDE = 1000.0


@dataclass(frozen=True)
class GaussianShares:
    """How the precision of the noise is divided among the looks; chosen on validation rows of the benchmark tables."""

    centre: float = 0.0
    radius: float = 0.05
    means: float = 0.60
    spread: float = 0.05
    deviations: float = 0.0
    shapes: float = 0.20


def shares_of(located: bool, width: int, numbers: int, rows: float) -> GaussianShares:
    """The shares for so many axes, of which so many are numbers, and so many rows for one of the noise.

    Without released marginals the centre of all rows is looked for first. A number's width may differ from class to class, a choice's
    follows from its mean. Many rows tell what all classes share, so the looks are for how a class differs; with many axes
    its second moments drown, its deviations do not (see `Spreads`). Else class means are what there is to be had.
    """
    first = {} if located else {"centre": 0.10}
    wide = width >= _MANY_AXES and rows >= _ENOUGH_IF_WIDE
    if 2 * numbers < width or not (rows >= _ENOUGH if located else wide):
        return GaussianShares(**first)
    means, shapes = (0.40, 0.05) if located else (0.35, 0.15)
    return GaussianShares(**first, means=means, spread=0.10, deviations=0.20, shapes=shapes)


@dataclass(frozen=True)
class GaussianPlan:
    """The noise of each look; 0 where there is none."""

    centre: float
    radius: float
    means: float
    spread: float
    deviations: float
    shapes: float


def gaussian_plan(noise: float, shares: GaussianShares) -> GaussianPlan:
    """The noise of each look at a noise multiplier for the whole."""
    given = asdict(shares)
    total = sum(given.values())
    return GaussianPlan(**{name: noise * math.sqrt(total / part) if part else 0.0 for name, part in given.items()})


def gaussian_events(plan: GaussianPlan, grid: int = 1) -> list[Event]:
    """What the looks are charged as; of persons with several rows, which count parts of one, by their `grid`."""
    radii: list[Event] = [GaussianCounts(noise, grid=grid).event() for noise in (plan.radius, plan.spread)]
    sums = [_means((1.0,), noise, grid) for noise in (plan.centre, plan.means) if noise]
    widths = [_deviations((1.0,), plan.deviations, grid)] if plan.deviations else []
    shapes = _shapes((1.0,), plan.shapes, grid)
    looks = [event for mechanism in (*sums, *widths, shapes) for event in mechanism.events()]
    return [*radii, *looks]


def _means(clips: tuple[float, ...], noise: float, grid: int) -> ClippedMoments:
    return ClippedMoments(clips, noise, (0.15, 0.85, 0.0), "none", grid)


def _deviations(clips: tuple[float, ...], noise: float, grid: int) -> ClippedMoments:
    # Counts are known by now; they come along with next to no weight.
    return ClippedMoments(clips, noise, (0.001, 0.999, 0.0), "none", grid)


def _shapes(clips: tuple[float, ...], noise: float, grid: int) -> ClippedMoments:
    return ClippedMoments(clips, noise, (0.001, 0.001, 0.998), "full", grid)


@dataclass(frozen=True)
class GaussianModel:
    """Public: what the release holds. `draw` makes rows of cells."""

    axes: Axes
    ratio: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    edges: np.ndarray
    radii: np.ndarray
    stretch: np.ndarray
    hidden: list[int] = field(default_factory=list)
    quantiles: Quantiles | None = None
    shares: np.ndarray | None = None
    """How common each choice is in all classes together, an entry for each axis."""

    def draw(self, n: int, wanted: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """`n` rows of cells and their classes; all of class `wanted` if that is given."""
        classes = evenly(n, self.ratio, rng) if wanted is None else np.full(n, wanted)
        cells, points = np.empty((n, len(self.axes.axes))), np.empty((n, self.axes.width))
        for c in np.unique(classes):
            mine = np.flatnonzero(classes == c)
            around = self.around(int(c), len(mine), rng)
            # The cuts of choices are where this class' spread puts them.
            spread = np.sqrt(np.maximum((around**2).mean(axis=0), 1e-12))
            points[mine] = self.means[c] + around
            cells[mine] = self.axes.cells(points[mine], self.means[c], spread, self.quantiles)
        if wanted is None and n >= FEWEST and self.shares is not None:
            cells = self.axes.evened(cells, points, self.shares, self.quantiles, rng)
        return cells, classes

    def fill(
        self, cells: np.ndarray, known: np.ndarray, classes: np.ndarray, whole: np.ndarray, luck: Luck
    ) -> np.ndarray:
        """Cells with the columns that are not `known` drawn anew given the others and the class; those of `whole` are not missing.

        Given some axes the others of a Gaussian have a mean that is linear in them, and a spread that is not moved by them. A lane
        of `luck` is an axis.
        """
        points = self.axes.points(cells, luck.rng)
        given = np.zeros(self.axes.width, dtype=bool)
        for at, axis in enumerate(self.axes.axes):
            given[axis.start : axis.stop] = known[at]
            if whole[at] and axis.missing is not None:
                given[axis.missing], points[:, axis.missing] = True, 0.0
        made = cells.copy()
        for c in np.unique(classes):
            mine = np.flatnonzero(classes == c)
            slopes, factor, spread = self._conditional(int(c), given)
            middle = points[mine].copy()
            middle[:, ~given] = self.means[c][~given] + (middle[:, given] - self.means[c][given]) @ slopes
            drawn = middle.copy()
            drawn[:, ~given] += luck.normals[mine][:, ~given] @ factor
            for at, axis in enumerate(self.axes.axes):
                if whole[at] and axis.missing is not None:
                    drawn[:, axis.missing] = -np.inf
            found = self.axes.cells(drawn, middle, np.where(given, 1.0, spread), self.quantiles)
            made[mine] = np.where(known, cells[mine], found)
        return made

    def _conditional(self, c: int, given: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the axes that are not `given`: their slopes on those that are, the root of what is left, and its spread on every axis.

        The root is the symmetric one: each axis keeps nearest to its own lane of luck.
        """
        around = self.around(c, _CONDITIONAL_ROWS, np.random.default_rng(0))
        shape = around.T @ around / len(around)
        known = shape[np.ix_(given, given)]
        known = known + _RIDGE * np.trace(known) / max(len(known), 1) * np.eye(len(known))
        slopes = np.linalg.solve(known, shape[np.ix_(given, ~given)])
        left = shape[np.ix_(~given, ~given)] - shape[np.ix_(~given, given)] @ slopes
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        factor = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        spread = np.zeros(len(given))
        spread[~given] = np.sqrt(np.maximum((factor**2).sum(axis=1), 1e-12))
        return slopes, factor, spread

    @property
    def lanes(self) -> np.ndarray:
        """The column of each lane of luck."""
        return np.repeat(np.arange(len(self.axes.axes)), [axis.stop - axis.start for axis in self.axes.axes])

    def around(self, c: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Points of class `c` about its mean: directions from its shape, distances from its radii."""
        made = rng.normal(size=(n, self.axes.width)) @ self.factors[c].T
        length = np.maximum(np.linalg.norm(made, axis=1), 1e-12)
        return made * (self._radius(c, n, rng) / length)[:, None] * self.stretch

    def _radius(self, c: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Distances from the mean, geometrically even within their bins."""
        at = rng.choice(len(self.radii[c]), size=n, p=self.radii[c])
        low, high = np.log(self.edges[at]), np.log(self.edges[at + 1])
        return np.exp(low + rng.random(n) * (high - low))

    def spreads(self) -> np.ndarray:
        """How far the model's points lie from their class' mean, classes x axes."""
        rng = np.random.default_rng(0)
        return np.stack([self.around(c, _SPREAD_ROWS, rng).std(axis=0) for c in range(len(self.ratio))])

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        names = ("ratio", "means", "factors", "radii", "stretch")
        arrays = {name: getattr(self, name) for name in names} | {"radius_edges": self.edges}
        arrays |= {} if self.quantiles is None else {"quantiles": self.quantiles.points}
        return arrays if self.shares is None else arrays | {"shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], axes: Axes, classes: int | None) -> GaussianModel:
        """What `arrays` gave, from whoever; None stands for any number of classes."""
        ratio = fitting(arrays, "ratio", classes, shares=True)
        means = fitting(arrays, "means", len(ratio), axes.width)
        factors = fitting(arrays, "factors", len(ratio), axes.width, axes.width)
        edges = fitting(arrays, "radius_edges", None, least=1e-12)
        if np.any(np.diff(edges) <= 0):
            raise InputError("the edges of the radii do not rise: the release is damaged. Copy it again.")
        radii = fitting(arrays, "radii", len(ratio), len(edges) - 1, shares=True)
        stretch = fitting(arrays, "stretch", axes.width, least=0.0)
        known = Quantiles(fitting(arrays, "quantiles", None, axes.width)) if "quantiles" in arrays else None
        even = radii / radii.sum(axis=1, keepdims=True)
        shares = fitting(arrays, "shares", axes.width, least=0.0, most=1.0) if "shares" in arrays else None
        chosen = [slice(axis.start, axis.stop) for axis in axes.axes if axis.one_hot]
        if shares is not None and not all(shares[here].any() for here in chosen):
            raise InputError("a column's values have no share in the rows: the release is damaged. Copy it again.")
        return cls(axes, ratio / ratio.sum(), means, factors, edges, even, stretch, quantiles=known, shares=shares)

    def stretched(self) -> GaussianModel:
        """The model with each number's spread set right by its private marginal, which all classes share.

        Directions come from clipped rows, and distances are shared by all axes: an axis with long tails is given too
        little spread, and the others too much.
        """
        wanted = self.axes.widths()
        known = np.flatnonzero(~np.isnan(wanted))
        if not len(known):
            return self
        rng = np.random.default_rng(0)
        counts = np.maximum((self.ratio * _CALIBRATION_ROWS).astype(np.int64), 10)
        # Only the stretch changes from round to round.
        plain = replace(self, stretch=np.ones(self.axes.width))
        around = np.concatenate([plain.around(c, int(k), rng)[:, known] for c, k in enumerate(counts)])
        middle, stretch = np.repeat(self.means[:, known], counts, axis=0), self.stretch.copy()
        for _ in range(_ROUNDS):
            low, high = np.quantile(middle + around * stretch[known], _LEVELS, axis=0)
            ratio = wanted[known] / np.maximum(high - low, 1e-9)
            stretch[known] = np.clip(stretch[known] * np.clip(ratio, 0.5, 2.0), 0.2, 5.0)
        return replace(self, stretch=stretch)

    def with_quantiles(self) -> GaussianModel:
        """The model that knows where its own points lie, so that a number can take the value of its rank. Free."""
        if not any(axis.curved for axis in self.axes.axes):
            return self
        rng = np.random.default_rng(0)
        rows = min(_RANKED_ROWS, max(_FEWEST_RANKED, _RANKED_NUMBERS // self.axes.width))
        counts = np.maximum((self.ratio * rows).astype(np.int64), 1)
        drawn = np.concatenate([self.means[c] + self.around(c, int(k), rng) for c, k in enumerate(counts)])
        return replace(self, quantiles=Quantiles.of(drawn))


def look(
    rows: CellRows, n_classes: int, axes: Axes, plan: GaussianPlan, budget: Budget, grid: int = 1
) -> tuple[GaussianModel, dict[str, Any], Evidence]:
    """Touches private data: four looks or five, each through the gate. What they are aimed at are noisy answers of earlier ones.

    `grid` are the parts that a person has, of which each row counts some; 1 where every row is a record.

    With the model come public facts (the clip norms, which follow from the noisy radii and stay below what the schema
    allows), and what the looks say of their own noise.
    """
    edges = radius_edges(axes)
    middle = np.zeros(axes.width)
    if plan.centre:
        centre = _means((float(edges[-1]) / 4,), plan.centre, grid)
        sums = centre.release_totals(rows.total(MomentsLook(axes, None, None, centre, "one")), budget)
        middle = sums.sums[0] / max(float(sums.counts[0]), 1.0)
    found = rows.total(RadiiLook(axes, middle, None, edges, n_classes))
    near = settle(_radii(found, GaussianCounts(plan.radius, grid=grid), budget), plan.radius)
    clips = _clips(near, edges, MEAN_LEVEL)
    summing = _means(clips, plan.means, grid)
    first = summing.release_totals(rows.total(MomentsLook(axes, middle, None, summing)), budget)
    counts = np.maximum(first.counts, 1.0)
    noise = first.sum_noise / counts
    means = shrink_means(first.sums / counts[:, None], noise, counts)
    found = rows.total(RadiiLook(axes, middle, means, edges, n_classes))
    radii = _radii(found, GaussianCounts(plan.spread, grid=grid), budget)
    spread = settle(radii, plan.spread)
    tight = _clips(spread, edges, SHAPE_LEVEL)
    spreads = None
    if plan.deviations:
        deviating = _deviations(tight, plan.deviations, grid)
        widths = deviating.release_totals(rows.total(MomentsLook(axes, middle, means, deviating, "sizes")), budget)
        spreads = Spreads(widths.sums / counts[:, None], widths.sum_noise / counts)
    shaping = _shapes(tight, plan.shapes, grid)
    second = shaping.release_totals(rows.total(MomentsLook(axes, middle, means, shaping)), budget)
    rows.forget("points", "around")
    factors = class_shapes(second.products, second.product_noise, counts, means, np.asarray(tight), spreads)
    hidden = np.flatnonzero(first.counts < _STANDS_OUT * first.count_noise)
    ratio = class_ratio(counts, hidden)
    shares = spread / spread.sum(axis=1, keepdims=True)
    even = np.ones(axes.width)
    everyone = middle + first.sums.sum(axis=0) / counts.sum()
    common = axes.shares(everyone, float(np.linalg.norm(first.sum_noise) / counts.sum()))
    lost = hidden.tolist() if n_classes > 1 else []
    model = GaussianModel(axes, ratio, middle + means, factors, edges, shares, even, lost, shares=common)
    facts: dict[str, Any] = {"clips": [round(c, 4) for c in clips], "shape_clips": [round(c, 4) for c in tight]}
    facts |= {"longest_row_by_schema": round(float(edges[-1]) / 2, 4)}
    fitted = model.stretched().with_quantiles()
    return fitted, facts, gaussian_evidence(axes, first, second, tight, fitted.spreads(), radii, plan.spread)


def radius_edges(axes: Axes) -> np.ndarray:
    """Public edges of the radius bins: no row is longer than the last, and shorter than the first is as good as zero."""
    longest = math.sqrt(sum(_longest(axis) ** 2 for axis in axes.axes)) * 2
    return longest * _RATIO ** np.arange(-RADII, 1, dtype=np.float64)


def _longest(axis: Axis) -> float:
    if not axis.curved:
        return 1.5
    low, high = axis.column.edges[0], axis.column.edges[-1]
    return float(np.arcsinh(max(axis.centre - low, high - axis.centre) / axis.scale)) + 0.71


def _around(rows: Cells, axes: Axes, middle: np.ndarray | None, means: np.ndarray | None) -> np.ndarray:
    """Private. Points about the middle of all rows, and about the means of their classes once these are known."""
    points = rows.keep("points", lambda: axes.points(rows.cells, rows.chances(8)))
    if middle is None or (means is None and not middle.any()):
        return points
    if means is None:
        return points - middle
    return rows.keep("around", lambda: points - middle - means[np.where(rows.classes != ABSENT, rows.classes, 0)])


@dataclass(frozen=True)
class MomentsLook:
    """A look at counts, sums and products of clipped rows: of all classes, of all rows as "one", or of the "sizes" of numbers."""

    axes: Axes
    middle: np.ndarray | None
    means: np.ndarray | None
    mechanism: ClippedMoments
    of: Literal["classes", "one", "sizes"] = "classes"

    def __call__(self, rows: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        around = _around(rows, self.axes, self.middle, self.means)
        classes = np.where(rows.classes == ABSENT, ABSENT, 0) if self.of == "one" else rows.classes
        return self.mechanism.add_up(np.abs(around) if self.of == "sizes" else around, classes, rows.weights)


@dataclass(frozen=True)
class RadiiLook:
    """A look at how far rows lie from the middle, or from the mean of their class: classes x bins.

    A row is in one bin of its own class: one moved cell, or its part of one.
    """

    axes: Axes
    middle: np.ndarray
    means: np.ndarray | None
    edges: np.ndarray
    n_classes: int

    def __call__(self, rows: Cells) -> np.ndarray:
        length, bins = np.linalg.norm(_around(rows, self.axes, self.middle, self.means), axis=1), len(self.edges) - 1
        at = np.clip(np.searchsorted(self.edges, length, side="right") - 1, 0, bins - 1)
        known = rows.classes != ABSENT
        parts = None if rows.weights is None else rows.weights[known]
        flat = np.bincount(rows.classes[known] * bins + at[known], parts, self.n_classes * bins)
        return flat.astype(np.int64).reshape(self.n_classes, bins)


def _radii(counts: np.ndarray, mechanism: GaussianCounts, budget: Budget) -> np.ndarray:
    """The noisy counts of a `RadiiLook`. Safe to publish."""
    return mechanism.release(counts, budget).astype(np.float64)


def settle(noisy: np.ndarray, noise: float) -> np.ndarray:
    """Counts of radii, none negative: those of all rows moved to the scale of each class, and of its own what stands out.

    A class of few rows is mostly noise in so many bins, but how far out it lies as a whole is one number.
    """
    all_rows = noisy.sum(axis=0)
    all_rows = np.where(all_rows > 2 * noise * math.sqrt(len(noisy)), all_rows, 0.0)
    if all_rows.sum() == 0:
        all_rows = np.ones_like(all_rows)
    alike = np.stack([_moved(counts, all_rows / all_rows.sum(), noise) for counts in noisy])
    away = noisy - alike
    keep = np.clip(1 - noisy.shape[1] * noise**2 / np.maximum((away**2).sum(axis=1, keepdims=True), 1e-300), 0.0, 1.0)
    found = alike + keep * away
    near = np.stack([_near(counts, noise * float(k)) for counts, k in zip(found, keep[:, 0], strict=True)])
    # Of a class with next to no rows nothing may be left; it lies where all rows do.
    return np.where(near.sum(axis=1, keepdims=True) > 0, near, alike)


def _near(counts: np.ndarray, noise: float) -> np.ndarray:
    """Counts above the noise, not far from such as stand well out of it; the others are zero.

    A lone bin of noise far outside would be a few rows a hundred times longer than any that there is.
    """
    above = counts > noise
    sure = np.flatnonzero(counts > 3 * noise)
    if len(sure) == 0:
        return np.where(above, counts, 0.0)
    away = np.abs(np.arange(len(counts))[:, None] - sure).min(axis=1)
    return np.where(above & (away <= _REACH), counts, 0.0)


def _moved(noisy: np.ndarray, common: np.ndarray, noise: float) -> np.ndarray:
    """The common radii, so many bins further out (or in) and so many rows as fit the noisy counts best."""
    best, found = -math.inf, common
    for bins in range(-_FARTHEST, _FARTHEST + 1):
        at = np.clip(np.arange(len(common)) + bins, 0, len(common) - 1)
        moved = np.bincount(at, common, minlength=len(common))
        rows, size = max(float(noisy @ moved), 0.0), float(moved @ moved)
        # Noise alone hardly ever explains this much more.
        explained = rows**2 / size - (16 * noise**2 if bins else 0.0)
        if explained > best:
            best, found = explained, max(rows / size, 1.0) * moved
    return found


def _clips(radii: np.ndarray, edges: np.ndarray, level: float) -> tuple[float, ...]:
    """The radius below which this share of a class lies, as far as its bins tell."""
    found: list[float] = []
    for counts in radii:
        upto = np.cumsum(counts) / counts.sum()
        at = int(np.searchsorted(upto, level))
        before = upto[at - 1] if at else 0.0
        part = (level - before) / max(upto[at] - before, 1e-12)
        found.append(float(edges[at] * (edges[at + 1] / edges[at]) ** part))
    return tuple(found)
