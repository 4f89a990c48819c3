"""A share of a budget charges the whole too, and neither can be overspent through it."""

from __future__ import annotations

import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Budget, GaussianEvent, GNMaxEvent, LaplaceEvent
from understudy.privacy.share import BudgetShare


def test_a_charge_is_in_both() -> None:
    whole = Budget(1.0, 1e-5)
    whole.charge(LaplaceEvent(0.1))
    share = BudgetShare(whole, 0.5)
    share.charge(GaussianEvent(20.0))
    assert share.events == (GaussianEvent(20.0),)
    assert whole.events == (LaplaceEvent(0.1), GaussianEvent(20.0))
    assert share.noise is whole.noise


def test_the_smaller_limit_holds_and_nothing_is_recorded() -> None:
    whole = Budget(1.0, 1e-5)
    share = BudgetShare(whole, 0.2)
    with pytest.raises(BudgetExceeded):
        share.charge(LaplaceEvent(0.3))
    assert whole.events == share.events == ()
    whole.charge(LaplaceEvent(0.9))
    with pytest.raises(BudgetExceeded):
        share.charge(LaplaceEvent(0.15))
    assert share.events == ()
    assert whole.events == (LaplaceEvent(0.9),)


def test_a_share_sets_nothing_aside() -> None:
    with pytest.raises(InputError, match="fixed beforehand"):
        BudgetShare(Budget(1.0, 1e-5), 0.5).hold(GNMaxEvent(100.0))


def test_noise_of_a_marked_budget_stays_marked() -> None:
    assert BudgetShare(Budget(1.0, 1e-5, unsafe_noise_seed=3), 0.5).unsafe_noise_seed == 3
