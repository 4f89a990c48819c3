"""Each mechanism charges what it should, draws the noise that it says, and refuses bad input before either."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.errors import InputError
from understudy.privacy import (
    NOT_ANSWERED,
    Budget,
    ClippedSum,
    ConfidentGNMax,
    GaussianCounts,
    GaussianEvent,
    GNMax,
    GNMaxEvent,
    LaplaceEvent,
    LNMax,
    LNMaxEvent,
    NoisyCounts,
    PoissonGaussianStep,
    SubsampledGaussianEvent,
)
from understudy.privacy.mechanisms import clip_rows

VOTES = np.array([[50, 0], [0, 50], [26, 24]])
GENEROUS = (1e3, 1e-5)


@pytest.mark.parametrize(
    ("mechanism", "event"),
    [(LNMax(0.5), LNMaxEvent(0.5, 3)), (GNMax(5.0), GNMaxEvent(5.0, 3, "discrete"))],
)
def test_argmax_mechanisms_charge_every_query(mechanism: Any, event: Any) -> None:
    budget = Budget(*GENEROUS)
    labels = mechanism.answer(VOTES, budget)
    assert labels.shape == (3,)
    assert list(labels[:2]) == [0, 1]
    assert budget.events == (event,)


BAD_VOTES: list[tuple[Any, str]] = [
    ([[1, -1]], "row 0, column 1: -1 is negative"),
    ([[1.5, 2]], "1.5 is not a whole number"),
    ([[math.nan, 2]], "not a whole number"),
    ([[1, 2], [1]], "row 0 has 2 counts, row 1 has 1"),
    ([[1, 2], [1, 3]], "row 1 of `votes` sums to 4"),
    ([], "empty"),
    ([[]], "empty"),
    ([[3]], "one class"),
    ([[0, 0]], "no votes"),
    ([1, 2], "dimension"),
    ([["a", "b"]], "whole numbers"),
    ([[True, False]], "whole numbers"),
    ([[2**60, 0]], "more teachers"),
    ("votes", "dimension"),
    (None, "whole numbers"),
    ([[None, 1]], "row 0, column 0 is None"),
]


@pytest.mark.parametrize(("votes", "message"), BAD_VOTES)
@pytest.mark.parametrize("mechanism", [LNMax(1.0), GNMax(1.0), ConfidentGNMax(1, 1.0, 1.0)])
def test_bad_votes_cost_nothing(mechanism: Any, votes: Any, message: str) -> None:
    budget = Budget(*GENEROUS)
    with pytest.raises(InputError, match=message):
        mechanism.answer(votes, budget)
    assert budget.events == ()


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize("make", [LNMax, GNMax, NoisyCounts, GaussianCounts, lambda v: ClippedSum(v, 1.0)])
def test_bad_parameters(make: Any, value: Any) -> None:
    with pytest.raises(InputError):
        make(value)


def test_ties_are_broken_uniformly() -> None:
    votes = np.array([[10, 10]] * 4000)
    labels = GNMax(0.05).answer(votes, Budget(1e9, 1e-5))  # noise so small that nearly every row stays a tie
    assert 0.45 < labels.mean() < 0.55


def test_confident_answers_only_above_the_threshold() -> None:
    votes = np.array([[100, 0]] * 50 + [[50, 50]] * 50)
    labels = ConfidentGNMax.from_share(0.75, 100, sigma_threshold=2.0, sigma=2.0).answer(votes, Budget(1e4, 1e-5))
    assert np.all(labels[:50] == 0)
    assert np.all(labels[50:] == NOT_ANSWERED)


def test_noise_has_the_stated_spread() -> None:
    budget = Budget(1e6, 1e-5)
    zeros = np.zeros(20_000, dtype=int)
    laplace = NoisyCounts(0.5, sensitivity=3).release(zeros, budget)
    p = math.exp(-0.5 / 3)
    assert laplace.std() == pytest.approx(math.sqrt(2 * p) / (1 - p), rel=0.05)
    gaussian = GaussianCounts(4.0, cells=9).release(zeros, budget)
    assert gaussian.std() == pytest.approx(12.0, rel=0.03)
    summed = ClippedSum(2.0, 3.0).release(np.zeros((1, 20_000)), budget)
    assert summed.std() == pytest.approx(6.0, rel=0.03)
    exact = ClippedSum(2.0, 3.0, grid=0.001).release(np.zeros((1, 10_000)), budget)
    assert exact.std() == pytest.approx(3.0 * (2.0 + 0.001 * 100 / 2), rel=0.04)
    assert np.allclose(exact / 0.001, np.rint(exact / 0.001), atol=1e-6)


def test_noise_differs_between_calls_and_has_no_seed() -> None:
    budget = Budget(1e3, 1e-5)
    np.random.seed(0)  # noqa: NPY002  # a user's seed must not matter
    first = NoisyCounts(0.1).release([0] * 20, budget)
    np.random.seed(0)  # noqa: NPY002
    assert list(first) != list(NoisyCounts(0.1).release([0] * 20, budget))


def test_fresh_budgets_do_not_repeat_noise() -> None:
    draws = [tuple(NoisyCounts(0.1).release([0] * 20, Budget(1.0))) for _ in range(3)]
    assert len(set(draws)) == 3


def test_charges_of_the_other_mechanisms() -> None:
    budget = Budget(1e3, 1e-5)
    NoisyCounts(0.5).release([1], budget)
    GaussianCounts(3.0).release([1], budget)
    ClippedSum(1.0, 2.0).release([[1.0]], budget)
    step = PoissonGaussianStep(1.0, 2.0, 0.1)
    step.release(np.ones((len(step.batch(100, budget)), 4)), budget)
    step.release(np.zeros((0, 4)), budget)
    kinds = [type(e) for e in budget.events]
    assert kinds == [LaplaceEvent, GaussianEvent, GaussianEvent, SubsampledGaussianEvent]
    assert budget.events[-1] == SubsampledGaussianEvent(2.0, 0.1, 2)


def test_poisson_batches_have_poisson_sizes() -> None:
    budget = Budget(1.0, 1e-5)
    step = PoissonGaussianStep(1.0, 2.0, 0.1)
    sizes = np.array([len(step.batch(1000, budget)) for _ in range(300)])
    assert sizes.mean() == pytest.approx(100, abs=4)
    assert sizes.var() == pytest.approx(90, rel=0.4)


@pytest.mark.parametrize("bad", [np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.ones(3), np.ones((3, 0))])
def test_bad_rows_cost_nothing(bad: np.ndarray) -> None:
    budget = Budget(*GENEROUS)
    with pytest.raises(InputError):
        ClippedSum(1.0, 1.0).release(bad, budget)
    assert budget.events == ()


@pytest.mark.parametrize("bad", [[1.5], [], ["a"], [True]])
def test_bad_counts_cost_nothing(bad: Any) -> None:
    budget = Budget(*GENEROUS)
    with pytest.raises(InputError, match="counts"):
        NoisyCounts(1.0).release(bad, budget)
    assert budget.events == ()


rows = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.one_of(st.floats(-1e308, 1e308, allow_nan=False), st.floats(-2, 2), st.just(5e-324)),
)


@settings(max_examples=200)
@given(rows, st.floats(1e-6, 1e6))
def test_no_row_is_ever_longer_than_the_clip(vectors: np.ndarray, clip: float) -> None:
    clipped = clip_rows(vectors, clip)
    assert np.all(np.isfinite(clipped))
    assert np.all(np.linalg.norm(clipped, axis=1) <= clip)
    short = np.abs(vectors).max(axis=1) < clip / 10
    assert np.allclose(clipped[short], vectors[short], rtol=1e-9)


@settings(max_examples=200)
@given(rows, st.floats(0.01, 10), st.floats(0.001, 0.1))
def test_rounded_rows_stay_within_the_adjusted_sensitivity(vectors: np.ndarray, clip: float, grid: float) -> None:
    rounded = np.rint(clip_rows(vectors, clip) / grid) * grid
    limit = ClippedSum(clip, 1.0, grid).sensitivity(vectors.shape[1])
    assert np.all(np.linalg.norm(rounded, axis=1) <= limit * (1 + 1e-12))


def test_a_grid_that_is_too_fine_is_refused() -> None:
    with pytest.raises(InputError, match="too fine"):
        ClippedSum(1.0, 1.0, grid=1e-15)
