"""The thesis' own numbers hold together, and its PATE is re-run as it is described."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pima import BENCHMARK, data, pate, quotes
from benchmarks.pima.data import Split
from benchmarks.pima.scores import scores
from understudy.learn.partition import shards


def test_the_printed_epsilons_are_those_of_its_theorem() -> None:
    for teachers, gamma, epsilon, _ in (*quotes.TABLE_5_6, *quotes.TABLE_5_7):
        queries = 537 // (teachers + 1)
        assert pate.thesis_epsilon(gamma, queries) == pytest.approx(epsilon, abs=0.015)
        assert pate.tight_epsilon(gamma, queries) < pate.thesis_epsilon(gamma, queries)


def test_its_areas_are_those_of_thresholded_predictions() -> None:
    cells = {(q.row, q.metric): q.paper for q in BENCHMARK.quotes if q.table.startswith("Table 5.4") and q.paper}
    for model, printed, slack in (("LR", 0.720, 5e-4), ("SVM", 0.729, 5e-4), ("NN", 0.801, 8e-3)):
        tn, fp, fn, tp = (
            cells[model, c] or 0 for c in ("true negative", "false positive", "false negative", "true positive")
        )
        assert tn + fp + fn + tp == 231
        assert (tp / (tp + fn) + tn / (tn + fp)) / 2 == pytest.approx(printed, abs=slack)


def test_scores_on_a_case_done_by_hand() -> None:
    found = scores("m", np.array([0, 0, 0, 1, 1]), np.array([0.1, 0.2, 0.6, 0.4, 0.9]))
    assert found["m/accuracy"] == 0.6
    assert found["m/f1"] == 0.5
    assert [found[f"m/{c} {s}"] for c in ("true", "false") for s in ("negative", "positive")] == [2, 1, 1, 1]
    assert found["m/auc"] == pytest.approx(5 / 6)
    assert found["m/auc of predictions"] == pytest.approx((1 / 2 + 2 / 3) / 2)


def _splits(number: int) -> list[Split]:
    random = np.random.default_rng(0)
    made: list[Split] = []
    for _ in range(number):
        X = random.standard_normal((768, 3))
        y = (X[:, 0] > 0).astype(np.int64)
        made.append(Split(X[:537], y[:537], X[537:], y[537:]))
    return made


def test_teachers_and_student_share_the_training_rows_out() -> None:
    splits = _splits(2)
    asked = pate.ask(splits, 5, [5, 6])
    for one, split, repeat in zip(asked, splits, (5, 6), strict=True):
        own = split.X[shards(537, 6, seed=repeat).of(5)]
        assert np.array_equal(one.X, own), "the student's rows belong to no teacher"
        assert one.votes.shape == (89, 2)
        assert np.all(one.votes.sum(axis=1) == 5)
        learnt = one.votes.argmax(axis=1) == (own[:, 0] > 0)
        assert learnt[np.abs(own[:, 0]) > 0.5].mean() > 0.9


def test_noise_selects_and_epsilons() -> None:
    settings = {
        "imputation": "by-class",
        "teachers": [5],
        "gammas": [0.01, 5.0],
        "printed": [[5, 0.022]],
        "agreement": [5],
    }
    splits = _splits(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pate, "split", lambda repeat, imputation: splits[repeat])
        found = pate.measure(settings, [0, 1])
    for one in found:
        assert 50 < float(one["5 teachers/percentage gap"]) <= 100  # pyright: ignore[reportArgumentType]
        curve = one["5 teachers/accuracy over gamma"]
        assert isinstance(curve, list)
        assert curve[1] > 0.8, "with hardly any noise the student learns"
        assert one["5 teachers/selected accuracy"] in curve
        assert one["5 teachers/gamma 0.022/epsilon"] == pytest.approx(1.6014, abs=1e-3)
        assert float(one["5 teachers/gamma 0.022/epsilon data-dependent"]) <= 1.6014  # pyright: ignore[reportArgumentType]


@pytest.mark.data
def test_the_table_is_the_one_that_the_thesis_describes(data_folder: Path) -> None:
    table = data.table()
    assert table.X.shape == (768, 8)
    assert (int(np.sum(table.y == 0)), int(np.sum(table.y == 1))) == (500, 268)
    missing = dict(zip(table.features, np.isnan(table.X).sum(axis=0).tolist(), strict=True))
    assert missing["Insulin"] == 374
    assert missing["Pregnancies"] == 0
    split = data.split(0, "by-class")
    assert (len(split.y), len(split.y_test)) == (537, 231)
    assert np.isfinite(split.X).all()
    assert np.isfinite(split.X_test).all()


@pytest.mark.data
def test_imputation_by_class_tells_the_label_and_the_other_one_does_not(data_folder: Path) -> None:
    table = data.table()
    lacking = np.isnan(table.X[:, table.features.index("Insulin")])
    filled = data.by_class(table)[lacking, table.features.index("Insulin")]
    assert all(len(np.unique(filled[table.y[lacking] == label])) == 1 for label in (0, 1))
    assert len(np.unique(filled)) == 2, "one value for each class: the label itself"
    split = data.split(3, "training-median", scaled=False)
    training, _ = data.division(3)
    lacks = np.isnan(table.X[training, table.features.index("Insulin")])
    assert len(np.unique(split.X[lacks, table.features.index("Insulin")])) == 1
    assert math.isclose(data.split(3, "training-median").X.mean(), 0, abs_tol=1e-9)
