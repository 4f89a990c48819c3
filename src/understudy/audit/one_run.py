"""Auditing in one run (Steinke, Nasr and Jagielski, NeurIPS 2023): many canaries in one fit, each there by a coin's toss.

The attacker guesses from the release which of m canaries were there, and may keep silent. If the method is
(epsilon, delta)-private, no guesser is right much more often than a coin that falls right with probability
e^epsilon / (1 + e^epsilon): too many right guesses prove a larger epsilon. One fit is enough, so this is for methods
whose fit takes long. It is weaker than many fits with one canary each: m canaries share what one release can say.

`jax_privacy.auditing` has this bound, too. It is not used here because it guesses only who was there, never who was
not, which halves the guesses; and because it would bring pydantic, chex and absl for twenty lines of arithmetic. The
tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from understudy.audit.bounds import CONFIDENCE
from understudy.audit.claims import Claim, claim
from understudy.audit.replay import Fit
from understudy.errors import InputError
from understudy.privacy import Budget

# How many of the canaries are guessed, half of them as there, half as not there; fixed before any run.
SHARES = (1.0, 0.5, 0.2, 0.1)


@dataclass(frozen=True)
class OneRun:
    """Private. How many of `guesses` were `right`, and the epsilon that this proves."""

    canaries: int
    guesses: int
    right: int
    epsilon: float
    confidence: float


def one_run(
    fit: Fit,
    world: Callable[[np.ndarray], Any],
    score: Callable[[Any], np.ndarray],
    canaries: int,
    epsilon: float,
    delta: float,
    *,
    confidence: float = CONFIDENCE,
) -> tuple[OneRun, Claim]:
    """Touches private data: one fit on `world(present)`, whose canaries `score(fitted)` then guesses, high for "there"."""
    import secrets

    present = np.array([secrets.randbelow(2) == 1 for _ in range(canaries)])
    budget = Budget(epsilon, delta)
    fitted = fit(world(present), budget)
    return guessed(score(fitted), present, delta, confidence=confidence), claim(budget)


def guessed(
    scores: Sequence[float] | np.ndarray, present: np.ndarray, delta: float, *, confidence: float = CONFIDENCE
) -> OneRun:
    """What guesses by score prove: the highest are said to be there, the lowest not to be, the rest is left open.

    Several numbers of guesses are tried, each at its part of what may go wrong (Bonferroni).
    """
    ranked = np.asarray(present, dtype=bool)[np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")]
    m = len(ranked)
    if len(np.asarray(scores)) != m or m < 2:
        raise InputError(f"{len(np.asarray(scores))} scores for {m} canaries: one each, and at least two.")
    found: list[OneRun] = []
    sizes = sorted({max(1, int(m * share / 2)) for share in SHARES})
    for half in sizes:
        right = int(ranked[-half:].sum() + (~ranked[:half]).sum())
        bound = one_run_bound(right, 2 * half, m, delta, 1 - (1 - confidence) / len(sizes))
        found.append(OneRun(m, 2 * half, right, bound, confidence))
    return max(found, key=lambda run: (run.epsilon, run.right / run.guesses))


def one_run_bound(right: int, guesses: int, canaries: int, delta: float, confidence: float = CONFIDENCE) -> float:
    """The largest epsilon at which so many right guesses would come with probability below 1 - confidence."""
    if not 0 <= right <= guesses <= canaries:
        raise InputError(f"{right} right of {guesses} guesses about {canaries} canaries cannot be.")

    def above(epsilon: float) -> float:
        return chance(right, guesses, canaries, epsilon, delta) - (1 - confidence)

    if above(0.0) >= 0:
        return 0.0
    high = 1.0
    while above(high) < 0:
        high *= 2
        if high > 64:  # all guesses right, and many: no bound of this size means anything
            return high
    return float(optimize.brentq(above, 0.0, high, xtol=1e-9))  # pyright: ignore[reportArgumentType]


def chance(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most so likely are `right` or more right guesses under (epsilon, delta) (Steinke et al., Theorem 5.2).

    With W binomial: Pr[W >= right] + 2 m delta max_i Pr[right > W >= right - i] / i.
    """
    coin = float(special.expit(epsilon))
    pure = float(stats.binom.sf(right - 1, guesses, coin))
    steps = np.arange(1, right + 1)
    missed = stats.binom.sf(right - steps - 1, guesses, coin) - pure
    return min(1.0, pure + 2 * canaries * delta * float(np.max(missed / steps, initial=0.0)))
