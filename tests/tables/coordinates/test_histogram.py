"""Noisy rounds put together, bounds found in them, and the plan: all of it public numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.privacy import GaussianEvent
from understudy.tables.coordinates import reach
from understudy.tables.coordinates.histogram import Level, estimate, proportions, refine, simplex
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.ladder import bounded, date_ladder, number_ladder
from understudy.tables.coordinates.plan import plan_at, plan_within


def level(edges: list[float], counts: list[float], missing: float = 0.0, sigma: float = 1.0) -> Level:
    return Level.of(np.array(edges, dtype=float), np.array([*counts, missing]), sigma)


def test_two_rounds_on_the_same_cells_are_their_mean() -> None:
    found = estimate([level([0, 1, 2], [10, 20], 2), level([0, 1, 2], [14, 22], 0)], 34, shrink=False)
    assert found.counts == pytest.approx([12, 21])
    assert found.missing == pytest.approx(1)


def test_a_finer_round_is_corrected_by_the_coarser_one() -> None:
    """The least-squares answer by hand: the parent's estimate is (2/3) 30 + (1/3) 36 = 32, then 6 goes to the rest."""
    coarse, fine = level([0, 2, 4], [30, 8]), level([0, 1, 2, 4], [16, 20, 8])
    found = estimate([coarse, fine], 40, shrink=False)
    assert found.counts.sum() + found.missing == pytest.approx(40)
    assert found.counts[1] - found.counts[0] == pytest.approx(4)
    assert found.counts[:2].sum() == pytest.approx(32, abs=1)
    assert (found.variance <= fine.variance + 1e-12).all()


def test_rounds_are_better_together_than_the_last_alone() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([500.0, 300, 100, 50, 40, 10])
    together, alone = [], []
    for _ in range(200):
        first = truth.reshape(3, 2).sum(axis=1) + rng.normal(0, 10, 3)
        last = truth + rng.normal(0, 10, 6)
        levels = [level([0, 2, 4, 6], first.tolist(), sigma=10), level(list(range(7)), last.tolist(), sigma=10)]
        together.append(np.square(estimate(levels, 1000, shrink=False).counts - truth).sum())
        alone.append(np.square(last - truth).sum())
    assert np.mean(together) < 0.8 * np.mean(alone)


def test_cells_that_differ_by_noise_alone_become_even() -> None:
    rng = np.random.default_rng(1)
    fine = level([float(edge) for edge in range(9)], (12.5 + rng.normal(0, 30, 8)).tolist(), sigma=30)
    shrunk = estimate([level([0, 8], [100], sigma=30), fine], 100)
    plain = estimate([level([0, 8], [100], sigma=30), fine], 100, shrink=False)
    assert np.std(shrunk.counts) < 0.6 * np.std(plain.counts)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(1e-9, 1e6))
def test_the_simplex_holds_shares(counts: list[float], total: float) -> None:
    found = simplex(np.array(counts), total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)


def test_a_missing_share_within_the_noise_is_none() -> None:
    found = estimate([level([0, 1], [95], 1.5)], 100, shrink=False)
    assert proportions(found, 100, missing_allowed=True)[1] > 0
    small = estimate([level([0, 1], [99], 0.5)], 100, shrink=False)
    assert proportions(small, 100, missing_allowed=True)[1] == 0
    assert proportions(found, 100, missing_allowed=False)[1] == 0


@pytest.mark.parametrize("heap", [0, 10])
def test_finer_cells_are_nested_and_end_at_single_values(heap: int) -> None:
    edges = np.array([0.0, 1, 40, 100])
    found = estimate([level(edges.tolist(), [500, 480, 3], sigma=2)], 983, shrink=False)
    finer = refine(found, 983, 30, 2.0, whole=True, tiny=0.0, outer=0, heap=heap)
    assert set(edges) <= set(finer)
    assert (np.diff(finer) >= 1).all()
    assert (finer == np.rint(finer)).all()
    if heap:
        assert {10.0, 11.0, 20.0, 21.0, 30.0, 31.0} <= set(finer)


@pytest.mark.parametrize("step", [0.0, 0.001, 0.05, 1.0, 1000.0])
def test_the_ladder_rises_and_is_even_about_zero(step: float) -> None:
    edges = number_ladder(step)
    assert (np.diff(edges) > 0).all()
    assert len(edges) % 2 == 0
    middle = len(edges) // 2 - 1
    assert edges[middle] <= 0 < edges[middle + 1]
    last = edges[-1] * step if step else edges[-1]
    assert last >= 1e12


def test_declared_bounds_are_covered_and_zero_stands_alone() -> None:
    assert bounded((0, 9), 1.0, 64).tolist() == list(range(11))
    edges = bounded((-1.0, 1.0), 0.0, 10)
    zero = np.searchsorted(edges, 0.0, side="right") - 1
    assert edges[zero + 1] - edges[zero] < 1e-6
    assert edges[0] == -1
    assert edges[-1] > 1
    steps = np.diff(bounded((0.0, 1e6), 0.0, 20, log=True))
    assert steps[-1] > 1000 * steps[2]
    assert len(date_ladder(86400.0)) == 65


def test_far_cells_must_stand_out_more_than_near_ones() -> None:
    counts, noise = np.zeros(40), np.ones(40)
    counts[10] = 50
    counts[11] = 1.5
    assert reach.occupied(counts, noise) == (10, 12)
    counts[30] = 3.8
    assert reach.occupied(counts, noise) == (10, 12)
    counts[30] = 4.5
    assert reach.occupied(counts, noise) == (10, 31)
    assert reach.occupied(np.full(40, 3.0), noise) is None


def test_a_range_near_zero_reaches_it_and_does_not_cross_it() -> None:
    edges = number_ladder(1.0)
    counts, noise = np.zeros(len(edges) - 1), np.ones(len(edges) - 1)
    counts[np.searchsorted(edges, 20.0) - 1] = 100
    first, last = reach.ladder_range(edges, counts, noise) or (0, 0)
    assert (edges[first], edges[last]) == (0, 64)
    low, high = reach.ends(np.array([-1e6, 0, 10, 20, 1e6]), np.array([1.0, 50, 50, 2.0]), np.ones(4))
    assert low == 0
    assert 20 < high < 25


def test_the_plan_follows_from_public_sizes() -> None:
    known = [Known("a", "number"), Known("b", "categorical", categories=("x",)), Known("c")]
    small, large = (plan_within(known, rows, 1.0, 1e-5) for rows in (100, 10**6))
    assert small.noise == pytest.approx(large.noise, rel=0.01)
    assert small.bins < large.bins
    assert small.rounds == (2, 1, 2)
    assert large.rounds == (4, 1, 4)
    assert (small.asked, small.publishing) == (2, 1)
    precision = sum(e.count / e.noise_multiplier**2 for e in large.events() if isinstance(e, GaussianEvent))
    assert precision == pytest.approx(1 / large.noise**2)
    assert plan_at(known, 100, 2.0, 1e-6).delta == 1e-6
    assert plan_at(known[:2], 100, 2.0, 1e-6).delta == 0
    assert set(large.to_dict()) >= {"noise_on_counts", "bins", "rounds"}
