"""The trade-off curve of events: never below the best test on small cases that are known exactly, and close to it.

The truth is Neyman and Pearson's: of two known distributions, accuse the outcomes with the largest ratio first. No
formula of the module under test is used for it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from exact import argmax_distribution, neighbours, pmf, reach_of
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from understudy.errors import InputError
from understudy.privacy import (
    ConfidentGNMaxEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    NonPrivateEvent,
    SmoothReleaseEvent,
    SubsampledGaussianEvent,
    compose,
)
from understudy.privacy.pld import composed, delta_curve
from understudy.privacy.tradeoff import TAIL, discrete_excess, gaussian_delta, trade_off

Floats = NDArray[np.float64]
ALARMS = (1e-6, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9)


def best_found(real: Floats, blank: Floats, alarms: float) -> float:
    """Neyman and Pearson over outcomes, with a coin at the edge."""
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(real) - np.log(blank)), kind="stable")
    accused = np.cumsum(blank[order])
    whole = int(np.searchsorted(accused, alarms, side="right"))
    found = float(real[order][:whole].sum())
    if whole < len(order):
        used = float(accused[whole - 1]) if whole else 0.0
        found += float(real[order][whole] / blank[order][whole]) * (alarms - used)
    return found


def covers(events: list[Event], real: Floats, blank: Floats) -> None:
    curve = trade_off(events)
    for alarms in ALARMS:
        for here, there in ((real, blank), (blank, real)):
            assert curve.found(alarms) >= best_found(here, there, alarms) - 1e-9, (events, alarms)


def shifted(moves: tuple[int, ...], sigma: float) -> tuple[Floats, Floats]:
    """Discrete Gaussian noise on as many integer cells, one record moving each by so much."""
    reach = reach_of("gaussian", sigma) // 2
    real, blank = np.ones(1), np.ones(1)
    for move in moves:
        noise = pmf("gaussian", sigma, reach)
        here, there = np.zeros(2 * reach + 1 + move), np.zeros(2 * reach + 1 + move)
        there[: 2 * reach + 1], here[move:] = noise, noise
        both = (here > 0) & (there > 0)  # what is cut off is below 1e-60
        real, blank = np.outer(real, here[both]).ravel(), np.outer(blank, there[both]).ravel()
    return real, blank


@pytest.mark.parametrize("moves", [(1,), (2,), (3,), (1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("noise", [0.4, 0.7, 1.0, 1.5, 3.0])
def test_discrete_gaussians_are_covered(moves: tuple[int, ...], noise: float) -> None:
    length = math.hypot(*moves)
    real, blank = shifted(moves, noise * length)
    covers([GaussianEvent(noise, 1, "discrete")], real, blank)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("cells", [1, 2])
def test_integer_cells_are_covered_and_all_but_exact(sigma: float, cells: int) -> None:
    real, blank = shifted((1,) * cells, sigma)
    events: list[Event] = [GaussianEvent(sigma, cells, "discrete", integer_unit=True)]
    covers(events, real, blank)
    for alarms in ALARMS:
        assert trade_off(events).found(alarms) <= best_found(real, blank, alarms) * 1.01 + 1e-6


@pytest.mark.parametrize("sigma", [0.35, 0.5, 0.8, 1.3, 2.5])
@pytest.mark.parametrize("moves", [(1,), (2,), (5,), (1, 1), (3, 1)])
def test_what_a_discrete_gaussian_costs_more_is_bounded(moves: tuple[int, ...], sigma: float) -> None:
    """The largest difference over all epsilons, against a sum over all outcomes."""
    noise = sigma / math.hypot(*moves)
    real, blank = shifted(moves, sigma)
    epsilons = np.linspace(-1 / noise**2 - 6 / noise, 1 / noise**2 + 6 / noise, 400)
    truth = np.array([np.maximum(real - math.exp(e) * blank, 0).sum() for e in epsilons])
    there = gaussian_delta(np.abs(epsilons), 1 / noise)
    continuous = np.where(epsilons >= 0, there, 1 - np.exp(epsilons) + np.exp(epsilons) * there)
    assert np.max(truth - continuous) <= discrete_excess(noise)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_pure_events_are_covered(epsilon: float, count: int) -> None:
    """Randomised response, which dominates every pure mechanism, as often as stated."""
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    real, blank = np.ones(1), np.ones(1)
    for _ in range(count):
        real, blank = np.outer(real, [yes, 1 - yes]).ravel(), np.outer(blank, [1 - yes, yes]).ravel()
    covers([LaplaceEvent(epsilon, count)], real, blank)
    found = trade_off([LaplaceEvent(epsilon, count)]).found(0.1)
    assert found == pytest.approx(best_found(real, blank, 0.1), rel=2e-3)


@pytest.mark.parametrize("counts", [[5, 3], [4, 4], [6, 1, 1], [3, 3, 2]])
@pytest.mark.parametrize("scale", [0.7, 1.5])
def test_votes_are_covered(counts: list[int], scale: float) -> None:
    """Exact chances of each winner on a small ensemble and on every neighbour of it."""
    for other in neighbours(counts):
        for kind, event in (("gaussian", GNMaxEvent(scale, 1, "discrete")), ("laplace", LNMaxEvent(1 / scale))):
            at = scale if kind == "gaussian" else 1 / scale
            covers([event], argmax_distribution(counts, kind, at), argmax_distribution(other, kind, at))


def test_a_threshold_check_and_its_answer_are_covered() -> None:
    """Whether it answers, and what: the check is one Gaussian, the answer a vote."""
    first, second, threshold, sigma = [6, 2], [5, 3], 6, 1.2
    outcomes = []
    for counts in (first, second):
        noise = pmf("gaussian", sigma, 60)
        passes = float(noise[np.arange(-60, 61) + max(counts) >= threshold].sum())
        outcomes.append(np.append(passes * argmax_distribution(counts, "gaussian", sigma), 1 - passes))
    covers([ConfidentGNMaxEvent(float(threshold), sigma, sigma, 1, 1, "discrete")], outcomes[0], outcomes[1])


@pytest.mark.parametrize("noise", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("rate", [0.01, 0.2, 0.7])
def test_one_subsampled_step_is_covered(noise: float, rate: float) -> None:
    """The ratio of the mixture to the blank Gaussian rises with the outcome, so every best test is a threshold."""
    curve = trade_off([SubsampledGaussianEvent(noise, rate, 1)])
    for alarms in ALARMS:
        high = stats.norm.isf(alarms) * noise
        found = (1 - rate) * alarms + rate * stats.norm.sf(high, 1, noise)
        assert curve.found(alarms) >= found - 1e-9
        low = _quantile(alarms, noise, rate)
        assert curve.found(alarms) >= stats.norm.cdf(low, 0, noise) - 1e-9


def _quantile(share: float, noise: float, rate: float) -> float:
    """The outcome below which the mixture lies with this chance."""
    low, high = -60.0, 60.0
    for _ in range(100):
        middle = (low + high) / 2
        below = (1 - rate) * stats.norm.cdf(middle, 0, noise) + rate * stats.norm.cdf(middle, 1, noise)
        low, high = (middle, high) if below < share else (low, middle)
    return low


def test_different_kinds_together_are_covered() -> None:
    """A histogram, a pure event and general discrete noise: outcomes multiplied out."""
    yes = math.exp(0.5) / (1 + math.exp(0.5))
    cell, vector = shifted((1,), 1.5), shifted((2,), 4.0)
    real = np.outer(np.outer(cell[0], vector[0]).ravel(), [yes, 1 - yes]).ravel()
    blank = np.outer(np.outer(cell[1], vector[1]).ravel(), [1 - yes, yes]).ravel()
    events: list[Event] = [
        GaussianEvent(1.5, 1, "discrete", integer_unit=True),
        GaussianEvent(2.0, 1, "discrete"),
        LaplaceEvent(0.5),
    ]
    covers(events, real, blank)
    covers([*events, DeltaEvent(1e-3, "a threshold")], real, blank)
    assert trade_off([*events, DeltaEvent(1e-3, "a threshold")]).found(0) >= 1e-3


# Found with false alarms of 0.1, 1, 10 and 30 %, by riskcal 1.5.1 (`get_beta_from_pld`, `get_beta_from_zcdp`).
RISKCAL: list[tuple[list[Event], tuple[float, ...], float]] = [
    ([SubsampledGaussianEvent(1.3205, 1 / 120, 1200)], (0.002337, 0.019438, 0.152767, 0.393404), 1e-2),
    ([SubsampledGaussianEvent(1.0, 0.02, 500)], (0.006899, 0.043069, 0.243419, 0.518209), 2e-2),
    ([LaplaceEvent(0.1, 10)], (0.002514, 0.021353, 0.165263, 0.418725), 1e-3),
    ([LaplaceEvent(0.1, 3), GaussianEvent(4.0)], (0.002614, 0.021399, 0.1641, 0.413142), 1e-3),
    ([GNMaxEvent(40.0, 50)], (0.002254, 0.018931, 0.151141, 0.391889), 1e-4),
    ([LaplaceEvent(2.0)], (0.007389, 0.073891, 0.738906, 0.905265), 1e-3),
    # Rényi cost alone, of 1 / (2 * 4.35^2) times the order: an event that nothing else is known about.
    ([SmoothReleaseEvent(1e-9, 4.35)], (0.002289, 0.019547, 0.157891, 0.406138), 6e-3),
    ([SmoothReleaseEvent(1e-9, 1.35)], (0.011919, 0.071498, 0.355824, 0.659664), 6e-3),
]


@pytest.mark.parametrize(("events", "expected", "close"), RISKCAL)
def test_curves_agree_with_an_independent_package(
    events: list[Event], expected: tuple[float, ...], close: float
) -> None:
    curve = trade_off(events)
    for alarms, found in zip((0.001, 0.01, 0.1, 0.3), expected, strict=True):
        assert found * (1 - 1e-4) <= curve.found(alarms) <= found * (1 + close)


# The least mu, by gdpnum 0.1.2 (`PLDConverter`), where the curve has no tail that it leaves out.
@pytest.mark.parametrize(
    ("events", "mu"),
    [
        ([LaplaceEvent(0.1, 10)], 0.323901),
        ([LaplaceEvent(0.1, 3), GaussianEvent(4.0)], 0.305070),
        ([GNMaxEvent(40.0, 50, "discrete")], 0.25),
    ],
)
def test_mu_agrees_with_an_independent_package(events: list[Event], mu: float) -> None:
    found = trade_off(events).gaussian_dp()
    assert found is not None
    assert mu * (1 - 1e-5) <= found.mu <= mu * 1.001


MANY: list[list[Event]] = [
    [GaussianEvent(4.35, 1, "discrete")],
    [GaussianEvent(43.5, 100, "discrete"), DeltaEvent(1e-7, "categories")],
    [GaussianEvent(0.65, 1, "discrete")],
    [GaussianEvent(400.0, 1, "discrete")],
    [LaplaceEvent(0.01)],
    [LaplaceEvent(6.0)],
    [SubsampledGaussianEvent(1.41, 1 / 120, 1200, "discrete")],
    [GNMaxEvent(60.0, 80, "discrete"), SmoothReleaseEvent(0.02, 20.0), GaussianEvent(20.0)],
    [ConfidentGNMaxEvent(60.0, 120.0, 40.0, 150, 100, "discrete")],
]


@pytest.mark.parametrize("events", MANY)
def test_mu_covers_the_whole_curve(events: list[Event]) -> None:
    """Between the points of its grid too, and in both tails; what it leaves out is in its delta."""
    curve = trade_off(events)
    promise = curve.gaussian_dp()
    assert promise is not None
    assert promise.delta == pytest.approx(curve.outright + TAIL)
    rng = np.random.default_rng(0)
    for alarms in [*stats.norm.sf(rng.uniform(-9, 9, 200)), *rng.uniform(0, 1, 50)]:
        assert promise.found(float(alarms)) >= curve.found(float(alarms)) * (1 - 1e-9) - 1e-15


def test_one_gaussian_has_its_own_mu() -> None:
    curve = trade_off([GaussianEvent(4.0), GNMaxEvent(10.0, 3), DeltaEvent(1e-6, "padding")])
    promise = curve.gaussian_dp()
    assert promise is not None
    assert promise.mu == pytest.approx(math.sqrt(1 / 16 + 6 / 100))
    assert promise.delta == 1e-6
    for alarms in ALARMS:
        exact = stats.norm.cdf(stats.norm.ppf(alarms) + promise.mu)
        assert exact - 1e-12 <= curve.found(alarms) <= exact + 3e-6


@pytest.mark.parametrize("events", [*MANY, [GaussianEvent(3.73)]])
def test_curves_have_the_shape_of_one(events: list[Event]) -> None:
    curve = trade_off(events)
    alarms = np.linspace(0, 1, 41)
    missed = np.array([curve.missed(float(a)) for a in alarms])
    assert np.all(np.diff(missed) <= 1e-12)
    assert np.all(missed[1:-1] <= (missed[:-2] + missed[2:]) / 2 + 1e-9)
    assert np.all((missed >= 0) & (missed <= 1 - alarms + 1e-12))
    bend, found = curve.corner()
    assert found == pytest.approx(1 - bend)
    assert curve.best_guess() >= np.max((1 - missed + 1 - alarms) / 2) - 1e-9


@pytest.mark.parametrize("events", MANY)
def test_the_curve_is_never_above_the_one_of_epsilon_and_delta(events: list[Event]) -> None:
    spent = compose(events, 1e-5)
    curve = trade_off(events, (spent.epsilon, 1e-5))
    for alarms in ALARMS:
        left = 1 - 1e-5 - math.exp(spent.epsilon) * alarms
        right = math.exp(-spent.epsilon) * (1 - 1e-5 - alarms)
        assert curve.missed(alarms) >= max(0.0, left, right) - 1e-12


@pytest.mark.parametrize(
    "events", [[LaplaceEvent(0.1, 10)], [GNMaxEvent(40.0, 50, "discrete")], [SubsampledGaussianEvent(2.0, 0.1, 50)]]
)
def test_many_deltas_at_once_are_those_of_dp_accounting(events: list[Event]) -> None:
    losses, epsilons = composed(events), np.linspace(0, 6, 40)
    assert losses is not None
    expected = losses.get_delta_for_epsilon(epsilons.tolist())
    assert delta_curve(losses, epsilons) == pytest.approx(np.asarray(expected), abs=1e-12)


def test_many_kinds_of_statistics_are_covered_by_their_sum() -> None:
    """Beyond a few kinds, discrete noise is taken as continuous, with what that may hide on top."""
    events: list[Event] = [GaussianEvent(20.0 + i, 2, "discrete", integer_unit=True) for i in range(20)]
    mu = math.sqrt(sum(2 / (20 + i) ** 2 for i in range(20)))
    for alarms in ALARMS[2:]:
        gaussian = stats.norm.cdf(stats.norm.ppf(alarms) + mu)
        assert gaussian - 1e-9 <= trade_off(events).found(alarms) <= gaussian * 1.1


def test_more_is_never_less() -> None:
    some: list[Event] = [GaussianEvent(5.0, 1, "discrete"), LaplaceEvent(0.2)]
    for one, two in itertools.pairwise([some[:1], some, [*some, GaussianEvent(3.0)]]):
        for alarms in ALARMS:
            assert trade_off(two).found(alarms) >= trade_off(one).found(alarms) - 1e-9


def test_nothing_spent_and_nothing_promised() -> None:
    assert trade_off([]).found(0.1) == pytest.approx(0.1, abs=1e-6)
    assert trade_off([DeltaEvent(0.01, "x")]).found(0.1) == pytest.approx(0.11, abs=1e-6)
    assert trade_off([NonPrivateEvent("a GAN")]).found(0.001) == 1
    assert trade_off([NonPrivateEvent("a GAN")]).gaussian_dp() is None
    with pytest.raises(InputError, match="between 0 and 1"):
        trade_off([]).found(1.5)


@settings(max_examples=25)
@given(st.floats(0.31, 30), st.integers(1, 50), st.floats(0.001, 0.999))
def test_discrete_noise_is_never_said_to_protect_more_than_its_continuous_likeness_could(
    noise: float, count: int, alarms: float
) -> None:
    """General discrete noise holds finer and finer grids too, where it is the continuous one."""
    curve = trade_off([GaussianEvent(noise, count, "discrete")])
    exact = stats.norm.cdf(stats.norm.ppf(alarms) + math.sqrt(count) / noise)
    assert curve.found(alarms) >= exact - 1e-9
