"""What a run claimed, in the two currencies of an audit: epsilon at its delta, and mu of Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.privacy import Budget
from understudy.privacy.tradeoff import trade_off


@dataclass(frozen=True)
class Claim:
    """What the events of a run promise. `mu` is None where no mu covers them."""

    epsilon: float
    delta: float
    mu: float | None


def claim(budget: Budget) -> Claim:
    """The promise of what a budget was charged. Under a filter that is its limit."""
    if budget.filter_order is not None:
        return Claim(budget.epsilon, budget.delta, None)
    if not budget.events:
        return Claim(0.0, budget.delta, 0.0)
    gaussian = trade_off(budget.events).gaussian_dp()
    mu = None if gaussian is None or gaussian.delta > budget.delta else gaussian.mu
    return Claim(budget.spent().epsilon, budget.delta, mu)
