"""One rho for releases that are chosen one after the other: charged first, never passed, and its choices follow the stated odds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Budget, PrepaidRho, ZCDPEvent, compose
from understudy.privacy.accountant import event_rdp
from understudy.privacy.noise import SystemNoise, UnsafeSeededNoise
from understudy.privacy.rdp import DEFAULT_ORDERS
from understudy.privacy.zcdp import choice_rho, counts_rho, largest_rho

COUNTS = np.array([5, 0, 12])


def test_the_limit_is_charged_before_anything_is_drawn() -> None:
    budget = Budget(1.0, 1e-5)
    paid = PrepaidRho(largest_rho(budget), budget)
    assert budget.events == (ZCDPEvent(paid.rho),)
    assert budget.spent().epsilon == pytest.approx(1.0, abs=1e-6)
    assert budget.spent().epsilon <= 1.0
    with pytest.raises(BudgetExceeded):
        PrepaidRho(paid.rho, budget)


def test_a_rho_costs_a_times_rho_at_every_order() -> None:
    assert np.allclose(event_rdp(ZCDPEvent(0.03), DEFAULT_ORDERS), 0.03 * np.asarray(DEFAULT_ORDERS))
    # As the closed form of Bun and Steinke (2016) at most, which is looser.
    assert compose([ZCDPEvent(0.03)], 1e-5).epsilon < 0.03 + 2 * math.sqrt(0.03 * math.log(1e5))


def test_releases_are_counted_and_the_one_too_many_is_refused_undrawn() -> None:
    budget = Budget(4.0, 1e-5)
    paid = PrepaidRho(0.1, budget)
    assert paid.release(COUNTS, 4.0).shape == (3,)
    assert paid.choose(COUNTS, 0.5, 1) in (0, 1, 2)
    assert paid.used == pytest.approx(counts_rho(4.0) + choice_rho(0.5)) == pytest.approx(1 / 32 + 1 / 32)
    with pytest.raises(BudgetExceeded, match="rho"):
        paid.release(COUNTS, 3.0)
    assert paid.draws == 2
    last = math.sqrt(1 / (2 * paid.left))
    paid.release(COUNTS, last)
    assert paid.left == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("wrong", [np.zeros(0, dtype=int), np.array([1.5]), np.zeros((2, 2), dtype=int)])
def test_scores_must_be_whole_numbers(wrong: np.ndarray) -> None:
    paid = PrepaidRho(0.1, Budget(4.0, 1e-5))
    with pytest.raises(InputError, match="scores"):
        paid.choose(wrong, 0.5, 1)
    assert paid.used == 0


def test_counts_must_be_whole_numbers() -> None:
    paid = PrepaidRho(0.1, Budget(4.0, 1e-5))
    with pytest.raises(InputError, match="counts"):
        paid.release(np.array([0.5]), 4.0)
    assert paid.used == 0


@pytest.mark.parametrize("noise", [SystemNoise(), UnsafeSeededNoise(1)])
def test_a_choice_follows_the_exponential_mechanism(noise: SystemNoise | UnsafeSeededNoise) -> None:
    """Four deviations of room: fails by chance about once in ten thousand runs of the exact source."""
    scores, scale, draws = np.array([0, 2, 3, -40]), 1.5, 4000
    found = np.bincount([noise.choose(scores, scale) for _ in range(draws)], minlength=4) / draws
    odds = np.exp(scores / scale)
    chances = odds / odds.sum()
    assert np.all(np.abs(found - chances) <= 4.5 * np.sqrt(chances * (1 - chances) / draws) + 1e-3)


def test_the_range_of_a_choice_is_what_epsilon_says() -> None:
    """The exact odds of neighbours: scores that move by the sensitivity, in whatever direction, stay within rho at every order."""
    epsilon, sensitivity = 0.8, 3
    scores = np.array([4, 9, 1, 7, 7])
    for moves in np.random.default_rng(0).integers(-sensitivity, sensitivity + 1, (200, 5)):
        p, q = (np.exp(epsilon * s / (2 * sensitivity)) for s in (scores, scores + moves))
        p, q = p / p.sum(), q / q.sum()
        for order in (1.5, 2.0, 8.0, 64.0):
            divergence = math.log(float(np.sum(p**order * q ** (1 - order)))) / (order - 1)
            assert divergence <= order * choice_rho(epsilon) + 1e-12
