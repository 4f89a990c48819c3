"""Private marginals: a row is counted once a level, the tree finds the rows, and what it says adds up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.methods.moments.marginals import (
    FINEST,
    Marginal,
    _count,
    _simplex,
    _split,
    grow,
    levels_of,
)
from understudy.privacy import Budget, GaussianEvent


@given(
    st.lists(st.integers(-1, 63), min_size=1, max_size=40),
    st.lists(st.integers(1, 63), min_size=0, max_size=6, unique=True),
    st.integers(0, 39),
)
def test_a_blanked_row_moves_one_cell_of_a_level(values: list[int], inner: list[int], blanked: int) -> None:
    edges = np.array([0, *sorted(inner), 64])
    plan = _split(edges, np.full(len(edges) - 1, math.inf), 1.0, 10)
    here = np.array(values)
    there = here.copy()
    there[blanked % len(there)] = -1  # missing, or a row that is not there: counted nowhere
    change = _count(np.sort(here[here >= 0]), plan) - _count(np.sort(there[there >= 0]), plan)
    assert np.abs(change).sum() <= 1


def test_a_level_is_charged_as_one_cell_a_column() -> None:
    budget = Budget(100.0, 1e-5, unsafe_noise_seed=0)
    cells = [4, 64, FINEST]
    values = np.stack([np.arange(500) % size for size in cells], axis=1)
    grow(values, cells, 5.0, 500, budget)
    assert [levels_of(size) for size in cells] == [1, 3, 7]
    assert sum(e.count for e in budget.events if isinstance(e, GaussianEvent)) == 11
    assert all(e.noise_multiplier == pytest.approx(5.0) for e in budget.events if isinstance(e, GaussianEvent))


def test_the_tree_finds_a_narrow_column_in_wide_bounds() -> None:
    rng = np.random.default_rng(0)
    values = np.clip(rng.normal(8000, 30, 50_000), 0, FINEST - 1).astype(np.int64)[:, None]
    (found,) = grow(values, [FINEST], 100.0, 50_000, Budget(1e3, 1e-5, unsafe_noise_seed=1))
    low, middle, high = found.quantile(np.array([0.1, 0.5, 0.9]))
    assert middle == pytest.approx(8000, abs=10)
    assert high - low == pytest.approx(2 * 1.2816 * 30, rel=0.2)
    assert found.mass.sum() == pytest.approx(1.0)
    assert (np.diff(found.edges) > 0).all()
    drawn = found.draw(np.full(2000, 0), np.full(2000, FINEST), np.random.default_rng(0))
    assert np.median(drawn) == pytest.approx(8000, abs=10)


def test_noise_alone_splits_nothing() -> None:
    (found,) = grow(np.full((50, 1), 7), [64], 1000.0, 50, Budget(1e3, 1e-5, unsafe_noise_seed=3))
    assert len(found.mass) <= 16
    assert np.isfinite(found.mass).all()


def test_a_heavy_value_is_a_bin_by_itself_and_the_rest_is_shared_out() -> None:
    marginal = Marginal(np.array([0, 1, 2, 3, 4, 5]), np.array([0.8, 0.05, 0.05, 0.05, 0.05]), 5)
    assert marginal.bins(4).tolist() == [0, 1, 2, 3, 4, 5]
    assert marginal.bins(2).tolist() == [0, 1, 3, 5]


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(0.1, 100))
def test_children_sum_to_their_parent(counts: list[float], total: float) -> None:
    made = _simplex(np.array(counts), total)
    assert (made >= 0).all()
    assert made.sum() == pytest.approx(total, rel=1e-6)


def test_a_value_that_many_rows_share_comes_out_as_it_is() -> None:
    import pandas as pd

    from understudy import MomentsGenerator
    from understudy.tables import Column, Schema

    rng = np.random.default_rng(0)
    kind = rng.choice(4, 6000, p=[0.4, 0.2, 0.2, 0.2])
    rate = np.where(kind == 3, rng.random(6000), np.array([0.0, 1.0, 0.3, 0.0])[kind])
    frame = pd.DataFrame({"rate": rate, "ward": rng.choice(["n", "s"], 6000)})
    columns = Column("rate", "continuous", bounds=(0, 1)), Column("ward", "categorical", categories=("n", "s"))
    fit = MomentsGenerator.from_settings(
        epsilon=8.0, model="tables", steps=60, components=8, random_state=0, unsafe_noise_seed=0
    )
    made = fit.fit(frame, schema=Schema(columns)).sample(6000, random_state=0)["rate"].to_numpy()
    assert (made == 0).mean() == pytest.approx(0.4, abs=0.03)
    assert (made == 1).mean() == pytest.approx(0.2, abs=0.03)
    values, counts = np.unique(made[(made > 0.29) & (made < 0.31)], return_counts=True)
    assert values[counts.argmax()] == pytest.approx(0.3, abs=1 / FINEST)
    assert counts.max() > 0.15 * 6000
    assert len(np.unique(made)) > 500
