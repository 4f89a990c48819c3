"""Students: ordinary classifiers that learn from public rows with private labels.

Named students can be released: a bundle stores the public rows, their noisy labels and the name, and loading it trains the
student again. What it learns from is covered by the guarantee, so nothing else needs to travel, and nothing is pickled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.errors import InputError

NAMES = ("logistic", "forest", "boosting", "mlp")


def make_student(student: Any, seed: int) -> Any:
    """A fresh, unfitted student: by name, or a clone of a scikit-learn classifier."""
    from sklearn.base import clone, is_classifier

    if student is None:
        student = "logistic"
    if not isinstance(student, str):
        if not (hasattr(student, "get_params") and is_classifier(student)):
            raise InputError(f"`student` (={student!r}) is no classifier; give one, or a name: {', '.join(NAMES)}.")
        return clone(student)
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    match student:
        case "logistic":
            from sklearn.linear_model import LogisticRegression

            return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        case "forest":
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(min_samples_leaf=5, random_state=seed)
        case "boosting":
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(max_iter=50, random_state=seed)
        case "mlp":
            from sklearn.neural_network import MLPClassifier

            return make_pipeline(StandardScaler(), MLPClassifier((32,), alpha=1.0, max_iter=500, random_state=seed))
        case _:
            raise InputError(f"unknown student {student!r}; known are {', '.join(NAMES)}.")


def train_student(student: Any, X: np.ndarray, y: np.ndarray, unlabelled: np.ndarray | None) -> Any:
    """Fit on labelled public rows; with `unlabelled` public rows too, by self-training. Touches nothing private."""
    if len(np.unique(y)) == 1:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(X, y)
    if unlabelled is None or len(unlabelled) == 0:
        return student.fit(X, y)
    from sklearn.semi_supervised import SelfTrainingClassifier

    rows = np.concatenate([X, unlabelled])
    labels = np.concatenate([y, np.full(len(unlabelled), -1)])
    return SelfTrainingClassifier(student, threshold=0.9, max_iter=5).fit(rows, labels)
