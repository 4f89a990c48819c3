"""Settings, rankings, fidelity and signals on tables where the answer is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import SCHEMA, patients
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.evaluation import FIVE, TWELVE, Evaluation, evaluate, ranking_agreement
from understudy.evaluation.features import Featuriser
from understudy.evaluation.fidelity import c2st, fidelity
from understudy.evaluation.ranking import feature_importance
from understudy.evaluation.result import Interval
from understudy.evaluation.signals import signals
from understudy.tables import Schema

QUICK = {"logistic regression": FIVE["logistic regression"], "bagging": TWELVE["bagging"]}


def column_reader(column: int, error: float) -> object:
    """A classifier whose skill is known: it sees one column, through noise."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    def seen(x: np.ndarray) -> np.ndarray:
        return x[:, [column]] + np.random.default_rng(0).normal(0, error, (len(x), 1))

    return make_pipeline(FunctionTransformer(seen), LogisticRegression())


RANKED = {f"error {error}": (lambda seed, e=error: column_reader(0, e)) for error in (0.0, 0.4, 3.0)}


@pytest.fixture(scope="module")
def found() -> Evaluation:
    train, test = patients(600), patients(800, 1)
    tables = {
        "copy": train.copy(),
        "fresh": patients(600, 2),
        "shuffled": patients(3000, 3, shuffled=True),
        "one class": train.assign(sick="no"),
        "no town": train.drop(columns="town"),
    }
    return evaluate(train, test, tables, "sick", SCHEMA, classifiers=QUICK, seeds=2, jobs=1)


def test_a_copy_is_as_good_as_the_real_rows(found: Evaluation) -> None:
    assert found.real is not None
    assert found["copy"].settings["B"].mean == found.real.mean
    assert found["copy"].ranking["features"] == 1.0
    assert found["copy"].fidelity is not None
    assert found["copy"].fidelity.tv == 0
    assert found["copy"].fidelity.marginals_3 == 0
    assert found["copy"].fidelity.correlation == 0
    assert found["copy"].fidelity.association == 0
    assert found["copy"].fidelity.wasserstein == 0
    assert found["copy"].fidelity.coverage == 1
    assert found["copy"].fidelity.c2st < 0.6


def test_copies_are_noticed_and_fresh_rows_are_not(found: Evaluation) -> None:
    copy, fresh = found["copy"].signals, found["fresh"].signals
    assert copy is not None
    assert fresh is not None
    assert copy.copies > 0.95
    assert copy.membership_auc > 0.95
    assert copy.closer_to_training > 0.95
    assert copy.closest_training < 1e-5 < copy.closest_holdout
    assert abs(fresh.membership_auc - 0.5) < 0.1
    assert abs(fresh.closer_to_training - 0.5) < 0.1
    assert abs(fresh.copies) < 0.05


def test_shuffled_labels_are_worth_nothing(found: Evaluation) -> None:
    shuffled = found["shuffled"].settings
    assert abs(shuffled["C"].mean["auroc"].mean - 0.5) < 0.1
    assert shuffled["B"].mean["auroc"].mean < 0.75
    fresh = found["fresh"].settings["B"].mean["auroc"].mean
    assert fresh > 0.8
    assert found.real is not None
    assert abs(fresh - found.real.mean["auroc"].mean) < 0.03


def test_what_cannot_be_read_or_learnt_from_stops_nothing(found: Evaluation) -> None:
    assert (found["no town"].error or "").startswith("the table lacks 'town'.")
    assert found["no town"].settings == {}
    one = found["one class"]
    assert one.error is None
    assert one.settings["B"].mean["auroc"].mean == 0.5
    assert "one class only" in one.settings["B"].classifiers["bagging"].note
    assert [table.name for table in found.tables] == ["copy", "fresh", "shuffled", "one class", "no town"]


def test_results_go_to_json_and_back(found: Evaluation) -> None:
    assert Evaluation.from_json(found.to_json()) == found
    assert any("as private as those rows" in note for note in found.notes)
    assert any("signals, not proof" in note for note in found.notes)
    with pytest.raises(InputError, match="no evaluation of format 1"):
        Evaluation.from_dict({"format": 2})
    with pytest.raises(InputError, match="damaged"):
        Evaluation.from_dict({"format": 1})
    with pytest.raises(InputError, match="not JSON"):
        Evaluation.from_json("{")
    with pytest.raises(InputError, match="no table 'x' was evaluated"):
        found["x"]


def test_seeds_make_an_interval() -> None:
    assert Interval.of([0.5]) == Interval(0.5, None, None, (0.5,))
    found = Interval.of([0.49, 0.51])
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.5 - 12.706 * 0.01, abs=1e-3)
    assert Interval.of([0.4, 0.6]) == Interval(0.5, 0.0, 1.0, (0.4, 0.6))


# ---- rankings ---------------------------------------------------------------------------------------------------


def test_a_copy_ranks_classifiers_as_the_real_rows_do() -> None:
    train, test = patients(900), patients(900, 1)
    tables = {"copy": train, "shuffled": patients(900, 3, shuffled=True)}
    found = evaluate(
        train, test, tables, "sick", SCHEMA, classifiers=RANKED, jobs=1, with_fidelity=False, with_signals=False
    )
    assert found["copy"].ranking["auroc"] == 1.0
    assert found["copy"].ranking["auprc"] == 1.0
    assert found["copy"].fidelity is None
    assert found["copy"].signals is None


def test_equation_8_by_hand() -> None:
    assert ranking_agreement([1, 2, 3], [10, 20, 30]) == 1
    assert ranking_agreement([1, 2, 3], [3, 2, 1]) == 0
    assert ranking_agreement([1, 2, 3], [1, 3, 2]) == pytest.approx(2 / 3)
    assert ranking_agreement([1, 1, 3], [1, 2, 3]) == pytest.approx(2 / 3), "tied in one setting only: no agreement"
    with pytest.raises(InputError, match="at least two"):
        ranking_agreement([1], [1])


@given(st.lists(st.integers(0, 20).map(float), min_size=2, max_size=8))
def test_everything_agrees_with_itself(values: list[float]) -> None:
    assert ranking_agreement(values, values) == 1
    assert ranking_agreement(values, [8 * value for value in values]) == 1


def test_importance_is_the_correlation_with_the_label() -> None:
    y = np.array([0, 0, 1, 1])
    x = np.array([[0, 5, 1], [0, 5, 0], [1, 5, 1], [1, 5, 0]], dtype=np.float32)
    assert feature_importance(x, y).tolist() == pytest.approx([1, 0, 0])
    assert feature_importance(1 - x, y).tolist() == pytest.approx([1, 0, 0])
    assert feature_importance(x[:0], y[:0]).tolist() == [0, 0, 0]


# ---- fidelity ---------------------------------------------------------------------------------------------------


def test_what_is_wrong_with_a_table_shows_where_it_is_wrong() -> None:
    features = Featuriser(SCHEMA, "sick")
    real = patients(1500)
    wrong = patients(1500, 1).assign(town="north", age=lambda f: np.minimum(f["age"], 40))
    rows = [features.rows(frame) for frame in (real, wrong)]
    found = fidelity(real, wrong, SCHEMA, rows[0], rows[1])
    by_name = {column.name: column for column in found.columns}
    assert by_name["town"].tv == pytest.approx(0.5, abs=0.05)
    assert by_name["town"].coverage == pytest.approx(1 / 3)
    assert by_name["age"].wasserstein is not None
    assert by_name["age"].wasserstein > 0.5
    assert by_name["age"].coverage == pytest.approx((40 - 18) / (90 - 18))
    assert by_name["age"].kind == "integer"
    assert by_name["owner"].tv < 0.05
    assert found.c2st > 0.9


def test_shuffled_labels_are_told_apart_as_a_whole_and_not_by_column() -> None:
    features = Featuriser(SCHEMA, "sick")
    real, made = patients(3000), patients(3000, 1, shuffled=True)
    rows = [features.rows(frame) for frame in (real, made)]
    found = fidelity(real, made, SCHEMA, rows[0], rows[1])
    fair = fidelity(real, patients(3000, 2), SCHEMA, rows[0], features.rows(patients(3000, 2)))
    assert found.tv < 0.05
    assert found.c2st > 0.6 > fair.c2st
    assert found.association is not None
    assert fair.association is not None
    assert found.association > 2 * fair.association
    assert (found.marginals_2 or 0) > (fair.marginals_2 or 1)


def test_too_few_rows_say_so() -> None:
    features = Featuriser(SCHEMA, "sick")
    few, many = features.rows(patients(5)), features.rows(patients(50))
    assert signals(many, many, few) is None
    assert c2st(many, few) == 1.0


# ---- wrong input, interruption ----------------------------------------------------------------------------------


def test_wrong_input_is_refused_with_the_name_of_the_table() -> None:
    train, test = patients(50), patients(50, 1)

    def refused(match: str, **changed: object) -> None:
        given = {"train": train, "test": test, "synthetic": {"s": train}, "target": "sick", "schema": SCHEMA, "jobs": 1}
        with pytest.raises(InputError, match=match):
            evaluate(**(given | {"classifiers": QUICK} | changed))  # pyright: ignore[reportArgumentType]

    refused("train: the table lacks 'age'", train=train.drop(columns="age"))
    refused("test: the table lacks 'sick'", test=test.drop(columns="sick"))
    refused("test: the target has one class only", test=test.assign(sick="no"))
    refused("test: column 'age'", test=test.assign(age="old"))
    refused("train: .*has columns .* but no rows", train=train.head(0))
    refused("no synthetic table was given", synthetic={})
    refused(
        "no synthetic table can be evaluated. a: .*no rows. b: .*lacks",
        synthetic={"a": train.head(0), "b": train[["sick"]]},
    )
    refused("`seeds`", seeds=0)
    refused("`jobs`", jobs=0)
    refused("no column 'sic'", target="sic", schema=None)
    refused("test: there is no column 'sick'", test=test.drop(columns="sick"), schema=None)
    named = pd.concat([train] * 30).assign(who=[f"person {i}" for i in range(1500)])
    refused("evaluation needs a class", target="who", schema=None, train=named, test=named)
    refused("one class only in the real rows", schema=None, train=train.assign(sick="no"), test=test.assign(sick="no"))
    refused("column 'who' holds 1500 different texts", schema=None, train=named, test=test.assign(who="x"))
    refused("none of the classes", positive="maybe")
    refused("names no classifier", classifiers={})
    refused("does not say the bounds", schema=Schema.draft(train, "sick"))


def test_without_a_schema_the_real_rows_describe_themselves() -> None:
    train, test = patients(200), patients(200, 1)
    odd = patients(100, 2).assign(town="moon", extra=1)
    found = evaluate(train, test, {"odd": odd}, "sick", classifiers=QUICK, jobs=1, with_c=False)
    assert found.positive == "yes"
    assert set(found["odd"].settings) == {"B"}
    assert set(found["odd"].ranking) == {"features"}
    truth = evaluate(train, test, {"s": train}, "owner", classifiers=QUICK, jobs=1, with_c=False, with_fidelity=False)
    assert truth.classes == ("False", "True")


def test_an_interrupted_run_goes_on_and_a_further_table_costs_only_itself(tmp_path: Path) -> None:
    train, test = patients(100), patients(100, 1)
    calls: list[int] = []

    def counted(seed: int) -> object:
        from sklearn.linear_model import LogisticRegression

        class Counted(LogisticRegression):
            def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: object = None) -> Counted:
                calls.append(1)
                if len(calls) == stop:
                    raise KeyboardInterrupt
                return super().fit(X, y)

        return Counted(random_state=seed)

    def run(*names: str) -> Evaluation:
        tables = {name: patients(100, 7 + place) for place, name in enumerate(names)}
        return evaluate(
            train, test, tables, "sick", SCHEMA, classifiers={"counted": counted}, seeds=2, jobs=1, cache=tmp_path,
            with_fidelity=False, with_signals=False,
        )  # fmt: skip

    stop = 4
    with pytest.raises(KeyboardInterrupt):
        run("a")
    stop = 0
    calls.clear()
    first = run("a")
    assert len(calls) == 3, "three of A, B, C times two seeds were kept"
    calls.clear()
    assert run("a") == first
    assert calls == []
    assert run("a", "b")["a"] == first["a"]
    assert len(calls) == 4
    (file,) = tmp_path.glob("*.jsonl")
    assert file.stat().st_mode & 0o077 == 0, "scores on real rows are for their owner alone"
    lines = [json.loads(line) for line in file.read_text().splitlines() if line]
    assert all("auroc" in line for line in lines)
    with pytest.raises(InputError, match="cannot make the folder"):
        evaluate(train, test, {"a": train}, "sick", SCHEMA, classifiers=QUICK, jobs=1, cache=file)


def test_a_date_and_missing_columns_are_judged_too() -> None:
    frame = patients(120).assign(seen=pd.date_range("2024-01-01", periods=120), nothing=np.nan)
    frame["nothing"] = frame["nothing"].astype(float)
    frame.loc[0, "nothing"] = 1.0
    made = frame.assign(nothing=np.nan)
    found = evaluate(frame, frame, {"s": made}, "sick", classifiers=QUICK, jobs=1, with_c=False)["s"]
    assert found.fidelity is not None
    assert {column.name: column.wasserstein for column in found.fidelity.columns}["nothing"] is None
    assert {column.name: column.tv for column in found.fidelity.columns}["seen"] == 0
