"""A share of a budget: a part with a limit of its own, for a method that starts from another method's release."""

from __future__ import annotations

from understudy.errors import InputError
from understudy.privacy.accountant import merge
from understudy.privacy.budget import Budget, Hold
from understudy.privacy.events import Event


class BudgetShare(Budget):
    """Every charge is charged to the whole as well, before anything is drawn; it must fit both.

    The certificate is written from the whole: it holds the events of the share among its own.
    """

    def __init__(self, whole: Budget, epsilon: float, delta: float | None = None) -> None:
        super().__init__(epsilon, whole.delta if delta is None else delta, unsafe_noise_seed=whole.unsafe_noise_seed)
        self._noise, self.guard = whole._noise, whole.guard
        self._whole = whole

    def charge(self, *events: Event) -> None:
        """Record events that are about to happen in both, or raise `BudgetExceeded` and record nothing."""
        with self._lock:
            self._admit(events)
            self._whole.charge(*events)
            self._events = merge([*self._events, *events])

    def hold(self, worst: Event) -> Hold:
        """Refused: what is set aside in a share would not be set aside in the whole."""
        raise InputError(f"a share of a budget takes charges that are fixed beforehand, not {worst}.")
