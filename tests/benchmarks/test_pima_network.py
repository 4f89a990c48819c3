"""Many networks in one program are each the network that it would be alone."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.pima.network import Networks, Optimiser, Recipe, probability, start, train


def _rows(networks: int, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).standard_normal((networks, rows, 3))
    return X, (X[:, :, 0] + X[:, :, 1] > 0).astype(np.int64)


def _fit(X: np.ndarray, y: np.ndarray, held: np.ndarray, recipe: Recipe) -> Networks:
    return train(start([(8, 8, 8)] * len(X), 3, seed=1), X, y, held, np.full(len(X), 1e-3), recipe, seed=2)


@pytest.mark.parametrize("optimiser", ["rmsprop", "sgd"])
def test_they_learn(optimiser: Optimiser) -> None:
    X, y = _rows(3, 100)
    epochs = 300 if optimiser == "sgd" else 100
    trained = _fit(X, y, np.ones(y.shape, dtype=bool), Recipe(optimiser, 25, epochs))
    unseen, truth = _rows(3, 200, seed=9)
    accuracy = np.mean((probability(trained, unseen) >= 0.5) == truth, axis=1)
    assert accuracy.min() > 0.85


def test_rows_that_are_not_held_change_nothing() -> None:
    X, y = _rows(3, 90)
    held = np.random.default_rng(1).random(y.shape) < 0.6
    before = _fit(X, y, held, Recipe(epochs=5))
    X2, y2 = X.copy(), y.copy()
    X2[~held], y2[~held] = 1e6, 1 - y2[~held]
    after = _fit(X2, y2, held, Recipe(epochs=5))
    for left, right in zip(before.weights, after.weights, strict=True):
        assert np.array_equal(left, right)


def test_one_network_does_not_see_the_rows_of_another() -> None:
    X, y = _rows(3, 90)
    held = np.random.default_rng(1).random(y.shape) < 0.6
    before = _fit(X, y, held, Recipe(epochs=5))
    X[1] += 7.0
    after = _fit(X, y, held, Recipe(epochs=5))
    changed = [not np.array_equal(before.weights[0][n], after.weights[0][n]) for n in range(3)]
    assert changed == [False, True, False]


def test_a_smaller_network_stays_small() -> None:
    X, y = _rows(2, 100)
    networks = start([(4, 8, 4), (8, 16, 16)], 3, seed=0)
    trained = train(networks, X, y, np.ones(y.shape, dtype=bool), np.full(2, 0.01), Recipe(epochs=20), seed=0)
    first, second, third, _ = trained.weights
    assert not np.any(first[0, 4:]), "units past the fourth have no weights"
    assert not np.any(second[0, 8:])
    assert not np.any(second[0, :, 4:])
    assert not np.any(third[0, 4:])
    assert not np.any(trained.biases[0][0, 4:])
    assert np.all(np.any(first[1] != 0, axis=1))
    assert first.shape == (2, 8, 3)


def test_more_networks_than_places_come_back_in_order() -> None:
    X, y = _rows(70, 90)
    trained = _fit(X, y, np.ones(y.shape, dtype=bool), Recipe(epochs=1))
    assert trained.weights[0].shape == (70, 8, 3)
    untouched = start([(8, 8, 8)] * 70, 3, seed=1)
    # One epoch of four steps moves a weight by little: each is still next to its own start.
    assert np.abs(trained.weights[0] - untouched.weights[0]).max() < 0.05
