"""A run that is repeated up to where it was killed: its noisy answers come from a log, and only new ones are drawn.

For methods without checkpoints. Everything private leaves through the `add_*` of the budget's noise, so a log of what they
gave back is a log of all that a run knows of its rows. A resumed run computes all again and is given the logged answers in
the place of new ones: nothing is drawn, or paid for, twice. What it computed from rows on the way to an answer that is
logged is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np

from understudy.learn.checkpoints import Log
from understudy.privacy import Budget
from understudy.privacy.noise import Floats, Ints, NoiseSource, Shape


class LoggedNoise(NoiseSource):
    """Noise whose noisy numbers are written to a log before anybody sees them, and come from it when they are there."""

    def __init__(self, source: NoiseSource, log: Log) -> None:
        self._source, self._log = source, log

    def add_discrete_laplace(self, exact: Ints, scale: float) -> Ints:
        return self._logged("laplace", exact, scale, lambda: self._source.add_discrete_laplace(exact, scale))

    def add_discrete_gaussian(self, exact: Ints, sigma: float) -> Ints:
        return self._logged("gaussian", exact, sigma, lambda: self._source.add_discrete_gaussian(exact, sigma))

    def add_gaussian(self, exact: Floats, sigma: float, *, scale_is_private: bool = False) -> Floats:
        # Its scale is not compared where it is private: the log is private too, but a name is shown in errors.
        stated = 0.0 if scale_is_private else sigma
        return self._logged(
            "continuous",
            exact,
            stated,
            lambda: self._source.add_gaussian(exact, sigma, scale_is_private=scale_is_private),
        )

    def choose(self, scores: Ints, scale: float) -> int:
        made = self._logged("choice", scores, scale, lambda: np.array([self._source.choose(scores, scale)]))
        return int(made[0])

    def gumbel_argmax(self, scores: Ints, scale: float) -> int:
        return self._source.gumbel_argmax(scores, scale)

    def discrete_laplace(self, scale: float, shape: Shape) -> Ints:
        return self._source.discrete_laplace(scale, shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> Ints:
        return self._source.discrete_gaussian(sigma, shape)

    def gaussian(self, sigma: float, shape: Shape) -> Floats:
        return self._source.gaussian(sigma, shape)

    def uniform(self, shape: Shape) -> Floats:
        return self._source.uniform(shape)

    def at(self, position: int) -> LoggedNoise:
        return LoggedNoise(self._source.at(position), self._log)

    def _logged(self, kind: str, exact: np.ndarray, scale: float, make: Callable[[], np.ndarray]) -> np.ndarray:
        name = f"{kind} noise of {scale!r} on {list(np.shape(exact))}"
        _, noisy, _ = self._log.draw(name, lambda: ({}, make()))
        return noisy.copy()


@contextmanager
def logged(budget: Budget, log: Log) -> Generator[None]:
    """A budget whose noisy answers go through a log for as long as the block lasts."""
    source = budget.replace_noise(lambda noise: LoggedNoise(noise, log))
    try:
        yield
    finally:
        budget.replace_noise(lambda _: source)
