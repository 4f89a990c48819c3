"""Our AdaBoost of stumps is scikit-learn's: the same stumps, weights and scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier

from understudy.evaluation.stumps import StumpBoost


def both(x: np.ndarray, y: np.ndarray, stumps: int = 30, rate: float = 0.7) -> tuple[StumpBoost, AdaBoostClassifier]:
    theirs = AdaBoostClassifier(n_estimators=stumps, learning_rate=rate, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StumpBoost(stumps, rate, 0).fit(x, y), theirs.fit(x, y)


@given(st.integers(0, 10_000), st.sampled_from([0.5, 1.0]), st.booleans())
@settings(max_examples=15)
def test_the_same_stumps_and_scores(seed: int, rate: float, rounded: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(200, 4)).astype(np.float32)
    x = np.round(x, 1) if rounded else x
    y = np.where(x[:, 0] + x[:, 1] ** 2 + random.normal(0, 0.7, 200) > 1, 7, 3)
    ours, theirs = both(x, y, 20, rate)
    assert [(s[0], s[1]) for s in ours.stumps_] == [
        (int(e.tree_.feature[0]), pytest.approx(float(e.tree_.threshold[0]), abs=1e-9)) for e in theirs.estimators_
    ]
    assert [s[-1] for s in ours.stumps_] == pytest.approx(list(theirs.estimator_weights_[: len(ours.stumps_)]))
    shown = random.normal(size=(100, 4)).astype(np.float32)
    assert ours.predict_proba(shown) == pytest.approx(theirs.predict_proba(shown), abs=1e-9)


def test_a_stump_without_fault_ends_it() -> None:
    x = np.array([[0.1], [0.2], [0.8], [0.9]], dtype=np.float32)
    ours, theirs = both(x, np.array([0, 0, 1, 1]))
    assert len(ours.stumps_) == len(theirs.estimators_) == 1
    assert ours.predict_proba(x) == pytest.approx(theirs.predict_proba(x))


def test_neighbours_in_single_precision_are_told_apart_or_not_as_theirs_are() -> None:
    low = np.float32(1000.0)
    x = np.array([low, low, np.nextafter(low, np.float32(2000)), np.nextafter(low, np.float32(2000))])[:, None]
    ours, theirs = both(x, np.array([0, 0, 1, 1]))
    assert ours.predict_proba(x) == pytest.approx(theirs.predict_proba(x))


def test_columns_that_say_nothing_are_an_error_as_theirs_are() -> None:
    x, y = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="better than chance"):
        StumpBoost(5, 1.0, 0).fit(x, y)
    with pytest.raises(ValueError):  # noqa: PT011
        AdaBoostClassifier(n_estimators=5, random_state=0).fit(x, y)


def test_more_classes_are_scikit_learns() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(150, 3)).astype(np.float32)
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    ours, theirs = both(x, y, 5)
    assert ours.predict_proba(x) == pytest.approx(theirs.predict_proba(x))


def test_two_classes_have_no_use_for_the_seed() -> None:
    assert repr(StumpBoost(5, 1.0, 0)) == repr(StumpBoost(5, 1.0, 1))
