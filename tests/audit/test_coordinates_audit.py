"""Attack a description with a canary, by the likelihood ratio of all that the gate let out.

A table of many equal columns is as many independent releases of one column; the noise is set to what one column alone gets
at epsilon 1. The measured lower bound must stay below the claim, and with the noise halved by hand it must pass it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from test_mechanism_audit import HalvedNoise, epsilon_lower_bound  # pyright: ignore[reportMissingImports]

from understudy.privacy import Budget, compose
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates, Known, Plan, ladder, plan_within
from understudy.tables.coordinates import release as private_side
from understudy.tables.coordinates.looks import OpenLook
from understudy.tables.coordinates.tally import tally

DELTA = 1e-5
ATTACKED = 0.05
ROWS = 4
# Its grid is said: one that is found would differ from column to column, and so would the canary's cell.
ALONE = Known("x", "number", step=1.0, bounds=(0.0, 10.0), nullable=True, column=Column("x", "integer", (0, 10)))


def _scores(monkeypatch: pytest.MonkeyPatch, canary: bool, halve: bool, releases: int) -> np.ndarray:
    """The log likelihood ratio of each column, up to a constant: the canary's cells, each weighed by its noise."""
    plan = plan_within([ALONE], ROWS, 1.0, DELTA)
    names = [f"c{i}" for i in range(releases)]
    values = np.full((ROWS, releases), np.nan)
    values[-1] = 7
    frame = pd.DataFrame(values, columns=names)
    schema = Schema(tuple(Column(name, "integer", bounds=(0, 10), nullable=True) for name in names))
    budget = Budget(1e9, DELTA)
    if halve:
        budget.noise = HalvedNoise(budget.noise)  # type: ignore[assignment]
    looks: list[tuple[list[np.ndarray], float]] = []
    real = private_side.PrivateGate

    def watched(budget: Budget, *grid: int) -> Callable[[list[np.ndarray], float], list[np.ndarray]]:
        gate = real(budget, *grid)

        def look(counts: list[np.ndarray], sigma: float) -> list[np.ndarray]:
            noisy = gate(counts, sigma)
            looks.append((noisy, sigma))
            return noisy

        return look

    monkeypatch.setattr(private_side, "PrivateGate", watched)
    present = frame if canary else frame.iloc[:-1]
    Coordinates.release(present, schema, budget, noise=plan.noise / math.sqrt(releases), rows=ROWS)
    monkeypatch.undo()
    cells = _canary_cells(frame)
    assert len(looks) == len(cells) == 2
    scores = np.zeros(releases)
    for (noisy, sigma), cell in zip(looks, cells, strict=True):
        # The noise cuts a cell of a few columns: they have other cells, and tell nothing here.
        usual = max({len(part) for part in noisy}, key=[len(part) for part in noisy].count)
        scores += np.array([part[cell] if len(part) == usual else 0 for part in noisy]) / sigma**2
    return scores


def _canary_cells(frame: pd.DataFrame) -> list[int]:
    """Where the canary stands in the two rounds of a column, of which the second has the same cells."""
    counted = tally(frame.iloc[-1:, 0])
    plan = plan_within([ALONE], ROWS, 1.0, DELTA)
    edges = ladder.bounded((0.0, 10.0), 1.0, plan.bins)
    cell = int(np.flatnonzero(counted.ordered("number", 1.0).histogram(edges))[0])
    return [cell, cell]


def _measured(monkeypatch: pytest.MonkeyPatch, *, halve: bool, releases: int) -> tuple[float, float]:
    here = _scores(monkeypatch, True, halve, releases)
    there = _scores(monkeypatch, False, halve, releases)
    claim = compose(plan_within([ALONE], ROWS, 1.0, DELTA).events(), ATTACKED).epsilon
    return epsilon_lower_bound(here, there, ATTACKED), claim


def test_a_canary_stays_below_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, claim = _measured(monkeypatch, halve=False, releases=1500)
    assert measured <= claim


def test_halved_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, claim = _measured(monkeypatch, halve=True, releases=8000)
    assert measured > claim


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_a_name_that_two_rows_hold_is_published_no_more_often_than_charged(rounds: int) -> None:
    """The failure probability of the threshold, with a delta large enough to be seen failing."""
    delta, sigma, draws = 0.05, 3.0, 4000
    plan = Plan(ROWS, sigma, 0, (rounds,), 1, delta)
    assert plan.sigma == sigma
    budget = Budget(1e9, DELTA)
    counted = tally(pd.Series(["rare", "rare"], dtype="str"))
    noise = budget.noise.discrete_gaussian(plan.round_sigma(rounds), (draws, rounds, 2))
    published = 0
    for draw in noise:
        look = OpenLook(Known("x", "categorical"), plan, plan.sigma)
        for part in draw:
            counts = look.counts(counted)
            look.take(counts + part[-len(counts) :], plan.round_sigma(rounds))
        published += "rare" in look.described().labels
    assert published <= delta * draws + 4 * math.sqrt(delta * draws)
    # And the threshold is not so high that the test could not fail.
    assert published > 0
