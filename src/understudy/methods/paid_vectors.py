"""One vector release in every iteration, paid for as a whole before the first: the counterpart of `paid_votes`."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from understudy.errors import UnderstudyWarning
from understudy.learn.adversarial import Generator
from understudy.learn.discriminators import GRID
from understudy.methods.sizing import HOPELESS, Sizes, clearness
from understudy.methods.voting import at_least_one, noise_or_length
from understudy.privacy import Budget, Event, PrepaidVectors, VectorSum
from understudy.release.driver import Draw, Run
from understudy.release.generator import Learnt

HEARD = "more teachers are heard over more noise"


def unit_vectors(dimension: int) -> VectorSum:
    """Every teacher's vector at norm 1."""
    return VectorSum(1.0, dimension, 1.0, GRID, rounded=True)


def sign_vectors(dimension: int, keep: int) -> VectorSum:
    """Of every teacher's vector the signs of so many elements."""
    return VectorSum(math.sqrt(keep), dimension, 1.0)


@dataclass
class PaidVectors:
    """A run of vector releases that is paid for as a whole, one in each of `iterations`. Its state is how many were made."""

    paid: PrepaidVectors
    teachers: int

    @property
    def iterations(self) -> int:
        return self.paid.count

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def restore(self, state: np.ndarray) -> None:
        """Count what a checkpointed run has drawn."""
        self.paid.used = int(state[0])

    def finished(self, state: np.ndarray) -> bool:
        del state
        return False

    def ask(self, name: str, total: Any, draw: Draw) -> tuple[np.ndarray, np.ndarray]:
        """Touches private data: one sum through the gate. What comes back first is public: the noisy mean over teachers."""
        exact = np.asarray(total)
        noisy = draw(name, lambda: self.paid.release(exact, self.teachers), lambda _: self.paid.skip())
        return (noisy / self.teachers).astype(np.float32), np.array([self.paid.used], dtype=np.int64)

    def learnt(self, network: Generator, facts: dict[str, Any], state: np.ndarray, run: Run) -> Learnt:
        """What the run ends with."""
        del state, run
        noise = self.paid.mechanism.noise_multiplier
        return Learnt(network, facts | {"mode": "unconditional", "noise": noise, "iterations": self.iterations})


def plan_vectors(mechanism: VectorSum, budget: Budget, sizes: Sizes, noise: float | None) -> PaidVectors:
    """Fix noise and length and charge the run. `noise` is the noise multiplier."""
    teachers = sizes.teachers

    def cost(noise: float, length: int) -> list[Event]:
        return [*budget.events, replace(mechanism, noise_multiplier=noise).event(length)]

    noise, length = noise_or_length(cost, budget, noise, sizes.iterations, tolerance=1e-3)
    at_least_one(cost, budget, noise, length, HEARD)
    if clearness(teachers, mechanism.dimension, budget.epsilon, budget.delta) < HOPELESS:
        warnings.warn(
            f"the noise drowns what {teachers} teachers say about {mechanism.dimension} numbers at a time: the rows tell "
            "next to nothing, and the release will be little more than what it starts from. Use a larger epsilon, fewer "
            "columns (of images: frequencies), or `moments`.",
            UnderstudyWarning,
            stacklevel=6,
        )
    return PaidVectors(PrepaidVectors(replace(mechanism, noise_multiplier=noise), length, budget), teachers)
