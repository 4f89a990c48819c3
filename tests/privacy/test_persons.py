"""Persons with several rows move every sum by no more than one row did: exactly, in the integers that are summed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from understudy.audit.listening import Recorder
from understudy.audit.ratio import moved, precision
from understudy.errors import InputError
from understudy.privacy import (
    ABSENT,
    Budget,
    ClippedMoments,
    GaussianCounts,
    GaussianEvent,
    PairTables,
    Parities,
)
from understudy.privacy.noise import SystemNoise
from understudy.privacy.persons import GRID, MOST_ROWS, grid_of, person_weights

SIZES = [3, 2, 4]
OTHERS = 40


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 11, 997, MOST_ROWS])
def test_a_persons_rows_never_count_more_than_one(rows: int) -> None:
    weights = person_weights(np.repeat([0, 1, 2], [1, rows, 3]), GRID)
    assert weights[1 : 1 + rows].sum() <= GRID
    assert weights[1] == GRID // rows
    assert weights[1 : 1 + rows].sum() > GRID - rows


def test_up_to_ten_rows_lose_nothing_by_rounding() -> None:
    for rows in range(1, 11):
        assert person_weights(np.zeros(rows, int), GRID).sum() == GRID
    assert grid_of(1) == 1
    with pytest.raises(InputError, match="at most 1000 rows"):
        grid_of(MOST_ROWS + 1)


def _shift(look: Any, mechanism: Any, known: Any, weights: np.ndarray) -> tuple[float, float]:
    """How far a person moves what goes into the gate, in squared deviations of the noise, and what was charged for it."""
    codes, points, classes, whose = known
    exits: list[Any] = []
    for shown in (classes, np.where(whose == 15, ABSENT, classes)):
        budget = Budget(1e6, 1e-5)
        budget.noise = recorder = Recorder(SystemNoise())
        look(mechanism, budget, codes, points, shown, weights)
        exits.append(recorder.exits)
    return moved(*exits)[0], precision(budget.events)


def _persons(k: int, alike: bool, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes, points, classes and persons; the last person has `k` rows, all alike or scattered over classes."""
    rng = np.random.default_rng(seed)
    whose = np.concatenate([rng.integers(0, 15, OTHERS), np.full(k, 15)])
    codes = np.column_stack([rng.integers(0, size, OTHERS + k) for size in SIZES])
    points = rng.normal(0, 3, (OTHERS + k, 3))
    classes = rng.integers(0, 2, OTHERS + k)
    if alike:
        codes[-k:], points[-k:], classes[-k:] = codes[-1], [100.0, 0.0, 0.0], 1
    return codes, points, classes, whose


def _tables(mechanism: PairTables, budget: Budget, codes: Any, points: Any, classes: Any, weights: Any) -> None:
    mechanism.release(codes, SIZES, classes, 2, budget, weights)


def _parities(mechanism: Parities, budget: Budget, codes: Any, points: Any, classes: Any, weights: Any) -> None:
    mechanism.release(np.where(codes > 0, 1, -1), classes, 2, budget, weights)


def _moments(mechanism: ClippedMoments, budget: Budget, codes: Any, points: Any, classes: Any, weights: Any) -> None:
    mechanism.release(points, classes, budget, weights)


def _counts(mechanism: GaussianCounts, budget: Budget, codes: Any, points: Any, classes: Any, weights: Any) -> None:
    known = classes != ABSENT
    mechanism.release(np.bincount(classes[known], weights[known], 2).astype(np.int64), budget)


LOOKS = [
    (_tables, lambda grid: PairTables(5.0, 0.1, grid)),
    (_parities, lambda grid: Parities(5.0, grid)),
    (_moments, lambda grid: ClippedMoments((1.0, 2.0), 5.0, grid=grid)),
    (_moments, lambda grid: ClippedMoments((1.0, 2.0), 5.0, (0.2, 0.2, 0.6), "diagonal", grid)),
    (_counts, lambda grid: GaussianCounts(5.0, grid=grid)),
]


@pytest.mark.parametrize(("look", "make"), LOOKS)
@pytest.mark.parametrize("k", [2, 5, 13])
def test_a_person_moves_a_look_by_no_more_than_was_paid(look: Any, make: Any, k: int) -> None:
    for alike, seed in [(True, 0), (False, 1), (False, 2), (False, 3)]:
        known = _persons(k, alike, seed)
        shift, charged = _shift(look, make(GRID), known, person_weights(known[3], GRID))
        assert shift <= charged * (1 + 1e-9)
        if alike:  # the worst case: no noise is wasted on it, but for what rounding down takes
            assert shift >= charged * (1 - k / GRID) ** 2 * 0.999


@pytest.mark.parametrize(("look", "make"), LOOKS)
def test_rows_that_count_in_full_are_found_out(look: Any, make: Any) -> None:
    """The same test, with weights as if every row were a person: a mistake in the weights would not pass it."""
    known = _persons(5, True, 0)
    shift, charged = _shift(look, make(GRID), known, np.full(len(known[3]), GRID))
    assert shift == pytest.approx(25 * charged, rel=1e-2)


@pytest.mark.parametrize(("look", "make"), LOOKS)
def test_the_noise_is_that_of_rows_and_the_shortcut_for_whole_cells_is_not_taken(look: Any, make: Any) -> None:
    rows, persons = make(1), make(GRID)
    events = [
        m.events(3)
        if isinstance(m, PairTables | Parities)
        else m.events()
        if isinstance(m, ClippedMoments)
        else [m.event()]
        for m in (rows, persons)
    ]
    for one, other in zip(*events, strict=True):
        assert isinstance(other, GaussianEvent)
        assert (other.noise_multiplier, other.count, other.integer_unit) == (one.noise_multiplier, one.count, False)
    codes, points, classes, whose = _persons(3, False, 0)
    budget = Budget(1e6, 1e-5)
    budget.noise = recorder = Recorder(SystemNoise())
    look(persons, budget, codes, points, classes, person_weights(whose, GRID))
    plain = Budget(1e6, 1e-5)
    plain.noise = other = Recorder(SystemNoise())
    ones = None if look is not _counts else np.ones(len(whose), int)
    look(rows, plain, codes, points, classes, ones)
    for with_grid, without in zip(recorder.exits, other.exits, strict=True):
        assert with_grid.scale / GRID == pytest.approx(without.scale, rel=1e-12)
        assert with_grid.scale / GRID >= without.scale * (1 - 2**-52)


def test_weights_that_no_grid_gives_are_refused() -> None:
    budget, codes = Budget(1.0, 1e-5), np.zeros((2, 2), int)
    for weights, match in [(None, "weights"), ([1, GRID + 1], "outside"), ([1], "for each"), ([1.0, 2.0], "whole")]:
        with pytest.raises(InputError, match=match):
            PairTables(5.0, 0.1, GRID).release(codes, [1, 1], np.zeros(2, int), 1, budget, weights)
    assert budget.events == ()
    with pytest.raises(InputError, match="one person"):
        person_weights([-1, 0], GRID)
    assert math.isfinite(budget.epsilon)
