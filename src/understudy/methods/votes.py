"""How a run of votes is paid for: its noise or its length from the budget, in each of the three modes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.generator import Mode
from understudy.privacy import (
    Budget,
    ConfidentGNMax,
    ConfidentGNMaxEvent,
    Event,
    GNMax,
    GNMaxEvent,
    LNMax,
    LNMaxEvent,
    Observed,
    PrepaidAnswers,
    Sanitised,
    SmoothRelease,
    compose,
)
from understudy.privacy.accountant import observed_rdp
from understudy.privacy.calibration import largest_count, smallest_noise
from understudy.privacy.moments import moments_to_epsilon
from understudy.privacy.prepaid import prepaid_event
from understudy.privacy.rdp import DEFAULT_ORDERS, rdp_to_epsilon
from understudy.privacy.smooth import require_conditions
from understudy.release.driver import Run

Mechanism = LNMax | GNMax | ConfidentGNMax
STOPPED_ON_DATA = (
    "the run stopped when the data-dependent epsilon reached the budget, as published: the stopping time and that "
    "epsilon depend on the votes, and the unconditional epsilon is the one stated"
)
# PATE-GAN tracks moments 1 to L; a bound of ln(1/delta)/L then cannot be beaten, so L must be large.
MOMENTS = np.arange(1, 257, dtype=np.float64)


@dataclass
class Voting:
    """A paid run of votes. `observed_` and `cost_` are private."""

    mechanism: Mechanism
    iterations: int
    queries: int
    mode: Mode
    budget: Budget
    paid: PrepaidAnswers
    stop_at: tuple[float, float] | None = None
    sanitise: SmoothRelease | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def kept(self, classes: int) -> np.ndarray:
        """Private. What must be remembered of the votes: all of them, or their summed cost, or nothing."""
        if self.mode == "data-dependent":
            return np.zeros((self.iterations * self.queries, classes), dtype=np.int32)
        return np.zeros(len(self._orders) if self.mode == "as-published" else 0)

    @property
    def _orders(self) -> np.ndarray:
        return MOMENTS + 1 if isinstance(self.mechanism, LNMax) else np.asarray(DEFAULT_ORDERS)

    def keep(self, kept: np.ndarray, votes: np.ndarray, labels: np.ndarray, iteration: int) -> np.ndarray:
        """Private. Remember the votes of one iteration as the mode needs it."""
        if self.mode == "data-dependent":
            start = iteration * self.queries
            kept = kept.copy()
            # What Confident-GNMax did not answer cost its threshold check alone.
            kept[start : start + len(votes)] = np.where(labels[:, None] >= 0, votes, 0)
        elif self.mode == "as-published":
            answered = labels >= 0
            event = prepaid_event(self.mechanism, len(votes), int(answered.sum()))
            assert isinstance(event, LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent)
            seen = Observed(event, votes.astype(np.int64), answered)
            kept = kept + observed_rdp(seen, self._orders, moments_2017=isinstance(self.mechanism, LNMax))
        return kept

    def data_dependent(self, kept: np.ndarray) -> float:
        """Private. The data-dependent epsilon so far, as the papers compute it."""
        assert self.stop_at is not None
        if isinstance(self.mechanism, LNMax):
            return moments_to_epsilon(MOMENTS, kept * MOMENTS, self.stop_at[1])[0]
        return rdp_to_epsilon(self._orders, kept, self.stop_at[1], conversion="classical")[0]

    def finished(self, kept: np.ndarray) -> bool:
        return self.stop_at is not None and self.paid.used > 0 and self.data_dependent(kept) >= self.stop_at[0]

    def afterwards(self, kept: np.ndarray, release: dict[str, Any], run: Run) -> tuple[Sanitised | None, list[str]]:
        """The sanitised epsilon of a data-dependent run, or why a published one is unsafe.

        It is drawn once: a run that is resumed after its end says the same figure again, or its noise could be averaged.
        """
        if self.mode == "as-published":
            release["data_dependent_epsilon"] = self.data_dependent(kept)
            self._charge_what_was_used()
            return None, [STOPPED_ON_DATA]
        if self.mode == "unconditional" or self.paid.used < self.paid.count or self.sanitise is None:
            return None, []
        votes = kept[kept.any(axis=1)]
        if len(votes) == 0:
            return None, []
        sanitise, charged = self.sanitise, prepaid_event(self.mechanism, self.paid.count, self.paid.answers)
        assert isinstance(charged, GNMaxEvent | ConfidentGNMaxEvent)

        def draw() -> np.ndarray:
            found = sanitise.release(votes, charged, self.budget)
            return np.array([found.epsilon, found.epsilon_upper, found.delta, found.order, found.confidence])

        return Sanitised(*run.prelude("sanitised", self.budget, draw).tolist()), []

    def _charge_what_was_used(self) -> None:
        """A published run has no limit beforehand; its certificate states the unconditional cost of what it did."""
        used = Budget(1e12, self.budget.delta, unsafe_noise_seed=self.budget.unsafe_noise_seed)
        votes = (LNMaxEvent, GNMaxEvent, ConfidentGNMaxEvent)
        used.charge(*(e for e in self.budget.events if not isinstance(e, votes)))
        if self.paid.used:
            used.charge(prepaid_event(self.mechanism, self.paid.used, self.paid.answered))
        self.budget = used


def plan_votes(
    make: Callable[[float], Mechanism],
    budget: Budget,
    *,
    mode: Mode,
    queries: int,
    classes: int,
    teachers: int,
    noise: float | None,
    iterations: int | None,
    answer_share: float = 1.0,
) -> Voting:
    """Fix noise and length and charge the run. `make(scale)` is the mechanism with so much noise.

    With `iterations` the noise is the least that so many cost within the budget; with `noise` the length is what the
    budget affords; with both they must fit. As published, both are needed and nothing limits the run but its own
    data-dependent epsilon.
    """
    if noise is not None and not (math.isfinite(noise) and noise > 0):
        raise InputError(f"`noise` (={noise}) must be a finite number above 0.")
    if mode == "as-published":
        if noise is None or iterations is None:
            raise InputError(
                'mode "as-published" needs `noise` and, as an upper limit, `iterations`: it stops by itself.'
            )
        mechanism = make(noise)
        unlimited = Budget(1e12, budget.delta, unsafe_noise_seed=budget.unsafe_noise_seed)
        unlimited.charge(*budget.events)
        paid = PrepaidAnswers(mechanism, iterations * queries, unlimited)
        return Voting(mechanism, iterations, queries, mode, unlimited, paid, (budget.epsilon, budget.delta))
    sanitise = None
    if mode == "data-dependent":
        if isinstance(make(1.0), LNMax):
            raise InputError('mode "data-dependent" is for GNMax: no sanitised release of LNMax votes is known.')
        sanitise = _smooth_release(budget)

    def run(scale: float, count: int) -> Sequence[Event]:
        also = sanitise.events if sanitise is not None else ()
        return [*budget.events, *also, prepaid_event(make(scale), count, _answers(count, answer_share))]

    if noise is None:
        if iterations is None:
            raise InputError("give `iterations` (the noise is then computed), or `noise` (then the iterations are).")
        noise = smallest_noise(lambda s: run(s, iterations * queries), budget.epsilon, budget.delta)
    elif iterations is None:
        scale = noise
        iterations = largest_count(lambda n: run(scale, n * queries), budget.epsilon, budget.delta)
        if iterations == 0:
            one = compose(run(noise, queries), budget.delta).epsilon
            enough = smallest_noise(lambda s: run(s, queries), budget.epsilon, budget.delta)
            raise InputError(
                f"not even one iteration of {queries} votes fits: with noise {noise:g} it costs epsilon {one:.4g}, and "
                f"the budget is {budget.epsilon:g}. Raise epsilon to {one:.4g}, or the noise to {enough:.4g}, which "
                f"takes about {math.ceil(2 * enough)} teachers or more to be heard over it."
            )
    mechanism = make(noise)
    if sanitise is not None:
        require_conditions(mechanism.sigma, classes, sanitise.order)  # type: ignore[union-attr]
    _warn_if_swamped(mechanism, teachers)
    count = iterations * queries
    paid = PrepaidAnswers(mechanism, count, budget, answers=_answers(count, answer_share))
    return Voting(mechanism, iterations, queries, mode, budget, paid, sanitise=sanitise)


def _answers(count: int, share: float) -> int:
    return max(1, math.ceil(share * count))


def _smooth_release(budget: Budget) -> SmoothRelease:
    """Near the order that the budget is decided at, with noise that costs it a few percent."""
    order = float(min(max(4, round(1 + 2 * math.log(1 / budget.delta) / budget.epsilon)), 64))
    return SmoothRelease(order=order, beta=0.1 / order, sigma=6 * math.sqrt(order), sigma_log=6 * math.sqrt(order))


def _warn_if_swamped(mechanism: Mechanism, teachers: int) -> None:
    if isinstance(mechanism, LNMax):
        gap = mechanism.gamma * teachers
        right = 1 - (2 + gap) / (4 * math.exp(gap))
    else:
        right = float(special.ndtr(teachers / (math.sqrt(2) * mechanism.sigma)))
    if right < 0.6:
        warnings.warn(
            f"the noise drowns the votes: even a unanimous vote of {teachers} teachers is answered rightly with "
            f"probability {right:.2f} only. Use more teachers, fewer iterations or a larger epsilon.",
            UnderstudyWarning,
            stacklevel=4,
        )
