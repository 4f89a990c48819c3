"""The budget: every mechanism charges it before it draws, and a charge that does not fit is refused.

Most charges are fixed before any noise is drawn; for them the budget composes all events and compares the tightest
valid epsilon with the limit. A charge whose size depends on earlier answers (Confident-GNMax pays its second part
only for what it answered) turns the budget into a *Rényi filter*: one order is fixed beforehand, the realised costs
at that order are summed, and the run may go on while the sum stays below what the limit allows there. By the filter
theorem (Feldman and Zrnic 2021; Lécuyer 2021) the whole run is then (epsilon, delta)-DP for the *limit*, so that is
what its certificate states: the smaller realised sum would itself depend on the answers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

import numpy as np

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.accountant import Epsilon, compose, delta_left, merge, total_rdp
from understudy.privacy.events import (
    DeltaEvent,
    Event,
    LaplaceEvent,
    LNMaxEvent,
    NonPrivateEvent,
    check_delta,
    check_positive,
)
from understudy.privacy.noise import NoiseSource, SystemNoise, UnsafeSeededNoise
from understudy.privacy.rdp import DEFAULT_ORDERS, epsilon_to_rdp, rdp_to_epsilon

# Two ways of adding the same costs may differ in the last places of a float.
_ROUNDING = 1e-12
# What costs an epsilon, or a delta, by itself.
_PURE = (LaplaceEvent, LNMaxEvent, DeltaEvent)


class Budget:
    """An (epsilon, delta) that mechanisms draw on. Thread-safe; starts unspent.

    `unsafe_noise_seed` makes the noise repeatable for tests and marks everything made with it as not private.
    """

    def __init__(self, epsilon: float, delta: float = 0.0, *, unsafe_noise_seed: int | None = None) -> None:
        check_positive("epsilon", epsilon)
        check_delta(delta, zero_allowed=True)
        self.epsilon = float(epsilon)
        self.delta = float(delta)
        self.unsafe_noise_seed = unsafe_noise_seed
        self.guard: Callable[[], None] | None = None
        """Asked before every charge and every draw; raises where the run may not go on. Set by who holds a ledger."""
        self._noise: NoiseSource = SystemNoise() if unsafe_noise_seed is None else UnsafeSeededNoise(unsafe_noise_seed)
        self._loose = 0
        self._events: list[Event] = []
        self._held: list[Event] = []
        self._filter_order: float | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"Budget(epsilon={self.epsilon:g}, delta={self.delta:g}, events={len(self.events)})"

    @property
    def noise(self) -> NoiseSource:
        """What mechanisms draw from: asked for at each draw, so that each draw asks the guard."""
        if self.guard is not None:
            self.guard()
        return self._noise

    @noise.setter
    def noise(self, source: NoiseSource) -> None:
        self._noise = source

    def replace_noise(self, change: Callable[[NoiseSource], NoiseSource]) -> NoiseSource:
        """Put another source in the place of the one there is, which is returned. Draws nothing."""
        before = self._noise
        self._noise = change(before)
        return before

    @property
    def events(self) -> tuple[Event, ...]:
        """What was charged so far, equal events merged; what is set aside counts as charged."""
        with self._lock:
            return tuple(merge([*self._events, *self._held]))

    @property
    def filter_order(self) -> float | None:
        """The fixed Rényi order, once a charge depended on earlier answers; None before."""
        return self._filter_order

    def spent(self) -> Epsilon:
        """The epsilon of what was charged so far; under a filter, measured at its fixed order."""
        return self._epsilon(self.events)

    def remaining_epsilon(self) -> float:
        """The limit less what was spent. Composition is not a sum: a charge that costs more alone may still fit."""
        return max(0.0, self.epsilon - self.spent().epsilon)

    def cost_if_stopped(self) -> tuple[float, float]:
        """The (epsilon, delta) of a run that ends here, however it was decided that it should end here.

        Where it ends may depend on what was drawn. Sums of pure costs and of deltas hold all the same (basic composition of
        adaptively chosen costs; Rogers, Roth, Ullman and Vadhan 2016). One charge that needs delta for its epsilon adds one
        chance of failing, however the run branches before and after it, so its delta is counted once. With more of them,
        or under a filter, nothing less than the limit is proved.
        """
        with self._lock:
            events = self.events
            if not events:
                return 0.0, 0.0
            if self._filter_order is not None or self._loose > 1:
                return self.epsilon, self.delta
            delta = self.delta if self._loose else _delta(events)
            return min(compose(events, delta, cache=False).epsilon, self.epsilon), delta

    def charge(self, *events: Event) -> None:
        """Record events that are about to happen, or raise `BudgetExceeded` and record nothing."""
        with self._lock:
            self._admit(events)
            if self.guard is not None:
                self.guard()
            self._loose += any(not isinstance(event, _PURE) for event in events)
            self._events = merge([*self._events, *events])

    def affords(self, *events: Event) -> bool:
        """Whether a charge would fit. Charges nothing."""
        with self._lock:
            try:
                self._admit(events)
            except BudgetExceeded:
                return False
            return True

    def hold(self, worst: Event) -> Hold:
        """Set aside the most that an adaptive mechanism can cost; `settle` then records what it did cost."""
        with self._lock:
            before = self._filter_order
            if before is None:
                self._filter_order = self._best_order(worst)
            try:
                self._admit((worst,))
                if self.guard is not None:
                    self.guard()
            except (BudgetExceeded, InputError):
                self._filter_order = before
                raise
            self._held.append(worst)
            return Hold(self, worst)

    def _settle(self, worst: Event, realised: Event) -> None:
        with self._lock:
            if np.any(total_rdp([realised], DEFAULT_ORDERS) > total_rdp([worst], DEFAULT_ORDERS) * (1 + _ROUNDING)):
                raise InputError(f"{realised} costs more than what was set aside for it, {worst}.")
            self._held.remove(worst)
            self._events = merge([*self._events, realised])

    def _best_order(self, worst: Event) -> float:
        """The order at which most charges like `worst` fit; depends on nothing that was answered."""
        left = delta_left(self.events, self.delta)
        if left <= 0:
            raise InputError("an adaptive mechanism needs a delta above 0 in the budget.")
        room = epsilon_to_rdp(self.epsilon, left, DEFAULT_ORDERS) - total_rdp(self.events, DEFAULT_ORDERS)
        cost = total_rdp([worst], DEFAULT_ORDERS)
        return float(DEFAULT_ORDERS[int(np.argmax(np.where(np.isfinite(cost), room / cost, -np.inf)))])

    def _admit(self, new: tuple[Event, ...]) -> None:
        now, then = self.events, (*self.events, *new)
        for event in new:
            if isinstance(event, NonPrivateEvent):
                raise InputError(f"no budget covers a release without protection: {event.reason}.")
        what = " + ".join(repr(e).replace("Event(", "(") for e in new)
        if _delta(then) > self.delta:
            paid = _delta(now)
            raise BudgetExceeded(requested=_delta(then) - paid, remaining=self.delta - paid, what=what, unit="delta")
        # Computed here and now: a file of the cache could hold any epsilon.
        total = self._epsilon(then, good_enough=self.epsilon, cache=False).epsilon
        if not math.isfinite(total) and any(not np.any(np.isfinite(total_rdp([e], DEFAULT_ORDERS))) for e in new):
            raise InputError(f"the cost of {what} is not a finite number: refused.")
        if total > self.epsilon:
            spent = self._epsilon(now).epsilon
            raise BudgetExceeded(requested=total - spent, remaining=max(0.0, self.epsilon - spent), what=what)

    def _epsilon(self, events: Sequence[Event], *, good_enough: float = 0.0, cache: bool = True) -> Epsilon:
        if self._filter_order is None:
            return compose(events, self.delta, good_enough=good_enough, cache=cache)
        if not events:
            return Epsilon(0.0, self.delta, "rdp", self._filter_order)
        orders = [self._filter_order]
        epsilon, order = rdp_to_epsilon(orders, total_rdp(events, orders), delta_left(events, self.delta))
        return Epsilon(epsilon, self.delta, "rdp", order)


class Hold:
    """What a budget has set aside for one adaptive mechanism. Never settled means that all of it is spent."""

    def __init__(self, budget: Budget, worst: Event) -> None:
        self._budget = budget
        self._worst: Event | None = worst

    def settle(self, realised: Event) -> None:
        """Replace the worst case by what happened, once, before anything further is drawn."""
        if self._worst is None:
            raise InputError("this hold was settled already.")
        worst, self._worst = self._worst, None
        self._budget._settle(worst, realised)  # pyright: ignore[reportPrivateUsage]


def _delta(events: Sequence[Event]) -> float:
    return math.fsum(e.delta for e in events if isinstance(e, DeltaEvent))
