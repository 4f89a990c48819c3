"""The plain-words numbers against an independent computation: the worst pair of distributions, tested by likelihood ratio.

Kairouz, Oh and Viswanath (2015) give the pair that dominates every (epsilon, delta)-private mechanism: four outcomes
with chances P = (delta, (1-delta)e^eps/(1+e^eps), (1-delta)/(1+e^eps), 0) and Q the same backwards. By Neyman and
Pearson the best test accuses the outcomes in the order of P/Q, with a coin at the edge. No formula of the trade-off
function is used.
"""

from __future__ import annotations

import itertools
import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.report.odds import Odds

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 30.0, 300.0)
DELTAS = (0.0, 1e-9, 1e-5, 1e-3, 0.05, 0.5)
ALARMS = (0.0, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0)


def worst_pair(epsilon: float, delta: float) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """(chance if the row took part, chance if it was blank), most telling outcome first."""
    e, d = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
    high, low = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
    return [(d, mpmath.mpf(0)), (high, low), (low, high), (mpmath.mpf(0), d)]


def best_found(epsilon: float, delta: float, alarms: float) -> float:
    """Neyman and Pearson: accuse outcome after outcome until the false alarms are used up."""
    room, found = mpmath.mpf(alarms), mpmath.mpf(0)
    for took_part, blank in worst_pair(epsilon, delta):
        share = mpmath.mpf(1) if blank <= room else room / blank
        found += share * took_part
        room -= share * blank
    return float(found)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_best_attack_over_a_grid(epsilon: float, delta: float) -> None:
    with mpmath.workdps(60):
        for alarms in ALARMS:
            assert Odds(epsilon, delta).found(alarms) == pytest.approx(best_found(epsilon, delta, alarms), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_best_guess_is_the_best_of_all_tests(epsilon: float, delta: float) -> None:
    """From a prior of one half: right with (found + 1 - alarms) / 2, at best half the total variation above a coin."""
    with mpmath.workdps(60):
        apart = sum(abs(p - q) for p, q in worst_pair(epsilon, delta)) / 2
        assert Odds(epsilon, delta).best_guess() == pytest.approx(float((1 + apart) / 2), abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("prior", [0.0, 0.001, 0.1, 0.5, 0.9, 1.0])
def test_posterior_is_bayes_rule(epsilon: float, prior: float) -> None:
    with mpmath.workdps(60):
        (_, _), (high, low), *_ = worst_pair(epsilon, 0)
        expected = prior * high / (prior * high + (1 - prior) * low)
    assert Odds(epsilon).posterior(prior) == pytest.approx(float(expected), abs=1e-12)


@given(st.floats(0, 50), st.floats(0, 0.2), st.floats(0, 1), st.floats(0, 1))
def test_curve_has_the_shape_of_one(epsilon: float, delta: float, a: float, b: float) -> None:
    odds = Odds(epsilon, delta)
    low, high = sorted((a, b))
    assert odds.missed(high) <= odds.missed(low) + 1e-12
    assert odds.missed((low + high) / 2) <= (odds.missed(low) + odds.missed(high)) / 2 + 1e-12  # convex
    assert odds.found(a) >= a - 1e-12  # never worse than a coin
    assert 0 <= odds.missed(a) <= 1
    alarms, found = odds.corner()
    assert odds.found(alarms) == pytest.approx(found, abs=1e-9)


def test_nothing_promised_and_everything() -> None:
    assert Odds(math.inf).found(0.01) == 1
    assert Odds(math.inf, 1e-5).best_guess() == 1
    assert Odds(0.0).found(0.01) == pytest.approx(0.01)
    assert Odds(0.0).posterior() == 0.5


@pytest.mark.parametrize("rows", [1, 2, 3, 23])
def test_several_rows_of_one_person(rows: int) -> None:
    group = Odds(1.0, 1e-9).for_rows(rows)
    assert group.epsilon == rows
    assert group.delta == pytest.approx(min(1, 1e-9 * (math.exp(rows) - 1) / (math.e - 1)))
    assert Odds(40.0, 1e-5).for_rows(50).delta == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Odds(-1),
        lambda: Odds(math.nan),
        lambda: Odds(1, 2),
        lambda: Odds(1).found(1.5),
        lambda: Odds(1).posterior(-0.1),
        lambda: Odds(1).for_rows(0),
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    with pytest.raises(InputError, match=r"must|between"):
        make()  # type: ignore[operator]
