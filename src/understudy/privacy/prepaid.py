"""Many draws for one charge: the whole run is paid before its first draw, and the draw after the last is refused.

A generator asks for votes thousands of times. Charging each batch would compose all events each time; more to the
point, a run whose length is fixed beforehand should be charged for that length, so that nothing it does can change
what it cost. Everything else is as in `mechanisms`: what comes back is safe to publish, and nothing else comes back.
"""

from __future__ import annotations

# pyright: reportPrivateUsage=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.argmax import check_votes
from understudy.privacy.budget import Budget
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.events import DeltaEvent, Event, SubsampledGaussianEvent, check_count
from understudy.privacy.mechanisms import (
    NOT_ANSWERED,
    ConfidentGNMax,
    GaussianCounts,
    GNMax,
    LNMax,
    PoissonGaussianStep,
)
from understudy.privacy.noise import NoiseSource, SystemNoise
from understudy.privacy.pld import has_pld

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# The share of delta that padded Poisson batches may use up.
OVERFLOW_SHARE = 1e-3
# So many batches and noise vectors are drawn while the caller computes.
_AHEAD = 8

T = TypeVar("T")


class PrepaidAnswers:
    """At most `count` answers of a noisy argmax, charged to `budget` when this is made.

    Formal guarantee: that of the mechanism, composed `count` times. For Confident-GNMax `answers` of the `count`
    checks may go on to an answer and all of them are charged; once they are used up, rows that pass are not answered.
    """

    def __init__(
        self, mechanism: LNMax | GNMax | ConfidentGNMax, count: int, budget: Budget, *, answers: int | None = None
    ) -> None:
        check_count("count", count)
        self.mechanism = mechanism
        self.count = count
        self.answers = count if answers is None else min(answers, count)
        self.used = 0
        self.answered = 0
        self._budget = budget
        budget.charge(prepaid_event(mechanism, count, self.answers))

    def answer(self, votes: ArrayLike) -> Ints:
        """The noisy winner of each row of votes (`NOT_ANSWERED` where Confident-GNMax refuses). Safe to publish."""
        counts = check_votes(votes)
        self._take(len(counts), "answers")
        noise = self._budget.noise.at(self.used)
        if isinstance(self.mechanism, ConfidentGNMax):
            passed = self.mechanism._passing(counts, noise)[: self.answers - self.answered]
            labels = self.mechanism._label(counts, passed, noise)
        else:
            labels = self.mechanism._draw(counts, noise)
        self._note(labels)
        return labels

    def skip(self, labels: ArrayLike) -> None:
        """Count answers that an interrupted run has drawn and kept; they are not drawn again."""
        drawn = np.asarray(labels, dtype=np.int64)
        self._take(len(drawn), "answers")
        self._note(drawn)

    def _take(self, wanted: int, unit: str) -> None:
        if self.used + wanted > self.count:
            raise BudgetExceeded(
                requested=wanted, remaining=self.count - self.used, what=f"more of {self.mechanism}", unit=unit
            )

    def _note(self, labels: Ints) -> None:
        self.used += len(labels)
        self.answered += int(np.count_nonzero(labels != NOT_ANSWERED))


class PrepaidCounts:
    """One release of counts, charged to `budget` when this is made and drawn later, once.

    Formal guarantee: that of the mechanism. What is counted may depend on all that was released in between.
    """

    def __init__(self, mechanism: GaussianCounts, budget: Budget) -> None:
        self.mechanism = mechanism
        self.used = False
        self._budget = budget
        budget.charge(mechanism.event())

    def release(self, counts: ArrayLike) -> Ints:
        """The noisy counts, of the same shape. Safe to publish."""
        if self.used:
            raise BudgetExceeded(requested=1, remaining=0, what=f"more of {self.mechanism}", unit="releases")
        self.used = True
        return self.mechanism._draw(counts, self._budget.noise)


class PrepaidSteps:
    """At most `steps` steps of DP-SGD on a table of `rows`, charged to `budget` when this is made.

    Formal guarantee: that of `PoissonGaussianStep`, composed `steps` times. Batches are padded to a fixed number of
    `slots`; a batch that is larger loses its last rows. A run in which that happens never is the run that was accounted
    for, so its probability p, over all steps, costs delta (1 + e^epsilon) p, which is charged too.

    `ahead` batches and noise vectors are drawn by threads while the caller computes; each is used once. What they hold
    depends on no row, so when they are drawn says nothing either.
    """

    def __init__(
        self, mechanism: PoissonGaussianStep, steps: int, rows: int, slots: int, budget: Budget, *, ahead: int = 0
    ) -> None:
        check_count("steps", steps)
        check_count("rows", rows)
        check_count("slots", slots)
        self.mechanism = mechanism
        self.steps = steps
        self.rows = rows
        self.slots = slots
        self.used = 0
        self._budget = budget
        budget.charge(*step_events(mechanism, steps, rows, slots, budget.epsilon))
        # Noise that repeats, or that an audit listens to, is drawn when it is asked for.
        self._ahead = ahead if isinstance(budget.noise, SystemNoise) else 0
        self._threads = ThreadPoolExecutor(self._ahead) if self._ahead else None
        self._batches: deque[Future[Ints]] = deque()
        self._noises: deque[Future[Floats]] = deque()

    def batch(self) -> Ints:
        """Private. The positions of the next Poisson batch, at most `slots`."""
        if self._threads is None:
            return self._batch(self._budget.noise.at(2 * self.used))
        return self._early(self._batches, lambda: self._batch(self._budget.noise))

    def _batch(self, noise: NoiseSource) -> Ints:
        drawn = np.flatnonzero(noise.uniform(self.rows) < self.mechanism.sampling_rate)
        return drawn[: self.slots].astype(np.int64)

    def release(self, clipped_sum: ArrayLike, records: int) -> Floats:
        """The sum of the gradients of `records` rows, with noise. Safe to publish.

        The caller has clipped every record's gradient to the mechanism's `clip`; a sum that is longer than that allows
        is refused, unpaid noise or not.
        """
        total = np.asarray(clipped_sum, dtype=np.float64)
        if total.ndim != 1 or not np.all(np.isfinite(total)):
            raise InputError("the sum of gradients must be one vector of finite numbers.")
        if np.linalg.norm(total) > self.mechanism.clip * records:
            raise InputError(
                f"the sum of {records} gradients is longer than {records} times the clip {self.mechanism.clip}: "
                "they were not clipped."
            )
        self.skip()
        sigma = math.nextafter(self.mechanism.noise_multiplier * self.mechanism.clip, math.inf)
        if self._threads is None:
            return self._budget.noise.at(2 * self.used + 1).add_gaussian(total, sigma)
        noise = self._early(self._noises, lambda: self._budget.noise.gaussian(sigma, len(total)))
        if self.used == self.steps:
            self._threads.shutdown(wait=False, cancel_futures=True)
        return total + noise

    def _early(self, queue: deque[Future[T]], draw: Callable[[], T]) -> T:
        """The oldest draw of a queue, which is filled up first."""
        assert self._threads is not None
        while len(queue) <= self._ahead:
            queue.append(self._threads.submit(draw))
        return queue.popleft().result()

    def skip(self) -> None:
        """Count a step that an interrupted run has drawn and kept; it is not drawn again."""
        if self.used >= self.steps:
            raise BudgetExceeded(requested=1, remaining=0, what=f"one more of {self.mechanism}", unit="steps")
        self.used += 1


def prepaid_event(mechanism: LNMax | GNMax | ConfidentGNMax, count: int, answers: int) -> Event:
    """What `PrepaidAnswers` charges, for planning."""
    if isinstance(mechanism, ConfidentGNMax):
        return mechanism.event(count, answers)
    return mechanism.event(count)


def step_events(mechanism: PoissonGaussianStep, steps: int, rows: int, slots: int, epsilon: float) -> tuple[Event, ...]:
    """What `PrepaidSteps` charges, for planning."""
    run = SubsampledGaussianEvent(mechanism.noise_multiplier, mechanism.sampling_rate, steps)
    chance = (1 + math.exp(epsilon)) * steps * float(stats.binom.sf(slots, rows, mechanism.sampling_rate))
    if chance <= 0:
        return (run,)
    return run, DeltaEvent(min(chance, 0.999), f"a Poisson batch of more than {slots} rows loses some of them")


def pay_for_steps(
    steps: int, batch: int, clip: float, rows: int, budget: Budget, noise: float | None = None, *, ahead: int = _AHEAD
) -> PrepaidSteps:
    """Charge `steps` of DP-SGD on Poisson batches of `batch` rows, expected, out of `rows`.

    `noise` is the noise multiplier; None: the least that what is left of the budget allows.
    """
    if noise is None:
        # Releases of clipped sums have no known privacy loss distribution: there is nothing tighter to look for than Rényi.
        accounting = "tightest" if all(has_pld(event) for event in budget.events) else "rdp"
        noise = smallest_noise(
            lambda noise: events_with_steps(steps, batch, clip, rows, budget, noise),
            budget.epsilon,
            budget.delta,
            accounting=accounting,
            tolerance=1e-3,
        )
    slots = batch_slots(rows, batch / rows, steps, budget.epsilon, budget.delta)
    return PrepaidSteps(PoissonGaussianStep(clip, noise, batch / rows), steps, rows, slots, budget, ahead=ahead)


def events_with_steps(
    steps: int, batch: int, clip: float, rows: int, budget: Budget, noise: float
) -> tuple[Event, ...]:
    """What the budget would hold after `pay_for_steps`, for planning."""
    slots = batch_slots(rows, batch / rows, steps, budget.epsilon, budget.delta)
    step = PoissonGaussianStep(clip, noise, batch / rows)
    return (*budget.events, *step_events(step, steps, rows, slots, budget.epsilon))


def batch_slots(rows: int, sampling_rate: float, steps: int, epsilon: float, delta: float) -> int:
    """How many slots a padded Poisson batch needs for overflow to cost at most a thousandth of delta."""
    check_count("rows", rows)
    chance = OVERFLOW_SHARE * delta / ((1 + math.exp(epsilon)) * steps)
    return max(1, min(rows, int(stats.binom.isf(chance, rows, sampling_rate)) + 1))
