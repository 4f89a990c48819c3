"""The arithmetic of audits: bounds are valid, have power, and agree with what others compute."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from understudy.audit.bounds import at_least, discriminant, lower_bounds
from understudy.audit.claims import Claim, claim
from understudy.audit.one_run import chance, guessed, one_run_bound
from understudy.errors import InputError
from understudy.privacy import Budget, ConfidentGNMax, GaussianEvent, compose


def gaussians(mu: float, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(mu, 1, runs), rng.normal(0, 1, runs)


# ---- two worlds --------------------------------------------------------------------------------------------------


def test_both_bounds_are_wrong_no_more_often_than_they_say() -> None:
    """mu = 1 is (epsilon, 0.05)-private for this epsilon; 200 audits of exactly that, at 95 %."""
    epsilon = compose([GaussianEvent(1.0)], 0.05).epsilon
    found = [lower_bounds(*gaussians(1.0, 400, seed), 0.05) for seed in range(200)]
    assert sum(bound.mu > 1 for bound in found) <= 18  # 10 expected at most
    assert sum(bound.epsilon > epsilon for bound in found) <= 18
    middle = [lower_bounds(*gaussians(1.0, 400, seed), 0.05, middle=0.5) for seed in range(200)]
    assert sum(bound.mu > 1 for bound in middle) <= 18


def test_many_runs_come_within_a_tenth_of_the_truth() -> None:
    bound = lower_bounds(*gaussians(1.0, 20_000, 0), 1e-5)
    assert 0.9 < bound.mu <= 1
    assert 1.5 < bound.epsilon < compose([GaussianEvent(1.0)], 1e-5).epsilon


def test_it_matters_not_which_world_is_first_nor_which_way_the_statistic_points() -> None:
    here, there = gaussians(2.0, 2000, 1)
    bounds = [lower_bounds(a, b, 1e-5).mu for a, b in ((here, there), (there, here), (-here, -there))]
    assert min(bounds) > 1.6


def test_many_weak_statistics_make_a_strong_discriminant() -> None:
    rng = np.random.default_rng(0)
    here, there = rng.normal(0.5, 1, (4000, 16)), rng.normal(0, 1, (4000, 16))
    assert lower_bounds(here, there, 1e-5).mu > 1.6  # each of them alone has mu = 0.5, all together 2
    assert np.all(discriminant(here, there) > 0)


def test_nothing_is_proved_where_nothing_differs() -> None:
    rng = np.random.default_rng(3)
    same = lower_bounds(rng.normal(size=(300, 5)), rng.normal(size=(300, 5)), 1e-5)
    constant = lower_bounds(np.zeros(50), np.zeros(50), 1e-5)
    assert same.epsilon < 0.5
    assert (constant.epsilon, constant.mu) == (0.0, 0.0)


def test_a_certain_attacker_proves_what_so_few_runs_can() -> None:
    bound = lower_bounds(np.ones(40), np.zeros(40), 1e-5)
    low = float(at_least(np.array([20]), 20, 0.025)[0])
    assert bound.epsilon == pytest.approx(math.log((low - 1e-5) / (1 - low)))
    assert bound.mu == pytest.approx(2 * float(special.ndtri(low)), rel=1e-3)


def test_the_interval_is_that_of_clopper_and_pearson() -> None:
    exact = stats.binomtest(7, 20).proportion_ci(0.9, method="exact")
    assert float(at_least(np.array([7]), 20, 0.05)[0]) == pytest.approx(exact.low)
    assert 1 - float(at_least(np.array([13]), 20, 0.05)[0]) == pytest.approx(exact.high)


@pytest.mark.parametrize("runs", [(3, 3), (8, 6)])
def test_too_few_runs_are_refused(runs: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="at least 4 in each world"):
        lower_bounds(np.zeros(runs[0]), np.zeros(runs[1]), 1e-5)


# ---- claims ------------------------------------------------------------------------------------------------------


def test_a_claim_is_what_the_events_promise() -> None:
    budget = Budget(8.0, 1e-5)
    assert claim(budget) == Claim(0.0, 1e-5, 0.0)
    budget.charge(GaussianEvent(2.0, 4))
    one = claim(budget)
    assert one.mu == pytest.approx(1.0)
    assert one.epsilon == compose(budget.events, 1e-5).epsilon


def test_under_a_filter_the_claim_is_the_limit() -> None:
    budget = Budget(8.0, 1e-5)
    ConfidentGNMax(4, 3.0, 3.0).answer([[9, 1]] * 3, budget)
    assert claim(budget) == Claim(8.0, 1e-5, None)


# ---- one run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "guesses", "canaries", "epsilon", "delta", "expected", "bound"),
    [  # from jax_privacy 2.0.0, auditing._one_run_p_value and _epsilon_one_run at a significance of 5 %
        (60, 80, 100, 1.0, 1e-5, 0.4063838834552305, 0.6532357913058288),
        (500, 600, 1000, 1.0, 1e-5, 0.00024162243261570504, 1.4252712457813592),
        (90, 100, 1000, 2.0, 1e-4, 0.3668818763137123, 1.5805597458013363),
        (40, 40, 40, 3.0, 1e-6, 0.14322553017219908, 2.5538952317912313),
    ],
)
def test_one_run_agrees_with_another_implementation(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float, expected: float, bound: float
) -> None:
    assert chance(right, guesses, canaries, epsilon, delta) == pytest.approx(expected, rel=1e-9)
    assert one_run_bound(right, guesses, canaries, delta) == pytest.approx(bound, abs=1e-6)


def test_randomised_response_on_every_canary_is_measured_below_its_epsilon() -> None:
    """Each canary's bit is told truly with probability e / (1 + e): (1, 0)-private, and as leaky as that can be."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        present = rng.random(2000) < 0.5
        told = np.where(rng.random(2000) < special.expit(1.0), present, ~present)
        found.append(guessed(told + rng.uniform(0, 0.1, 2000), present, 0.0).epsilon)
    assert sum(epsilon > 1 for epsilon in found) <= 9
    assert np.median(found) > 0.75


def test_guesses_by_chance_prove_nothing_and_certain_ones_much() -> None:
    rng = np.random.default_rng(1)
    present = rng.random(500) < 0.5
    assert guessed(rng.normal(size=500), present, 1e-5).epsilon < 0.5
    assert guessed(present.astype(float), present, 1e-5).epsilon > 3
    with pytest.raises(InputError, match="cannot be"):
        one_run_bound(5, 4, 10, 1e-5)
    with pytest.raises(InputError, match="one each"):
        guessed([1.0], present, 1e-5)
