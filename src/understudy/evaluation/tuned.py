"""Gradient boosting whose size is chosen on a part of its own training rows: what somebody who tries a little would get.

Where it learns from synthetic rows it is tuned on synthetic rows: no real row has a say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LEAVES = (3, 8, 31)
TREES = 100
_HELD = 0.2


class TunedBoosting:
    """Trees of 3, 8 or 31 leaves and 1 to 100 of them, by the log loss on a fifth of the rows; then learnt from all of them."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"TunedBoosting({self.random_state}, leaves={LEAVES}, trees={TREES})"

    def fit(self, x: np.ndarray, y: np.ndarray) -> TunedBoosting:
        """`y` are whole numbers from 0, each of them there."""
        from threadpoolctl import threadpool_limits

        held = _held(y, np.random.default_rng(self.random_state))
        with threadpool_limits(1):
            tried = [
                (_loss(self._model(leaves, TREES).fit(x[~held], y[~held]), x[held], y[held]), leaves)
                for leaves in LEAVES
            ]
            (_, trees), self.leaves_ = min(tried)
            self.trees_ = trees
            self._fitted = self._model(self.leaves_, trees).fit(x, y)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return np.asarray(self._fitted.predict_proba(x))

    def _model(self, leaves: int, trees: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        given: dict[str, Any] = {"max_leaf_nodes": leaves, "max_iter": trees, "early_stopping": False}
        return HistGradientBoostingClassifier(**given, random_state=self.random_state)


def _held(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A fifth of each class, drawn; a class of one row is learnt from."""
    order = random.permutation(len(y))
    mixed = order[np.argsort(y[order], kind="stable")]
    sizes = np.bincount(y)
    rank = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = np.zeros(len(y), dtype=bool)
    held[mixed] = rank < np.floor(_HELD * sizes[y[mixed]] + 0.5)
    held[mixed[rank == 0]] &= sizes[y[mixed[rank == 0]]] > 1
    return held


def _loss(model: Any, x: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """The least log loss over the number of trees, and that number."""
    if len(y) == 0:
        return 0.0, TREES
    chances = np.stack([one[np.arange(len(y)), y] for one in model.staged_predict_proba(x)])
    losses = -np.log(np.maximum(chances, 1e-12)).mean(axis=1)
    best = int(losses.argmin())
    return float(losses[best]), best + 1
