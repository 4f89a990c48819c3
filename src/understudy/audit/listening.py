"""Sources of noise that listen at the gate. Private: what they hear are the exact numbers.

All noise is added by a `NoiseSource`, and a budget holds the one that is used. An audit puts its own source in there:
nothing in the gate knows of audits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from understudy.privacy.noise import NoiseSource, Shape

Kind = Literal["discrete_laplace", "discrete_gaussian", "gaussian", "uniform", "choice"]


class Wrapped(NoiseSource):
    """A source in front of another; `draw` may be overridden to tamper with what is drawn."""

    def __init__(self, source: NoiseSource) -> None:
        self.source = source

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        return getattr(self.source, kind)(scale, shape)

    def gumbel_argmax(self, scores: np.ndarray, scale: float) -> int:
        return self.source.gumbel_argmax(scores, scale)

    def discrete_laplace(self, scale: float, shape: Shape) -> Any:
        return self.draw("discrete_laplace", scale, shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> Any:
        return self.draw("discrete_gaussian", sigma, shape)

    def gaussian(self, sigma: float, shape: Shape) -> Any:
        return self.draw("gaussian", sigma, shape)

    def uniform(self, shape: Shape) -> Any:
        return self.source.uniform(shape)


@dataclass(frozen=True)
class Exit:
    """One passage through the gate: what went in (None: randomness alone), its noise, and what came out."""

    kind: Kind
    exact: np.ndarray | None
    scale: float
    noisy: np.ndarray
    scale_is_private: bool = False


@dataclass
class Recorder(Wrapped):
    """Writes down every passage."""

    source: NoiseSource
    exits: list[Exit] = field(default_factory=list)

    def passage(self, kind: Kind, exact: np.ndarray, scale: float, *, scale_is_private: bool = False) -> Any:
        noisy = exact + self.draw(kind, scale, exact.shape)
        self.exits.append(Exit(kind, np.array(exact), float(scale), np.array(noisy), scale_is_private))
        return noisy

    def add_discrete_laplace(self, exact: np.ndarray, scale: float) -> Any:
        return self.passage("discrete_laplace", exact, scale)

    def add_discrete_gaussian(self, exact: np.ndarray, sigma: float) -> Any:
        return self.passage("discrete_gaussian", exact, sigma)

    def add_gaussian(self, exact: np.ndarray, sigma: float, *, scale_is_private: bool = False) -> Any:
        return self.passage("gaussian", exact, sigma, scale_is_private=scale_is_private)

    def choose(self, scores: np.ndarray, scale: float) -> int:
        chosen = self.gumbel_argmax(scores, scale)
        self.exits.append(Exit("choice", np.array(scores), float(scale), np.array([chosen])))
        return chosen

    def uniform(self, shape: Shape) -> Any:
        drawn = self.source.uniform(shape)
        self.exits.append(Exit("uniform", None, 1.0, np.array(drawn)))
        return drawn


class Diverged(Exception):
    """A run on other rows asked the gate for something else, although it had been told the same answers."""


@dataclass
class Replayer(Recorder):
    """Answers as a recorded run was answered, whatever goes in, and writes down what did."""

    tape: list[Exit] = field(default_factory=list)

    def _next(self, kind: Kind, shape: Any, scale: float | None) -> Exit:
        number = len(self.exits)
        if number >= len(self.tape):
            raise Diverged(f"the gate is asked {number + 1} times or more; on the first table it was {number} times")
        said = self.tape[number]
        if said.kind != kind or said.noisy.shape != shape or (scale is not None and scale != said.scale):
            raise Diverged(
                f"passage {number + 1} is {kind} of {shape} at scale {scale}; on the first table it was {said.kind} of "
                f"{said.noisy.shape} at scale {said.scale}"
            )
        return said

    def passage(self, kind: Kind, exact: np.ndarray, scale: float, *, scale_is_private: bool = False) -> Any:
        said = self._next(kind, exact.shape, None if scale_is_private else float(scale))
        self.exits.append(Exit(kind, np.array(exact), float(scale), said.noisy, scale_is_private))
        return said.noisy.copy()

    def choose(self, scores: np.ndarray, scale: float) -> int:
        said = self._next("choice", (1,), float(scale))
        if said.exact is None or said.exact.shape != scores.shape:
            raise Diverged(
                f"passage {len(self.exits) + 1} is a choice between other candidates than on the first table"
            )
        self.exits.append(Exit("choice", np.array(scores), float(scale), said.noisy))
        return int(said.noisy[0])

    def uniform(self, shape: Shape) -> Any:
        said = self._next("uniform", np.empty(shape).shape, None)
        self.exits.append(said)
        return said.noisy.copy()
