"""Lower bounds on epsilon and on mu, from what an attacker computed in many runs of two worlds. Statistics alone.

An attacker who says "the row was there" whenever a number passes a threshold is wrong in two ways, and differential
privacy bounds how seldom both can happen. Clopper–Pearson intervals around the two rates of error, read backwards, prove
an epsilon, or a mu of Gaussian differential privacy, at the claimed delta that the mechanism cannot be below. A bound
above the claim breaks it, but for one audit in twenty at a confidence of 95 %; a bound of 0 says that nothing was found,
not that nothing is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from understudy.errors import InputError

CONFIDENCE = 0.95
_CUTS = 199


@dataclass(frozen=True)
class Bound:
    """What `runs` a side prove at `confidence`."""

    epsilon: float
    mu: float
    runs: int
    confidence: float = CONFIDENCE


def lower_bounds(
    here: np.ndarray, there: np.ndarray, delta: float, confidence: float = CONFIDENCE, *, middle: float | None = None
) -> Bound:
    """The bounds from thresholds on any statistic (runs x statistics, or one a run), each way round.

    One more statistic is the linear discriminant of all others. It, the statistic and the threshold are chosen on the
    first half of the runs and tested on the second, so that choosing is not cheating. `middle` is a threshold of a single
    statistic that was known beforehand (0 for a ratio of likelihoods, high in the first world): then mu is tested there,
    on all runs and both errors together.
    """
    a, b = (np.asarray(side, dtype=np.float64).reshape(len(side), -1) for side in (here, there))
    if len(a) != len(b) or len(a) < 4:
        raise InputError(f"{len(a)} and {len(b)} runs: an attack needs at least 4 in each world, as many in both.")
    half = len(a) // 2
    if a.shape[1] > 1:
        weights = discriminant(a[:half], b[:half])
        a, b = (np.column_stack([side, side @ weights]) for side in (a, b))
    tests = _Tests.of(a[:half], b[:half])
    epsilons, mus = _epsilons(delta), _mus(delta)
    epsilon = epsilons(tests.at(np.argmax(epsilons(tests, confidence))).on(a[half:], b[half:]), confidence)
    if middle is None:
        mu = mus(tests.at(np.argmax(mus(tests, confidence))).on(a[half:], b[half:]), confidence)
    else:
        mu = [_mu_in_the_middle(a[:, 0], b[:, 0], middle, delta, confidence)]
    return Bound(max(0.0, float(epsilon[0])), max(0.0, float(mu[0])), len(a), confidence)


def discriminant(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The weights that tell the two sides apart best if their statistics are Gaussian (Fisher), with a small ridge."""
    spread = np.atleast_2d(np.cov(np.concatenate([here - here.mean(axis=0), there - there.mean(axis=0)]).T))
    ridge = 1e-3 * np.diag(np.maximum(np.diag(spread), 1e-9))
    return np.linalg.solve(spread + ridge, here.mean(axis=0) - there.mean(axis=0))


@dataclass(frozen=True)
class _Tests:
    """Tests "statistic `column` is above `cut`" (or not above it: `below`), and how often each came true on each side.

    `swapped` tests take the second world for the one that is guessed.
    """

    column: np.ndarray
    cut: np.ndarray
    below: np.ndarray
    swapped: np.ndarray
    runs: int = 0
    hits: np.ndarray | None = None
    false_hits: np.ndarray | None = None

    @classmethod
    def of(cls, here: np.ndarray, there: np.ndarray) -> _Tests:
        """All tests worth a look, counted."""
        columns, cuts = [], []
        for column in range(here.shape[1]):
            both = np.sort(np.concatenate([here[:, column], there[:, column]]))
            # Values that occurred, and as many from each tail as from the middle.
            places = special.ndtr(np.linspace(-3.2, 3.2, _CUTS)) * (len(both) - 1)
            mine = np.unique(both[np.unique(places.astype(int))])
            columns.append(np.full(len(mine), column))
            cuts.append(mine)
        column, cut = np.concatenate(columns), np.concatenate(cuts)
        four = np.tile(np.repeat([False, True], len(cut)), 2), np.repeat([False, True], 2 * len(cut))
        return cls(np.tile(column, 4), np.tile(cut, 4), *four).on(here, there)

    def at(self, place: Any) -> _Tests:
        one = slice(int(place), int(place) + 1)
        return _Tests(self.column[one], self.cut[one], self.below[one], self.swapped[one])

    def on(self, here: np.ndarray, there: np.ndarray) -> _Tests:
        counted = [self._count(side) for side in (here, there)]
        hits = np.where(self.swapped, counted[1], counted[0])
        false_hits = np.where(self.swapped, counted[0], counted[1])
        return _Tests(self.column, self.cut, self.below, self.swapped, len(here), hits, false_hits)

    def _count(self, side: np.ndarray) -> np.ndarray:
        above = np.empty(len(self.cut), dtype=np.int64)
        for column in np.unique(self.column):
            mine = self.column == column
            above[mine] = len(side) - np.searchsorted(np.sort(side[:, column]), self.cut[mine], side="right")
        return np.where(self.below, len(side) - above, above)

    def rates(self, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        """At least so often right in the guessed world, at most so often there in the other (Clopper–Pearson)."""
        assert self.hits is not None
        assert self.false_hits is not None
        alpha = (1 - confidence) / 2
        return at_least(self.hits, self.runs, alpha), 1 - at_least(self.runs - self.false_hits, self.runs, alpha)


def at_least(hits: np.ndarray, runs: int, alpha: float) -> np.ndarray:
    """The smallest probability that so many hits leave possible: wrong with probability `alpha` (Clopper–Pearson)."""
    found = np.asarray(hits)
    return np.where(found > 0, stats.beta.ppf(alpha, np.maximum(found, 1), runs - found + 1), 0.0)


def _epsilons(delta: float) -> Callable[[_Tests, float], np.ndarray]:
    def bound(tests: _Tests, confidence: float) -> np.ndarray:
        right, wrong = tests.rates(confidence)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(right > delta, np.log((right - delta) / wrong), -np.inf)

    return bound


def _mus(delta: float) -> Callable[[_Tests, float], np.ndarray]:
    """Gaussian differential privacy (Dong, Roth and Su 2022) beside the same delta: the distance of two quantiles."""

    def bound(tests: _Tests, confidence: float) -> np.ndarray:
        right, wrong = tests.rates(confidence)
        with np.errstate(invalid="ignore"):
            found = special.ndtri(1 - wrong) - special.ndtri(np.minimum(1 - right + delta, 1.0))
        return np.nan_to_num(found, nan=-np.inf, posinf=np.inf)

    return bound


def _mu_in_the_middle(here: np.ndarray, there: np.ndarray, cut: float, delta: float, confidence: float) -> float:
    """mu from the mean of both rates of error: no test has one below Phi(-mu / 2) - delta / 2.

    The errors of both worlds are added up. Their number spreads no wider than if all had one probability (Hoeffding 1956,
    Theorem 4), so one interval for one probability covers it.
    """
    wrong = int(np.sum(here <= cut) + np.sum(there > cut))
    trials = len(here) + len(there)
    most = 1 - float(at_least(np.array(trials - wrong), trials, 1 - confidence))
    return float(-2 * special.ndtri(min(1.0, most + delta / 2)))
