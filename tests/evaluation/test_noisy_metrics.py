"""Scores that may be published: what one row can change, what is charged, and what an attacker sees."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import SCHEMA, patients
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import BudgetExceeded, InputError
from understudy.evaluation import FIVE, TWELVE, noisy_metrics, score
from understudy.evaluation import noisy as module
from understudy.evaluation.features import Rows
from understudy.evaluation.noisy import BINS, NoisyMetrics, histogram_metrics
from understudy.privacy import Budget
from understudy.tables import Column, Schema

LOGISTIC = {"logistic regression": FIVE["logistic regression"]}
PAIR = LOGISTIC | {"lda": TWELVE["lda"]}


def test_they_tell_what_the_exact_ones_do_where_epsilon_is_large() -> None:
    train, test = patients(800), patients(2000, 1)
    found = noisy_metrics(test, {"s": train}, "sick", SCHEMA, 1000.0, classifiers=LOGISTIC)
    exact = score(train, test, "sick", SCHEMA, LOGISTIC["logistic regression"])
    told = found.scores["s"]["logistic regression"]
    assert told["accuracy"] == pytest.approx(exact.accuracy, abs=1e-3)
    assert told["auroc"] == pytest.approx(exact.auroc, abs=0.01)
    assert told["auprc"] == pytest.approx(exact.auprc, abs=0.03)
    assert found.mean("s") == told


def test_the_noise_and_the_charge_are_those_of_the_sensitivity() -> None:
    test = patients(300, 1)
    tables = {"a": patients(100), "b": patients(100, 2)}
    budget = Budget(2.0)
    found = noisy_metrics(test, tables, "sick", SCHEMA, 1.5, classifiers=PAIR, budget=budget)
    # Two tables, two classifiers, one count and one histogram each.
    assert found.noise == pytest.approx(np.sqrt(2) * 8 / 1.5)
    assert budget.spent().epsilon == pytest.approx(1.5)
    assert found.certificate.epsilon == pytest.approx(1.5)
    assert found.certificate.delta == 0
    assert "the synthetic tables and all that was learnt from them" in found.certificate.body["assumed_public"]
    with pytest.raises(BudgetExceeded):
        noisy_metrics(test, tables, "sick", SCHEMA, 1.5, classifiers=PAIR, budget=budget)


@given(st.integers(0, 29), st.integers(0, 1000), st.sampled_from([2, 3, 4]))
def test_one_blanked_row_moves_the_counts_by_no_more_than_is_claimed(row: int, seed: int, classes: int) -> None:
    random = np.random.default_rng(seed)
    x = random.random((60, 3)).astype(np.float32)
    y = random.integers(0, classes, 60)
    made, test = Rows(x[:30], y[:30]), Rows(x[30:], y[30:])
    blanked = Rows(x[30:].copy(), y[30:].copy())
    blanked.x[row], blanked.y[row] = 0.0, -1
    counts = [module._counts(TWELVE["gaussian nb"], made, rows, classes, 1, 0) for rows in (test, blanked)]
    moved = sum(int(np.abs(a - b).sum()) for a, b in zip(*counts, strict=True))
    histograms = 1 if classes == 2 else classes
    assert moved <= 1 + histograms
    assert counts[0][1].sum() == 30 * histograms
    assert counts[0][1].shape == (histograms, 2, BINS)


def test_the_released_counts_carry_the_claimed_noise() -> None:
    """Noise that was halved, or left out, would be noticed."""
    made, test = {"s": patients(60)}, patients(200, 1)
    bayes = {"bayes": TWELVE["gaussian nb"]}
    right = score(made["s"], test, "sick", SCHEMA, bayes["bayes"]).accuracy * 200
    released = [noisy_metrics(test, made, "sick", SCHEMA, 1.0, classifiers=bayes) for _ in range(150)]
    drawn = np.array([one.mean("s")["accuracy"] * 200 - right for one in released])
    # A discrete Laplace of scale 2 (one count and one histogram at epsilon 1) has E|X| = 1 / sinh(1/2).
    assert np.abs(drawn).mean() == pytest.approx(1 / np.sinh(0.5), abs=0.6)
    assert drawn.std() == pytest.approx(released[0].noise, abs=1.0)


def test_released_numbers_depend_on_the_test_rows_through_noise_alone() -> None:
    """Without the test rows (all blank) and at a tiny epsilon, the answers look alike: nothing else leaks."""
    made = {"s": patients(80)}
    real, blank = patients(200, 1), patients(200, 1).assign(sick=None)
    found = [
        [noisy_metrics(test, made, "sick", SCHEMA, 0.001, classifiers=LOGISTIC).mean("s")["auroc"] for _ in range(25)]
        for test in (real, blank)
    ]
    assert abs(np.mean(found[0]) - np.mean(found[1])) < 0.2


def test_many_classes_and_degenerate_tables_are_scored() -> None:
    schema = Schema(
        (Column("x", "continuous", (0.0, 3.0)), Column("y", "categorical", categories=("a", "b", "c"))), "y"
    )
    x = np.linspace(0, 3, 300, endpoint=False)
    frame = pd.DataFrame({"x": x, "y": [("a", "b", "c")[int(v)] for v in x]})
    trees = {"tree": TWELVE["decision tree"]}
    found = noisy_metrics(frame, {"s": frame}, "y", schema, 1e4, classifiers=trees)
    assert found.noise == pytest.approx(np.sqrt(2) * 4e-4)
    assert found.mean("s")["accuracy"] == 1.0
    assert found.mean("s")["auroc"] > 0.99
    one = noisy_metrics(frame, {"s": frame.assign(y="a")}, "y", schema, 1e4, classifiers=trees).mean("s")
    assert one["accuracy"] == pytest.approx(1 / 3, abs=0.01)
    assert one["auroc"] == pytest.approx(0.5)

    class Broken:
        def fit(self, x: np.ndarray, y: np.ndarray) -> None:
            raise ValueError

    broken = noisy_metrics(frame, {"s": frame}, "y", schema, 1e4, classifiers={"broken": lambda seed: Broken()})
    assert broken.mean("s")["auroc"] == pytest.approx(0.5)


def test_histograms_by_hand() -> None:
    assert histogram_metrics(np.array([0, 0, 4]), np.array([4, 0, 0])) == (1.0, 1.0)
    assert histogram_metrics(np.array([2, 2]), np.array([2, 2])) == (0.5, 0.5)
    assert histogram_metrics(np.array([-3, 0]), np.array([2, 2])) == (0.5, 0.0)


def test_wrong_input_spends_nothing() -> None:
    budget = Budget(1.0)
    made, test = {"s": patients(50)}, patients(50, 1)
    with pytest.raises(InputError, match="no synthetic table"):
        noisy_metrics(test, {}, "sick", SCHEMA, 1.0, budget=budget)
    with pytest.raises(InputError, match="does not say"):
        noisy_metrics(test, made, "sick", Schema.draft(test, "sick"), 1.0, budget=budget)
    with pytest.raises(InputError, match="lacks 'age'"):
        noisy_metrics(test.drop(columns="age"), made, "sick", SCHEMA, 1.0, budget=budget)
    with pytest.raises(InputError, match="epsilon"):
        noisy_metrics(test, made, "sick", SCHEMA, 0.0, budget=budget)
    assert budget.events == ()


def test_they_come_back_from_json_and_damage_is_seen() -> None:
    found = noisy_metrics(patients(100, 1), {"s": patients(100)}, "sick", SCHEMA, 2.0, classifiers=LOGISTIC)
    again = NoisyMetrics.from_dict(json.loads(found.to_json()))
    assert again.to_dict() == found.to_dict()
    again.certificate.verify()
    for damage in ({"kind": "other"}, {"format": 9}, {"tables": {"s": {}}}, {"rows": None}, {"tables": []}):
        with pytest.raises(InputError, match="noisy scores"):
            NoisyMetrics.from_dict({**found.to_dict(), **damage})
