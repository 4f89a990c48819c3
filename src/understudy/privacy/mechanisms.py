"""The gate: everything private leaves through one of these, and each charges the budget before it draws.

A mechanism is a frozen dataclass that holds public parameters only. It checks its input, charges, draws, and
returns what is safe to publish: noisy answers, whose cost the budget now holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.argmax import check_votes
from understudy.privacy.budget import Budget
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    SubsampledGaussianEvent,
    check_count,
    check_positive,
)
from understudy.privacy.noise import NoiseSource
from understudy.privacy.persons import in_parts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NOT_ANSWERED = -1
_CHUNK = 1 << 14


def _argmax(noisy: Ints, noise: NoiseSource) -> Ints:
    """Index of the largest count, ties broken uniformly at random: a fixed rule would make the q bounds invalid."""
    tied = noisy == noisy.max(axis=1, keepdims=True)
    return np.where(tied, noise.uniform(noisy.shape), -1.0).argmax(axis=1).astype(np.int64)


@dataclass(frozen=True)
class LNMax:
    """Laplace noisy max (PATE 2017): independent discrete Laplace noise of scale 1/gamma on *every* count.

    Formal guarantee: a blanked record changes one teacher's vote, which moves two counts by one, so each answer is
    (2 gamma, 0)-DP. Noise on one count only would not be covered by the bounds that PATE uses.
    """

    gamma: float

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    def answer(self, votes: ArrayLike, budget: Budget) -> Ints:
        """The noisy winner of each row of votes (queries x classes). Safe to publish."""
        counts = check_votes(votes)
        budget.charge(self.event(len(counts)))
        return self._draw(counts, budget.noise)

    def event(self, count: int) -> LNMaxEvent:
        """What so many answers are charged as."""
        return LNMaxEvent(self.gamma, count)

    def _draw(self, counts: Ints, noise: NoiseSource) -> Ints:
        scale = math.nextafter(1 / self.gamma, math.inf)  # never less noise than claimed
        return _argmax(noise.add_discrete_laplace(counts, scale), noise)


@dataclass(frozen=True)
class GNMax:
    """Gaussian noisy max (PATE 2018): independent discrete Gaussian noise of `sigma` on every count.

    Formal guarantee: two counts move by one, so each answer costs order / sigma^2 in Rényi terms.
    """

    sigma: float

    def __post_init__(self) -> None:
        check_positive("sigma", self.sigma)

    def answer(self, votes: ArrayLike, budget: Budget) -> Ints:
        """The noisy winner of each row of votes (queries x classes). Safe to publish."""
        counts = check_votes(votes)
        budget.charge(self.event(len(counts)))
        return self._draw(counts, budget.noise)

    def event(self, count: int) -> GNMaxEvent:
        """What so many answers are charged as."""
        return GNMaxEvent(self.sigma, count, "discrete")

    def _draw(self, counts: Ints, noise: NoiseSource) -> Ints:
        return _argmax(noise.add_discrete_gaussian(counts, self.sigma), noise)


@dataclass(frozen=True)
class ConfidentGNMax:
    """Confident-GNMax (PATE 2018): answer only where the largest count, plus noise, reaches a threshold of votes.

    Formal guarantee: the largest count moves by at most one, so each check costs order / (2 sigma_threshold^2),
    always; each answer costs order / sigma^2 on top.
    """

    threshold: float
    sigma_threshold: float
    sigma: float

    def __post_init__(self) -> None:
        ConfidentGNMaxEvent(self.threshold, self.sigma_threshold, self.sigma, 1, 0)

    @classmethod
    def from_share(cls, share: float, teachers: int, *, sigma_threshold: float, sigma: float) -> ConfidentGNMax:
        """The threshold as a share of the teachers, as G-PATE's 0.5 is."""
        check_count("teachers", teachers)
        if not 0 <= share <= 1:
            raise InputError(f"`share` (={share}) is a share of the teachers: between 0 and 1.")
        return cls(share * teachers, sigma_threshold, sigma)

    def answer(self, votes: ArrayLike, budget: Budget, *, max_answers: int | None = None) -> Ints:
        """The noisy winner of each row that passes the threshold, `NOT_ANSWERED` elsewhere. Safe to publish.

        With `max_answers` the first so many rows that pass are answered and exactly that many answers are charged
        beforehand: no charge depends on an answer, and the tightest accounting applies. Without it the budget becomes a
        filter: room for all rows is set aside, and what was not answered is given back.
        """
        counts = check_votes(votes)
        rows = len(counts)
        if max_answers is not None:
            check_count("max_answers", max_answers)
        most = rows if max_answers is None else min(max_answers, rows)
        worst = self.event(rows, most)
        hold = budget.hold(worst) if max_answers is None else None
        if hold is None:
            budget.charge(worst)
        passed = self._passing(counts, budget.noise)[:most]
        if hold is not None:
            hold.settle(self.event(rows, len(passed)))
        return self._label(counts, passed, budget.noise)

    def _passing(self, counts: Ints, noise: NoiseSource) -> Ints:
        checks = noise.add_discrete_gaussian(counts.max(axis=1), self.sigma_threshold)
        return np.flatnonzero(checks >= self.threshold).astype(np.int64)

    def _label(self, counts: Ints, passed: Ints, noise: NoiseSource) -> Ints:
        labels = np.full(len(counts), NOT_ANSWERED, dtype=np.int64)
        if len(passed):
            chosen = counts[passed]
            labels[passed] = _argmax(noise.add_discrete_gaussian(chosen, self.sigma), noise)
        return labels

    def event(self, count: int, answered: int) -> ConfidentGNMaxEvent:
        """What so many checks and answers are charged as."""
        return ConfidentGNMaxEvent(float(self.threshold), self.sigma_threshold, self.sigma, count, answered, "discrete")


@dataclass(frozen=True)
class NoisyCounts:
    """Counts with exact discrete Laplace noise of scale sensitivity / epsilon on every cell.

    Formal guarantee: (epsilon, 0)-DP if blanking one record changes the counts by at most `sensitivity` in sum (one
    histogram: 1; one histogram of each of c columns: c).
    """

    epsilon: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("sensitivity", self.sensitivity)

    def event(self) -> LaplaceEvent:
        """What a release is charged as."""
        return LaplaceEvent(self.epsilon)

    def release(self, counts: ArrayLike, budget: Budget) -> Ints:
        """The noisy counts, of the same shape. Safe to publish."""
        exact = _whole(counts)
        budget.charge(self.event())
        scale = math.nextafter(self.sensitivity / self.epsilon, math.inf)
        return budget.noise.add_discrete_laplace(exact, scale)


@dataclass(frozen=True)
class GaussianCounts:
    """Counts with exact discrete Gaussian noise of standard deviation `noise_multiplier` * sqrt(cells).

    Formal guarantee: blanking one record moves at most `cells` cells by one each (one histogram: 1; one of each of
    c columns: c), which is an L2 change of sqrt(cells). With a `grid` counts are given in parts of one, and a record is a
    person, whose rows count so many parts in all (see `persons`): each of `cells` histograms moves by a vector of norm one.
    """

    noise_multiplier: float
    cells: int = 1
    grid: int = 1

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_count("cells", self.cells)
        check_count("grid", self.grid)

    @property
    def sigma(self) -> float:
        """The noise's standard deviation on a cell."""
        return math.nextafter(self.noise_multiplier * math.sqrt(self.cells), math.inf)

    def event(self) -> GaussianEvent:
        """What a release is charged as: each moved cell is a discrete Gaussian shifted by one, whose loss is known exactly."""
        return GaussianEvent(self.sigma, self.cells, "discrete", integer_unit=self.grid == 1)

    def release(self, counts: ArrayLike, budget: Budget) -> NDArray[Any]:
        """The noisy counts, of the same shape, in whole numbers or, with a grid, in parts of one. Safe to publish."""
        _whole(counts)
        budget.charge(self.event())
        return self._draw(counts, budget.noise)

    def _draw(self, counts: ArrayLike, noise: NoiseSource) -> NDArray[Any]:
        noisy = noise.add_discrete_gaussian(_whole(counts), in_parts(self.sigma, self.grid))
        return noisy if self.grid == 1 else noisy / self.grid


@dataclass(frozen=True)
class ClippedSum:
    """The sum of vectors, one a record, each clipped to L2 norm `clip`, plus Gaussian noise: one release.

    Formal guarantee: blanking a record removes one vector of norm at most `clip`, so the noise of standard deviation
    noise_multiplier * clip makes this a Gaussian mechanism of that multiplier.

    With `grid` the noise is exact: every clipped vector is rounded to multiples of `grid`, which makes it longer by
    at most grid * sqrt(d) / 2; the sum is one of integers, and the noise is a discrete Gaussian for that larger
    sensitivity.
    """

    clip: float
    noise_multiplier: float
    grid: float | None = None

    def __post_init__(self) -> None:
        check_positive("clip", self.clip)
        check_positive("noise_multiplier", self.noise_multiplier)
        if self.grid is not None:
            check_positive("grid", self.grid)
            if self.clip / self.grid > 2**40:
                raise InputError(
                    f"`grid` (={self.grid}) is too fine for `clip` (={self.clip}); at least {self.clip / 2**40:.3g}."
                )

    def sensitivity(self, dimension: int, rows: int = 1) -> float:
        """The L2 change of the (rounded) sum when one record is blanked; one that has so many rows, each a part of it, at most."""
        return self.clip if self.grid is None else self.clip + rows * self.grid * math.sqrt(dimension) / 2

    def release(self, rows: ArrayLike, budget: Budget) -> Floats:
        """The noisy sum over rows (records x dimensions). Safe to publish."""
        vectors = _matrix(rows)
        sigma = math.nextafter(self.noise_multiplier * self.sensitivity(vectors.shape[1]), math.inf)
        noise = "continuous" if self.grid is None else "discrete"
        budget.charge(GaussianEvent(self.noise_multiplier, noise=noise))
        return _noisy_sum(vectors, self.clip, sigma, self.grid, budget)

    def release_groups(
        self,
        parts: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike]],
        dimension: int,
        groups: int,
        budget: Budget,
        *,
        rows: int = 1,
    ) -> Floats:
        """The noisy sum of each group of records (groups x dimensions). Safe to publish.

        A part is some rows, the group of each and how much of a record it counts; one of a group below 0 is summed nowhere. A record is
        in one group, or its `rows` count no more than one together: all sums together then move by what one sum would, and by
        what the rounding of so many rows adds. Needs a `grid`. Charged before the first part is made.
        """
        check_count("dimension", dimension)
        check_count("groups", groups)
        check_count("rows", rows)
        if self.grid is None:
            raise InputError("sums of groups are released themselves: give a `grid`, for exact noise.")
        sigma = math.nextafter(self.noise_multiplier * self.sensitivity(dimension, rows), math.inf)
        budget.charge(GaussianEvent(self.noise_multiplier, noise="discrete"))
        whole = np.zeros((groups, dimension), dtype=np.int64)
        for some, of, counting in parts:
            vectors, group, share = _matrix(some), np.asarray(of), np.asarray(counting, dtype=np.float64)
            if vectors.shape[1] != dimension or not group.shape == share.shape == (len(vectors),):
                raise InputError(f"expected rows of {dimension} numbers, with a group and a share of each.")
            if (group >= groups).any() or not np.all((share >= 0) & (share <= 1)):
                raise InputError(
                    f"a group lies beyond the {groups} there are, or a share of a record outside of 0 to 1."
                )
            rounded = np.rint(clip_rows(vectors, self.clip) * share[:, None] / self.grid).astype(np.int64)
            for g in range(groups):
                whole[g] += rounded[group == g].sum(axis=0)
        noisy: Floats = budget.noise.add_discrete_gaussian(whole, sigma / self.grid).astype(np.float64)
        return noisy * self.grid


@dataclass(frozen=True)
class PoissonGaussianStep:
    """One step of DP-SGD: a Poisson batch, clipped per-record gradients, Gaussian noise on their sum.

    Formal guarantee: every record is in the batch with probability `sampling_rate`, independently (`batch` draws
    it), and the noise is `noise_multiplier` times the sensitivity of the sum; what is divided by afterwards is the
    public nominal batch, rows * sampling_rate, never the size that came. `grid` gives the exact mode of
    `ClippedSum`.
    """

    clip: float
    noise_multiplier: float
    sampling_rate: float
    grid: float | None = None

    def __post_init__(self) -> None:
        ClippedSum(self.clip, self.noise_multiplier, self.grid)
        SubsampledGaussianEvent(self.noise_multiplier, self.sampling_rate)

    def batch(self, rows: int, budget: Budget) -> Ints:
        """Private. The positions of a true Poisson batch; its size and members stay on the private side."""
        check_count("rows", rows)
        return np.flatnonzero(budget.noise.uniform(rows) < self.sampling_rate).astype(np.int64)

    def release(self, gradients: ArrayLike, budget: Budget) -> Floats:
        """The noisy sum of clipped gradients of a batch (records x parameters; an empty batch is one). Safe to
        publish."""
        vectors = _matrix(gradients)
        width = ClippedSum(self.clip, self.noise_multiplier, self.grid).sensitivity(vectors.shape[1])
        noise = "continuous" if self.grid is None else "discrete"
        budget.charge(SubsampledGaussianEvent(self.noise_multiplier, self.sampling_rate, noise=noise))
        sigma = math.nextafter(self.noise_multiplier * width, math.inf)
        return _noisy_sum(vectors, self.clip, sigma, self.grid, budget)


def clip_rows(vectors: Floats, clip: float) -> Floats:
    """Private. Each row scaled to L2 norm at most `clip`; huge values do not overflow, tiny ones do not vanish."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    unit = vectors / safe[:, None]
    length = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    # The last factor keeps rounding from letting a row be longer than `clip`.
    with np.errstate(divide="ignore", over="ignore"):
        shrink = np.minimum(safe, clip * (1 - 1e-12) / np.where(length > 0, length, 1.0))
    return unit * shrink[:, None]


def _noisy_sum(vectors: Floats, clip: float, sigma: float, grid: float | None, budget: Budget) -> Floats:
    dimension = vectors.shape[1]
    if grid is None:
        total = np.zeros(dimension)
        for start in range(0, len(vectors), _CHUNK):
            total += clip_rows(vectors[start : start + _CHUNK], clip).sum(axis=0)
        return budget.noise.add_gaussian(total, sigma)
    whole = np.zeros(dimension, dtype=np.int64)
    for start in range(0, len(vectors), _CHUNK):
        whole += np.rint(clip_rows(vectors[start : start + _CHUNK], clip) / grid).astype(np.int64).sum(axis=0)
    noisy: Floats = budget.noise.add_discrete_gaussian(whole, sigma / grid).astype(np.float64)
    return noisy * grid


def _whole(counts: ArrayLike) -> Ints:
    array = np.asarray(counts)
    if array.size == 0:
        raise InputError("`counts` is empty.")
    if array.dtype == bool or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"`counts` must be whole numbers of an integer type, got {array.dtype}.")
    return array.astype(np.int64)


def _matrix(rows: ArrayLike) -> Floats:
    """Records x dimensions. There may be no record: whether one is left must not decide whether there is a release."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"expected records x dimensions, got an array of shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(array)))
        raise InputError(
            f"record {row}, dimension {column} is {array[row, column]}: clean the data before it is summed."
        )
    return array
