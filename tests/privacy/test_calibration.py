"""Calibration lands on the safe side of the budget, close to it, whatever was spent before."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from understudy.errors import InputError
from understudy.privacy import Budget, GaussianEvent, GNMaxEvent, LaplaceEvent, compose
from understudy.privacy.calibration import (
    _narrow,  # pyright: ignore[reportPrivateUsage]
    gaussian_noise_multiplier,
    gnmax_sigma,
    largest_count,
    lnmax_gamma,
    smallest_noise,
)
from understudy.privacy.events import DeltaEvent, LNMaxEvent


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("count", [1, 40])
def test_noise_uses_the_budget_and_no_more(epsilon: float, count: int) -> None:
    for events in (
        [GNMaxEvent(gnmax_sigma(epsilon, 1e-5, count), count, "discrete")],
        [LNMaxEvent(lnmax_gamma(epsilon, 1e-5, count), count)],
        [GaussianEvent(gaussian_noise_multiplier(epsilon, 1e-5, count), count)],
    ):
        assert 0.985 * epsilon <= compose(events, 1e-5).epsilon <= epsilon


def test_the_largest_count_fits_and_the_next_does_not() -> None:
    def events(count: int) -> list[GNMaxEvent]:
        return [GNMaxEvent(40.0, count, "discrete")]

    count = largest_count(events, 1.0, 1e-5)
    assert compose(events(count), 1e-5).epsilon <= 1.0 < compose(events(count + 1), 1e-5).epsilon
    assert largest_count(lambda n: [GNMaxEvent(0.5, n)], 0.1, 1e-5) == 0
    assert largest_count(lambda n: [LaplaceEvent(0.1, n)], 1.0, 0.0) == 10


def test_earlier_charges_that_fit_by_a_tighter_method_alone() -> None:
    """A Gaussian that fits epsilon = 1 exactly, but not by Rényi accounting, leaves a little room all the same."""
    before = [GaussianEvent(gaussian_noise_multiplier(0.98, 1e-5))]
    noise = smallest_noise(lambda s: [*before, GaussianEvent(s)], 1.0, 1e-5)
    budget = Budget(1.0, 1e-5)
    budget.charge(*before, GaussianEvent(noise))


@pytest.mark.parametrize(
    "cost",
    [
        lambda noise: 3 / noise,
        lambda noise: 3 / noise + 10 / noise**4,
        lambda noise: math.exp(3 / noise) - 1,
        lambda noise: 9.0 if noise < 2.345 else 0.5,
        lambda noise: math.inf if noise < 2.345 else 0.0,
        lambda noise: math.exp((2.345 - noise) ** 3 / 1e5),
    ],
)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-7])
def test_the_search_ends_within_the_tolerance_on_the_safe_side(
    cost: Callable[[float], float], tolerance: float
) -> None:
    looks: list[float] = []
    found = _narrow(lambda noise: looks.append(noise) or cost(noise), 1.0, 0.5, 64.0, tolerance=tolerance)
    assert cost(found) <= 1.0 < cost(found * (1 - tolerance))
    assert len(looks) < 3 * math.log2(128 / tolerance)


def test_delta_spent_elsewhere_is_not_spent_twice() -> None:
    before = [DeltaEvent(9e-6, "categories")]
    noise = smallest_noise(lambda s: [*before, GaussianEvent(s)], 1.0, 1e-5)
    assert compose([*before, GaussianEvent(noise)], 1e-5).epsilon <= 1.0
    assert noise > gaussian_noise_multiplier(1.0, 1e-5)


def test_hopeless_and_needless_requests() -> None:
    with pytest.raises(InputError, match="no amount of noise"):
        smallest_noise(lambda s: [LaplaceEvent(2.0), GaussianEvent(s)], 1.0, 1e-9)
    with pytest.raises(InputError, match="without limit"):
        largest_count(lambda n: [GaussianEvent(1e8)], 1.0, 1e-5)
