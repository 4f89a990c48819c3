"""Teachers of any kind: one scikit-learn classifier a shard, trained in parallel."""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from understudy.errors import InputError
from understudy.learn import inputs
from understudy.learn.partition import Shards


def make_teacher(estimator: Any) -> Any:
    """A scikit-learn classifier as it is; None: scaled logistic regression; "experts": one of those for each class."""
    if estimator not in (None, "experts"):
        return estimator
    each = LogisticRegression(max_iter=1000)
    return make_pipeline(StandardScaler(), each if estimator is None else OneVsRestClassifier(each))


@dataclass(eq=False)
class SklearnTeachers:
    """Clones of `estimator`, each fitted on its own shard. Everything it returns is private.

    `classes` is the public list of labels; votes are counted in its order, whichever of them a shard happens to hold.
    `jobs` is joblib's number of workers (-1: one for each core). They are threads, which start at once and write no
    private rows to temporary files; `joblib.parallel_config(backend="loky")` around a call makes them processes, for
    classifiers that hold Python's lock, and `backend="dask"` the workers of a cluster. The teachers are the same.
    """

    estimator: Any
    classes: Sequence[Hashable]
    jobs: int | None = -1
    teachers_: list[Any] | None = field(default=None, init=False, repr=False)
    """Private: the fitted classifiers. They predict positions in `classes`."""
    features_: int | None = field(default=None, init=False, repr=False)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        shards: Shards,
        *,
        seed: int = 0,
        present: ArrayLike | None = None,
        first: int = 0,
    ) -> SklearnTeachers:
        """Touches private data: fit every teacher on its own shard and on nothing else.

        `seed` drives the classifiers' own randomness (every `random_state` they have), one stream a teacher. Missing
        values are the estimator's affair: some classifiers take them. A row that is not `present` is blank: nobody
        learns from it, and a teacher that is left without rows votes for the first class. `first` is the number of the first
        of these teachers, where they are some of a larger ensemble.
        """
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise InputError(
                f"`estimator` (={self.estimator!r}) has no `fit` and `predict`. Give a scikit-learn classifier."
            )
        rows = inputs.matrix(X, "X", finite=False)
        labels = inputs.codes(y, self.classes)
        inputs.fits(len(rows), len(labels), shards)
        streams = np.random.SeedSequence(seed).generate_state(first + shards.teachers)[first:]
        there = np.ones(len(rows), dtype=bool) if present is None else np.asarray(present, dtype=bool)
        held = (mine[there[mine]] for mine in map(shards.of, range(shards.teachers)))
        with _QUIET:
            self.teachers_ = list(
                Parallel(n_jobs=self.jobs, prefer="threads")(
                    delayed(_fit_one)(self.estimator, rows[mine], labels[mine], int(stream) >> 1)
                    for mine, stream in zip(held, streams, strict=True)
                )
            )
        self.features_ = rows.shape[1]
        return self

    def predictions(self, X: ArrayLike) -> Int[np.ndarray, "teachers queries"]:
        """Touches private data: the position in `classes` that each teacher votes for. For the data holder alone."""
        if self.teachers_ is None:
            raise InputError("These teachers have learnt nothing yet. Call `fit` first.")
        queries = inputs.matrix(X, "X", features=self.features_, finite=False)
        if len(queries) == 0:
            return np.zeros((len(self.teachers_), 0), np.int32)
        with _QUIET:
            answers: Any = Parallel(n_jobs=self.jobs, prefer="threads")(
                delayed(_predict)(teacher, queries) for teacher in self.teachers_
            )
        return np.stack(answers).astype(np.int32)

    def votes(self, X: ArrayLike) -> Int[np.ndarray, "queries classes"]:
        """Touches private data: how many teachers vote for each class, for each query."""
        chosen = self.predictions(X)
        queries, classes = chosen.shape[1], len(self.classes)
        cell = chosen + classes * np.arange(queries)
        return np.bincount(cell.ravel(), minlength=queries * classes).reshape(queries, classes).astype(np.int32)


class _Quiet:
    """Classifiers at work in this process, in however many threads: no warnings, and one thread inside each of them.

    What a classifier warns of hangs on the rows of its shard, and would be seen by whoever sees the screen, or a worker's log.
    Teachers share the cores; threads inside each of them would only fight. Both settings are the whole process's: the first
    to come makes them, and the last to leave takes them back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._settings = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._settings.enter_context(warnings.catch_warnings(action="ignore"))
                self._settings.enter_context(threadpool_limits(1))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._settings.close()


_QUIET = _Quiet()


def _predict(teacher: Any, queries: np.ndarray) -> Any:
    """Touches private data: what one teacher says, wherever it is asked."""
    with _QUIET:
        return teacher.predict(queries)


def _fit_one(estimator: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Touches private data: one teacher, wherever it learns."""
    with _QUIET:
        return _fitted(estimator, X, y, seed)


def _fitted(estimator: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Touches private data. Most classifiers refuse a single class; such a teacher always votes for it."""
    if len(y) == 0:
        X, y = np.zeros((1, X.shape[1])), np.zeros(1, dtype=y.dtype)
    if np.all(y == y[0]):
        return DummyClassifier(strategy="constant", constant=y[0]).fit(X, y)
    teacher: Any = clone(estimator)
    random = [name for name in teacher.get_params() if name == "random_state" or name.endswith("__random_state")]
    return teacher.set_params(**dict.fromkeys(random, seed)).fit(X, y)
