"""Where noise comes from.

Counts get *exact* integer noise from OpenDP: discrete Laplace and discrete Gaussian, sampled with integer
arithmetic (thousands of Gaussian numbers at once come from `discrete_gaussian`, as exact); a choice by scores gets Gumbel noise whose digits are drawn until it is settled. That closes the attack of Mironov (CCS 2012): a floating-point Laplace or Gaussian sample misses some
values and favours others, so the low bits of a noisy count can tell two neighbouring datasets apart outright,
whatever epsilon was claimed.

Entropy is the operating system's, directly or through a cryptographic generator that it seeds, never a user's seed.
`UnsafeSeededNoise` exists for tests that must repeat; a certificate made with it says so, and `understudy verify` refuses
it.

Gradients get floating-point Gaussian noise (`gaussian`): there the attack needs the raw noisy sum, and the release
is what hundreds of optimiser steps made of it. Whoever releases a sum itself uses the exact mode of `ClippedSum`.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# pyright: reportPrivateImportUsage=false
import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from understudy.errors import InputError
from understudy.privacy import discrete_gaussian
from understudy.privacy.events import check_positive

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Shape = int | tuple[int, ...]

_LARGEST_SCALE = 2.0**50
# From so many draws on OpenDP's 15 microseconds each are what a fit waits for.
_MANY = 1 << 12
# Fewer draws than this are not worth a thread.
_PIECE = 1 << 13
_BELOW_ONE = 1 - 2.0**-53
_SEED_BYTES = 48


class NoiseSource(ABC):
    """What the mechanisms draw from. Its `add_*` are the only place where a private number becomes a noisy one."""

    def add_discrete_laplace(self, exact: Ints, scale: float) -> Ints:
        """Private whole numbers with exact Laplace noise."""
        return exact + self.discrete_laplace(scale, exact.shape)

    def add_discrete_gaussian(self, exact: Ints, sigma: float) -> Ints:
        """Private whole numbers with exact Gaussian noise."""
        return exact + self.discrete_gaussian(sigma, exact.shape)

    def add_gaussian(self, exact: Floats, sigma: float, *, scale_is_private: bool = False) -> Floats:
        """Private numbers with Gaussian noise. `scale_is_private`: smooth sensitivity, which only says so to audits."""
        del scale_is_private
        return exact + self.gaussian(sigma, exact.shape)

    def choose(self, scores: Ints, scale: float) -> int:
        """The place of the largest of private scores, after Gumbel noise: place i by exp(scores[i] / scale)."""
        return self.gumbel_argmax(scores, scale)

    @abstractmethod
    def gumbel_argmax(self, scores: Ints, scale: float) -> int: ...
    @abstractmethod
    def discrete_laplace(self, scale: float, shape: Shape) -> Ints: ...
    @abstractmethod
    def discrete_gaussian(self, sigma: float, shape: Shape) -> Ints: ...
    @abstractmethod
    def gaussian(self, sigma: float, shape: Shape) -> Floats: ...
    @abstractmethod
    def uniform(self, shape: Shape) -> Floats: ...

    def at(self, position: int) -> NoiseSource:
        """The source for the draw at `position` of a run: this one, unless the noise must repeat."""
        del position
        return self


class SystemNoise(NoiseSource):
    """Noise from the operating system's entropy: the only source that a guarantee rests on."""

    def discrete_laplace(self, scale: float, shape: Shape) -> Ints:
        """Pr[k] ~ exp(-|k| / scale), exactly."""
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        _check_scale(scale)
        return _draw(make_laplace(_whole_numbers(), l1_distance(T="f64"), scale=float(scale)), shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> Ints:
        """Pr[k] ~ exp(-k^2 / (2 sigma^2)), exactly."""
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance

        _check_scale(sigma)
        size = int(np.prod(shape))
        if size >= _MANY:
            return discrete_gaussian.draw(float(sigma), size, _random_bytes).reshape(shape)
        return _draw(make_gaussian(_whole_numbers(), l2_distance(T="f64"), scale=float(sigma)), shape)

    def gumbel_argmax(self, scores: Ints, scale: float) -> int:
        """Place i with a chance in proportion to exp(scores[i] / scale): each Gumbel sample is drawn as far as it takes to tell."""
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_noisy_max
        from opendp.measures import zero_concentrated_divergence
        from opendp.metrics import linf_distance
        from opendp.mod import enable_features

        _check_scale(scale)
        enable_features("contrib")
        domain, metric = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
        choose = make_noisy_max(domain, metric, zero_concentrated_divergence(), scale=float(scale))
        return int(choose(scores.tolist()))

    def gaussian(self, sigma: float, shape: Shape) -> Floats:
        """N(0, sigma^2) in floating point, by inversion of 53 random bits a number. For gradients; see the module."""
        check_positive("sigma", sigma)
        drawn = self.uniform(shape)
        special.ndtri(drawn, out=drawn)
        drawn *= sigma
        return drawn

    def uniform(self, shape: Shape) -> Floats:
        """Uniform in (0, 1), both ends excluded, from 53 random bits each."""
        size = int(np.prod(shape))
        drawn = (np.frombuffer(_random_bytes(8 * size), dtype=np.uint64) >> np.uint64(11)).astype(np.float64)
        drawn += 0.5
        drawn *= 2.0**-53
        # The largest of the 2^53 values rounds up to 1, where the inverse of a distribution is infinite.
        np.minimum(drawn, _BELOW_ONE, out=drawn)
        return drawn.reshape(shape)


class UnsafeSeededNoise(NoiseSource):
    """Repeatable noise for tests. Whoever knows the seed can subtract it: nothing made with it is private."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = np.random.default_rng(seed)

    def at(self, position: int) -> UnsafeSeededNoise:
        """The source for the draw at `position` of a run. It depends on nothing drawn before, so a resumed run repeats it."""
        noise = UnsafeSeededNoise(self._seed)
        noise._generator = np.random.default_rng([self._seed, position])
        return noise

    def discrete_laplace(self, scale: float, shape: Shape) -> Ints:
        _check_scale(scale)
        p = -np.expm1(-1 / scale)
        left, right = (self._generator.geometric(p, shape).astype(np.int64) for _ in range(2))
        return left - right

    def discrete_gaussian(self, sigma: float, shape: Shape) -> Ints:
        _check_scale(sigma)
        reach = int(np.ceil(12 * sigma)) + 1
        if reach > 10**7:
            return np.rint(sigma * self._generator.standard_normal(shape)).astype(np.int64)
        k = np.arange(-reach, reach + 1)
        weights = np.exp(-(k**2) / (2 * sigma**2))
        return self._generator.choice(k, size=shape, p=weights / weights.sum()).astype(np.int64)

    def gumbel_argmax(self, scores: Ints, scale: float) -> int:
        _check_scale(scale)
        return int(np.argmax(scores / scale + self._generator.gumbel(size=len(scores))))

    def gaussian(self, sigma: float, shape: Shape) -> Floats:
        check_positive("sigma", sigma)
        return sigma * self._generator.standard_normal(shape)

    def uniform(self, shape: Shape) -> Floats:
        return self._generator.random(shape)


def _random_bytes(count: int) -> bytes:
    """Bytes that nobody can foretell: OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A), given new entropy of
    the operating system before every draw.

    The system's own generator is the same construction on another cipher, ten times slower for millions of numbers. New
    entropy each time means that a copy of this process (a fork, a cloned machine) goes its own way at its next draw.
    """
    import ssl

    ssl.RAND_add(os.urandom(_SEED_BYTES), _SEED_BYTES)
    return ssl.RAND_bytes(count)


def _check_scale(scale: float) -> None:
    check_positive("scale", scale)
    if scale > _LARGEST_SCALE:
        raise InputError(
            f"a noise scale of {scale:.3g} would swamp any count; the budget is too small for this release."
        )


def _whole_numbers() -> Any:
    """OpenDP's vectors of whole numbers. Its prelude would bring in scikit-learn, half a second that no draw needs."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))


def _draw(measurement: Any, shape: Shape) -> Ints:
    """Noise added to zeros, about 15 microseconds each: many of them are shared out to the cores.

    Python's lock is free while OpenDP draws, and no two threads share a generator there.
    """
    size = int(np.prod(shape))
    if size == 0:
        return np.zeros(shape, dtype=np.int64)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parts = max(1, min(cores, size // _PIECE))

    def drawn(part: int) -> Ints:
        return np.asarray(measurement([0] * (size * (part + 1) // parts - size * part // parts)), dtype=np.int64)

    with ThreadPoolExecutor(parts) as pool:
        return np.concatenate(list(pool.map(drawn, range(parts)))).reshape(shape)
