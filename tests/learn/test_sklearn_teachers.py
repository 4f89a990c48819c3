"""Teachers that are scikit-learn classifiers, one a shard."""

from __future__ import annotations

import os
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from understudy.errors import InputError
from understudy.learn.partition import shards
from understudy.learn.sklearn_teachers import SklearnTeachers

TEACHERS, ROWS = 5, 103
CLASSES = ["no", "yes", "never seen"]


def _table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(ROWS, 4))
    return X, np.where(X[:, 0] + 0.1 * rng.normal(size=ROWS) > 0.5, "yes", "no")


def _fitted(estimator: Any, y: np.ndarray | None = None, *, jobs: int = 1, seed: int = 0) -> SklearnTeachers:
    X, labels = _table()
    dealt = shards(ROWS, TEACHERS, seed=0)
    return SklearnTeachers(estimator, CLASSES, jobs).fit(X, labels if y is None else y, dealt, seed=seed)


def test_votes_are_counts_in_the_given_order_of_classes() -> None:
    X, y = _table()
    fitted = _fitted(LogisticRegression(C=100))
    votes, predictions = fitted.votes(X), fitted.predictions(X)
    assert votes.dtype == np.int32
    assert votes.shape == (ROWS, 3)
    np.testing.assert_array_equal(votes, (predictions[..., None] == np.arange(3)).sum(axis=0))
    assert np.mean(np.array(CLASSES)[votes.argmax(axis=1)] == y) > 0.85
    assert not votes[:, 2].any()


def test_the_order_of_classes_orders_the_votes() -> None:
    X, y = _table()
    dealt = shards(ROWS, TEACHERS, seed=0)
    one, other = (
        SklearnTeachers(LogisticRegression(), order, 1).fit(X, y, dealt).votes(X) for order in (CLASSES, CLASSES[::-1])
    )
    np.testing.assert_array_equal(one, other[:, ::-1])


def test_a_teacher_is_the_classifier_fitted_on_its_shard_alone() -> None:
    X, y = _table()
    dealt = shards(ROWS, TEACHERS, seed=0)
    predictions = _fitted(LogisticRegression()).predictions(X)
    for teacher in range(TEACHERS):
        mine = dealt.of(teacher)
        alone = LogisticRegression().fit(X[mine].astype(np.float32), y[mine])
        np.testing.assert_array_equal(np.array(CLASSES)[predictions[teacher]], alone.predict(X.astype(np.float32)))


def test_a_shard_of_one_class_votes_for_it() -> None:
    X, y = _table()
    mine = shards(ROWS, TEACHERS, seed=0).of(3)
    y[mine] = "yes"
    predictions = _fitted(LogisticRegression(), y).predictions(X)
    assert (predictions[3] == 1).all()
    assert not (predictions[0] == 1).all()


def test_blanking_a_row_changes_its_own_teacher_alone() -> None:
    X, y = _table()
    dealt = shards(ROWS, TEACHERS, seed=0)
    before = SklearnTeachers(LogisticRegression(), CLASSES, 1).fit(X, y, dealt)
    row = 40
    X[row], y[row] = 0, "no"
    after = SklearnTeachers(LogisticRegression(), CLASSES, 1).fit(X, y, dealt)
    assert before.teachers_
    assert after.teachers_
    same = [np.array_equal(a.coef_, b.coef_) for a, b in zip(before.teachers_, after.teachers_, strict=True)]
    assert [not equal for equal in same] == [teacher == dealt.owner()[row] for teacher in range(TEACHERS)]


def test_workers_do_not_change_the_votes() -> None:
    X, _ = _table()
    tree = DecisionTreeClassifier(splitter="random")
    np.testing.assert_array_equal(_fitted(tree, jobs=1).votes(X), _fitted(tree, jobs=2).votes(X))


def test_the_seed_reaches_every_random_state_of_a_pipeline() -> None:
    fitted = _fitted(make_pipeline(StandardScaler(), DecisionTreeClassifier(splitter="random")), seed=3)
    again = _fitted(make_pipeline(StandardScaler(), DecisionTreeClassifier(splitter="random")), seed=3)
    assert fitted.teachers_
    assert again.teachers_
    states = [teacher.get_params()["decisiontreeclassifier__random_state"] for teacher in fitted.teachers_]
    assert len(set(states)) == TEACHERS
    assert states == [t.get_params()["decisiontreeclassifier__random_state"] for t in again.teachers_]


def test_missing_values_are_left_to_the_classifier() -> None:
    X, y = _table()
    X[::3, 3] = np.nan
    dealt = shards(ROWS, 2, seed=0)
    votes = SklearnTeachers(HistGradientBoostingClassifier(max_iter=3), CLASSES, 1).fit(X, y, dealt).votes(X)
    np.testing.assert_array_equal(votes.sum(axis=1), 2)


def test_no_queries() -> None:
    fitted = _fitted(LogisticRegression())
    assert fitted.votes(np.zeros((0, 4))).shape == (0, 3)
    assert fitted.predictions(np.zeros((0, 4))).shape == (TEACHERS, 0)


def test_asking_before_learning() -> None:
    with pytest.raises(InputError, match="Call `fit` first"):
        SklearnTeachers(LogisticRegression(), CLASSES).votes(np.zeros((1, 4)))


def test_an_estimator_that_is_none() -> None:
    with pytest.raises(InputError, match="has no `fit` and `predict`"):
        _fitted("logistic")


@pytest.mark.parametrize("label", ["perhaps", None, float("nan")])
def test_a_label_outside_the_classes(label: object) -> None:
    _, y = _table()
    y = y.astype(object)
    y[9] = label
    with pytest.raises(InputError, match=f"`y` is {label!r} in row 9"):
        _fitted(LogisticRegression(), y)


@pytest.mark.parametrize("classes", [["yes"], ["yes", "yes", "no"]])
def test_classes_that_make_no_sense(classes: list[str]) -> None:
    X, y = _table()
    with pytest.raises(InputError, match="at least two classes, each once"):
        SklearnTeachers(LogisticRegression(), classes).fit(X, y, shards(ROWS, TEACHERS, seed=0))


def test_shards_of_another_table() -> None:
    X, y = _table()
    with pytest.raises(InputError, match="made for 50 rows"):
        SklearnTeachers(LogisticRegression(), CLASSES).fit(X, y, shards(50, TEACHERS, seed=0))


def test_queries_with_other_columns() -> None:
    with pytest.raises(InputError, match="has 3 columns, but the teachers learnt from 4"):
        _fitted(LogisticRegression()).votes(np.zeros((1, 3)))


class Warns(DecisionTreeClassifier):
    """Says where it learnt, and warns of its rows."""

    def fit(self, X: Any, y: Any, *more: Any, **named: Any) -> Any:
        warnings.warn(f"private: {len(X)} rows", UserWarning, stacklevel=1)
        self.process_ = os.getpid()
        return super().fit(X, y, *more, **named)


def test_teachers_on_a_cluster_are_those_of_one_process(capfd: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed")
    X, y = _table()
    dealt = shards(ROWS, TEACHERS, seed=0)
    settings = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as workers, distributed.Client(workers):
        for estimator in (Warns(), make_pipeline(StandardScaler(), LogisticRegression())):
            here = SklearnTeachers(estimator, CLASSES).fit(X, y, dealt, seed=3)
            with joblib.parallel_config(backend="dask"):
                there = SklearnTeachers(estimator, CLASSES).fit(X, y, dealt, seed=3)
                np.testing.assert_array_equal(there.votes(X), here.votes(X))
            np.testing.assert_array_equal(there.predictions(X), here.predictions(X))
            assert there.teachers_ is not None
            assert os.getpid() not in {getattr(teacher, "process_", None) for teacher in there.teachers_}
    assert "private" not in "".join(capfd.readouterr())
