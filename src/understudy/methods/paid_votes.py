"""Votes in every iteration, paid for as a whole before the first: PATE-GAN and G-PATE, in each of three modes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from understudy.errors import InputError, UnderstudyWarning
from understudy.learn.adversarial import Generator
from understudy.learn.processes import spans_processes
from understudy.learn.teachers import check_mesh
from understudy.methods.sizing import Sizes
from understudy.methods.voting import Ballot, Mechanism, at_least_one, noise_or_length, observed
from understudy.privacy import (
    Budget,
    ConfidentGNMaxEvent,
    Event,
    GNMaxEvent,
    LNMax,
    LNMaxEvent,
    PrepaidAnswers,
    Sanitised,
    SmoothRelease,
)
from understudy.privacy.accountant import observed_rdp
from understudy.privacy.moments import moments_to_epsilon
from understudy.privacy.prepaid import prepaid_event
from understudy.privacy.rdp import DEFAULT_ORDERS, rdp_to_epsilon
from understudy.privacy.smooth import require_conditions
from understudy.release.driver import Draw, Run
from understudy.release.generator import Learnt

Mode = Literal["unconditional", "data-dependent", "as-published"]
MODES: tuple[Mode, ...] = ("unconditional", "data-dependent", "as-published")
STOPPED_ON_DATA = (
    "the run stopped when the data-dependent epsilon reached the budget, as published: the stopping time and that "
    "epsilon depend on the votes, and the unconditional epsilon is the one stated"
)
# PATE-GAN tracks moments 1 to L; a bound of ln(1/delta)/L then cannot be beaten, so L must be large.
MOMENTS = np.arange(1, 257, dtype=np.float64)


def check_votes(settings: Any) -> None:
    """Refuse settings of a run of votes that do not go together, before anything is looked at or spent."""
    if settings.mode == "as-published" and (settings.noise is None or settings.iterations is None):
        raise InputError('mode "as-published" needs `noise` and, as an upper limit, `iterations`: it stops by itself.')
    if settings.mode != "unconditional" and settings.aggregator != "votes":
        raise InputError(
            f'mode "{settings.mode}" is for the aggregator "votes": a sum with noise costs the same whatever it says.'
        )
    if settings.mode == "data-dependent" and getattr(settings, "ballot", None) == "lnmax":
        raise InputError('mode "data-dependent" is for GNMax: no sanitised release of LNMax votes is known.')
    check_mesh(settings.mesh)
    if settings.mesh is not None and spans_processes(settings.mesh):
        raise InputError(
            "`mesh` reaches over several processes, each of which would draw noise of its own for the same votes. "
            "Use the devices of one process, jax.local_devices()."
        )


class VoteState(NamedTuple):
    """Private. How many votes were asked and answered, and what the mode needs of them: all, their cost, or nothing."""

    used: np.ndarray
    kept: np.ndarray


@dataclass
class PaidVotes:
    """A run of votes that is paid for as a whole: `queries` among so many `options` in each of `iterations`.

    `counted` is the part of the votes that the paper's own count has; it decides when a published run stops.
    """

    mechanism: Mechanism
    noise: float
    iterations: int
    queries: int
    options: int
    mode: Mode
    budget: Budget
    paid: PrepaidAnswers
    stop_at: tuple[float, float] | None = None
    sanitise: SmoothRelease | None = None
    counted: float = 1.0

    def start(self) -> VoteState:
        used = np.zeros(2, dtype=np.int64)
        if self.mode == "data-dependent":
            return VoteState(used, np.zeros((self.iterations * self.queries, self.options), dtype=np.int32))
        return VoteState(used, np.zeros(len(self._orders) if self.mode == "as-published" else 0))

    def restore(self, state: VoteState) -> None:
        """Count what a checkpointed run has asked."""
        self.paid.used, self.paid.answered = (int(n) for n in state.used)

    @property
    def _orders(self) -> np.ndarray:
        return MOMENTS + 1 if isinstance(self.mechanism, LNMax) else np.asarray(DEFAULT_ORDERS)

    def ask(
        self, name: str, votes: np.ndarray, state: VoteState, iteration: int, draw: Draw
    ) -> tuple[np.ndarray, VoteState]:
        """Touches private data: one iteration's votes through the gate. The labels, which come first, are public."""
        labels = draw(name, lambda: self.paid.answer(votes).astype(np.int16), self.paid.skip)
        kept = state.kept
        if self.mode == "data-dependent":
            kept = kept.copy()
            # What Confident-GNMax did not answer cost its threshold check alone.
            kept[iteration * self.queries :][: len(votes)] = np.where(labels[:, None] >= 0, votes, 0)
        elif self.mode == "as-published":
            old = isinstance(self.mechanism, LNMax)
            cost = observed_rdp(observed(self.mechanism, votes, labels), self._orders, moments_2017=old)
            kept = kept + self.counted * cost
        return labels, VoteState(np.array([self.paid.used, self.paid.answered], dtype=np.int64), kept)

    def data_dependent(self, state: VoteState) -> float:
        """Private. The data-dependent epsilon so far, as the papers compute it."""
        assert self.stop_at is not None
        if isinstance(self.mechanism, LNMax):
            return moments_to_epsilon(MOMENTS, state.kept * MOMENTS, self.stop_at[1])[0]
        return rdp_to_epsilon(self._orders, state.kept, self.stop_at[1], conversion="classical")[0]

    def finished(self, state: VoteState) -> bool:
        """Whether a published run has used up its data-dependent epsilon."""
        return self.stop_at is not None and self.paid.used > 0 and self.data_dependent(state) >= self.stop_at[0]

    def learnt(self, network: Generator, facts: dict[str, Any], state: VoteState, run: Run) -> Learnt:
        """What the run ends with: its network, and the sanitised epsilon, or why a published run is unsafe.

        The sanitised epsilon is drawn once: a run that is resumed after its end says the same figure again, or its noise
        could be averaged.
        """
        common = {"mode": self.mode, "noise": self.noise, "iterations": self.iterations, "votes_each": self.queries}
        facts = facts | common
        if self.mode == "as-published":
            facts["data_dependent_epsilon"] = self.data_dependent(state)
            return Learnt(network, facts, unsafe=(STOPPED_ON_DATA,), budget=self._what_was_used())
        return Learnt(network, facts, self._sanitised(state, run))

    def _sanitised(self, state: VoteState, run: Run) -> Sanitised | None:
        if self.sanitise is None or self.paid.used < self.paid.count or not state.kept.any():
            return None
        votes = state.kept[state.kept.any(axis=1)]
        sanitise, charged = self.sanitise, prepaid_event(self.mechanism, self.paid.count, self.paid.answers)
        assert isinstance(charged, GNMaxEvent | ConfidentGNMaxEvent)

        def draw() -> np.ndarray:
            said = sanitise.release(votes, charged, self.budget)
            return np.array([said.epsilon, said.epsilon_upper, said.delta, said.order, said.confidence])

        return Sanitised(*run.prelude("sanitised", self.budget, draw).tolist())

    def _what_was_used(self) -> Budget:
        """A published run has no limit beforehand; its certificate states the unconditional cost of what it did."""
        votes = (LNMaxEvent, GNMaxEvent, ConfidentGNMaxEvent)
        used = _unlimited(self.budget, [e for e in self.budget.events if not isinstance(e, votes)])
        if self.paid.used:
            used.charge(prepaid_event(self.mechanism, self.paid.used, self.paid.answered))
        return used


def plan_run(
    ballot: Ballot,
    budget: Budget,
    settings: Any,
    sizes: Sizes,
    *,
    queries: int,
    options: int,
    answer_share: float = 1.0,
    counted: float = 1.0,
) -> PaidVotes:
    """Fix noise and length and charge the run. As published, nothing limits it but its own data-dependent epsilon."""
    mode, noise = settings.mode, settings.noise
    if mode == "as-published":
        mechanism, unlimited = ballot.mechanism(noise), _unlimited(budget, budget.events)
        paid = PrepaidAnswers(mechanism, settings.iterations * queries, unlimited)
        stop_at = (budget.epsilon, budget.delta)
        return PaidVotes(
            mechanism, noise, settings.iterations, queries, options, mode, unlimited, paid, stop_at, counted=counted
        )
    sanitise = _smooth_release(budget) if mode == "data-dependent" else None

    def answers(length: int) -> int:
        return max(1, math.ceil(answer_share * length * queries))

    def cost(noise: float, length: int) -> Sequence[Event]:
        also = sanitise.events if sanitise is not None else ()
        return [*budget.events, *also, ballot.event(noise, length * queries, answers(length))]

    noise, length = noise_or_length(cost, budget, noise, sizes.iterations)
    at_least_one(cost, budget, noise, length, "it takes about two teachers for each unit of noise to be heard over it")
    mechanism = ballot.mechanism(noise)
    if sanitise is not None:
        require_conditions(noise, options, sanitise.order)
    _warn_if_swamped(mechanism, ballot.teachers)
    paid = PrepaidAnswers(mechanism, length * queries, budget, answers=answers(length))
    return PaidVotes(mechanism, noise, length, queries, options, mode, budget, paid, sanitise=sanitise)


def _unlimited(budget: Budget, events: Sequence[Event]) -> Budget:
    """A budget without a limit to speak of, with these events in it and the same noise."""
    whole = Budget(1e12, budget.delta, unsafe_noise_seed=budget.unsafe_noise_seed)
    whole.noise, whole.guard = budget.noise, budget.guard
    whole.charge(*events)
    return whole


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
            stacklevel=6,
        )
