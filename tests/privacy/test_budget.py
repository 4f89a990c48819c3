"""The budget refuses what does not fit, before anything is drawn, and never loses a charge."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import (
    Budget,
    ConfidentGNMax,
    ConfidentGNMaxEvent,
    DeltaEvent,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    NoisyCounts,
    NonPrivateEvent,
    SmoothReleaseEvent,
    compose,
)


def test_refusal_says_requested_remaining_difference_and_charges_nothing() -> None:
    budget = Budget(1.0)
    budget.charge(LaplaceEvent(0.75))
    with pytest.raises(
        BudgetExceeded, match=r"Requested epsilon: 0\.5\. Remaining: 0\.25\. Difference: 0\.25"
    ) as error:
        budget.charge(LaplaceEvent(0.5))
    assert (error.value.requested, error.value.remaining, error.value.difference) == (0.5, 0.25, 0.25)
    assert budget.events == (LaplaceEvent(0.75),)


def test_decimal_shares_fit_exactly() -> None:
    budget = Budget(0.3)
    for _ in range(3):
        budget.charge(LaplaceEvent(0.1))
    with pytest.raises(BudgetExceeded):
        budget.charge(LaplaceEvent(1e-9))


def test_nothing_is_drawn_when_the_charge_is_refused() -> None:
    budget = Budget(0.1, unsafe_noise_seed=0)
    before = budget.noise._generator.bit_generator.state  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        NoisyCounts(0.2).release([1, 2], budget)
    assert budget.noise._generator.bit_generator.state == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", True, None])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan, math.inf])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(InputError, match="delta"):
        Budget(1, delta)


def test_no_budget_covers_an_unprotected_release() -> None:
    with pytest.raises(InputError, match="without protection"):
        Budget(1e6, 0.5).charge(NonPrivateEvent("a GAN"))


def test_infinite_cost_is_an_error_and_never_a_pass() -> None:
    budget = Budget(10.0, 1e-5)
    with pytest.raises(InputError, match="not a finite number"):
        budget.charge(SmoothReleaseEvent(beta=20.0, sigma=1.0))  # infinite at every order
    with pytest.raises(InputError, match="sigma"):
        budget.charge(GNMaxEvent(math.nan))
    assert budget.events == ()


def test_a_gaussian_needs_a_delta() -> None:
    with pytest.raises(BudgetExceeded):
        Budget(100.0).charge(GaussianEvent(10.0))


def test_a_planted_cache_file_admits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that says epsilon 0.5 once let a budget of 1 spend 6.57."""
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path))
    costly = [GaussianEvent(0.8, 1, "discrete", integer_unit=True), LaplaceEvent(0.01)]
    assert compose(costly, 1e-5).method == "pld"
    for file in (tmp_path / "pld").iterdir():
        file.write_text(json.dumps({"epsilon": 0.5}))
    assert compose(costly, 1e-5).epsilon == 0.5, "planning takes the hint"
    budget = Budget(1.0, 1e-5)
    with pytest.raises(BudgetExceeded):
        budget.charge(*costly)
    assert not budget.affords(*costly)
    assert budget.events == ()


def test_delta_events_are_paid_from_delta() -> None:
    budget = Budget(1.0, 1e-5)
    budget.charge(DeltaEvent(9e-6, "categories that survive the threshold"))
    with pytest.raises(BudgetExceeded, match="delta: 2e-06"):
        budget.charge(DeltaEvent(2e-6, "again"))
    full, rest = Budget(1.0, 1e-5), budget
    full.charge(GaussianEvent(5.0))
    rest.charge(GaussianEvent(5.0))
    assert rest.spent().epsilon > full.spent().epsilon


def test_threads_never_overspend() -> None:
    budget = Budget(1.0)

    def one(_: int) -> bool:
        try:
            budget.charge(LaplaceEvent(0.01))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(one, range(150)))
    assert granted == 100
    assert budget.events == (LaplaceEvent(0.01, 100),)


@settings(max_examples=10)
@given(st.lists(st.tuples(st.sampled_from(["l", "g", "n"]), st.floats(0.01, 2)), max_size=12))
def test_spent_never_passes_the_limit(charges: list[tuple[str, float]]) -> None:
    budget = Budget(1.0, 1e-5)
    for kind, size in charges:
        event = {"l": LaplaceEvent(size), "g": GaussianEvent(4 / size), "n": GNMaxEvent(20 / size, 3, "discrete")}[kind]
        fits = budget.affords(event)
        try:
            budget.charge(event)
            assert fits
        except BudgetExceeded:
            assert not fits
    assert compose(budget.events, 1e-5).epsilon <= 1.0


# ---- the filter ----------------------------------------------------------------------------------------------


VOTES = np.array([[90, 10]] * 20 + [[52, 48]] * 20)


def test_confident_gnmax_gives_back_what_it_did_not_answer() -> None:
    budget = Budget(8.0, 1e-5)
    labels = ConfidentGNMax(threshold=75, sigma_threshold=20.0, sigma=15.0).answer(VOTES, budget)
    (event,) = budget.events
    assert isinstance(event, ConfidentGNMaxEvent)
    assert event.count == 40
    assert event.answered == (labels >= 0).sum() < 40
    assert budget.filter_order is not None


def test_filter_checks_one_fixed_order_and_never_passes_the_limit() -> None:
    budget = Budget(3.0, 1e-5)
    mechanism = ConfidentGNMax(threshold=75, sigma_threshold=40.0, sigma=25.0)
    orders = set()
    for _ in range(100):
        try:
            mechanism.answer(VOTES, budget)
        except BudgetExceeded:
            break
        orders.add(budget.filter_order)
    else:
        pytest.fail("the filter never stopped the run")
    assert len(orders) == 1
    assert budget.spent().epsilon <= 3.0
    assert budget.spent().order == orders.pop()


def test_the_fixed_order_survives_charges_of_other_kinds() -> None:
    budget = Budget(4.0, 1e-5)
    mechanism = ConfidentGNMax(threshold=75, sigma_threshold=60.0, sigma=40.0)
    mechanism.answer(VOTES, budget)
    order = budget.filter_order
    budget.charge(LaplaceEvent(1.0))
    fresh = Budget(4.0, 1e-5)
    fresh.charge(LaplaceEvent(1.0), *budget.events[:1])
    mechanism.answer(VOTES, fresh)
    mechanism.answer(VOTES, budget)
    assert fresh.filter_order != order, "a filter that began later would have chosen another order"
    assert budget.filter_order == order


def test_a_refused_hold_leaves_the_budget_as_it_was() -> None:
    budget = Budget(0.5, 1e-5)
    with pytest.raises(BudgetExceeded):
        ConfidentGNMax(75, 2.0, 2.0).answer(VOTES, budget)
    assert budget.events == ()
    assert budget.filter_order is None


def test_an_unsettled_hold_stays_spent() -> None:
    budget = Budget(5.0, 1e-5)
    worst = ConfidentGNMaxEvent(75.0, 40.0, 25.0, 40, 40, "discrete")
    hold = budget.hold(worst)
    assert budget.events == (worst,)
    with pytest.raises(InputError, match="costs more"):
        hold.settle(ConfidentGNMaxEvent(75.0, 40.0, 2.0, 40, 40, "discrete"))


def test_max_answers_charges_a_fixed_number_and_needs_no_filter() -> None:
    budget = Budget(8.0, 1e-5)
    labels = ConfidentGNMax(60, 20.0, 15.0).answer(VOTES, budget, max_answers=5)
    assert (labels >= 0).sum() <= 5
    assert budget.filter_order is None
    (event,) = budget.events
    assert isinstance(event, ConfidentGNMaxEvent)
    assert event.answered == 5
