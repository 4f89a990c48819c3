"""Canaries: many fits with and without one record, and what they prove about epsilon and mu.

Two attackers look on. Both know all other records, the settings and the method.

- *transcript* sees every noisy number of the gate, before any post-processing: nobody can see more. What went in is
  known to him in both worlds: a fit in one world is recorded, and its answers are told to a fit in the other
  (`listening`). The logarithm of the ratio of the two likelihoods of the noisy numbers, at their stated scales, is the
  best test there is (Neyman and Pearson). So noise that is less than stated, charges that were left out and wrong
  sensitivities all show as a bound above the claim. Where batches are drawn in secret he would see too much, and is
  left out.
- *release* sees what is published: rows that are drawn from it, its arrays, the facts of its certificate.

Everything here touches private data, and what it finds is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from understudy.audit.bounds import CONFIDENCE, Bound, lower_bounds
from understudy.audit.claims import Claim, claim
from understudy.audit.listening import Diverged, Exit, Recorder, Replayer
from understudy.audit.replay import Fit
from understudy.audit.statistics import side_by_side, statistics
from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Budget, Event, SubsampledGaussianEvent
from understudy.privacy.noise import NoiseSource, SystemNoise

Attacker = Literal["transcript", "release"]
ATTACKERS: tuple[Attacker, ...] = ("transcript", "release")
Tell = Callable[[int, int], None]

# The two worlds told apart for certain: larger than any ratio of likelihoods that occurs, and a number still.
_CERTAIN = 1e12


@dataclass(frozen=True)
class Attack:
    """Private. What one attacker proved, beside what was claimed."""

    attacker: Attacker
    bound: Bound
    claim: Claim
    scores: tuple[np.ndarray, np.ndarray] = field(default=(np.zeros(0), np.zeros(0)), repr=False, compare=False)
    """What the attacker computed in each run of both worlds."""

    @classmethod
    def of(cls, attacker: Attacker, claim: Claim, here: Any, there: Any, confidence: float) -> Attack:
        """From the scores of both worlds. Both bounds together hold at `confidence`."""
        one, two = np.asarray(here), np.asarray(there)
        middle = 0.0 if attacker == "transcript" else None
        bound = lower_bounds(one, two, claim.delta, 1 - (1 - confidence) / 2, middle=middle)
        return cls(attacker, replace(bound, confidence=confidence), claim, (one, two))

    def at(self, confidence: float) -> Attack:
        """The same attack judged at another confidence: a stricter one where many are judged together."""
        return Attack.of(self.attacker, self.claim, *self.scores, confidence)

    @property
    def holds(self) -> bool:
        within = self.claim.mu is None or self.bound.mu <= self.claim.mu
        return self.bound.epsilon <= self.claim.epsilon and within


def canaries(
    fit: Fit,
    here: Any,
    there: Any,
    epsilon: float,
    delta: float,
    fits: int,
    *,
    attackers: Sequence[Attacker] = ATTACKERS,
    see: Callable[[Any], Mapping[str, float]] = statistics,
    source: Callable[[], NoiseSource] = SystemNoise,
    confidence: float = CONFIDENCE,
    tell: Tell | None = None,
) -> list[Attack]:
    """Touches private data (`here`, with the record, and `there`, without): fit `fits` times in each, and attack.

    `fit` must make the same of the same answers: give it a `random_state`. `see` is what an attacker computes from a
    release. `source` is the noise under test; a planted fault goes there. A transcript with secret batches is left out.
    All bounds together hold at `confidence`: an honest method is accused once in twenty audits at 95 %.
    """
    if fits < 4:
        raise InputError(f"`fits` (={fits}) must be at least 4: half of them choose a threshold, half test it.")
    memory: dict[Any, Any] = {}
    worlds = (here, there)
    ratios: tuple[list[float], list[float]] = ([], [])
    seen: tuple[list[Mapping[str, float]], list[Mapping[str, float]]] = ([], [])
    claims: dict[tuple[Event, ...], Claim] = {}
    listening = "transcript" in attackers
    for number in range(2 * fits):
        side = number % 2
        run = _Run(epsilon, delta, memory)
        budget = run.budget(recorder := Recorder(source()))
        fitted = fit(worlds[side], budget)
        if budget.events not in claims:
            claims[budget.events] = claim(budget)
        if any(isinstance(event, SubsampledGaussianEvent) and event.sampling_rate < 1 for event in budget.events):
            listening = False
        if listening:
            ratios[side].append(_told(fit, worlds[1 - side], run, recorder.exits) * (-1 if side else 1))
        if "release" in attackers:
            seen[side].append(see(fitted))
        if tell is not None:
            tell(number + 1, 2 * fits)
    promised = max(claims.values(), key=lambda one: one.epsilon)
    found: dict[Attacker, tuple[Any, Any]] = {}
    if listening:
        found["transcript"] = ratios
    if "release" in attackers:
        found["release"] = side_by_side(*seen)
    each = 1 - (1 - confidence) / max(1, len(found))
    return [Attack.of(attacker, promised, here, there, each) for attacker, (here, there) in found.items()]


@dataclass
class _Run:
    """The budgets of many fits that charge the same: what costs the same is computed once."""

    epsilon: float
    delta: float
    memory: dict[Any, Any] = field(default_factory=dict)

    def budget(self, noise: NoiseSource) -> Budget:
        budget = _Remembering(self.epsilon, self.delta, self.memory)
        budget.noise = noise
        return budget


class _Remembering(Budget):
    def __init__(self, epsilon: float, delta: float, memory: dict[Any, Any]) -> None:
        super().__init__(epsilon, delta)
        self._memory = memory

    def _epsilon(self, events: Any, **how: Any) -> Any:
        key = (tuple(events), how.get("good_enough"), self.filter_order)
        if key not in self._memory:
            self._memory[key] = super()._epsilon(events, **how)
        return self._memory[key]


def _told(fit: Fit, other: Any, run: _Run, tape: list[Exit]) -> float:
    """Touches private data. How much likelier the answers on the tape are in their own world than in the `other`."""
    listener = Replayer(SystemNoise(), tape=tape)
    try:
        fit(other, run.budget(listener))
    except (Diverged, InputError, BudgetExceeded):
        return _CERTAIN  # these answers cannot come there: other questions are asked, or the table is refused
    return likelihood_ratio(tape, listener.exits) if len(listener.exits) == len(tape) else _CERTAIN


def likelihood_ratio(own: Sequence[Exit], other: Sequence[Exit]) -> float:
    """Private. log p(noisy | own exact numbers) - log p(noisy | other exact numbers), over all passages of the gate."""
    total = 0.0
    for one, two in zip(own, other, strict=True):
        if one.exact is None or two.exact is None:
            continue  # randomness alone, the same in both worlds
        total += _log_density(one, one.noisy) - _log_density(two, one.noisy)
    return float(np.clip(total, -_CERTAIN, _CERTAIN))


def _log_density(passage: Exit, noisy: np.ndarray) -> float:
    """Up to a constant of the scale, which cancels but where the scale itself is private."""
    assert passage.exact is not None
    if passage.kind == "choice":
        odds = passage.exact.astype(np.float64) / passage.scale
        return float(odds[int(noisy[0])] - np.logaddexp.reduce(odds))
    away = (noisy.astype(np.float64) - passage.exact) / passage.scale
    if passage.kind == "discrete_laplace":
        return -float(np.abs(away).sum())
    normaliser = noisy.size * math.log(passage.scale) if passage.scale_is_private else 0.0
    return -float((away**2).sum()) / 2 - normaliser
