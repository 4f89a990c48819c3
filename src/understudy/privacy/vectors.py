"""Sums of vectors of teachers: each says one vector of limited norm, and a record may turn one of them round.

A sum over records (`ClippedSum`) loses one vector when a record is blanked. A sum over teachers does not: the record's
teacher learns something else and says another vector, at worst the opposite. So the sum moves by up to twice the norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.budget import Budget
from understudy.privacy.events import GaussianEvent, check_count, check_positive

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VectorSum:
    """The sum of vectors of `dimension` numbers, one a teacher, each of L2 norm at most `norm`, plus exact Gaussian noise.

    Every teacher's vector is a whole multiple of `grid`. With `rounded` it was brought there by rounding, which makes it
    longer by at most grid * sqrt(d) / 2.

    Formal guarantee: a blanked record changes one teacher, whose vector may turn round: the sum moves by at most
    `sensitivity`, twice the norm and the rounding. It is a sum of whole numbers, and gets discrete Gaussian noise of
    `noise_multiplier` times that.
    """

    norm: float
    dimension: int
    noise_multiplier: float
    grid: float = 1.0
    rounded: bool = False

    def __post_init__(self) -> None:
        check_positive("norm", self.norm)
        check_count("dimension", self.dimension)
        check_positive("noise_multiplier", self.noise_multiplier)
        check_positive("grid", self.grid)

    @property
    def longest(self) -> float:
        """The largest norm of one teacher's vector."""
        return self.norm + (self.grid * math.sqrt(self.dimension) / 2 if self.rounded else 0.0)

    @property
    def sensitivity(self) -> float:
        """The L2 change of the sum when one record is blanked."""
        return 2 * self.longest

    @property
    def sigma(self) -> float:
        """The noise's standard deviation on each number of the sum."""
        return math.nextafter(self.noise_multiplier * self.sensitivity, math.inf)

    def event(self, count: int = 1) -> GaussianEvent:
        """What so many releases are charged as."""
        return GaussianEvent(self.noise_multiplier, count, "discrete")


class PrepaidVectors:
    """At most `count` releases of a `VectorSum`, charged to `budget` when this is made."""

    def __init__(self, mechanism: VectorSum, count: int, budget: Budget) -> None:
        check_count("count", count)
        self.mechanism = mechanism
        self.count = count
        self.used = 0
        self._budget = budget
        budget.charge(mechanism.event(count))

    def release(self, total: ArrayLike, teachers: int) -> Floats:
        """The sum of the vectors of so many teachers, given in multiples of the grid, with noise. Safe to publish.

        The caller has brought every vector to the mechanism's norm; a sum that is longer than that allows is refused.
        """
        exact = np.asarray(total)
        mechanism = self.mechanism
        if exact.shape != (mechanism.dimension,) or not np.issubdtype(exact.dtype, np.integer):
            raise InputError(f"the sum must be {mechanism.dimension} whole numbers, got {exact.dtype} {exact.shape}.")
        whole = exact.astype(np.int64)
        if np.linalg.norm(whole.astype(np.float64)) * mechanism.grid > teachers * mechanism.longest * (1 + 1e-12):
            raise InputError(
                f"the sum is longer than {teachers} vectors of norm {mechanism.norm:g}: they were not scaled."
            )
        self.skip()
        noise = self._budget.noise.at(self.used)
        noisy: Floats = noise.add_discrete_gaussian(whole, mechanism.sigma / mechanism.grid).astype(np.float64)
        return noisy * mechanism.grid

    def skip(self) -> None:
        """Count a release that an interrupted run has drawn and kept; it is not drawn again."""
        if self.used >= self.count:
            raise BudgetExceeded(requested=1, remaining=0, what=f"one more of {self.mechanism}", unit="releases")
        self.used += 1
