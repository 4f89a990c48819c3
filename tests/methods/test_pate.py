"""PATE end to end on real data: the shards are disjoint, every label is paid for, and the release says what it is."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from understudy import PATEClassifier, load
from understudy.errors import BudgetExceeded, InputError, UnsafeWarning
from understudy.learn.partition import shards
from understudy.learn.sklearn_teachers import SklearnTeachers
from understudy.methods.pate import SeatedRows
from understudy.methods.voting import AGGREGATORS, Ballot, plan_round
from understudy.privacy import Budget, ConfidentGNMaxEvent, GNMaxEvent, LaplaceEvent, LNMaxEvent, SmoothRelease
from understudy.tables.public import schema_from_public

X, Y = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
PRIVATE, PUBLIC, TEST = ORDER[:300], ORDER[300:430], ORDER[430:]
FAST: dict[str, Any] = {"teachers": 20, "epsilon": 8.0, "random_state": 0, "n_jobs": 1}


def _fit(**parameters: Any) -> PATEClassifier:
    return PATEClassifier(**{**FAST, **parameters}).fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC])


@pytest.mark.parametrize("aggregator", ["lnmax", "gnmax", "confident-gnmax"])
def test_learns_and_certifies(aggregator: Any) -> None:
    model = _fit(aggregator=aggregator)
    assert model.score(X[TEST], Y[TEST]) > 0.75
    assert model.predict_proba(X[TEST]).sum(axis=1) == pytest.approx(1.0)
    assert model.certificate_.verify() <= 8.0
    assert model.certificate_.epsilon > 7.5, "the budget is used"


def test_every_label_query_is_charged() -> None:
    """Fails if an answer leaves uncharged: the certificate's events cover every row that was asked."""
    for aggregator, kind in (("lnmax", LNMaxEvent), ("gnmax", GNMaxEvent), ("confident-gnmax", ConfidentGNMaxEvent)):
        model = _fit(aggregator=aggregator, queries=30)
        (event,) = model.certificate_.events
        assert isinstance(event, kind)
        assert event.count == model.voting_.asked
        answered = event.answered if isinstance(event, ConfidentGNMaxEvent) else event.count
        assert len(model.labels_) <= answered == 30


def test_no_label_without_budget() -> None:
    budget = Budget(1.0, 1e-5)
    budget.charge(LaplaceEvent(1.0))
    with pytest.raises(BudgetExceeded):
        PATEClassifier(**FAST).fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC], budget=budget)
    assert budget.events == (LaplaceEvent(1.0),)


def test_a_given_budget_brings_its_own_noise() -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match="give it to the `budget` instead"):
        PATEClassifier(**{**FAST, "unsafe_noise_seed": 1}).fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC], budget=budget)
    assert budget.events == ()


def test_noise_matters() -> None:
    """Fails if the noise is removed: at a tiny epsilon the labels are nearly coin flips."""
    labels = []
    for _ in range(3):
        model = _fit(epsilon=0.01, aggregator="gnmax", queries=100)
        truth = DecisionTreeClassifier(random_state=0).fit(X[PUBLIC], Y[PUBLIC]).predict(model.labelled_rows_)
        labels.append((model.labels_ == truth).mean())
    assert np.mean(labels) < 0.7


class Recorder(DecisionTreeClassifier):
    """A teacher that notes which rows it saw."""

    seen: ClassVar[list[set[float]]] = []

    def fit(self, X: Any, y: Any, **_: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        Recorder.seen.append(set(X[:, 0].tolist()))
        return super().fit(X, y)


def test_no_two_teachers_share_a_row() -> None:
    Recorder.seen = []
    marked = X[PRIVATE].copy()
    marked[:, 0] = np.arange(len(marked))
    PATEClassifier(**{**FAST, "estimator": Recorder(max_depth=2)}).fit(marked, Y[PRIVATE], public=X[PUBLIC])
    assert len(Recorder.seen) == 20
    assert sum(len(s) for s in Recorder.seen) == len(set().union(*Recorder.seen)) == len(marked)


def test_blanking_a_row_moves_no_other_and_changes_one_teacher() -> None:
    dealt = shards(300, 20, seed=5)
    blank_X, blank_y = X[PRIVATE].copy(), Y[PRIVATE].copy()
    blank_X[17], blank_y[17] = 0.0, 0
    estimator = DecisionTreeClassifier(max_depth=3)
    before = SklearnTeachers(estimator, [0, 1], jobs=1).fit(X[PRIVATE], Y[PRIVATE], dealt).predictions(X[PUBLIC])
    after = SklearnTeachers(estimator, [0, 1], jobs=1).fit(blank_X, blank_y, dealt).predictions(X[PUBLIC])
    changed = np.flatnonzero((before != after).any(axis=1))
    assert set(changed) <= {int(dealt.owner()[17])}


def test_network_teachers() -> None:
    model = _fit(estimator="network")
    assert model.score(X[TEST], Y[TEST]) > 0.75


@pytest.mark.parametrize("extra", [{"selection": "uncertainty"}, {"semi_supervised": True}, {"student": "forest"}])
def test_variants_cost_no_more(extra: dict[str, Any]) -> None:
    model = _fit(queries=40, **extra)
    assert model.certificate_.verify() <= 8.0
    assert model.score(X[TEST], Y[TEST]) > 0.6


def test_agreement_is_published_only_when_paid_for() -> None:
    free = _fit()
    assert free.agreement_ is None
    assert free.certificate_.body["release"]["agreement"] is None
    paid = _fit(agreement_epsilon=4.0)
    assert LaplaceEvent(4.0) in paid.certificate_.events
    assert paid.agreement_ == pytest.approx(paid.private_agreement_, abs=0.5)
    assert "private" not in json.dumps(paid.certificate_.body["release"])


def test_sanitised_epsilon_is_published_beside_the_guarantee() -> None:
    release = SmoothRelease(order=4.0, beta=0.05, sigma=10.0, sigma_log=10.0)
    model = _fit(teachers=100, epsilon=2.0, queries=20, aggregator="gnmax", sanitise=release)
    assert model.sanitised_ is not None
    assert model.certificate_.body["sanitised"]["epsilon"] == model.sanitised_.epsilon
    model.certificate_.verify()
    with pytest.raises(InputError, match="lnmax"):
        _fit(aggregator="lnmax", sanitise=release)
    with pytest.raises(InputError, match="cannot be sanitised"):
        _fit(epsilon=50.0, queries=5, aggregator="gnmax", sanitise=release)


def test_sanitised_epsilon_counts_what_the_budget_held_before() -> None:
    """With Laplace epsilon 2 spent before, it once said 1.52."""
    release = SmoothRelease(order=30.0, beta=0.003, sigma=60.0, sigma_log=60.0)
    budget = Budget(2.5, 1e-5)
    budget.charge(LaplaceEvent(2.0))
    model = PATEClassifier(teachers=200, queries=20, aggregator="gnmax", sanitise=release, random_state=0, n_jobs=1)
    model.fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC], budget=budget)
    assert model.sanitised_ is not None
    assert model.sanitised_.epsilon > 2
    assert model.private_epsilon_data_dependent_ > 2


def test_student_rows_from_the_sensitive_table_are_marked_unsafe() -> None:
    with pytest.raises(InputError, match="`public` is missing"):
        PATEClassifier(**FAST).fit(X[PRIVATE], Y[PRIVATE])
    with pytest.warns(UnsafeWarning, match="not protected"):
        model = PATEClassifier(**FAST, unsafe_public_from_private=True).fit(X[PRIVATE], Y[PRIVATE])
    with pytest.raises(InputError, match="unsafe"):
        model.certificate_.verify()


def test_save_and_load(tmp_path: Path) -> None:
    model = _fit(semi_supervised=True)
    model.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert np.array_equal(model.predict(X[TEST]), again.predict(X[TEST]))
    assert again.certificate_ == model.certificate_
    names = sorted(p.name for p in (tmp_path / "release").iterdir())
    assert names == ["arrays.safetensors", "certificate.json", "manifest.json"]
    with pytest.raises(InputError, match="not empty"):
        model.save(tmp_path / "release")
    with pytest.raises(InputError, match="named students"):
        _fit(student=LogisticRegression()).save(tmp_path / "other")


def test_release_holds_nothing_private(tmp_path: Path) -> None:
    model = _fit()
    model.save(tmp_path / "release")
    blob = b"".join(p.read_bytes() for p in (tmp_path / "release").iterdir())
    assert X[PRIVATE[0]].tobytes() not in blob
    assert b"private" not in blob
    assert not any(k.startswith("teachers_") or k == "votes_" for k in vars(model)), "teachers do not outlive the fit"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "arrays.safetensors").write_bytes(b"x"), "damaged"),
        (lambda f: (f / "arrays.safetensors").unlink(), "damaged"),
        (lambda f: (f / "manifest.json").unlink(), "no readable manifest"),
        (lambda f: (f / "manifest.json").write_text("{"), "not valid JSON"),
        (lambda f: (f / "manifest.json").write_text("[]"), "not a manifest"),
        (lambda f: (f / "manifest.json").write_text('{"format": 99}'), "newer"),
        (lambda f: (f / "manifest.json").write_text('{"format": 1}'), "damaged"),
        (lambda f: (f / "certificate.json").write_text("{}"), "damaged"),
    ],
)
def test_damaged_releases(tmp_path: Path, damage: Any, message: str) -> None:
    _fit().save(tmp_path / "release")
    damage(tmp_path / "release")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "release")


def test_tables_with_a_schema() -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    frame["ward"] = np.where(X[:, 0] > 15, "north", "south")
    public = frame.iloc[PUBLIC]
    schema = schema_from_public(public)
    label = np.array(["benign", "malignant"])[Y]
    model = PATEClassifier(**FAST, schema=schema, classes=["malignant", "benign"])
    model.fit(frame.iloc[PRIVATE], label[PRIVATE], public=public)
    assert model.score(frame.iloc[TEST], label[TEST]) > 0.75
    with pytest.raises(InputError, match="lack column 'ward'"):
        model.fit(frame.iloc[PRIVATE], label[PRIVATE], public=public.drop(columns="ward"))


def test_three_classes() -> None:
    rows, labels = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(150)
    model = PATEClassifier(teachers=5, epsilon=50, aggregator="gnmax", random_state=0, n_jobs=1)
    model.fit(rows[order[:80]], labels[order[:80]], public=rows[order[80:120]])
    assert model.score(rows[order[120:]], labels[order[120:]]) > 0.7


def test_binary_experts_have_one_vote_a_teacher() -> None:
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, public = order[:110], order[110:]
    model = PATEClassifier(5, "gnmax", 60.0, estimator="experts", random_state=0, n_jobs=1)
    model.fit(x[train], y[train], public=x[public])
    assert model.certificate_.epsilon <= 60.0
    held = SeatedRows(np.asarray(x[train]), np.asarray(y[train]), np.ones(110, dtype=bool), None)
    experts = model._train_teachers(held, shards(110, 5, seed=0), 0)
    assert np.all(experts.votes(x[public]).sum(axis=1) == 5)
    assert all(len(teacher[-1].estimators_) == 3 for teacher in experts.teachers_)
    assert model.score(x[public], y[public]) > 0.6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"teachers": 1000}, "teachers"),
        ({"teachers": 0}, "teachers"),
        ({"aggregator": "mean"}, "aggregator"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"queries": 0}, "queries"),
        ({"queries": 10_000}, "queries"),
        ({"threshold": 2}, "threshold"),
        ({"selection": "best"}, "selection"),
        ({"student": "genius"}, "unknown student"),
        ({"student": 3}, "no classifier"),
        ({"estimator": "forest"}, "estimator"),
        ({"classes": [0]}, "one class"),
        ({"classes": [0, 2]}, "not among"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    budget = Budget(8.0, 1e-5) if not {"epsilon", "delta"} & set(parameters) else None
    model = PATEClassifier(**{**FAST, **parameters})
    with pytest.raises(InputError, match=message):
        model.fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC], budget=budget)
    assert budget is None or budget.events == ()


def test_bad_rows() -> None:
    model = PATEClassifier(**FAST)
    with pytest.raises(InputError, match="columns"):
        model.fit(X[PRIVATE], Y[PRIVATE], public=X[PUBLIC][:, :5])
    with pytest.raises(InputError, match="one class only"):
        model.fit(X[PRIVATE], np.ones(300), public=X[PUBLIC])
    broken = X[PRIVATE].copy()
    broken[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken, Y[PRIVATE], public=X[PUBLIC])


def test_planning_uses_public_numbers_only_and_stays_within_the_budget() -> None:
    for aggregator in AGGREGATORS:
        for queries in (None, 5, 200):
            budget = Budget(1.0, 1e-5)
            voting = plan_round(Ballot(aggregator, 100, threshold=0.6), budget, available=300, queries=queries)
            assert budget.affords(*voting.events())
            assert budget.events == ()
            first, second = voting.halves()
            assert first.asked + second.asked == voting.asked
            assert first.answers + second.answers == voting.answers


def test_check_estimator() -> None:
    """scikit-learn's own checks, with repeatable noise and the student's rows taken from X (both marked unsafe).

    Not applicable: one class is an error here, not a constant classifier, and refused in words of our own; so is a
    pickle of a model that was fitted here.
    """
    model = PATEClassifier(
        teachers=1,
        aggregator="gnmax",
        epsilon=1e4,
        unsafe_public_from_private=True,
        unsafe_noise_seed=0,
        random_state=0,
        n_jobs=1,
        student=DecisionTreeClassifier(random_state=0),
        estimator=DecisionTreeClassifier(random_state=0),
    )
    not_applicable = {
        "check_classifiers_one_label": "a classifier of one class cannot be learnt from votes",
        "check_classifiers_one_label_sample_weights": "the same",
        "check_estimators_pickle": "a model that was fitted here holds private figures and is not pickled",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=not_applicable, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert failed == []


def test_a_pipeline_is_refused_and_told_where_its_steps_belong() -> None:
    """Its scaler would learn from private rows unpaid, and public rows would reach the student unscaled."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    chain = make_pipeline(StandardScaler(), PATEClassifier(teachers=3, epsilon=5))
    with pytest.raises(InputError, match=r"Put them where they are safe: `estimator=make_pipeline"):
        chain.fit(rows, labels, pateclassifier__public=rows)
