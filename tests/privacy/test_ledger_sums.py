"""A ledger's sums against exact ones: what remains, and any order of calls."""

from __future__ import annotations

import shutil
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger import Ledger, Reservation


def exact(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


@settings(max_examples=25, deadline=None)
@given(
    limit=st.floats(0, 1e300),
    shares=st.lists(st.floats(0, 1), max_size=4),
)
def test_what_remains_fits_exactly_and_nothing_more_does(limit: float, shares: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Ledger.create(Path(folder) / "ledger.db")
        made.add_dataset("d", epsilon=limit, delta=0.0)
        spent = Fraction(0)
        for share in shares:
            part = made.remaining("d").epsilon * share
            made.reserve("d", epsilon=part, delta=0.0, purpose="share")
            spent += exact(part)
        left, recorded = made.remaining("d").epsilon, made.spent("d").epsilon
        assert exact(recorded) >= spent
        assert exact(left) <= exact(limit) - spent < exact(float(np.nextafter(left, np.inf)))
        with pytest.raises(BudgetExceeded):
            made.reserve("d", epsilon=float(np.nextafter(left, np.inf)), delta=0.0, purpose="too much")
        made.reserve("d", epsilon=left, delta=0.0, purpose="the rest")


# Any order of calls, against the simplest model there is

EPSILONS = st.integers(0, 12).map(lambda tenths: tenths / 10)
DELTAS = st.integers(0, 12).map(lambda hundredths: hundredths / 100)


class LedgerMachine(RuleBasedStateMachine):
    """Reserve, commit and release in any order, two ledgers open on one file, against sums of integers."""

    open = Bundle("open")
    settled = Bundle("settled")

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.one = Ledger.create(Path(self.folder) / "ledger.db")
        self.one.add_dataset("d", epsilon=3.0, delta=0.3)
        self.two = Ledger(self.one.path)
        self.counted: dict[int, tuple[Fraction, Fraction]] = {}
        self.states: dict[int, str] = {}
        self.lines = 1

    def left(self) -> tuple[Fraction, Fraction]:
        costs = self.counted.values()
        return 3 - sum((e for e, _ in costs), Fraction(0)), Fraction(3, 10) - sum((d for _, d in costs), Fraction(0))

    @rule(target=open, epsilon=EPSILONS, delta=DELTAS, second=st.booleans())
    def reserve(self, epsilon: float, delta: float, second: bool) -> Reservation | None:
        ledger = self.two if second else self.one
        left = self.left()
        if exact(epsilon) > left[0] or exact(delta) > left[1]:
            with pytest.raises(BudgetExceeded):
                ledger.reserve("d", epsilon=epsilon, delta=delta, purpose="run")
            return None
        made = ledger.reserve("d", epsilon=epsilon, delta=delta, purpose="run")
        self.counted[made.id] = exact(epsilon), exact(delta)
        self.states[made.id] = "reserved"
        self.lines += 1
        return made

    @rule(target=settled, reservation=consumes(open), epsilon=EPSILONS, delta=DELTAS)
    def commit(self, reservation: Reservation | None, epsilon: float, delta: float) -> Reservation | None:
        if reservation is None:
            return None
        epsilon, delta = min(epsilon, reservation.epsilon), min(delta, reservation.delta)
        reservation.commit(epsilon=epsilon, delta=delta)
        self.counted[reservation.id] = exact(epsilon), exact(delta)
        self.states[reservation.id] = "committed"
        self.lines += 1
        return reservation

    @rule(target=settled, reservation=consumes(open))
    def release(self, reservation: Reservation | None) -> Reservation | None:
        if reservation is None:
            return None
        reservation.release(reason="nothing was drawn")
        self.counted[reservation.id] = Fraction(0), Fraction(0)
        self.states[reservation.id] = "returned"
        self.lines += 1
        return reservation

    @rule(reservation=settled, commit=st.booleans())
    def settle_again(self, reservation: Reservation | None, commit: bool) -> None:
        if reservation is not None:
            with pytest.raises(InputError, match="settled once"):
                _ = reservation.commit() if commit else reservation.release(reason="again")

    @invariant()
    def agrees(self) -> None:
        dataset = self.two.dataset("d")
        assert {entry.id: entry.state for entry in dataset.entries} == self.states
        assert tuple(map(exact, dataset.remaining)) == self.left()
        assert min(self.left()) >= 0
        assert len(self.one.history()) == self.lines

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
