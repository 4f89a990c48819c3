"""Classifiers on data where the answer is known, and on data from which nothing can be learnt."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import SCHEMA, patients
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.evaluation import FIVE, FOUR, TWELVE, score
from understudy.evaluation.classifiers import DEFAULTS, REPLACED, missing, panel
from understudy.evaluation.features import Featuriser, Rows, prepare
from understudy.evaluation.scores import METRICS, Scores, fit_and_score, metrics, place_of
from understudy.tables import Column, Schema

LOGISTIC = FIVE["logistic regression"]


def test_the_panels_are_those_of_the_papers() -> None:
    assert len(TWELVE) == 12
    assert len(FOUR) == 4
    assert len(FIVE) == 5
    assert set(REPLACED) <= set(TWELVE)
    assert TWELVE["adaboost"](0).n_estimators == 1000
    assert TWELVE["linear svm"](3)[-1].get_params()["loss"] == "hinge"
    assert TWELVE["xgboost"](0).colsample_bytree == 0.1
    assert FOUR["logistic regression"](0)[-1].class_weight == {0: 1, 1: 350}
    assert FOUR["bagging"](0)[-1].n_estimators == 100
    assert FOUR["mlp"](0)[-1].hidden_layer_sizes == (18, 18, 18)
    assert missing(TWELVE) == {}
    assert missing(DEFAULTS) == {}
    assert set(DEFAULTS) == set(TWELVE)


def test_unknown_panels_are_refused() -> None:
    assert panel("five") is FIVE
    assert panel(FOUR) is FOUR
    with pytest.raises(InputError, match="no classifiers 'six'; known are five, four, twelve, defaults"):
        panel("six")
    with pytest.raises(InputError, match="names no classifier"):
        panel({})


@pytest.mark.parametrize("name", TWELVE)
def test_each_of_the_twelve_learns(name: str) -> None:
    found = score(patients(300), patients(400, 1), "sick", SCHEMA, name, 0)
    assert found.auroc > 0.7
    assert found.accuracy > 0.65
    assert found.seconds > 0


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in ("adaboost", "bagging") else []) for n in FOUR]
)
def test_each_of_the_four_learns(name: str) -> None:
    assert score(patients(300), patients(400, 1), "sick", SCHEMA, FOUR[name], 0).auroc > 0.75


def test_shuffled_labels_teach_nothing() -> None:
    """One shuffled table points somewhere by chance, and may be lucky; many point nowhere."""
    test = patients(500, 99)
    found = [score(patients(200, s, shuffled=True), test, "sick", SCHEMA, LOGISTIC).auroc for s in range(40)]
    assert abs(np.mean(found) - 0.5) < 4 * np.std(found) / np.sqrt(40)
    assert abs(np.mean(found) - 0.5) < 0.12


def test_the_same_seed_gives_the_same_scores() -> None:
    one, two = (score(patients(200), patients(200, 1), "sick", SCHEMA, "random forest", 7) for _ in range(2))
    assert {m: getattr(one, m) for m in METRICS} == {m: getattr(two, m) for m in METRICS}
    assert Scores.from_dict(one.to_dict()) == one


def test_metrics_by_hand() -> None:
    notes: list[str] = []
    chances = np.array([0.1, 0.2, 0.6, 0.4, 0.9])
    found = metrics(np.array([0, 0, 0, 1, 1]), np.column_stack([1 - chances, chances]), notes)
    assert found == {"auroc": pytest.approx(5 / 6), "auprc": pytest.approx(5 / 6), "f1": 0.5, "accuracy": 0.6}
    assert notes == []


def test_three_classes_are_judged_one_against_the_rest() -> None:
    y = np.array([0, 0, 1, 1, 2, 2])
    perfect = np.eye(3)[y]
    assert metrics(y, perfect, []) == {"auroc": 1.0, "auprc": 1.0, "f1": 1.0, "accuracy": 1.0}
    wrong = np.eye(3)[[0, 0, 1, 1, 0, 0]]
    found = metrics(y, wrong, [])
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["f1"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert found["auroc"] == pytest.approx((0.75 + 1 + 0.5) / 3)


def test_the_positive_class_can_be_named() -> None:
    train, test = patients(400), patients(600, 1)
    last = score(train, test, "sick", SCHEMA, LOGISTIC)
    first = score(train, test, "sick", SCHEMA, LOGISTIC, positive="no")
    assert last.auroc == pytest.approx(first.auroc)
    assert last.auprc != pytest.approx(first.auprc)
    assert place_of("1", (0, 1)) == 1
    with pytest.raises(InputError, match="none of the classes: no, yes"):
        place_of("maybe", ("no", "yes"))


# ---- degenerate tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TWELVE)
def test_one_class_scores_what_a_constant_does(name: str) -> None:
    train = patients(60).assign(sick="yes")
    test = patients(200, 1)
    found = score(train, test, "sick", SCHEMA, name)
    share = np.mean(test["sick"].to_numpy() == "yes")
    assert found.auroc == 0.5
    assert found.auprc == pytest.approx(share)
    assert found.accuracy == pytest.approx(share)
    assert "one class only in the training rows" in found.note


def test_constant_columns_say_nothing() -> None:
    train = patients(60).assign(age=30, income=5.0, town="west", owner=True)
    found = score(train, patients(100, 1), "sick", SCHEMA, LOGISTIC)
    assert found.auroc == 0.5
    assert "every column is constant" in found.note


def test_missing_everywhere_is_a_constant_column() -> None:
    train = patients(100).assign(income=np.nan)
    assert score(train, patients(300, 1), "sick", SCHEMA, LOGISTIC).auroc > 0.75
    nothing = pd.DataFrame({name: pd.Series([np.nan] * 5, dtype=object) for name in SCHEMA.names})
    found = score(nothing, patients(50, 1), "sick", SCHEMA, LOGISTIC)
    assert found.auroc == 0.5
    assert "5 rows without a class left out" in found.note
    assert "no training rows" in found.note


def test_a_test_set_of_one_class_is_said() -> None:
    found = score(patients(100), patients(50, 1).assign(sick="no"), "sick", SCHEMA, LOGISTIC)
    assert found.auroc == 0.5
    assert "one class only in the test rows" in found.note
    assert "no test rows" in score(patients(50), patients(3).assign(sick=None), "sick", SCHEMA, LOGISTIC).note


def test_a_classifier_that_breaks_is_a_note() -> None:
    class Broken:
        def fit(self, x: np.ndarray, y: np.ndarray) -> None:
            raise ValueError("singular matrix")

    class Infinite:
        def fit(self, x: np.ndarray, y: np.ndarray) -> None: ...
        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            return np.full((len(x), 2), np.nan)

    for broken, reason in ((Broken, "singular matrix"), (Infinite, "not finite")):
        found = score(patients(50), patients(50, 1), "sick", SCHEMA, lambda seed, kind=broken: kind())
        assert found.auroc == 0.5
        assert reason in found.note


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 8), st.integers(2, 4), st.integers(0, 10_000))
def test_no_table_however_small_raises(rows: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    made = [Rows(random.integers(0, 2, (n, 3)).astype(np.float32), random.integers(0, classes, n)) for n in (rows, 12)]
    ready = prepare(*made)
    for name in ("logistic regression", "lda", "decision tree", "xgboost"):
        found = fit_and_score(TWELVE[name], ready[0], ready[1], classes, 1, seed)
        assert all(0 <= getattr(found, metric) <= 1 for metric in METRICS)


# ---- features ---------------------------------------------------------------------------------------------------


def test_missing_numbers_take_the_median_of_the_training_rows() -> None:
    features = Featuriser(SCHEMA, "sick")
    train = features.rows(patients(50).assign(income=[10.0, 20.0, 90.0, np.nan, np.nan] * 10))
    test = features.rows(patients(4, 1).assign(income=[np.nan, 50.0, np.nan, 0.0]))
    ready_train, ready_test = prepare(train, test)
    column = [label for label in features.labels if not np.all(train.x[:, features.labels.index(label)] == 0)].index(
        "income"
    )
    assert ready_test.x[:, column].tolist() == pytest.approx([0.2, 0.5, 0.2, 0.0])
    assert np.isfinite(ready_train.x).all()


def test_values_that_the_schema_does_not_know_are_judged_not_refused() -> None:
    features = Featuriser(SCHEMA, "sick")
    odd = patients(5).assign(town=["moon", "north", None, "south", "west"], age=[1000.5, 20, 30, 40, 50])
    rows = features.rows(odd)
    assert rows.x[0, features.labels.index("town=other")] == 1
    assert rows.x[0, features.labels.index("age")] == 1.0
    assert rows.x[2, features.labels.index("town is missing")] == 1


def test_tables_that_cannot_be_read_say_why() -> None:
    features = Featuriser(SCHEMA, "sick")
    with pytest.raises(InputError, match=r"lacks 'sick'.*Did you mean 'sicc'"):
        features.rows(patients(5).rename(columns={"sick": "sicc"}))
    with pytest.raises(InputError, match="lacks 'age', 'town'"):
        features.rows(patients(5).drop(columns=["age", "town"]))
    with pytest.raises(InputError, match=r"column 'age', .*'old' is not a number"):
        features.rows(patients(2).assign(age=["old", "young"]))
    with pytest.raises(InputError, match=r"column 'sick'.*none of its categories"):
        features.rows(patients(2).assign(sick="perhaps"))
    with pytest.raises(InputError, match="no column 'sic'"):
        Featuriser(SCHEMA, "sic")
    with pytest.raises(InputError, match="nothing to learn from"):
        Featuriser(Schema((SCHEMA["sick"],)), "sick")
    with pytest.raises(InputError, match="'income' is continuous: evaluation needs a class"):
        Featuriser(SCHEMA, "income")
    with pytest.raises(InputError, match="no classifier 'oracle'"):
        score(patients(5), patients(5), "sick", SCHEMA, "oracle")


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (Column("y", "boolean"), [False, True]),
        (Column("y", "integer", (3, 4)), [3, 4]),
        (Column("y", "ordinal", categories=("low", "high")), ["low", "high"]),
        (Column("y", "categorical", categories=("a",), other=True), ["a", "z"]),
    ],
)
def test_any_kind_of_class_can_be_the_target(column: Column, labels: list[object]) -> None:
    schema = Schema((Column("x", "continuous", (0.0, 1.0)), column), "y")
    frame = pd.DataFrame({"x": np.linspace(0, 1, 40), "y": [labels[0]] * 20 + [labels[1]] * 20})
    found = score(frame, frame, "y", schema, LOGISTIC)
    assert found.accuracy == 1.0
    assert found.auroc == 1.0
