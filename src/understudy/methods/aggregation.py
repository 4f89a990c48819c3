"""How a label is asked for: which mechanism, how many queries, and how much noise the budget asks for.

Everything here is decided from public numbers (teachers, classes, public rows, budget) before any vote is counted.
"""

from __future__ import annotations

import math
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

Aggregator = Literal["lnmax", "gnmax", "confident-gnmax"]
AGGREGATORS: tuple[Aggregator, ...] = ("lnmax", "gnmax", "confident-gnmax")

# Measured on the embedded table: up to about this share of the teachers, more labels are worth their noise, since the
# student averages it out.
_NOISE_SHARE = 0.35
_FEWEST = 20


@dataclass(frozen=True)
class Voting:
    """A mechanism with its noise and its number of queries, planned to fit a budget.

    `asked` rows are put to the teachers; Confident-GNMax answers at most `answers` of them, the others answer all.
    """

    aggregator: Aggregator
    noise: float
    asked: int
    answers: int
    threshold: float
    threshold_ratio: float

    def events(self) -> list[Event]:
        return _events(self.aggregator, self.noise, self.asked, self.answers, self.threshold, self.threshold_ratio)

    def answer(self, votes: np.ndarray, budget: Budget) -> np.ndarray:
        """Labels for rows of votes through the gate; `NOT_ANSWERED` where the teachers were not confident."""
        match self.aggregator:
            case "lnmax":
                return LNMax(1 / self.noise).answer(votes, budget)
            case "gnmax":
                return GNMax(self.noise).answer(votes, budget)
            case _:
                mechanism = ConfidentGNMax(self.threshold, self.threshold_ratio * self.noise, self.noise)
                return mechanism.answer(votes, budget, max_answers=self.answers)

    def halves(self) -> tuple[Voting, Voting]:
        """The same voting in two rounds, which together cost what the one does."""
        asked, answers = self.asked // 2, self.answers // 2
        return (
            replace(self, asked=self.asked - asked, answers=self.answers - answers),
            replace(self, asked=asked, answers=answers),
        )

    def observed(self, votes: np.ndarray, labels: np.ndarray) -> Observed:
        """Private. The votes beside what was answered, for the data-dependent cost."""
        answered = labels != NOT_ANSWERED
        (event,) = _events(
            self.aggregator, self.noise, len(votes), int(answered.sum()), self.threshold, self.threshold_ratio
        )
        assert isinstance(event, LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent)
        return Observed(event, votes, answered if isinstance(event, ConfidentGNMaxEvent) else None)


def plan_voting(
    aggregator: Aggregator,
    budget: Budget,
    *,
    teachers: int,
    available: int,
    queries: int | None = None,
    threshold: float = 0.6,
    threshold_ratio: float = 3.0,
    asked_per_answer: float = 1.5,
    also: tuple[Event, ...] = (),
) -> Voting:
    """The voting that uses up what `budget` has left, after `also` is paid.

    Without `queries` their number is what the budget affords at a noise of about a third of the teachers.
    Confident-GNMax puts `asked_per_answer` times as many rows to the teachers as it may answer.
    """
    if aggregator not in AGGREGATORS:
        raise InputError(f"`aggregator` (={aggregator!r}) must be one of {', '.join(AGGREGATORS)}.")
    if not 0 <= threshold <= 1:
        raise InputError(f"`threshold` (={threshold}) is a share of the teachers: between 0 and 1.")
    if asked_per_answer < 1:
        raise InputError(f"`asked_per_answer` (={asked_per_answer}) must be at least 1.")
    if queries is not None and (isinstance(queries, bool) or not 1 <= queries <= available):
        raise InputError(f"`queries` (={queries}) must lie between 1 and the {available} public rows there are.")
    spent = (*budget.events, *also)

    def asked(answers: int) -> int:
        if aggregator != "confident-gnmax":
            return answers
        return max(answers, min(available, math.ceil(asked_per_answer * answers)))

    def events(noise: float, answers: int) -> list[Event]:
        count = threshold * teachers
        return [*spent, *_events(aggregator, noise, asked(answers), answers, count, threshold_ratio)]

    if queries is None:
        noise = _NOISE_SHARE * teachers * (1 / math.sqrt(2) if aggregator == "lnmax" else 1.0)
        affordable = largest_count(lambda n: events(noise, n), budget.epsilon, budget.delta)
        queries = min(max(affordable, _FEWEST), available)
    try:
        noise = smallest_noise(lambda s: events(s, queries), budget.epsilon, budget.delta)
    except InputError:
        before = compose(spent, budget.delta).epsilon
        one = compose([*spent, *_events(aggregator, float(teachers), 1, 1, 0.0, threshold_ratio)], budget.delta).epsilon
        raise BudgetExceeded(
            requested=one - before,
            remaining=max(0.0, budget.epsilon - before),
            what="even one question to the teachers",
        ) from None
    return Voting(aggregator, noise, asked(queries), queries, threshold * teachers, threshold_ratio)


def _events(
    aggregator: Aggregator, noise: float, asked: int, answers: int, threshold: float, ratio: float
) -> list[Event]:
    match aggregator:
        case "lnmax":
            return [LNMaxEvent(1 / noise, asked)]
        case "gnmax":
            return [GNMaxEvent(noise, asked, "discrete")]
        case _:
            return [ConfidentGNMaxEvent(float(threshold), ratio * noise, noise, asked, answers, "discrete")]
