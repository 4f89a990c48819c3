"""On tiny ensembles, no claimed bound is below the exact Rényi divergence of the mechanism that really runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from exact import argmax_distribution, neighbours, renyi
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.privacy.accountant import Observed, event_rdp, observed_rdp
from understudy.privacy.argmax import gnmax_logq, half_gap_gnmax_logq, lnmax_logq, threshold_logq
from understudy.privacy.events import GNMaxEvent, LNMaxEvent
from understudy.privacy.moments import data_dependent_lnmax_moments

votes = st.lists(st.integers(0, 12), min_size=2, max_size=3).filter(lambda v: sum(v) > 0)
ORDERS = (1.5, 2.0, 3.0, 8.0, 33.0)


def _check(counts: list[int], kind: str, scale: float, event: LNMaxEvent | GNMaxEvent) -> None:
    here = argmax_distribution(counts, kind, scale)
    claim = observed_rdp(Observed(event, np.array([counts]), noise="discrete"), ORDERS)
    always = event_rdp(event, ORDERS)
    for moved in neighbours(counts):
        there = argmax_distribution(moved, kind, scale)
        for order, data_dependent, unconditional in zip(ORDERS, claim, always, strict=True):
            truth = renyi(here, there, order)
            assert truth <= data_dependent * (1 + 1e-9) + 1e-12, (counts, moved, order)
            assert truth <= unconditional * (1 + 1e-9) + 1e-12
            assert renyi(there, here, order) <= unconditional * (1 + 1e-9) + 1e-12


@settings(max_examples=60)
@given(votes, st.floats(0.1, 3.0))
def test_lnmax_claims_cover_the_exact_divergence(counts: list[int], gamma: float) -> None:
    _check(counts, "laplace", gamma, LNMaxEvent(gamma))


@settings(max_examples=60)
@given(votes, st.floats(0.6, 6.0))
def test_gnmax_claims_cover_the_exact_divergence(counts: list[int], sigma: float) -> None:
    _check(counts, "gaussian", sigma, GNMaxEvent(sigma, noise="discrete"))


@settings(max_examples=60)
@given(votes, st.floats(0.3, 8.0))
def test_discrete_q_covers_the_exact_error(counts: list[int], scale: float) -> None:
    leader = int(np.argmax(counts))
    for kind, logq in (("laplace", lnmax_logq), ("gaussian", gnmax_logq)):
        wins = argmax_distribution(counts, kind, scale)
        error = wins.sum() - wins[leader]
        assert math.exp(logq([counts], scale, noise="discrete")[0]) >= error * (1 - 1e-9)


def test_continuous_q_does_not_cover_the_discrete_gaussian() -> None:
    """Why the discrete tables exist."""
    counts = [60, 20]
    error = argmax_distribution(counts, "gaussian", 3.0)[1]
    assert math.exp(gnmax_logq([counts], 3.0)[0]) < error
    assert math.exp(gnmax_logq([counts], 3.0, noise="discrete")[0]) >= error


def test_the_2017_bound_is_not_used_where_it_does_not_hold() -> None:
    """q must lie below 1 / (exp(2 gamma) + 1); between that and exp(-2 gamma) the expression is finite, but no bound."""
    for gamma in (0.05, 0.5, 2.0):
        edge = -np.logaddexp(0.0, 2 * gamma)
        logq = np.array([edge - 1e-6, edge + 1e-6, (edge - 2 * gamma) / 2])
        cost = data_dependent_lnmax_moments(logq, gamma, [1.0, 8.0])
        assert np.all(np.isfinite(cost[0]))
        assert np.all(np.isinf(cost[1:]))


def test_unsound_shortcuts_are_not_taken() -> None:
    """A reference that tests q < 0.5 claims .0098 at [4, 2], gamma = 3, l = 1; the truth is .76."""
    event = LNMaxEvent(3.0)
    claim = observed_rdp(Observed(event, np.array([[4, 2]]), noise="continuous"), [2.0])[0]
    assert claim >= 0.76


@settings(max_examples=40)
@given(st.integers(0, 40), st.floats(0, 40), st.floats(0.5, 20))
def test_discrete_threshold_q_is_the_smaller_side(count: int, threshold: float, sigma: float) -> None:
    reach = int(35 * sigma) + 60
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    answered = weights[count + k >= threshold].sum() / weights.sum()
    refused = weights[count + k < threshold].sum() / weights.sum()
    q = math.exp(threshold_logq([count], threshold, sigma, noise="discrete")[0])
    assert q >= min(answered, refused) * (1 - 1e-9) - 1e-300


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0, 40.0, 200.0])
def test_half_gap_bound_is_checked_against_the_exact_tail(sigma: float) -> None:
    counts = [[200, 50], [130, 120], [125, 125]]
    assert np.all(half_gap_gnmax_logq(counts, sigma) >= gnmax_logq(counts, sigma, noise="discrete") - 1e-12)


@pytest.mark.parametrize("logq", [lnmax_logq, gnmax_logq])
@pytest.mark.parametrize("noise", ["continuous", "discrete"])
def test_huge_ensembles_need_no_huge_tables(logq: Callable[..., np.ndarray], noise: str) -> None:
    small = logq([[300_000, 200_000]], 1000.0 if logq is gnmax_logq else 1e-3, noise=noise)
    large = logq([[2**39, 2**38]], 1e10 if logq is gnmax_logq else 1e-10, noise=noise)
    assert np.all(np.isfinite(small))
    assert np.all(np.isfinite(large))
    assert np.all(large < 0)
