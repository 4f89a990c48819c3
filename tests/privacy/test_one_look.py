"""The mechanisms of the one look: the change that one record makes never exceeds what is charged for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.audit.listening import Kind, Wrapped
from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import ABSENT, Budget, ClippedMoments, GaussianEvent, PairTables, compose, pair_tables
from understudy.privacy.clipped_moments import to_grid
from understudy.privacy.noise import Shape


class Silent(Wrapped):
    """No noise at all: what is left is the exact statistic, so that its change can be measured."""

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        del kind, scale
        return np.zeros(shape, dtype=np.int64)


def silent() -> Budget:
    budget = Budget(1e6, 1e-5)
    budget.noise = Silent(budget.noise)
    return budget


# ---- pair tables ---------------------------------------------------------------------------------------------


@st.composite
def coded(draw: st.DrawFn) -> tuple[np.ndarray, list[int], np.ndarray, int]:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    n_classes = draw(st.integers(1, 3))
    rows = draw(st.integers(1, 8))
    codes = np.array([[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(rows)])
    classes = np.array([draw(st.integers(ABSENT, n_classes - 1)) for _ in range(rows)])
    return codes, sizes, classes, n_classes


@given(coded(), st.integers(0, 7))
def test_a_blanked_row_moves_one_cell_of_each_table(
    data: tuple[np.ndarray, list[int], np.ndarray, int], blanked: int
) -> None:
    codes, sizes, classes, n_classes = data
    mechanism = PairTables(1.0, 0.2)
    full = mechanism.release(codes, sizes, classes, n_classes, silent())
    without = classes.copy()
    without[blanked % len(classes)] = ABSENT
    gone = full - mechanism.release(codes, sizes, without, n_classes, silent())
    moved = 0 if classes[blanked % len(classes)] == ABSENT else 1
    m = len(sizes)
    one_way = np.diagonal(gone, axis1=1, axis2=2)
    two_way = np.triu(gone, 1)
    assert set(np.unique(gone)) <= {0, 1}
    assert one_way.sum() == moved * m
    assert two_way.sum() == moved * m * (m - 1) // 2
    # In units of their noise the two parts together are never longer than one over the noise multiplier.
    one, two = mechanism.sigmas(m)
    length = (one_way**2).sum() / one**2 + ((two_way**2).sum() / two**2 if m > 1 else 0.0)
    assert length <= (1 + 1e-9) / mechanism.noise_multiplier**2


def test_tables_are_counted_right() -> None:
    rng = np.random.default_rng(0)
    sizes = [3, 4, 2]
    codes = np.stack([rng.integers(0, size, 40_000) for size in sizes], axis=1)
    classes = rng.integers(0, 2, 40_000)
    found = PairTables(1.0).release(codes, sizes, classes, 2, silent())
    starts = [0, 3, 7]
    for c in (0, 1):
        mine = codes[classes == c]
        for i in range(3):
            for j in range(3):
                block = found[c, starts[i] : starts[i] + sizes[i], starts[j] : starts[j] + sizes[j]]
                expected = np.zeros((sizes[i], sizes[j]), dtype=int)
                np.add.at(expected, (mine[:, i], mine[:, j]), 1)
                assert np.array_equal(block, expected)


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 7, 11])
def test_tables_counted_a_few_columns_at_a_time_are_those_of_products(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(columns)
    sizes = tuple(rng.integers(1, 9, columns).tolist())
    codes = np.stack([rng.integers(0, size, 300) for size in sizes], axis=1)
    classes = rng.integers(ABSENT, 3, 300)
    expected = pair_tables._counted_by_product(codes, sizes, classes, 3)
    for largest in (1 << 17, 300):  # all in threes, or some in pairs
        monkeypatch.setattr(pair_tables, "_MOST_CELLS", largest)
        pair_tables._blocks.cache_clear()
        found = pair_tables._counted_by_block(codes, sizes, classes, 3)
        assert np.array_equal(found, np.triu(expected))
    pair_tables._blocks.cache_clear()


def test_as_many_classes_as_short_numbers_count_are_counted() -> None:
    classes = np.array([0, 5, 65535])
    tables = PairTables(1.0).count(np.zeros((3, 1), dtype=np.int64), [1], classes, 65536)
    assert np.flatnonzero(tables).tolist() == classes.tolist()


def test_tables_cost_what_one_gaussian_costs() -> None:
    budget = Budget(100.0, 1e-5, unsafe_noise_seed=0)
    mechanism = PairTables(3.0, 0.3)
    noisy = mechanism.release(np.zeros((5, 3), int), [2, 2, 2], np.zeros(5, int), 1, budget)
    assert np.array_equal(noisy, noisy.transpose(0, 2, 1))
    assert budget.events == tuple(mechanism.events(3))
    assert [event.count for event in mechanism.events(3)] == [3, 3]
    assert sum(e.count / e.noise_multiplier**2 for e in mechanism.events(3)) == pytest.approx(1 / 9)
    alone = compose([GaussianEvent(3.0)], 1e-5).epsilon
    assert budget.spent().epsilon == pytest.approx(alone, rel=0.01)
    assert len(PairTables(3.0).events(1)) == 1


def test_the_noise_is_as_large_as_charged() -> None:
    budget = Budget(100.0, 1e-5)
    sizes = [20, 20, 20]
    mechanism = PairTables(2.0, 0.25)
    noisy = mechanism.release(np.zeros((1, 3), int), sizes, np.array([ABSENT]), 2, budget)
    one, two = mechanism.sigmas(3)
    upper = np.triu(np.repeat(np.arange(3), 20)[:, None] != np.repeat(np.arange(3), 20)[None, :])
    assert noisy[:, upper].std() == pytest.approx(two, rel=0.1)
    assert np.diagonal(noisy, axis1=1, axis2=2).std() == pytest.approx(one, rel=0.3)


@pytest.mark.parametrize(
    ("codes", "sizes", "classes", "n_classes", "message"),
    [
        ([[0, 2]], [2, 2], [0], 1, "column 1 has code 2"),
        ([[0, -1]], [2, 2], [0], 1, "code -1"),
        ([[0, 0]], [2], [0], 1, "1 columns"),
        ([[0.5]], [2], [0], 1, "integer type"),
        ([[0]], [2], [1], 1, "class 1"),
        ([[0]], [2], [-2], 1, "class -2"),
        ([[0]], [2], [0, 0], 1, "one class"),
        ([[0]], [0], [0], 1, "sizes"),
        ([[0]], [2], [0], 0, "n_classes"),
    ],
)
def test_wrong_tables_are_refused_before_the_charge(
    codes: Any, sizes: list[int], classes: Any, n_classes: int, message: str
) -> None:
    budget = Budget(10.0, 1e-5)
    with pytest.raises(InputError, match=message):
        PairTables(1.0).release(np.array(codes), sizes, np.array(classes), n_classes, budget)
    assert budget.events == ()


def test_a_budget_that_is_too_small_is_not_drawn_on() -> None:
    budget = Budget(0.1, 1e-5)
    with pytest.raises(BudgetExceeded):
        PairTables(1.0).release(np.zeros((2, 2), int), [2, 2], np.zeros(2, int), 1, budget)
    with pytest.raises(BudgetExceeded):
        ClippedMoments((1.0,), 1.0).release(np.zeros((2, 2)), np.zeros(2, int), budget)
    assert budget.events == ()
    for wrong in (0.0, 1.0):
        with pytest.raises(InputError, match="marginal_share"):
            PairTables(1.0, wrong)


# ---- clipped moments -----------------------------------------------------------------------------------------

anything = st.floats(allow_nan=False, allow_infinity=False, width=64)
near_the_edge = st.floats(0.999999, 1.000001)


@st.composite
def rows(draw: st.DrawFn) -> np.ndarray:
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    kind = draw(st.sampled_from(["anything", "edge", "one"]))
    if kind == "anything":
        return draw(hnp.arrays(np.float64, shape, elements=anything))
    if kind == "edge":  # rows whose length is the clip up to rounding
        made = draw(hnp.arrays(np.float64, shape, elements=st.floats(-1, 1))) + 1e-3
        return made / np.linalg.norm(made, axis=1, keepdims=True) * draw(near_the_edge) * 2.5
    made = np.zeros(shape)  # all of a row in one coordinate: the longest change of its own square
    made[:, draw(st.integers(0, shape[1] - 1))] = draw(st.sampled_from([1e308, -1e308, 2.5, 1e-308]))
    return made


@settings(max_examples=200)
@given(rows(), st.sampled_from(["full", "diagonal", "none"]), st.integers(0, 5), st.integers(1, 2))
def test_a_blanked_row_changes_the_moments_by_no_more_than_charged(
    vectors: np.ndarray, products: Any, blanked: int, n_classes: int
) -> None:
    clips = (2.5, 0.3)[:n_classes]
    shares = (0.1, 0.9, 0.0) if products == "none" else (0.1, 0.3, 0.6)
    mechanism = ClippedMoments(clips, 1.0, shares, products)
    classes = np.arange(len(vectors)) % n_classes
    row = blanked % len(vectors)
    without = classes.copy()
    without[row] = ABSENT
    here = mechanism.release(vectors, classes, silent())
    there = mechanism.release(vectors, without, silent())
    clip = clips[classes[row]]
    assert np.abs(here.counts - there.counts).sum() == 1
    assert np.linalg.norm(here.sums - there.sums) <= clip * (1 + 1e-12)
    change = np.abs(here.products - there.products)
    multipliers = mechanism.multipliers()
    parts = [1 / multipliers[0], np.linalg.norm((here.sums - there.sums) / clip) / multipliers[1]]
    if products == "full":
        on, off = np.diagonal(change, axis1=1, axis2=2), np.triu(change, 1)
        weighted = math.sqrt((on**2).sum() / 2 + (off**2).sum())
        assert weighted <= clip**2 / math.sqrt(2) * (1 + 1e-12)
        parts.append(weighted / (clip**2 / math.sqrt(2)) / multipliers[2])
    elif products == "diagonal":
        assert np.linalg.norm(change) <= clip**2 * (1 + 1e-12)
        parts.append(np.linalg.norm(change) / clip**2 / multipliers[2])
    assert math.hypot(*parts) <= 1 / mechanism.noise_multiplier * (1 + 1e-9)


@given(rows())
def test_no_row_is_longer_than_the_grid_allows(vectors: np.ndarray) -> None:
    whole = to_grid(vectors, 2.5)
    assert np.array_equal(whole, np.trunc(whole))
    assert ((whole**2).sum(axis=1) <= 4096.0**2).all()


def test_moments_are_summed_right() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20_000, 3)) * 0.2
    classes = rng.integers(0, 2, 20_000)
    found = ClippedMoments((4.0, 4.0), 1.0).release(vectors, classes, silent())
    for c in (0, 1):
        mine = vectors[classes == c]
        assert found.counts[c] == len(mine)
        assert found.sums[c] == pytest.approx(mine.sum(axis=0), abs=len(mine) * 5e-4)
        assert found.products[c] == pytest.approx(mine.T @ mine, rel=0.02, abs=2.0)
    squares = ClippedMoments((4.0, 4.0), 1.0, products="diagonal").release(vectors, classes, silent())
    assert np.array_equal(squares.products, np.diagonal(found.products, axis1=1, axis2=2))


def test_the_noise_of_moments_is_as_large_as_said() -> None:
    budget = Budget(100.0, 1e-5)
    mechanism = ClippedMoments((2.0, 5.0), 1.5, (0.2, 0.3, 0.5))
    found = mechanism.release(np.zeros((1, 40)), np.array([ABSENT]), budget)
    upper = np.triu_indices(40, 1)
    assert sum(e.count / e.noise_multiplier**2 for e in mechanism.events()) == pytest.approx(1 / 1.5**2)
    for c, clip in enumerate(mechanism.clips):
        off = found.products[c][upper]
        assert off.std() == pytest.approx(1.5 / math.sqrt(0.5) * clip**2 / math.sqrt(2), rel=0.12)
        assert off.std() == pytest.approx(found.product_noise[c], rel=0.12)
        assert np.diagonal(found.products[c]).std() == pytest.approx(math.sqrt(2) * off.std(), rel=0.4)
        assert found.sums[c].std() == pytest.approx(found.sum_noise[c], rel=0.4)
        assert found.sum_noise[c] == pytest.approx(1.5 / math.sqrt(0.3) * clip)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clips": ()}, "clips"),
        ({"clips": (0.0,)}, "clip"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"shares": (0.5, 0.5, 0.5)}, "sum to 1"),
        ({"shares": (0.0, 0.5, 0.5)}, "positive"),
        ({"products": "none"}, "shares"),
        ({"products": "all"}, "products"),
    ],
)
def test_wrong_moments_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClippedMoments(**{"clips": (1.0,), "noise_multiplier": 1.0, **changes})


@pytest.mark.parametrize(
    ("vectors", "classes", "message"),
    [
        ([[math.nan]], [0], "record 0"),
        ([[math.inf]], [0], "record 0"),
        ([[1.0]], [2], "class 2"),
        ([[1.0]], [0, 0], "class for each"),
        ([[1.0]], [0.5], "whole-numbered"),
    ],
)
def test_rows_that_cannot_be_summed_are_refused_before_the_charge(vectors: Any, classes: Any, message: str) -> None:
    budget = Budget(10.0, 1e-5)
    with pytest.raises(InputError, match=message):
        ClippedMoments((1.0,), 1.0).release(np.array(vectors), np.array(classes), budget)
    assert budget.events == ()
