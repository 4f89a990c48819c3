"""Parities of triples: exact sums, what one row moves, and what is charged for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import ABSENT, Budget, GaussianEvent, Parities
from understudy.privacy.parities import _sums, triples

RNG = np.random.default_rng(4)
SIGNS = RNG.choice(np.array([-1, 1], np.int8), size=(500, 6))
CLASSES = RNG.integers(0, 3, 500)


def test_sums_are_exact_in_the_order_of_the_triples() -> None:
    found = _sums(SIGNS, CLASSES, 3)
    for c in range(3):
        mine = SIGNS[c == CLASSES].astype(int)
        for place, (i, j, k) in enumerate(triples(6)):
            assert found[c, place] == (mine[:, i] * mine[:, j] * mine[:, k]).sum()


def test_a_blanked_row_moves_every_sum_of_its_class_by_one() -> None:
    blanked = CLASSES.copy()
    blanked[7] = ABSENT
    moved = _sums(SIGNS, CLASSES, 3) - _sums(SIGNS, blanked, 3)
    assert (np.abs(moved[CLASSES[7]]) == 1).all()
    assert not np.delete(moved, CLASSES[7], axis=0).any()


def test_the_charge_is_one_move_a_triple() -> None:
    mechanism = Parities(3.0)
    (event,) = mechanism.events(6)
    assert event == GaussianEvent(mechanism.sigma(6), 20, "discrete", integer_unit=True)
    assert mechanism.sigma(6) / math.sqrt(20) == pytest.approx(3.0)
    assert mechanism.events(2) == []


def test_nothing_is_drawn_that_is_not_paid_for() -> None:
    budget = Budget(0.1, 1e-6)
    with pytest.raises(BudgetExceeded):
        Parities(1.0).release(SIGNS, CLASSES, 3, budget)
    assert not budget.events


def test_the_noise_is_as_large_as_it_says() -> None:
    # Fails if the noise is removed or halved.
    mechanism = Parities(2.0)
    off = [
        mechanism.release(SIGNS, CLASSES, 3, Budget(50.0, 1e-6, unsafe_noise_seed=seed)) - _sums(SIGNS, CLASSES, 3)
        for seed in range(40)
    ]
    assert np.std(off) == pytest.approx(mechanism.sigma(6), rel=0.1)


@pytest.mark.parametrize(
    ("signs", "classes", "said"),
    [
        (SIGNS[:, :2], CLASSES, "3 columns or more"),
        (SIGNS * 2, CLASSES, "plus or minus one"),
        (SIGNS, CLASSES + 1, "outside of the 3"),
        (SIGNS, CLASSES[:5], "a class each"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_spent(signs: np.ndarray, classes: np.ndarray, said: str) -> None:
    budget = Budget(1.0, 1e-6)
    with pytest.raises(InputError, match=said):
        Parities(5.0).release(signs, classes, 3, budget)
    assert not budget.events
