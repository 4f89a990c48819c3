"""How well one classifier does: trained on some rows, scored on others, whatever those rows are like.

Synthetic tables can be degenerate: one class, constant columns, hardly any rows. A user of such a table would get a
constant prediction, so that is what is scored, with a note that says why; nothing here stops a run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import InputError
from understudy.evaluation.classifiers import TWELVE, Factory
from understudy.evaluation.features import Featuriser, Rows, prepare

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.schema import Schema

METRICS = ("auroc", "auprc", "f1", "accuracy")


@dataclass(frozen=True)
class Scores:
    """How one classifier does on one test set, from 0 to 1. `seconds` is for training and prediction; a `note` says what was odd.

    With two classes AUROC, AUPRC and F1 are those of the positive class. With more, each is the mean over the classes
    (one against the rest; for AUROC and AUPRC over those classes that the test rows hold).
    """

    auroc: float
    auprc: float
    f1: float
    accuracy: float
    seconds: float
    note: str = ""

    @property
    def metrics(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in METRICS}

    def to_dict(self) -> dict[str, Any]:
        return {**self.metrics, "seconds": self.seconds, "note": self.note}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Scores:
        return cls(**{name: plain[name] for name in (*METRICS, "seconds", "note")})


def score(
    train: pd.DataFrame,
    test: pd.DataFrame,
    target: str,
    schema: Schema,
    classifier: str | Factory,
    seed: int = 0,
    *,
    positive: object = None,
) -> Scores:
    """Touches private data where a frame does: train `classifier` on `train`, score it on `test`.

    `classifier` is a name in `TWELVE` or a factory of any panel. The positive class is the last of two unless
    `positive` names one. Degenerate rows score what a constant prediction does (an AUROC of 0.5), with a note.
    """
    if isinstance(classifier, str):
        if classifier not in TWELVE:
            raise InputError(f"there is no classifier {classifier!r}; known are {', '.join(TWELVE)}.")
        classifier = TWELVE[classifier]
    features = Featuriser(schema, target)
    learnt, judged = prepare(features.rows(train), features.rows(test))
    return fit_and_score(classifier, learnt, judged, len(features.classes), place_of(positive, features.classes), seed)


def place_of(positive: object, classes: tuple[Any, ...]) -> int:
    """The position of the positive class among `classes`: the last one unless named."""
    if positive is None:
        return len(classes) - 1
    if positive in classes:
        return classes.index(positive)
    if str(positive) in (texts := [str(label) for label in classes]):
        return texts.index(str(positive))
    raise InputError(f"`positive` (={positive!r}) is none of the classes: {', '.join(map(str, classes))}.")


def fit_and_score(factory: Factory, train: Rows, test: Rows, classes: int, positive: int, seed: int) -> Scores:
    """Touches private data: one classifier on prepared rows. Never raises for what the rows are like."""
    began = time.perf_counter()
    notes = [rows.note for rows in (train, test) if rows.note]
    if classes == 2:
        train, test = (Rows(rows.x, (rows.y == positive).astype(np.int64)) for rows in (train, test))
    chances = predict(factory, train, test.x, classes, seed, notes)
    values = metrics(test.y, chances, notes)
    return Scores(**values, seconds=time.perf_counter() - began, note="; ".join(dict.fromkeys(notes)))


def predict(factory: Factory, train: Rows, x: np.ndarray, classes: int, seed: int, notes: list[str]) -> np.ndarray:
    """Touches private data: a score for each row and class; constant, with a note, where nothing can be learnt."""
    present, y = np.unique(train.y, return_inverse=True)
    why = _hopeless(train, present)
    if why is None:
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model = factory(seed)
                model.fit(train.x, y)
                columns = score_columns(model, x)
            if not np.isfinite(columns).all():
                raise ValueError("its scores are not finite")
            if any(issubclass(one.category, _convergence()) for one in said):
                notes.append("stopped before it converged")
            chances = np.zeros((len(x), classes)) + columns.min(initial=0.0)
            chances[:, present] = columns
            return chances
        except InputError:
            raise
        except Exception as error:
            why = f"could not be trained ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"
    notes.append(f"{why}: a constant prediction is scored")
    constant = np.zeros((len(x), classes))
    constant[:, present[np.bincount(y).argmax()] if len(present) else 0] = 1.0
    return constant


def _hopeless(train: Rows, present: np.ndarray) -> str | None:
    if len(train) == 0:
        return "no training rows"
    if len(present) == 1:
        return "one class only in the training rows"
    if train.x.shape[1] == 0:
        return "every column is constant in the training rows"
    return None


def score_columns(model: Any, x: np.ndarray) -> np.ndarray:
    """One column of scores for each class that the model knows."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x), dtype=float)
    distance = np.asarray(model.decision_function(x), dtype=float)
    return np.column_stack([-distance, distance]) if distance.ndim == 1 else distance


def _convergence() -> type[Warning]:
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning


def metrics(y: np.ndarray, chances: np.ndarray, notes: list[str]) -> dict[str, float]:
    """AUROC, AUPRC, F1 and accuracy of scores (rows x classes) for the classes `y`."""
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    if len(y) == 0:
        notes.append("no test rows")
        return dict.fromkeys(METRICS, 0.5)
    count = chances.shape[1]
    guess = chances.argmax(axis=1)
    judged = [1] if count == 2 else range(count)
    areas: list[float] = []
    precisions: list[float] = []
    for label in judged:
        truth = y == label
        if truth.all() or not truth.any():
            continue
        areas.append(float(roc_auc_score(truth, chances[:, label])))
        precisions.append(float(average_precision_score(truth, chances[:, label])))
    if not areas:
        notes.append("one class only in the test rows: AUROC and AUPRC say nothing")
        areas, precisions = [0.5], [float(np.mean(y == judged[-1]))]
    average = {"average": "binary", "pos_label": 1} if count == 2 else {"average": "macro"}
    return {
        "auroc": float(np.mean(areas)),
        "auprc": float(np.mean(precisions)),
        "f1": float(f1_score(y, guess, zero_division=0.0, **average)),  # pyright: ignore[reportArgumentType]
        "accuracy": float(np.mean(guess == y)),
    }
