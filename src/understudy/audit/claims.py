"""What a run claimed, in the two currencies of an audit: epsilon at its delta, and mu of Gaussian differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from understudy.privacy import Budget
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
)

_TAIL = 7.0


@dataclass(frozen=True)
class Claim:
    """What the events of a run promise. `mu` is None where some event has no plain mu: a Poisson batch, a delta."""

    epsilon: float
    delta: float
    mu: float | None


def claim(budget: Budget) -> Claim:
    """The promise of what a budget was charged. Under a filter that is its limit."""
    epsilon = budget.epsilon if budget.filter_order is not None else budget.spent().epsilon
    return Claim(epsilon, budget.delta, claimed_mu(budget.events))


def claimed_mu(events: Sequence[Event]) -> float | None:
    """The mu that the events compose to: their squares add up (Dong, Roth and Su 2022, Corollary 2)."""
    squares = [_square(event) for event in events]
    return None if not squares or any(s is None for s in squares) else math.sqrt(sum(s or 0.0 for s in squares))


def _square(event: Event) -> float | None:
    match event:
        case GaussianEvent():
            whole = event.noise == "discrete" and event.integer_unit
            return event.count * (unit_mu(event.noise_multiplier) if whole else 1 / event.noise_multiplier) ** 2
        case GNMaxEvent():
            return 2 * event.count * _votes(event.sigma, event.noise) ** 2
        case ConfidentGNMaxEvent():
            checks = event.count * _votes(event.sigma_threshold, event.noise) ** 2
            return checks + 2 * event.answered * _votes(event.sigma, event.noise) ** 2
        case LaplaceEvent():
            return event.count * pure_mu(event.epsilon) ** 2
        case LNMaxEvent():
            return event.count * pure_mu(2 * event.gamma) ** 2
        case _:
            return None


def _votes(sigma: float, noise: str) -> float:
    return unit_mu(sigma) if noise == "discrete" else 1 / sigma


def unit_mu(sigma: float) -> float:
    """The mu of a whole number moved by one under discrete Gaussian noise: a little above 1 / sigma where sigma is small.

    Its trade-off curve has a corner for each whole threshold. Gaussian curves are convex, so one that lies below all
    corners lies below all of it.
    """
    reach = math.ceil(2 * _TAIL * sigma) + 2
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    above = np.cumsum((weights / weights.sum())[::-1])[::-1]  # Pr[noise >= k]
    # "There" is said at k or more: false alarms are Pr[noise >= k], misses Pr[noise + 1 < k] = Pr[noise >= 2 - k].
    places = np.flatnonzero((np.abs(k) <= _TAIL * sigma) & (np.abs(2 - k) <= _TAIL * sigma))
    alarms, misses = above[places], above[reach + 2 - k[places]]
    return max(1 / sigma, float(np.max(-special.ndtri(alarms) - special.ndtri(misses), initial=0.0)))


def pure_mu(epsilon: float) -> float:
    """The mu of randomised response, of which every pure mechanism is a post-processing."""
    return -2 * float(special.ndtri(special.expit(-epsilon)))
