"""One look at means and second moments: class counts, sums and sums of products of clipped rows, in one release.

The arithmetic is exact. Rows are clipped, rounded *towards zero* to a grid and summed as whole numbers, so rounding can
only make a row shorter: the sensitivity that is charged for is the sensitivity that there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.events import GaussianEvent, check_count, check_positive
from understudy.privacy.mechanisms import _matrix, clip_rows  # pyright: ignore[reportPrivateUsage]
from understudy.privacy.pair_tables import ABSENT
from understudy.privacy.persons import check_weights, in_parts, weighted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Products = Literal["full", "diagonal", "none"]
Totals = tuple[Ints, Ints, Ints]

# A clipped row has at most this length in grid units: products stay below 2^24, and 2^28 rows of them below 2^53.
_LENGTH = 1 << 12
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Moments:
    """What `ClippedMoments` released, class by class; safe to publish.

    `sums` is classes x d; `products` is classes x d x d, or classes x d where only squares were asked for. The
    `*_noise` are standard deviations in the same units, one a class (off the diagonal for full products; on it the
    noise is sqrt(2) larger).
    """

    counts: Floats
    sums: Floats
    products: Floats
    count_noise: float
    sum_noise: Floats
    product_noise: Floats


@dataclass(frozen=True)
class ClippedMoments:
    """Counts, sums and products of rows clipped to L2 norm `clips[c]` in class c, with discrete Gaussian noise.

    Formal guarantee: blanking a record z of class c, ||z|| <= C = clips[c], changes
    - the class' count by 1;
    - its sum by z, of norm at most C;
    - its full products, the diagonal weighted by 1/sqrt(2) and the upper triangle by 1, by a vector of squared norm
      sum_i z_i^4 / 2 + sum_{i<j} z_i^2 z_j^2 = ||z||^4 / 2, so of norm at most C^2 / sqrt(2); hence noise of
      sigma C^2 / sqrt(2) above the diagonal and sigma C^2 on it is a Gaussian mechanism of multiplier sigma;
    - its squares alone by (z_i^2), of norm at most C^2;
    and nothing in any other class. `shares` divide the precision among the three, so that together they are a Gaussian
    mechanism of `noise_multiplier`. All of it in whole grid units: rounding towards zero shortens every coordinate, and
    a row that floating point left too long is shortened again, so the bounds hold for the integers that are summed.

    With a `grid` a record is a person, whose rows count so many parts in all (see `persons`): its counts, sums and products,
    each in units of its own class, are moved by a mean of such vectors, which is no longer than the longest of them.
    """

    clips: tuple[float, ...]
    noise_multiplier: float
    shares: tuple[float, float, float] = (0.05, 0.35, 0.6)
    products: Products = "full"
    grid: int = 1

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_count("grid", self.grid)
        check_count("number of `clips`", len(self.clips))
        for clip in self.clips:
            check_positive("clip", clip)
        if self.products not in ("full", "diagonal", "none"):
            raise InputError(f'`products` (={self.products!r}) must be "full", "diagonal" or "none".')
        if len(self.shares) != 3 or any(s < 0 for s in self.shares) or abs(sum(self.shares) - 1) > 1e-9:
            raise InputError(f"`shares` (={self.shares}) must be three shares that sum to 1: counts, sums, products.")
        if self.shares[0] <= 0 or self.shares[1] <= 0 or (self.shares[2] > 0) == (self.products == "none"):
            raise InputError(f"`shares` (={self.shares}) must be positive for what is released, and 0 for what is not.")

    def multipliers(self) -> tuple[float, ...]:
        """The noise multiplier of counts, sums and products."""
        return tuple(
            math.nextafter(self.noise_multiplier / math.sqrt(s), math.inf) if s else math.inf for s in self.shares
        )

    def events(self) -> list[GaussianEvent]:
        """What the release is charged as."""
        counts, *others = (m for m in self.multipliers() if math.isfinite(m))
        unit = GaussianEvent(counts, 1, "discrete", integer_unit=self.grid == 1)
        return [unit, *(GaussianEvent(m, 1, "discrete") for m in others)]

    def release(self, rows: ArrayLike, classes: ArrayLike, budget: Budget, weights: ArrayLike | None = None) -> Moments:
        """The noisy moments. Safe to publish. A row whose class is `ABSENT` is counted nowhere."""
        return self.release_totals(self.add_up(rows, classes, weights), budget)

    def add_up(self, rows: ArrayLike, classes: ArrayLike, weights: ArrayLike | None = None) -> Totals:
        """Private. Exact counts, sums and products of some rows, in grid units; those of several batches of rows add up."""
        vectors, groups = _check(rows, classes, len(self.clips))
        parts = check_weights(weights, len(vectors), self.grid)
        return _totals(vectors, groups, self.clips, self.products, parts)

    def release_totals(self, totals: Totals, budget: Budget) -> Moments:
        """The noisy moments of what `add_up` gave, of all rows. Safe to publish."""
        counts, sums, products = totals
        n_classes, d, grid = len(self.clips), sums.shape[-1], self.grid
        shape = {"full": (n_classes, d, d), "diagonal": (n_classes, d), "none": (n_classes, 0)}[self.products]
        if (counts.shape, sums.shape, products.shape) != ((n_classes,), (n_classes, d), shape):
            raise InputError(f"these are not the totals of {n_classes} classes: {[part.shape for part in totals]}.")
        counting, summing, multiplying = self.multipliers()
        budget.charge(*self.events())
        noise = budget.noise
        unit = np.asarray(self.clips) / _LENGTH
        noisy_counts = noise.add_discrete_gaussian(counts, in_parts(counting, grid)) / grid
        noisy_sums = noise.add_discrete_gaussian(sums, in_parts(summing * _LENGTH, grid)) / grid * unit[:, None]
        square = multiplying * _LENGTH**2
        if self.products == "full":
            noisy_products = np.zeros((n_classes, d, d))
            diagonal: Ints = np.arange(d, dtype=np.int64)
            noisy_products[:, diagonal, diagonal] = noise.add_discrete_gaussian(
                products[:, diagonal, diagonal], in_parts(square, grid)
            )
            upper = np.triu_indices(d, 1)
            if len(upper[0]):
                beside = math.nextafter(square / math.sqrt(2), math.inf)
                off = noise.add_discrete_gaussian(products[:, upper[0], upper[1]], in_parts(beside, grid))
                noisy_products[:, upper[0], upper[1]] = off
                noisy_products[:, upper[1], upper[0]] = off
            noisy_products *= unit[:, None, None] ** 2 / grid
            spread = square / math.sqrt(2) * unit**2
        elif self.products == "diagonal":
            noisy_products = noise.add_discrete_gaussian(products, in_parts(square, grid)) / grid * unit[:, None] ** 2
            spread = square * unit**2
        else:
            noisy_products, spread = np.zeros((n_classes, 0)), np.zeros(n_classes)
        return Moments(
            noisy_counts.astype(np.float64), noisy_sums, noisy_products, counting, summing * _LENGTH * unit, spread
        )


def _totals(vectors: Floats, classes: Ints, clips: Sequence[float], products: Products, weights: Ints | None) -> Totals:
    """Private. Exact sums in grid units, each row counted by its weight."""
    if weights is None:
        return _sum(vectors, classes, clips, products)
    shapes = [part.shape for part in _sum(vectors[:0], classes[:0], clips, products)]

    def flat(at: Ints) -> Ints:
        return np.concatenate([part.ravel() for part in _sum(vectors[at], classes[at], clips, products)])

    found = weighted(flat, len(vectors), weights)
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    counts, sums, squares = (part.reshape(shape) for part, shape in zip(np.split(found, ends), shapes, strict=True))
    return counts, sums, squares


def _sum(vectors: Floats, classes: Ints, clips: Sequence[float], products: Products) -> Totals:
    """Private. Exact sums in grid units."""
    n_classes, d = len(clips), vectors.shape[1]
    counts = np.bincount(classes[classes != ABSENT], minlength=n_classes).astype(np.int64)
    sums = np.zeros((n_classes, d), dtype=np.int64)
    shape = {"full": (n_classes, d, d), "diagonal": (n_classes, d), "none": (n_classes, 0)}[products]
    total = np.zeros(shape, dtype=np.int64)
    for c, clip in enumerate(clips):
        mine = np.flatnonzero(classes == c)
        for start in range(0, len(mine), _CHUNK):
            whole = to_grid(vectors[mine[start : start + _CHUNK]], clip)
            sums[c] += whole.sum(axis=0).astype(np.int64)
            if products == "full":
                total[c] += (whole.T @ whole).astype(np.int64)
            elif products == "diagonal":
                total[c] += np.einsum("ij,ij->j", whole, whole).astype(np.int64)
    return counts, sums, total


def to_grid(vectors: Floats, clip: float) -> Floats:
    """Private. Rows clipped to `clip`, as whole numbers of clip / 2^12 rounded towards zero, none longer than 2^12."""
    whole = np.trunc(clip_rows(vectors, clip) / clip * _LENGTH)
    while np.any(long := np.einsum("ij,ij->i", whole, whole) > float(_LENGTH) ** 2):
        whole[long] = np.trunc(whole[long] * (1 - 2.0**-11))
    return whole


def _check(rows: ArrayLike, classes: ArrayLike, n_classes: int) -> tuple[Floats, Ints]:
    vectors, groups = _matrix(rows), np.asarray(classes)
    if groups.shape != (len(vectors),) or not np.issubdtype(groups.dtype, np.integer):
        raise InputError(f"expected one whole-numbered class for each of {len(vectors)} records.")
    wrong = (groups != ABSENT) & ((groups < 0) | (groups >= n_classes))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"record {row} has class {groups[row]}; there are {n_classes}.")
    return vectors, groups.astype(np.int64)
