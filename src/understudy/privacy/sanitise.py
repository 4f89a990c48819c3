"""Publishing the data-dependent epsilon: noise scaled by its smooth sensitivity, paid for like everything else.

The unconditional epsilon stays the guarantee. This is the second figure, the one that papers report, in a form that
may be shown: an estimate, and an upper value that the true data-dependent cost passes with a stated small
probability only.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from understudy.errors import InputError
from understudy.privacy.accountant import delta_left, total_rdp, without
from understudy.privacy.argmax import check_votes
from understudy.privacy.budget import Budget
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    SmoothReleaseEvent,
    check_delta,
    check_positive,
)
from understudy.privacy.rdp import check_orders, gnmax_rdp, rdp_to_epsilon
from understudy.privacy.smooth import gnmax_cost, gnmax_local_sensitivity, require_conditions, smooth_sensitivity


@dataclass(frozen=True)
class Sanitised:
    """A data-dependent epsilon that may be published, at one Rényi order; all costs of publishing it are inside."""

    epsilon: float
    epsilon_upper: float
    delta: float
    order: float
    confidence: float

    def to_json(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "epsilon_upper": self.epsilon_upper,
            "delta": self.delta,
            "order": self.order,
            "confidence": self.confidence,
        }


@dataclass(frozen=True)
class SmoothRelease:
    """Releases the summed data-dependent cost of GNMax answers at one Rényi `order`.

    Formal guarantee: the cost gets Gaussian noise of `sigma` times its `beta`-smooth sensitivity (a
    SmoothReleaseEvent), and the logarithm of that sensitivity, which moves by at most `beta` between neighbours,
    gets Gaussian noise of `sigma_log` * beta (a GaussianEvent). The second is what lets an upper value be stated.
    All four numbers are public and chosen before the votes are seen.
    """

    order: float
    beta: float
    sigma: float
    sigma_log: float

    def __post_init__(self) -> None:
        check_orders([self.order])
        check_positive("sigma_log", self.sigma_log)
        event = SmoothReleaseEvent(self.beta, self.sigma)
        if not np.isfinite(total_rdp([event], [self.order])[0]):
            raise InputError(
                f"`beta` (={self.beta}) is too large for order {self.order}: at most "
                f"{-0.5 * math.log1p(-1 / self.order):.4g}, better a fifth of that."
            )

    @property
    def events(self) -> tuple[Event, Event]:
        return SmoothReleaseEvent(self.beta, self.sigma), GaussianEvent(self.sigma_log)

    def release(
        self,
        votes: ArrayLike,
        charged: GNMaxEvent | ConfidentGNMaxEvent,
        budget: Budget,
        *,
        confidence: float = 0.99,
    ) -> Sanitised:
        """The sanitised epsilon of everything `budget` holds, with the data-dependent cost of `votes`. Safe to publish.

        `charged` is what was charged for the answers to `votes` (the rows that were answered). All else that the
        budget holds, earlier charges too, counts unconditionally, and so do the threshold checks of Confident-GNMax:
        their published sensitivity is not rigorous. Answers that were charged and never drawn count nothing.
        """
        counts = check_votes(votes)
        check_delta(budget.delta)
        check_positive("confidence", confidence)
        if confidence >= 1:
            raise InputError(f"`confidence` (={confidence}) must be below 1.")
        answers = charged.answered if isinstance(charged, ConfidentGNMaxEvent) else charged.count
        if len(counts) > answers:
            raise InputError(f"{len(counts)} rows of votes, but {charged} paid for {answers} answers only.")
        require_conditions(charged.sigma, counts.shape[1], self.order)
        others = without(budget.events, charged)
        if isinstance(charged, ConfidentGNMaxEvent):
            others.append(replace(charged, answered=0))
        # What the others spend of delta outright is not there for the conversion.
        left = delta_left(others, budget.delta)
        budget.charge(*self.events)
        cost = gnmax_cost(counts, charged.sigma, self.order, noise="discrete")
        local = gnmax_local_sensitivity(counts, charged.sigma, self.order, noise="discrete")
        # The larger of a smooth bound and a constant is smooth too; noise of a size that no float holds is never asked for.
        smooth = max(smooth_sensitivity(local, self.beta), 1e-100)
        spread = smooth * self.sigma
        noisy = float(budget.noise.add_gaussian(np.array([cost]), spread, scale_is_private=True)[0])
        log_smooth = float(budget.noise.add_gaussian(np.array([math.log(smooth)]), self.beta * self.sigma_log)[0])
        # Each of the two noises gets half of the chance of being wrong.
        z = float(special.ndtri(1 - (1 - confidence) / 2))
        upper = noisy + z * self.sigma * math.exp(log_smooth + z * self.beta * self.sigma_log)
        most = len(counts) * float(gnmax_rdp(charged.sigma, [self.order])[0])
        fixed = float(total_rdp([*others, *self.events], [self.order])[0])

        def epsilon(value: float) -> float:
            clamped = min(max(value, 0.0), most)
            return round(rdp_to_epsilon([self.order], [clamped + fixed], left)[0], 6)

        return Sanitised(epsilon(noisy), epsilon(upper), budget.delta, self.order, confidence)
