"""Sums of teachers' vectors: a record may turn one of them round, and that is what is paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from understudy.audit.ratio import ratio
from understudy.audit.replay import replay
from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Budget, GaussianEvent, PrepaidVectors, VectorSum

DIMENSION, TEACHERS = 6, 5


def fit(mechanism: VectorSum) -> Any:
    """Each row is a teacher's vector, in multiples of the grid; a blanked record (NaN) turns its teacher round."""

    def run(rows: np.ndarray, budget: Budget) -> np.ndarray:
        said = np.where(np.isnan(rows), -1.0, rows)
        scaled = np.rint(said / np.linalg.norm(said, axis=1, keepdims=True) * mechanism.norm / mechanism.grid)
        paid = PrepaidVectors(mechanism, 3, budget)
        return np.stack([paid.release(scaled.sum(axis=0).astype(np.int64), TEACHERS) for _ in range(3)])

    return run


def rows() -> tuple[np.ndarray, np.ndarray]:
    here = np.random.default_rng(0).normal(size=(TEACHERS, DIMENSION))
    here[-1] = 1.0
    there = here.copy()
    there[-1] = np.nan
    return here, there


@pytest.mark.parametrize(
    "mechanism", [VectorSum(1.0, DIMENSION, 4.0, 2.0**-16, rounded=True), VectorSum(6**0.5, 6, 4.0)]
)
def test_a_teacher_that_turns_round_is_paid_for_exactly(mechanism: VectorSum) -> None:
    found = ratio(replay(fit(mechanism), *rows(), 10.0, 1e-5))
    assert found.holds
    assert found.worst == pytest.approx(1.0, rel=1e-3)


def test_a_sensitivity_of_one_norm_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorSum, "sensitivity", property(lambda self: self.longest))
    found = ratio(replay(fit(VectorSum(1.0, DIMENSION, 4.0, 2.0**-16, rounded=True)), *rows(), 10.0, 1e-5))
    assert not found.holds
    assert found.worst == pytest.approx(4.0, rel=1e-3)


def test_halved_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorSum, "sigma", property(lambda self: self.noise_multiplier * self.sensitivity / 2))
    assert not ratio(replay(fit(VectorSum(1.0, DIMENSION, 4.0, 2.0**-16, rounded=True)), *rows(), 10.0, 1e-5)).holds


def test_the_noise_is_the_stated_one_and_paid_for_before() -> None:
    mechanism, budget = VectorSum(1.0, 400, 3.0, 2.0**-16, rounded=True), Budget(10.0, 1e-5)
    paid = PrepaidVectors(mechanism, 2, budget)
    assert budget.events == (GaussianEvent(3.0, 2, "discrete"),)
    drawn = np.stack([paid.release(np.zeros(400, dtype=np.int64), 1) for _ in range(2)])
    assert drawn.std() == pytest.approx(3.0 * (2 + 2.0**-16 * 20), rel=0.1)
    with pytest.raises(BudgetExceeded):
        paid.release(np.zeros(400, dtype=np.int64), 1)
    with pytest.raises(BudgetExceeded):
        PrepaidVectors(mechanism, 1000, budget)


def test_what_was_not_scaled_is_refused() -> None:
    paid = PrepaidVectors(VectorSum(1.0, 2, 3.0, 0.5), 1, Budget(10.0, 1e-5))
    with pytest.raises(InputError, match="not scaled"):
        paid.release(np.array([9, 0]), 4)
    with pytest.raises(InputError, match="whole numbers"):
        paid.release(np.array([0.5, 0.5]), 4)
    with pytest.raises(InputError, match="whole numbers"):
        paid.release(np.array([1]), 4)
    assert paid.used == 0


@pytest.mark.parametrize("bad", [{"norm": 0.0}, {"dimension": 0}, {"noise_multiplier": math.nan}, {"grid": -1.0}])
def test_parameters_that_mean_nothing_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        VectorSum(**{"norm": 1.0, "dimension": 2, "noise_multiplier": 1.0, **bad})
