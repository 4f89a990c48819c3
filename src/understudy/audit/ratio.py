"""The ratio of a transcript: how far a neighbour moves what goes into the gate, over what was charged. Never above 1.

Two neighbouring tables are run with the same answers (`replay`). Wherever noise is added, the exact numbers of the two
runs are compared in units of that noise. Gaussian noise: the squared shifts add up, and the events were charged for so
much (1 / multiplier², once for each release; twice the rho of what was chosen one after the other). A choice by scores counts as
a Gaussian shift of the same rho: the square of the range of all shifts over four. Laplace noise: the absolute shifts add up, and epsilon was charged for so
much. A sum that is larger than its charge is a sensitivity that somebody got wrong, found without any statistics.

Steps on a random batch are compared as if the row had been in every batch; what sampling gains is the accountant's.
Noise scaled by smooth sensitivity has no shift in fixed units and is left to the canaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.audit.listening import Exit
from understudy.audit.replay import Replay
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    SubsampledGaussianEvent,
    ZCDPEvent,
)

# DP-SGD adds clipped gradients in single precision: a batch of a few hundred is off by a few hundred-thousandths.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Ratio:
    """Private. Shifts and charges in the units of each kind of noise."""

    gaussian: float
    gaussian_charged: float
    laplace: float
    laplace_charged: float

    @property
    def worst(self) -> float:
        """The larger of the two ratios; infinite where something moved that nothing was charged for."""
        return max(_over(self.gaussian, self.gaussian_charged), _over(self.laplace, self.laplace_charged))

    @property
    def holds(self) -> bool:
        """Whether no shift is larger than its charge; the rounding of sums is not one."""
        return self.worst <= 1 + _ROUNDING


def _over(moved: float, charged: float) -> float:
    if moved == 0:
        return 0.0
    return moved / charged if charged > 0 else float("inf")


def ratio(run: Replay) -> Ratio:
    """The ratio of two runs on neighbours with the same answers."""
    gaussian, laplace = moved(run.here, run.there)
    return Ratio(gaussian, precision(run.events), laplace, pure(run.events))


def moved(here: Sequence[Exit], there: Sequence[Exit]) -> tuple[float, float]:
    """Private. The summed shifts of Gaussian (squared) and of Laplace (absolute) noise."""
    gaussian = laplace = 0.0
    for one, two in zip(here, there, strict=False):
        if one.exact is None or two.exact is None or one.scale_is_private:
            continue
        shift = (two.exact.astype(np.float64) - one.exact) / one.scale
        if one.kind == "choice":
            gaussian += float(np.ptp(shift)) ** 2 / 4  # twice rho, which is the square of the range over eight
            continue
        if one.kind == "discrete_laplace":
            laplace += float(np.abs(shift).sum())
        else:
            gaussian += float((shift**2).sum())
    return gaussian, laplace


def precision(events: Sequence[Event]) -> float:
    """What Gaussian events were charged for: the largest sum of squared shifts that they cover."""
    total = 0.0
    for event in events:
        match event:
            case GaussianEvent():
                total += event.count / event.noise_multiplier**2
            case GNMaxEvent():
                total += 2 * event.count / event.sigma**2
            case ConfidentGNMaxEvent():
                total += event.count / event.sigma_threshold**2 + 2 * event.answered / event.sigma**2
            case SubsampledGaussianEvent():
                total += event.steps / event.noise_multiplier**2
            case ZCDPEvent():
                total += 2 * event.rho
            case _:
                continue
    return total


def pure(events: Sequence[Event]) -> float:
    """What pure events were charged for."""
    total = 0.0
    for event in events:
        if isinstance(event, LaplaceEvent):
            total += event.epsilon * event.count
        elif isinstance(event, LNMaxEvent):
            total += 2 * event.gamma * event.count
    return total
