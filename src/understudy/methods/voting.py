"""How votes are planned: which mechanism answers, how much noise it adds, how many votes the budget affords.

All of it is decided from public numbers (teachers, queries, budget) before any vote is counted. PATE asks in one round;
PATE-GAN and G-PATE ask in every iteration (`paid_votes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import (
    NOT_ANSWERED,
    Budget,
    ConfidentGNMax,
    ConfidentGNMaxEvent,
    Event,
    GNMax,
    GNMaxEvent,
    LNMax,
    LNMaxEvent,
    Observed,
    compose,
)
from understudy.privacy.calibration import largest_count, smallest_noise
from understudy.privacy.prepaid import prepaid_event

Aggregator = Literal["lnmax", "gnmax", "confident-gnmax"]
AGGREGATORS: tuple[Aggregator, ...] = ("lnmax", "gnmax", "confident-gnmax")
Mechanism = LNMax | GNMax | ConfidentGNMax
Cost = Callable[[float, int], Sequence[Event]]
"""All that a budget holds once a run of so much noise and such a length is charged."""

# Measured on the embedded table: up to about this share of the teachers, more labels are worth their noise, since the
# student averages it out.
_NOISE_SHARE = 0.35
_FEWEST_LABELS = 20


# ---- noise or length from the budget ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ballot:
    """What teachers vote by. `threshold` is the share of them that must agree, plus noise, for Confident-GNMax.

    Noise is sigma (gnmax) or 1/gamma (lnmax). That of the threshold is `threshold_ratio` times as large.
    """

    aggregator: Aggregator
    teachers: int
    threshold: float = 0.0
    threshold_ratio: float = 3.0

    def mechanism(self, noise: float) -> Mechanism:
        match self.aggregator:
            case "lnmax":
                return LNMax(1 / noise)
            case "gnmax":
                return GNMax(noise)
            case _:
                ratio = self.threshold_ratio
                return ConfidentGNMax(self.threshold * self.teachers, ratio * noise, noise)

    def event(self, noise: float, asked: int, answers: int) -> Event:
        return prepaid_event(self.mechanism(noise), asked, answers)


def noise_or_length(
    cost: Cost, budget: Budget, noise: float | None, length: int | None, *, tolerance: float | None = None
) -> tuple[float, int]:
    """Of noise and length, the one that is given fixes the other: the least noise, the most that fits.

    Both together are taken as they are; charging them decides whether they fit. A length that does not fit at all is 0.
    """
    if noise is None:
        if length is None:
            raise InputError("give `iterations` (the noise is then computed), or `noise` (then the iterations are).")
        whole = length
        noise = smallest_noise(lambda s: cost(s, whole), budget.epsilon, budget.delta, tolerance=tolerance)
    elif length is None:
        scale = noise
        length = largest_count(lambda n: cost(scale, n), budget.epsilon, budget.delta)
    return noise, length


def at_least_one(cost: Cost, budget: Budget, noise: float, length: int, advice: str) -> None:
    """Refuse a run of no iterations, and say what would do."""
    if length:
        return
    one = compose(cost(noise, 1), budget.delta).epsilon
    enough = smallest_noise(lambda s: cost(s, 1), budget.epsilon, budget.delta, tolerance=1e-3)
    raise InputError(
        f"not even one iteration fits: with noise {noise:g} it costs epsilon {one:.4g}, and the budget is "
        f"{budget.epsilon:g}. Raise epsilon to {one:.4g}, or the noise to {enough:.4g} ({advice})."
    )


# ---- one round of votes: PATE ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """Votes on public rows, planned to fit a budget: `asked` rows are put to the teachers, at most `answers` answered."""

    mechanism: Mechanism
    noise: float
    asked: int
    answers: int

    def events(self) -> tuple[Event, ...]:
        return (prepaid_event(self.mechanism, self.asked, self.answers),)

    def answer(self, votes: np.ndarray, budget: Budget) -> np.ndarray:
        """Labels for rows of votes through the gate; `NOT_ANSWERED` where the teachers were not confident."""
        if isinstance(self.mechanism, ConfidentGNMax):
            return self.mechanism.answer(votes, budget, max_answers=self.answers)
        return self.mechanism.answer(votes, budget)

    def halves(self) -> tuple[Round, Round]:
        """The same votes in two rounds, which together cost what the one does."""
        asked, answers = self.asked // 2, self.answers // 2
        return (
            replace(self, asked=self.asked - asked, answers=self.answers - answers),
            replace(self, asked=asked, answers=answers),
        )


def plan_round(
    ballot: Ballot,
    budget: Budget,
    *,
    available: int,
    queries: int | None = None,
    asked_per_answer: float = 1.5,
    also: tuple[Event, ...] = (),
) -> Round:
    """The round that uses up what `budget` has left, after `also` is paid.

    Without `queries` their number is what the budget affords at a noise of about a third of the teachers.
    Confident-GNMax puts `asked_per_answer` times as many rows to the teachers as it may answer.
    """
    if ballot.aggregator not in AGGREGATORS:
        raise InputError(f"`aggregator` (={ballot.aggregator!r}) must be one of {', '.join(AGGREGATORS)}.")
    if not 0 <= ballot.threshold <= 1:
        raise InputError(f"`threshold` (={ballot.threshold}) is a share of the teachers: between 0 and 1.")
    if queries is not None and (isinstance(queries, bool) or not 1 <= queries <= available):
        raise InputError(f"`queries` (={queries}) must lie between 1 and the {available} public rows there are.")
    spent = (*budget.events, *also)

    def asked(answers: int) -> int:
        if ballot.aggregator != "confident-gnmax":
            return answers
        return max(answers, min(available, math.ceil(asked_per_answer * answers)))

    def cost(noise: float, answers: int) -> Sequence[Event]:
        return (*spent, ballot.event(noise, asked(answers), answers))

    if queries is None:
        readable = _NOISE_SHARE * ballot.teachers * (1 / math.sqrt(2) if ballot.aggregator == "lnmax" else 1.0)
        queries = min(max(noise_or_length(cost, budget, readable, None)[1], _FEWEST_LABELS), available)
    try:
        noise, queries = noise_or_length(cost, budget, None, queries)
    except InputError:
        before = compose(spent, budget.delta).epsilon
        free = replace(ballot, threshold=0.0).event(float(ballot.teachers), 1, 1)
        raise BudgetExceeded(
            requested=compose([*spent, free], budget.delta).epsilon - before,
            remaining=max(0.0, budget.epsilon - before),
            what="even one question to the teachers",
        ) from None
    return Round(ballot.mechanism(noise), noise, asked(queries), queries)


def observed(mechanism: Mechanism, votes: np.ndarray, labels: np.ndarray) -> Observed:
    """Private. The votes beside what was answered, for the data-dependent cost."""
    answered = labels != NOT_ANSWERED
    event = prepaid_event(mechanism, len(votes), int(answered.sum()))
    assert isinstance(event, LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent)
    return Observed(event, votes.astype(np.int64), answered)
