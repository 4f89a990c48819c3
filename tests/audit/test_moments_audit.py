"""Attack the one look with a canary: a row that nobody else is like, there or blanked, and many releases of both.

The noise is what a budget of epsilon 1 gives. The measured lower bound must stay below the claim; with the noise halved
by hand the same attack must pass it, or it would prove nothing. Claims are compared at a large delta, where few releases
say most. Classes are released independently of each other, so a release of many equal classes is as many releases.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_mechanism_audit import HalvedNoise, epsilon_lower_bound  # pyright: ignore[reportMissingImports]

from understudy.methods.moments import plan as planning
from understudy.methods.moments.cell_rows import CELLS, CellRows, Cells
from understudy.methods.moments.tables_model import measure
from understudy.privacy import ABSENT, Budget, ClippedMoments, compose
from understudy.privacy.calibration import smallest_noise
from understudy.tables.batches import Batch
from understudy.tables.coordinates import Bins, Described

DELTA = 1e-5
ATTACKED = 0.05
COLUMNS = tuple(
    Described(f"c{i}", "categorical", labels=("a", "z"), shares=(0.5, 0.5), nullable=False) for i in range(2)
)
ROWS = 4


def _budget(halve: bool) -> Budget:
    budget = Budget(1e6, DELTA)  # roomy, so that many releases fit; the noise below is that of epsilon 1
    if halve:
        budget.noise = HalvedNoise(budget.noise)
    return budget


def _classes(canary: bool, releases: int) -> np.ndarray:
    classes = np.repeat(np.arange(releases), ROWS).reshape(releases, ROWS)
    classes[:, -1] = classes[:, -1] if canary else ABSENT
    return classes.ravel()


class Given(CellRows):
    """Cells in one batch, with no table behind them."""

    def __init__(self, cells: np.ndarray, classes: np.ndarray) -> None:
        goal: Any = None  # nothing is read
        self.given = Cells(Batch(pd.DataFrame(index=range(len(cells))), kept={CELLS: (cells, classes)}), goal)

    def total(self, look: Callable[[Cells], Any]) -> Any:
        return look(self.given)

    def forget(self, *names: Hashable) -> None:
        pass


def tables_attack(canary: bool, halve: bool, releases: int) -> tuple[np.ndarray, float]:
    """What the canary's own cells hold, each weighed by its noise: the most powerful test there is."""
    plan = planning.plan_tables(Budget(1.0, DELTA), 2, ROWS, labelled=True)
    mechanism = plan.pairs
    cells = np.zeros((releases, ROWS, 2), dtype=np.int64)
    cells[:, -1] = 1
    bins = Bins(COLUMNS, 20)
    classes = _classes(canary, releases)
    found, _ = measure(Given(cells.reshape(-1, 2), classes), releases, bins, plan, _budget(halve))
    one, two = mechanism.sigmas(2)
    scores = (found[:, 1, 1] + found[:, 3, 3]) / one**2 + found[:, 1, 3] / two**2
    return scores, compose(mechanism.events(2), ATTACKED).epsilon


def moments_attack(canary: bool, halve: bool, releases: int) -> tuple[np.ndarray, float]:
    """Count, sum and product of a canary at the clip, each weighed by its noise."""
    noise = smallest_noise(lambda n: ClippedMoments((1.0,), n).events(), 1.0, DELTA)
    mechanism = ClippedMoments((1.0,) * releases, noise)
    rows = np.zeros((releases, ROWS, 1))
    rows[:, -1] = 1.0
    found = mechanism.release(rows.reshape(-1, 1), _classes(canary, releases), _budget(halve))
    scores = found.counts / found.count_noise**2 + found.sums[:, 0] / found.sum_noise**2
    scores = scores + found.products[:, 0, 0] / (2 * found.product_noise**2)
    return scores, compose(mechanism.events(), ATTACKED).epsilon


Attack = Callable[[bool, bool, int], tuple[np.ndarray, float]]
BOTH = [tables_attack, moments_attack]


def _measured(attack: Attack, halve: bool, releases: int) -> tuple[float, float]:
    here, claim = attack(True, halve, releases)
    there, _ = attack(False, halve, releases)
    return epsilon_lower_bound(here, there, ATTACKED), claim


@pytest.mark.parametrize("attack", BOTH)
def test_a_canary_stays_below_the_claim(attack: Attack) -> None:
    measured, claim = _measured(attack, False, 3000)
    assert measured <= claim


@pytest.mark.parametrize("attack", BOTH)
def test_halved_noise_is_noticed(attack: Attack) -> None:
    measured, claim = _measured(attack, True, 24_000)
    assert measured > claim


@pytest.mark.slow
@pytest.mark.parametrize("attack", BOTH)
def test_a_long_attack_has_power_and_stays_below_the_claim(attack: Attack) -> None:
    measured, claim = _measured(attack, False, 100_000)
    assert 0 < measured <= claim
