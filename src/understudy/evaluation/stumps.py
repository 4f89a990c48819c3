"""AdaBoost of decision stumps, the slowest of the twelve classifiers, on columns that are sorted once and not once a stump.

The algorithm is scikit-learn's `AdaBoostClassifier` with its default trees of depth one (discrete SAMME, Gini impurity,
thresholds halfway between neighbours): the same stumps, but for ties and the last digit of a sum, in an eighth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Values that are nearer than this are one value, as in scikit-learn's trees.
_APART = 1e-7


class StumpBoost:
    """Two classes by boosted stumps; with more classes scikit-learn's own, which is as good then."""

    def __init__(self, n_estimators: int, learning_rate: float, random_state: int) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state

    def __repr__(self) -> str:
        # The seed is not said: two classes have no use for it.
        return f"StumpBoost(n_estimators={self.n_estimators}, learning_rate={self.learning_rate})"

    def fit(self, x: np.ndarray, y: np.ndarray) -> StumpBoost:
        """Touches private data where the rows are private: stump after stump on re-weighted rows."""
        self.classes_ = np.unique(y)
        self._many: Any = None
        if len(self.classes_) != 2:
            from sklearn.ensemble import AdaBoostClassifier

            self._many = AdaBoostClassifier(
                n_estimators=self.n_estimators, learning_rate=self.learning_rate, random_state=self.random_state
            ).fit(x, y)
            return self
        columns = np.ascontiguousarray(x.T, dtype=np.float32)
        order = np.argsort(columns, axis=1, kind="stable")
        ranked = np.take_along_axis(columns, order, axis=1)
        barred = np.where(ranked[:, 1:] > ranked[:, :-1] + np.float32(_APART), 0.0, -np.inf)
        self.stumps_ = self._boost(columns, order, ranked, barred, y == self.classes_[1])
        return self

    def _boost(
        self, columns: np.ndarray, order: np.ndarray, ranked: np.ndarray, barred: np.ndarray, truth: np.ndarray
    ) -> list[tuple[int, float, bool, bool, float]]:
        """Of each stump its column and threshold, its answer up to the threshold and above it, and its weight.

        Thresholds are compared in double precision: halfway between two neighbours in single precision is one of them.
        """
        stumps: list[tuple[int, float, bool, bool, float]] = []
        weights = np.full(len(truth), 1 / len(truth))
        for _ in range(self.n_estimators):
            weights = np.maximum(weights, np.finfo(float).eps)
            column, threshold, below, above = _stump(order, ranked, barred, weights, truth)
            wrong = np.where(columns[column] <= np.float64(threshold), below, above) != truth
            error = float(weights[wrong].sum() / weights.sum())
            if error <= 0:
                stumps.append((column, threshold, below, above, 1.0))
                break
            if error >= 0.5:
                if not stumps:
                    raise ValueError("no stump is better than chance")
                break
            worth = self.learning_rate * float(np.log((1 - error) / error))
            stumps.append((column, threshold, below, above, worth))
            weights = np.where(wrong, weights * np.exp(worth), weights)
            weights /= weights.sum()
        return stumps

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        if self._many is not None:
            return self._many.predict_proba(x)
        columns = np.ascontiguousarray(x.T, dtype=np.float32)
        total = np.zeros(len(x))
        for column, threshold, below, above, worth in self.stumps_:
            total += np.where(
                columns[column] <= np.float64(threshold), worth if below else -worth, worth if above else -worth
            )
        total /= sum(stump[-1] for stump in self.stumps_)
        return np.column_stack([1 / (1 + np.exp(2 * total)), 1 / (1 + np.exp(-2 * total))])


def _stump(
    order: np.ndarray, ranked: np.ndarray, barred: np.ndarray, weights: np.ndarray, truth: np.ndarray
) -> tuple[int, float, bool, bool]:
    """The split with the least Gini impurity. It goes by columns: one fits into the processor's cache, the table does not."""
    trues = np.where(truth, weights, 0.0)
    best, split = -np.inf, (0, 0)
    for column, rows in enumerate(order):
        left, left_true = np.cumsum(weights[rows]), np.cumsum(trues[rows])
        whole, whole_true = left[-1], left_true[-1]
        left, left_true = left[:-1], left_true[:-1]
        # A side of weight w, of which t is of one class, has impurity 2t(w - t)/w = 2t - 2t^2/w: the t add up to the same.
        pure = np.square(left_true)
        pure /= left
        right_true = whole_true - left_true
        right_true *= right_true
        right_true /= whole - left
        pure += right_true
        pure += barred[column]
        position = int(np.argmax(pure))
        if pure[position] > best:
            best, split = float(pure[position]), (column, position)
    column, position = split
    if best == -np.inf:
        majority = bool(2 * trues.sum() > weights.sum())
        return 0, np.inf, majority, majority
    low, high = float(ranked[column, position]), float(ranked[column, position + 1])
    threshold = low / 2 + high / 2
    threshold = low if threshold == high else threshold
    inside = truth[order[column]]
    sorted_weights = np.where(inside, weights[order[column]], -weights[order[column]])
    return (
        column,
        threshold,
        bool(sorted_weights[: position + 1].sum() > 0),
        bool(sorted_weights[position + 1 :].sum() > 0),
    )
