"""Noise that repeats: what a test says of how good a release is comes out alike on every machine and every run.

A test among thousands that fails by chance once in ten thousand runs fails some run a week. So where tests are not about noise
themselves, `SystemNoise` draws from a seed that the test's name gives; the distributions are the true ones. Tests of the gate, audits
and faults draw the operating system's noise, and so does every process that a test starts. `pytest --explore` lets all tests.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.privacy import discrete_gaussian
from understudy.privacy.noise import Floats, Ints, Shape, SystemNoise

_TRUE = {
    name: getattr(SystemNoise, name) for name in ("discrete_laplace", "discrete_gaussian", "gumbel_argmax", "uniform")
}


class _Repeatable:
    """What stands for the methods of `SystemNoise`. Draws of a kind and a size have a stream of their own, whoever else draws."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._drawn: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _generator(self, *kind: object) -> np.random.Generator:
        key = repr((self._name, *kind))
        with self._lock:
            self._drawn[key] += 1
            number = self._drawn[key]
        return np.random.default_rng([zlib.crc32(key.encode()), number])

    def discrete_laplace(self, scale: float, shape: Shape) -> Ints:
        if np.prod(shape) == 0 or not 0 < scale <= 2.0**50:
            return _TRUE["discrete_laplace"](SystemNoise(), scale, shape)
        p = -math.expm1(-1 / scale)
        left, right = self._generator("laplace", scale, shape).geometric(p, (2, int(np.prod(shape))))
        return (left - right).astype(np.int64).reshape(shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> Ints:
        if np.prod(shape) == 0 or not 0 < sigma <= 2.0**50:
            return _TRUE["discrete_gaussian"](SystemNoise(), sigma, shape)
        generator = self._generator("gaussian", sigma, shape)
        return discrete_gaussian.draw(float(sigma), int(np.prod(shape)), generator.bytes).reshape(shape)

    def gumbel_argmax(self, scores: Ints, scale: float) -> int:
        generator = self._generator("gumbel", scale, len(scores))
        return int(np.argmax(np.asarray(scores) / scale + generator.gumbel(size=len(scores))))

    def uniform(self, shape: Shape) -> Floats:
        return np.minimum(self._generator("uniform", shape).random(shape) + 2.0**-54, 1 - 2.0**-53)


def draw_as(name: str | None) -> dict[str, Callable[..., Any]]:
    """From now on this process draws what `name` gives; without one, the operating system's noise. Returns what `restore` takes."""
    before = {method: getattr(SystemNoise, method) for method in _TRUE}
    stand_in = None if name is None else _Repeatable(name)
    for method, true in _TRUE.items():
        setattr(SystemNoise, method, true if stand_in is None else getattr(stand_in, method))
    return before


def restore(before: dict[str, Callable[..., Any]]) -> None:
    """Draw as it was before `draw_as`."""
    for method, drawn in before.items():
        setattr(SystemNoise, method, drawn)
