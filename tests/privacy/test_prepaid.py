"""One charge, many draws, and none after the last."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import (
    NOT_ANSWERED,
    Budget,
    ConfidentGNMax,
    ConfidentGNMaxEvent,
    DeltaEvent,
    GNMax,
    GNMaxEvent,
    LNMax,
    LNMaxEvent,
    PoissonGaussianStep,
    PrepaidAnswers,
    PrepaidSteps,
    SubsampledGaussianEvent,
)
from understudy.privacy.prepaid import batch_slots

VOTES = np.array([[50, 0], [0, 50], [26, 24]])


@pytest.mark.parametrize(
    ("mechanism", "event"),
    [
        (LNMax(0.5), LNMaxEvent(0.5, 6)),
        (GNMax(5.0), GNMaxEvent(5.0, 6, "discrete")),
        (ConfidentGNMax(10, 5.0, 5.0), ConfidentGNMaxEvent(10.0, 5.0, 5.0, 6, 6, "discrete")),
    ],
)
def test_all_answers_are_charged_before_the_first(mechanism: LNMax, event: object) -> None:
    budget = Budget(1e3, 1e-5)
    paid = PrepaidAnswers(mechanism, 6, budget)
    assert budget.events == (event,)
    assert list(paid.answer(VOTES)[:2]) == [0, 1]
    paid.answer(VOTES)
    with pytest.raises(BudgetExceeded, match=r"Requested answers: 3\. Remaining: 0"):
        paid.answer(VOTES)
    assert budget.events == (event,)


def test_a_run_that_does_not_fit_is_refused_whole() -> None:
    budget = Budget(0.1, 1e-5)
    with pytest.raises(BudgetExceeded):
        PrepaidAnswers(GNMax(5.0), 6, budget)
    assert budget.events == ()


def test_bad_votes_use_nothing_up() -> None:
    paid = PrepaidAnswers(GNMax(5.0), 6, Budget(1e3, 1e-5))
    with pytest.raises(InputError, match="negative"):
        paid.answer([[1, -1]])
    assert paid.used == 0


def test_confident_answers_end_where_they_were_paid_for() -> None:
    paid = PrepaidAnswers(ConfidentGNMax(10, 1.0, 1.0), 9, Budget(1e4, 1e-5), answers=2)
    labels = paid.answer([[50, 0]] * 5)
    assert list(labels) == [0, 0, NOT_ANSWERED, NOT_ANSWERED, NOT_ANSWERED]
    assert list(paid.answer([[50, 0]] * 4)) == [NOT_ANSWERED] * 4


def test_what_was_kept_is_counted_and_not_drawn_again() -> None:
    paid = PrepaidAnswers(GNMax(5.0), 6, Budget(1e3, 1e-5))
    paid.skip([0, 1, 0])
    paid.answer(VOTES)
    with pytest.raises(BudgetExceeded):
        paid.skip([1])


def test_seeded_noise_depends_on_the_place_alone() -> None:
    def drawn(skip: bool) -> list[int]:
        paid = PrepaidAnswers(GNMax(50.0), 80, Budget(1e3, 1e-5, unsafe_noise_seed=3))
        votes = [[20, 20]] * 40
        if skip:
            paid.skip([0] * 40)
        else:
            paid.answer(votes)
        return paid.answer(votes).tolist()

    assert drawn(False) == drawn(True)
    first = PrepaidAnswers(GNMax(50.0), 80, Budget(1e3, 1e-5, unsafe_noise_seed=3)).answer([[20, 20]] * 40)
    assert first.tolist() != drawn(True)


def test_steps_are_charged_with_the_chance_of_overflow() -> None:
    budget = Budget(2.0, 1e-3)
    paid = PrepaidSteps(PoissonGaussianStep(2.0, 3.0, 0.1), 2, 1000, 150, budget)
    run, failure = budget.events
    assert run == SubsampledGaussianEvent(3.0, 0.1, 2)
    assert isinstance(failure, DeltaEvent)
    assert 0 < failure.delta < 1e-3
    sums = [paid.release(np.zeros(20_000), 0) for _ in range(2)]
    assert np.std(sums[0]) == pytest.approx(6.0, rel=0.03)
    assert not np.any(sums[0] == sums[1])
    with pytest.raises(BudgetExceeded, match="steps"):
        paid.release(np.zeros(4), 0)


def test_a_batch_is_poisson_and_never_larger_than_its_slots() -> None:
    mechanism = PoissonGaussianStep(1.0, 3.0, 0.1)
    slots = batch_slots(1000, 0.1, 100, 1.0, 1e-5)
    assert 140 < slots < 200
    paid = PrepaidSteps(mechanism, 100, 1000, slots, Budget(8.0, 1e-3))
    sizes = [len(paid.batch()) for _ in range(200)]
    assert np.mean(sizes) == pytest.approx(100, abs=5)
    assert np.var(sizes) == pytest.approx(90, rel=0.5)
    tight = PrepaidSteps(PoissonGaussianStep(1.0, 3.0, 0.5), 1, 10, 2, Budget(2.0, 0.9999))
    assert max(len(tight.batch()) for _ in range(20)) == 2


def test_unclipped_gradients_are_refused_before_a_step_is_used() -> None:
    paid = PrepaidSteps(PoissonGaussianStep(1.0, 3.0, 0.1), 1, 1000, 150, Budget(2.0, 1e-3))
    with pytest.raises(InputError, match="not clipped"):
        paid.release(np.array([3.0, 0.0]), 2)
    with pytest.raises(InputError, match="finite"):
        paid.release(np.array([math.nan]), 2)
    assert paid.used == 0
    paid.release(np.array([2.0, 0.0]), 2)


def test_noise_drawn_ahead_is_used_once_and_only_as_often_as_paid() -> None:
    paid = PrepaidSteps(PoissonGaussianStep(2.0, 3.0, 0.1), 5, 1000, 150, Budget(4.0, 1e-3), ahead=3)
    sums = np.stack([paid.release(np.zeros(4000), 0) for _ in range(5)])
    assert np.std(sums) == pytest.approx(6.0, rel=0.05)
    assert len(np.unique(sums[:, 0])) == 5
    assert np.abs(np.corrcoef(sums) - np.eye(5)).max() < 0.1
    with pytest.raises(BudgetExceeded, match="steps"):
        paid.release(np.zeros(4000), 0)
