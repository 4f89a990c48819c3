"""Triangulation: every clique is kept, none lies within another, and the size of a grown model is that of the model itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from understudy.learn.graphical import Tree
from understudy.learn.triangulation import Clique, Growth, maximal_cliques


def some_graph(seed: int) -> tuple[list[int], list[Clique]]:
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(2, 14))
    pairs = [pair for pair in combinations(range(columns), 2) if rng.random() < rng.choice([0.1, 0.3])]
    return rng.integers(1, 7, columns).tolist(), pairs


@pytest.mark.parametrize("seed", range(30))
def test_its_cliques_hold_every_pair_and_none_holds_another(seed: int) -> None:
    sizes, pairs = some_graph(seed)
    found = [set(clique) for clique in maximal_cliques(sizes, pairs)]
    assert set().union(*found) == set(range(len(sizes)))
    assert all(any(set(pair) <= one for one in found) for pair in pairs)
    assert not any(a < b or (a == b and i != j) for i, a in enumerate(found) for j, b in enumerate(found))


@pytest.mark.parametrize("seed", range(30))
def test_the_size_of_a_grown_model_is_that_of_its_tree(seed: int) -> None:
    sizes, pairs = some_graph(seed)
    grown = Growth(sizes, pairs)
    assert grown.all == Tree.over(sizes, pairs).cells
    for pair in combinations(range(len(sizes)), 2):
        assert grown.with_pair(*pair) == Tree.over(sizes, [*pairs, pair]).cells, pair
