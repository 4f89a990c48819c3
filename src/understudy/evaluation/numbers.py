"""A target that is a number: how well models learn it, from real rows and from synthetic ones.

R² is the share of the test rows' variance that a model explains: 1 is perfect, 0 is what the mean of the test rows would
get, and a model that has learnt noise is below. The error is the root mean square, in the target's own unit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from understudy.evaluation.classifiers import Factory, scaled
from understudy.evaluation.features import Rows

METRICS = ("r2", "error")
# A model that learnt noise may be wrong without bound; one such would hide what all others say.
LEAST_R2 = -1.0


@dataclass(frozen=True)
class NumberScores:
    """How one model does on one test set: R², at least -1, and the error in the target's unit."""

    r2: float
    error: float
    seconds: float
    note: str = ""

    @property
    def metrics(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in METRICS}

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _ridge(seed: int) -> Any:
    from sklearn.linear_model import Ridge

    del seed
    return scaled(Ridge())


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


THREE: Mapping[str, Factory] = {"ridge regression": _ridge, "random forest": _forest, "gradient boosting": _boosting}


def fit_and_score(factory: Factory, train: Rows, test: Rows, seed: int) -> NumberScores:
    """Touches private data: one model on prepared rows. Never raises for what the rows are like."""
    from threadpoolctl import threadpool_limits

    began, notes = time.perf_counter(), [rows.note for rows in (train, test) if rows.note]
    guess = np.full(len(test), float(train.y.mean()) if len(train) else 0.0)
    if len(train) < 2 or train.x.shape[1] == 0 or np.ptp(train.y) == 0:
        notes.append("nothing varies in the training rows: a constant prediction is scored")
    else:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            guess = np.asarray(factory(seed).fit(train.x, train.y).predict(test.x), dtype=np.float64)
    wrong, spread = float(np.mean((test.y - guess) ** 2)), float(np.var(test.y))
    r2 = max(1 - wrong / spread, LEAST_R2) if spread > 0 else 0.0
    return NumberScores(r2, wrong**0.5, time.perf_counter() - began, "; ".join(dict.fromkeys(notes)))
