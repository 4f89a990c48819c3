"""`--check`: what one held-out row can move, what is charged, and that nothing else of the rows shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import MomentsGenerator
from understudy.audit.replay import replay
from understudy.cli.app import main
from understudy.errors import BudgetExceeded, InputError
from understudy.evaluation import check as module
from understudy.evaluation.check import BINS, Check, held_out, hold_out
from understudy.privacy import Budget, Certificate, GaussianCounts, PrepaidCounts
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 120), nullable=True),
        Column("ward", "categorical", categories=("n", "s", "w"), nullable=True),
        Column("value", "continuous", bounds=(-6, 6), nullable=True),
        Column("smokes", "boolean", nullable=True),
        Column("grade", "categorical", categories=(1, 2, 3)),
    ),
    "grade",
)
ONE_LOOK = MomentsGenerator(1.0)


def patients(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    grade = rng.integers(1, 4, rows)
    age = np.clip(rng.normal(30 + 10 * grade, 8), 0, 120).round()
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.1, np.nan, age),
            "ward": rng.choice(np.array(["n", "s", "w", None], dtype=object), rows),
            "value": rng.normal(grade - 2, 1.0).clip(-6, 6),
            "smokes": pd.array(rng.random(rows) < 0.3, dtype="boolean"),
            "grade": grade,
        }
    )
    return frame


class Listening(Check):
    """Notes what goes into the gate."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.exact = np.zeros((2, BINS), dtype=np.int64)
        release = self._paid.release

        def noted(counts: Any) -> np.ndarray:
            self.exact = np.asarray(counts)
            return release(counts)

        self._paid.release = noted  # type: ignore[method-assign]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 49), st.sampled_from(["grade", "value", "smokes", "ward", "age"]))
def test_one_blanked_row_moves_one_cell_by_one(row: int, target: str) -> None:
    goal = replace(SCHEMA[target], nullable=False)
    schema = Schema(tuple(goal if c.name == target else c for c in SCHEMA), target)
    synthetic, held = patients(200, 1), patients(50, 2)
    blanked = held.astype(object)
    blanked.iloc[row] = None
    counted = []
    for frame in (held, blanked):
        check = Listening(frame, target, Budget(1.0, 1e-5, unsafe_noise_seed=0), 0.05)
        check(synthetic, schema, None)
        counted.append(check.exact)
    moved = np.abs(counted[0] - counted[1])
    assert moved.sum() <= 1
    assert counted[0].sum() == held[target].notna().sum()


def test_what_is_charged_is_what_the_noise_costs() -> None:
    budget = Budget(1.0, 1e-5)
    check = Check(patients(50), "grade", budget, 0.05)
    before = budget.events
    # Charged when it is made, so that a look is planned with what is left.
    assert before == (check._paid.mechanism.event(),)
    assert check._paid.mechanism.cells == 1
    assert 0 < budget.spent().epsilon < 0.35
    check(patients(100, 1), SCHEMA, None)
    assert budget.events == before
    with pytest.raises(BudgetExceeded):
        check(patients(100, 1), SCHEMA, None)


def test_counts_that_are_paid_for_carry_their_noise() -> None:
    drawn = [
        PrepaidCounts(GaussianCounts(10.0), Budget(9.0, 1e-5, unsafe_noise_seed=seed)).release(np.zeros(50, int))
        for seed in range(20)
    ]
    assert np.std(drawn) == pytest.approx(10.0, rel=0.1)


def test_the_score_is_right_and_its_interval_holds_it() -> None:
    held, synthetic = patients(4000, 2), patients(3000, 1)
    exact = Check(held, "grade", Budget(500.0, 1e-5), 0.9)(synthetic, SCHEMA, None)
    inside = 0
    for seed in range(12):
        made = Check(held, "grade", Budget(1.0, 1e-5, unsafe_noise_seed=seed), 0.05)(synthetic, SCHEMA, None)
        inside += made.low <= exact.auroc <= made.high
        assert made.high - made.low < 0.3
    assert inside >= 9
    assert exact.high - exact.low < 0.08
    few = Check(held.head(30), "grade", Budget(0.5, 1e-5, unsafe_noise_seed=0), 0.05)(synthetic, SCHEMA, None)
    assert (few.low, few.high) == (0.0, 1.0)


def test_other_rows_with_the_same_noisy_answers_give_the_same_release() -> None:
    def fit(frame: pd.DataFrame, budget: Budget) -> MomentsGenerator:
        learnt, held = hold_out(frame, "grade", 0.05, ONE_LOOK)
        check = Check(*held, budget, 0.05)
        return MomentsGenerator(2.0, random_state=0).fit(learnt, "grade", SCHEMA, budget=budget, check=check)

    found = replay(fit, patients(400, 3), patients(400, 4), 2.0, 1e-5)
    assert found.holds, found.differences


def test_rows_are_held_out_by_their_place() -> None:
    assert held_out(12).nonzero()[0].tolist() == [4, 9]
    learnt, (held, target) = hold_out(patients(50), "grade", 0.1, ONE_LOOK)
    assert (len(learnt), len(held), target) == (40, 10, "grade")
    for rows, goal, share, message in (
        (50, None, 0.1, "--target"),
        (50, "grade", 1.5, "share"),
        (9, "grade", 0.1, "few"),
    ):
        with pytest.raises(InputError, match=message):
            hold_out(patients(rows), goal, share, ONE_LOOK)
    with pytest.raises(InputError, match="delta"):
        Check(patients(50), "grade", Budget(1.0), 0.05)
    assert module.EVERY == 5


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patients(3000, 5).to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.write(tmp_path / "schema.yaml")
    options = ["synthesize", tmp_path / "t.csv", "--schema", tmp_path / "schema.yaml", "--epsilon", 3, "--check", 0.1]
    with pytest.raises(SystemExit) as ended:
        main([str(o) for o in [*options, "--out", tmp_path / "s.csv", "--json", "--report", tmp_path / "page.html"]])
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    assert found["check"]["rows"] == 600
    low, high = found["check"]["interval"]
    assert low <= found["check"]["auroc"] <= high
    assert Certificate.load(found["certificate"]).verify() <= 3
    assert "held-out rows" in (tmp_path / "page.html").read_text("utf-8")


def test_a_check_outside_the_fits_budget_is_refused(tmp_path: Path) -> None:
    """The certificate, or the ledger, would not know of it."""
    learnt, held = hold_out(patients(400), "grade", 0.2, ONE_LOOK)
    check = Check(*held, Budget(1.0, 1e-5), 0.2)
    for paying in ({}, {"ledger": str(tmp_path / "ledger.db"), "dataset": "ward"}):
        with pytest.raises(InputError, match="the same one as `budget`"):
            ONE_LOOK.fit(learnt, "grade", SCHEMA, check=check, **paying)
