"""Releases that are chosen one after the other, out of one rho: tables of counts, and choices by private scores.

MST and AIM look at a table, choose what to measure next by what they have seen, and AIM sets its noise by it too. No charge of such
a run is known beforehand, but their sum has a limit, and that is charged before the first draw. In zero-concentrated terms
(Bun and Steinke 2016) costs add up, also where each is chosen from the answers before it, as long as the sum never passes the
limit: at every Rényi order a the costs are a times rho, so the filter theorem (Feldman and Zrnic 2021) holds at all orders
with one and the same sum, and the whole run costs what its limit does.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.budget import Budget
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.events import Event, ZCDPEvent, check_count, check_positive
from understudy.privacy.persons import in_parts

Floats = NDArray[np.float64]

# The last release takes what is left; this part of rho is what the rounding of its noise may add.
ROUNDING = 1e-12


def counts_rho(sigma: float) -> float:
    """What a table of counts costs in which one record moves one cell by one (Canonne, Kamath and Steinke 2020)."""
    check_positive("sigma", sigma)
    return 1 / (2 * sigma**2)


def choice_rho(epsilon: float) -> float:
    """What a choice by the exponential mechanism costs: it has a bounded range (Cesar and Rogers 2021)."""
    check_positive("epsilon", epsilon)
    return epsilon**2 / 8


def largest_rho(budget: Budget) -> float:
    """The rho that what is left of a budget allows; charges nothing."""

    def events(noise: float) -> list[Event]:
        return [*budget.events, ZCDPEvent(1 / (2 * noise**2))]

    return 1 / (2 * smallest_noise(events, budget.epsilon, budget.delta, accounting="rdp") ** 2)


class PrepaidRho:
    """Counts and choices whose costs sum to `rho` at most, charged to `budget` when this is made.

    Formal guarantee: what each release costs is fixed before it is drawn, by public numbers alone; one that would bring the sum
    above `rho` is refused before anything is drawn. So the run as a whole is `rho`-zCDP.
    """

    def __init__(self, rho: float, budget: Budget) -> None:
        check_positive("rho", rho)
        self.rho = rho
        self.draws = 0
        self._used = Fraction(0)
        self._budget = budget
        budget.charge(ZCDPEvent(rho))

    @property
    def used(self) -> float:
        return float(self._used)

    @property
    def left(self) -> float:
        return max(0.0, self.rho * (1 - ROUNDING) - float(self._used))

    def release(self, counts: ArrayLike, sigma: float, grid: int = 1) -> Floats:
        """Counts with exact discrete Gaussian noise. Safe to publish.

        Blanking a record must move one cell by one at most: a record stands in one cell of a table. With a `grid` counts are given in
        parts of one, and a record is a person, whose rows count so many parts in all (see `persons`): a vector of norm one at most.
        """
        exact = np.asarray(counts)
        if exact.size == 0 or not np.issubdtype(exact.dtype, np.integer):
            raise InputError(f"`counts` must be whole numbers, some of them: got {exact.dtype} of shape {exact.shape}.")
        check_count("grid", grid)
        self.skip(counts_rho(sigma))
        noise = self._budget.noise.at(self.draws)
        drawn = noise.add_discrete_gaussian(exact.astype(np.int64), in_parts(math.nextafter(sigma, math.inf), grid))
        return drawn.astype(np.float64) / grid

    def choose(self, scores: ArrayLike, epsilon: float, sensitivity: int) -> int:
        """The exponential mechanism: place i with a chance in proportion to exp(epsilon * scores[i] / (2 * sensitivity)).

        Safe to publish. Scores are whole numbers (of whatever small unit), so that no rounding hides in them; blanking a record must
        move none by more than `sensitivity`.
        """
        exact = np.asarray(scores)
        if exact.ndim != 1 or exact.size == 0 or not np.issubdtype(exact.dtype, np.integer):
            raise InputError(f"`scores` must be a list of whole numbers: got {exact.dtype} of shape {exact.shape}.")
        check_count("sensitivity", sensitivity)
        self.skip(choice_rho(epsilon))
        scale = math.nextafter(2 * sensitivity / epsilon, math.inf)
        return self._budget.noise.at(self.draws).choose(exact.astype(np.int64), scale)

    def skip(self, rho: float) -> None:
        """Count a release that costs so much: one that is about to be drawn, or that an interrupted run has drawn and kept."""
        check_positive("rho", rho)
        if self._used + Fraction(rho) > Fraction(self.rho):
            raise BudgetExceeded(
                requested=rho, remaining=self.rho - float(self._used), what="one more release", unit="rho"
            )
        self._used += Fraction(rho)
        self.draws += 1
