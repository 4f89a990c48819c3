"""The graphical model: its tables are those of its rows, it fits what was measured, and agrees with the reference implementation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from understudy.learn.graphical import Clique, Measured, Model, Tree, draw, fit, marginal, towards

SIZES = (4, 3, 5, 2, 6, 3)
ROWS = 20_000.0
# A loop of four columns, and two more behind it.
CLIQUES: list[Clique] = [*((v,) for v in range(6)), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3)]


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, SIZES[0], int(ROWS))]
    for size in SIZES[1:]:
        columns.append((columns[-1] + rng.integers(0, 2, int(ROWS)) * rng.integers(0, 3, int(ROWS))) % size)
    return np.stack(columns, axis=1)


def counted(codes: np.ndarray, clique: Clique) -> np.ndarray:
    shape = [SIZES[v] for v in clique]
    places = np.ravel_multi_index(tuple(codes[:, v] for v in clique), shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape).astype(float)


@pytest.fixture(scope="module")
def measured() -> list[Measured]:
    rng, codes = np.random.default_rng(1), rows()
    tables = [counted(codes, clique) for clique in CLIQUES]
    return [Measured(c, t + rng.normal(0, 10, t.shape), 10.0) for c, t in zip(CLIQUES, tables, strict=True)]


@pytest.fixture(scope="module")
def model(measured: list[Measured]) -> Model:
    return fit(Tree.over(SIZES, CLIQUES), measured, ROWS)


def test_a_tree_holds_every_clique_and_every_column() -> None:
    tree = Tree.over(SIZES, CLIQUES, first=5)
    assert 5 in tree.cliques[0]
    assert all(any(set(c) <= set(one) for one in tree.cliques) for c in CLIQUES)
    seen: set[int] = set()
    for clique, parent in zip(tree.cliques, tree.parents, strict=True):
        # What a clique shares with all before it, it shares with its parent.
        assert parent < 0 or seen & set(clique) <= set(tree.cliques[parent])
        seen |= set(clique)
    assert seen == set(range(6))


def test_columns_that_nothing_joins_are_independent() -> None:
    tree = Tree.over((2, 3), [])
    made = fit(tree, [Measured((0,), np.array([30.0, 10.0]), 1.0)], 40.0)
    assert np.allclose(made.pairs()[(0, 1)], np.outer([0.75, 0.25], np.full(3, 1 / 3)), atol=1e-4)


def test_it_fits_what_was_measured(model: Model, measured: list[Measured]) -> None:
    codes = rows()
    for one in measured:
        assert np.abs(model.marginal(one.clique) - counted(codes, one.clique) / ROWS).sum() < 0.01


def test_all_pairs_are_those_of_its_rows(model: Model) -> None:
    drawn = draw(SIZES, model.tree.cliques, model.tables, 200_000, np.random.default_rng(2))
    pairs = model.pairs()
    assert set(pairs) == {(a, b) for a in range(6) for b in range(a + 1, 6)}
    for pair, table in pairs.items():
        assert np.abs(table - counted(drawn, pair) / 200_000).sum() < 0.02
        assert table.sum() == pytest.approx(1)


def test_rows_can_be_asked_for_by_a_column_of_the_first_clique(model: Model) -> None:
    column = model.tree.cliques[0][0]
    drawn = draw(SIZES, model.tree.cliques, model.tables, 50_000, np.random.default_rng(3), (column, 1))
    assert np.all(drawn[:, column] == 1)
    other = next(v for v in range(6) if v not in model.tree.cliques[0])
    pair = tuple(sorted((column, other)))
    table = model.pairs()[pair]
    wanted = table[1] if pair[0] == column else table[:, 1]
    assert np.abs(np.bincount(drawn[:, other], minlength=SIZES[other]) / 50_000 - wanted / wanted.sum()).sum() < 0.03


def test_a_start_that_knows_the_tables_needs_fewer_steps(measured: list[Measured]) -> None:
    tree = Tree.over(SIZES, CLIQUES)
    shares = {m.clique: np.full(m.table.shape, 1 / m.table.size) for m in measured}
    start = {m.clique: towards(m, shares[m.clique]) for m in measured if len(m.clique) == 1}

    def error(made: Model) -> float:
        return sum(float(np.square(ROWS * made.marginal(m.clique) - m.table).sum()) for m in measured)

    assert error(fit(tree, measured, ROWS, start, 5)) < error(fit(tree, measured, ROWS, None, 5))


def test_it_agrees_with_the_reference_implementation(model: Model, measured: list[Measured]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi = pytest.importorskip("mbi")
        import jax

        # What was measured of three columns alone: the other program compiles one for each tree, which takes seconds.
        small = [one for one in measured if set(one.clique) <= {0, 1, 2}]
        mine = fit(Tree.over(SIZES[:3], [one.clique for one in small]), small, ROWS)
        with jax.enable_x64(True):
            domain = mbi.Domain(["0", "1", "2"], SIZES[:3])
            given = [mbi.LinearMeasurement(m.table.ravel(), tuple(map(str, m.clique)), m.sigma) for m in small]
            theirs = mbi.estimation.MirrorDescent().estimate(domain, given, known_total=float(ROWS), iters=1000)
            table = np.asarray(theirs.project(("0", "2")).values) / ROWS
    assert np.abs(mine.pairs()[(0, 2)] - table).sum() < 0.002


def test_summing_a_table_keeps_the_asked_order() -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(marginal(table, (1, 4, 7), (7, 1)), table.sum(axis=1).T)


def test_a_table_may_have_more_columns_than_einsum_has_names() -> None:
    sizes = (2,) * 60
    chain: list[Clique] = [(a, a + 1) for a in range(59)]
    same = np.array([[90.0, 10.0], [10.0, 90.0]])
    made = fit(Tree.over(sizes, chain), [Measured(clique, same, 1.0) for clique in chain], 200.0)
    assert np.allclose(made.marginal((58, 59)), same / 200, atol=1e-3)
    assert np.allclose(made.pairs()[(57, 59)], [[0.41, 0.09], [0.09, 0.41]], atol=1e-3)
    rows = draw(sizes, made.tree.cliques, made.tables, 500, np.random.default_rng(0))
    assert (rows[:, 58] == rows[:, 59]).mean() > 0.8


def test_rows_come_out_even() -> None:
    """Each cell of a drawn table is within a row or two of its chance, where rows drawn one by one stray by the root of it."""
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(6), 1)[0], rng.dirichlet(np.ones(5), 6)
    joint = first[:, None] * second
    rows = draw((6, 5), [(0,), (0, 1)], [first, joint], 10_000, rng)
    assert np.abs(np.bincount(rows[:, 0], minlength=6) - 10_000 * first).max() < 2
    counts = np.bincount(rows[:, 0] * 5 + rows[:, 1], minlength=30).reshape(6, 5)
    assert np.abs(counts - 10_000 * joint).max() < 4
    # Which rows have which code is by chance.
    assert abs(np.corrcoef(rows[1:, 0], rows[:-1, 0])[0, 1]) < 0.04
