"""Logistic regression, twice, and the linear SVM: the thesis' grids (Section 4.4.1), Tables 5.1, 5.3, 5.4, Figures 5.2 to 5.4."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.pima.data import Split, split
from benchmarks.pima.scores import scores

_SMALL = (0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009)
GRID_1 = (*_SMALL, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 10, 100, 1000)
GRID_2 = (
    *(*_SMALL, 0.1, 0.2, 0.3, 0.4, 0.5, 1, 10, 20, 30, 40, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 70, 80, 90),
    *(99, 100, 101, 102, 105, 110, 120, 1000),
)

# libsvm needs millions of steps at C = 100 and 1000; a model that has not converged by then is scored as it is.
_SVM_STEPS = 200_000


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[dict[str, float | list[float]]]:
    """The three models with the thesis' chosen parameters, their grids searched anew, and cross-validation."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [_one(settings, repeat) for repeat in repeats]


def _one(settings: Mapping[str, Any], repeat: int) -> dict[str, float | list[float]]:
    data = split(repeat, settings["imputation"], scaled=settings["scaled"])
    found: dict[str, float | list[float]] = {
        "majority/accuracy": float(max(np.mean(data.y_test), 1 - np.mean(data.y_test)))
    }
    for name, model in printed().items():
        found |= _scored(name, model.fit(data.X, data.y), data)
    if settings["grid"]:
        for name, (model, grid) in searches(**settings["grid"]).items():
            found |= _searched(name, model, grid, data)
    for name in ("LR 1", "SVM") if settings["folds"] else ():
        found |= cross_validated(name, printed()[name], data, settings["folds"], repeat)
    return found


def printed() -> dict[str, Any]:
    """The models with the parameters that the thesis prints (Tables 5.1 and 5.3)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    return {
        "LR 1": LogisticRegression(C=0.005, solver="liblinear"),
        "LR 2": LogisticRegression(C=0.2, solver="lbfgs"),
        "SVM": SVC(C=0.4, kernel="linear"),
    }


def searches(*, step: int, largest: float) -> dict[str, tuple[Any, dict[str, list[float]]]]:
    """The thesis' searches; every `step`-th value up to `largest` of each grid."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    first, second = ([c for c in grid[::step] if c <= largest] for grid in (GRID_1, GRID_2))
    return {
        # scikit-learn has replaced penalty="l1"/"l2" by l1_ratio=1/0.
        "LR 1": (LogisticRegression(solver="liblinear"), {"C": first, "l1_ratio": [0.0, 1.0]}),
        "LR 2": (LogisticRegression(solver="lbfgs"), {"C": second}),
        "SVM": (SVC(kernel="linear", max_iter=_SVM_STEPS), {"C": first}),
    }


def _scored(name: str, model: Any, data: Split) -> dict[str, float | list[float]]:
    """An SVM has no probability; its distance from the plane orders the rows as well."""
    if hasattr(model, "predict_proba"):
        return scores(name, data.y_test, model.predict_proba(data.X_test)[:, 1])
    return scores(name, data.y_test, model.decision_function(data.X_test), threshold=0.0)


def _searched(name: str, model: Any, grid: dict[str, list[float]], data: Split) -> dict[str, float | list[float]]:
    """`GridSearchCV` with its default of five folds, on the training rows alone."""
    from sklearn.model_selection import GridSearchCV

    best = GridSearchCV(model, grid, scoring="accuracy").fit(data.X, data.y)
    found = _scored(f"{name} searched", best.best_estimator_, data)
    keep = {f"{name} searched/{measure}" for measure in ("accuracy", "f1")}
    return {key: value for key, value in found.items() if key in keep} | {
        f"{name} searched/log10 C": float(np.log10(best.best_params_["C"])),
    }


def cross_validated(
    name: str, model: Any, data: Split, folds: Sequence[int], seed: int
) -> dict[str, float | list[float]]:
    """Mean and deviation of the accuracy over folds, for each number of folds, plain and stratified."""
    from sklearn.model_selection import cross_val_score

    found: dict[str, float | list[float]] = {}
    for kind in ("plain", "stratified"):
        each = [cross_val_score(model, data.X, data.y, cv=folding(kind, k, seed)) for k in folds]
        found[f"{name}/{kind} folds"] = [float(e.mean()) for e in each]
        found[f"{name}/{kind} folds deviation"] = [float(e.std()) for e in each]
    return found


def folding(kind: str, k: int, seed: int) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    return (KFold if kind == "plain" else StratifiedKFold)(k, shuffle=True, random_state=seed)
