"""Attack each mechanism: from many draws on neighbouring votes, a lower bound on the epsilon that it really has.

Clopper-Pearson intervals on how often each output comes give a bound that is wrong with small probability only. It
must never pass the claim; and with the noise halved by hand the same attack must pass it, or the attack would prove
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact import argmax_distribution  # pyright: ignore[reportMissingImports]
from scipy import stats

from understudy.audit.listening import Kind, Wrapped
from understudy.privacy import (
    Budget,
    ClippedSum,
    ConfidentGNMax,
    GaussianCounts,
    GNMax,
    LNMax,
    NoisyCounts,
    PoissonGaussianStep,
    PrepaidRho,
    SubsampledGaussianEvent,
    compose,
)
from understudy.privacy.noise import Shape

DELTA = 1e-5
CONFIDENCE = 1 - 1e-4


class HalvedNoise(Wrapped):
    """A budget's noise source with every scale halved: the mistake that the attack must notice."""

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        return super().draw(kind, scale / 2, shape)

    def gumbel_argmax(self, scores: np.ndarray, scale: float) -> int:
        return super().gumbel_argmax(scores, scale / 2)


def epsilon_lower_bound(here: np.ndarray, there: np.ndarray, delta: float) -> float:
    """The largest epsilon that the counts of any event (output <= t, output >= t, output == t) prove, each way
    round."""
    values = np.unique(np.concatenate([here, there]))
    if len(values) > 60:
        values = np.unique(np.quantile(np.concatenate([here, there]), np.linspace(0, 1, 60)))
    n, tests = len(here), 6 * len(values)
    alpha = (1 - CONFIDENCE) / tests
    best = 0.0
    for value in values:
        for event in (np.less_equal, np.greater_equal, np.equal):
            for a, b in ((here, there), (there, here)):
                k, m = int(event(a, value).sum()), int(event(b, value).sum())
                low = stats.beta.ppf(alpha / 2, k, n - k + 1) if k else 0.0
                high = stats.beta.ppf(1 - alpha / 2, m + 1, n - m) if m < n else 1.0
                if low > delta:
                    best = max(best, math.log((low - delta) / high))
    return best


def lnmax(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    return LNMax(0.4).answer([votes] * draws, budget)


def gnmax(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    return GNMax(1.5).answer([votes] * draws, budget)


def confident(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    return ConfidentGNMax(5, 1.5, 1.5).answer([votes] * draws, budget, max_answers=draws)


def counts(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    return NoisyCounts(0.8).release([votes[0]] * draws, budget)


def gaussian_counts(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    return GaussianCounts(1.2).release([votes[0]] * draws, budget)


def clipped_sum(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    # One release of many dimensions is as many one-dimensional ones: clip to one in each.
    rows = np.zeros((2, draws))
    rows[1] = float(votes[0] == 5)
    return ClippedSum(math.sqrt(draws) * (1 + 1e-9), 1.2 / math.sqrt(draws)).release(rows, budget)


def exact_sum(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    rows = np.zeros((2, draws))
    rows[1] = float(votes[0] == 5)
    return ClippedSum(math.sqrt(draws) * (1 + 1e-9), 1.2 / math.sqrt(draws), grid=0.01).release(rows, budget)


def poisson_step(draws: int, votes: list[int], budget: Budget) -> np.ndarray:
    step = PoissonGaussianStep(1.0, 0.8, 0.5)
    record = np.array([[float(votes[0] == 5)]])
    return np.array([step.release(record[step.batch(1, budget)], budget)[0] for _ in range(draws)])


Attack = Callable[[int, list[int], Budget], np.ndarray]
EVERY = [lnmax, gnmax, confident, counts, gaussian_counts, clipped_sum, exact_sum]


def _claim(attack: Attack) -> float:
    """Epsilon of one draw, as the gate itself accounts for it."""
    budget = Budget(1e6, DELTA)
    attack(1, [5, 3], budget)
    return compose(budget.events, DELTA).epsilon


def _attack(attack: Attack, draws: int, *, halve: bool) -> float:
    outputs = []
    for votes in ([5, 3], [4, 4]):
        budget = Budget(1e9, DELTA)
        if halve:
            budget.noise = HalvedNoise(budget.noise)
        outputs.append(attack(draws, votes, budget))
    return epsilon_lower_bound(outputs[0], outputs[1], DELTA)


@pytest.mark.parametrize("attack", EVERY)
def test_measured_epsilon_is_below_the_claim(attack: Attack) -> None:
    assert _attack(attack, 20_000, halve=False) <= _claim(attack)


@pytest.mark.slow
@pytest.mark.parametrize("attack", EVERY)
def test_measured_epsilon_is_below_the_claim_long(attack: Attack) -> None:
    assert _attack(attack, 100_000, halve=False) <= _claim(attack)


@pytest.mark.parametrize("attack", [lnmax, counts, gaussian_counts, clipped_sum, exact_sum])
def test_the_attack_notices_halved_noise(attack: Attack) -> None:
    """With half the noise the measured epsilon passes what the mechanism would claim for its stated noise.

    For Gaussian noise the claim is taken at the delta where the attack is strongest (large delta, small epsilon).
    """
    if attack in (lnmax, counts):
        assert _attack(attack, 20_000, halve=True) > _pure_claim(attack)
        return
    delta = 0.05
    budget = Budget(1e6, DELTA)
    attack(1, [5, 3], budget)
    claim = compose(budget.events, delta).epsilon
    outputs = []
    for votes in ([5, 3], [4, 4]):
        weak = Budget(1e9, DELTA)
        weak.noise = HalvedNoise(weak.noise)
        outputs.append(attack(20_000, votes, weak))
    assert epsilon_lower_bound(outputs[0], outputs[1], delta) > claim


def _pure_claim(attack: Attack) -> float:
    """The exact epsilon of one draw at these very votes, a little above what the honest mechanism shows."""
    if attack is counts:
        return 0.8
    p, q = argmax_distribution([5, 3], "laplace", 0.4), argmax_distribution([4, 4], "laplace", 0.4)
    return float(np.max(np.abs(np.log(p / q)))) * 1.1


def test_gnmax_with_halved_noise_leaves_its_exact_divergence() -> None:
    p, q = argmax_distribution([5, 3], "gaussian", 1.5), argmax_distribution([4, 4], "gaussian", 1.5)
    honest = float(np.max(np.abs(np.log(p / q)))) * 1.1
    assert _attack(gnmax, 20_000, halve=False) <= honest
    assert _attack(gnmax, 20_000, halve=True) > honest


def test_poisson_step_stays_below_its_claim() -> None:
    claim = compose([SubsampledGaussianEvent(0.8, 0.5)], DELTA).epsilon
    assert _attack(poisson_step, 2_000, halve=False) <= claim


def test_a_choice_keeps_its_epsilon_and_half_its_noise_is_noticed() -> None:
    """Twenty candidates alike; a record moves one of them up and all others down."""
    epsilon, draws = 1.2, 4500  # with half the noise the bound is then 1.59, and its spread .05
    here, there = np.zeros(20, dtype=int), np.where(np.arange(20) == 0, 1, -1)
    bounds: list[float] = []
    for halved in (False, True):
        chosen: list[np.ndarray] = []
        for scores in (here, there):
            budget = Budget(1e4, DELTA)
            if halved:
                budget.noise = HalvedNoise(budget.noise)
            paid = PrepaidRho(draws * epsilon**2 / 8 * (1 + 1e-9), budget)
            chosen.append(np.array([paid.choose(scores, epsilon, 1) for _ in range(draws)]))
        bounds.append(epsilon_lower_bound(chosen[0], chosen[1], 0.0))
    assert bounds[0] <= epsilon < bounds[1]
