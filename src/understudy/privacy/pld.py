"""Privacy loss distributions, by dp-accounting: tighter than Rényi, slower, so results are kept on disk.

The file cache holds public parameters and the epsilon they give. It is a hint for planning, never more: whoever can
write to it could write any epsilon. What a budget admits, what a certificate states and what `understudy verify` says
is computed in the process that says it (and remembered there, in memory).
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import contextlib
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    SubsampledGaussianEvent,
    to_json,
)

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Floats = NDArray[np.float64]

INTERVAL = 1e-4
# Tails that dp-accounting cuts off are far below this share of delta.
_TRUNCATION = 1e-9
# Together a few seconds and some hundred megabytes; a run of DP-SGD at noise 1 takes a tenth of either.
_MOST_SINGLE, _MOST_COMPOSED = 500_000, 6_000_000


def has_pld(event: Event) -> bool:
    """Whether the exact (or a dominating) privacy loss distribution of the event is known, and of a sane size."""
    match event:
        case LaplaceEvent(epsilon=epsilon):
            return epsilon <= 20
        case LNMaxEvent(gamma=gamma):
            return gamma <= 10
        case GaussianEvent(noise_multiplier=scale, noise=noise, integer_unit=unit):
            return _sane(scale) and (noise == "continuous" or unit)
        case GNMaxEvent(sigma=sigma):
            return _sane(sigma)
        case ConfidentGNMaxEvent(sigma=sigma, sigma_threshold=sigma_threshold):
            return _sane(sigma) and _sane(sigma_threshold)
        case SubsampledGaussianEvent(noise_multiplier=scale, noise=noise, steps=steps):
            return _sane(scale) and noise == "continuous" and steps <= 10**7
        case _:
            return False


def _sane(scale: float) -> bool:
    return 0.3 <= scale <= 2e4


def pld_epsilon(events: Sequence[Event], delta: float, *, cache: bool = True) -> float:
    """Epsilon of the composition of events that all have a privacy loss distribution.

    With `cache` it may come from the file cache, which decides nothing: `cache=False` computes it.
    """
    ordered = _ordered(events)
    key = _key(ordered, delta)
    if cache and (known := _read(key)) is not None:
        return known
    epsilon = _computed(ordered, delta)
    if cache and math.isfinite(epsilon):
        _write(key, epsilon)
    return epsilon


@lru_cache(maxsize=256)
def _computed(events: tuple[Event, ...], delta: float) -> float:
    total = composed(events)
    return math.inf if total is None else float(total.get_epsilon_for_delta(delta * (1 - _TRUNCATION)))


def composed(events: Sequence[Event]) -> PrivacyLossDistribution | None:
    """The privacy loss distribution of the composition, rounded pessimistically; None where it is too large."""
    return _composed(_ordered(events))


@lru_cache(maxsize=4)  # each may hold millions of numbers
def _composed(events: tuple[Event, ...]) -> PrivacyLossDistribution | None:
    total: PrivacyLossDistribution | None = None
    size = _Size()
    try:
        for event in events:
            size.single(_expected(event))
        for event in events:
            for part in _parts(event, size):
                if total is not None:
                    size.composed(_points(total) + _points(part))
                total = part if total is None else total.compose(part)
    except _TooLarge:
        return None
    assert total is not None
    return total


class _TooLarge(Exception):
    """The distribution would take longer to compute, or more memory, than anybody should have to grant a file."""


class _Size:
    """Counts the numbers that a composition makes. Seconds would differ between machines; what follows may not."""

    def __init__(self) -> None:
        self._single = self._composed = 0.0

    def single(self, points: float) -> None:
        """Numbers of single releases, each of which takes some microseconds."""
        self._single += points
        if self._single > _MOST_SINGLE:
            raise _TooLarge

    def composed(self, points: float) -> None:
        """Numbers of compositions, by Fourier transforms: a fraction of a microsecond and some hundred bytes."""
        self._composed += points
        if self._composed > _MOST_COMPOSED:
            raise _TooLarge


def _expected(event: Event) -> float:
    """About how many numbers a single release takes to make, known before any is made; small where it is not listed."""
    match event:
        case SubsampledGaussianEvent(noise_multiplier=scale):
            return (10 / scale + 0.5 / scale**2) / (2 * INTERVAL)
        case GaussianEvent(noise_multiplier=scale, noise="discrete") | GNMaxEvent(sigma=scale, noise="discrete"):
            return 4 * scale
        case ConfidentGNMaxEvent(sigma=sigma, sigma_threshold=sigma_threshold, noise="discrete"):
            return 4 * (sigma + sigma_threshold)
        case _:
            return 10.0


def _points(losses: PrivacyLossDistribution) -> int:
    return int(losses._pmf_remove.size)  # pyright: ignore[reportPrivateUsage]


def _repeated(one: PrivacyLossDistribution, count: int, size: _Size) -> PrivacyLossDistribution:
    """`one` composed with itself; how large that gets is known from the bounds that dp-accounting will cut it to."""
    from dp_accounting.pld.common import compute_self_convolve_bounds
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    if count == 1:
        return one
    if count < 1000 and count * math.log(_points(one) + 1) < 6:  # sparse there, and so small that it is made at once
        return one.self_compose(count)
    pair: Any = (one._pmf_remove, one._pmf_add)  # pyright: ignore[reportPrivateUsage]
    dense = [pmf.to_dense_pmf() for pmf in (pair if pair[0] is not pair[1] else pair[:1])]
    for pmf in dense:
        low, high = compute_self_convolve_bounds(pmf._probs, count, 1e-15)  # pyright: ignore[reportPrivateUsage]
        size.composed(high - low + 1)
    return PrivacyLossDistribution(*dense).self_compose(count)


def delta_curve(losses: PrivacyLossDistribution, epsilons: Floats) -> Floats:
    """delta at each of many epsilons, in the worse direction: what `get_delta_for_epsilon` says, in sums over arrays."""
    found = np.zeros_like(epsilons)
    for pmf in (losses._pmf_remove, losses._pmf_add):  # pyright: ignore[reportPrivateUsage]
        dense: Any = pmf.to_dense_pmf()
        at = (dense._lower_loss + np.arange(dense.size)) * dense._discretization
        first = np.searchsorted(at, epsilons, side="right")
        upper = np.append(np.cumsum(dense._probs[::-1])[::-1], 0.0)[first]
        with np.errstate(over="ignore", invalid="ignore"):
            lower = np.append(np.cumsum((dense._probs * np.exp(-at))[::-1])[::-1], 0.0)[first]
            here = dense._infinity_mass + upper - np.where(lower > 0, np.exp(epsilons) * lower, 0.0)
        found = np.maximum(found, np.where(np.isfinite(here), here, 1.0))
    return np.clip(found, 0.0, 1.0)


def _ordered(events: Sequence[Event]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda e: json.dumps(to_json(e), sort_keys=True)))


def _parts(event: Event, size: _Size) -> list[PrivacyLossDistribution]:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    def pure(epsilon: float, count: int) -> PrivacyLossDistribution:
        one = pld.from_privacy_parameters(DifferentialPrivacyParameters(epsilon, 0.0), INTERVAL)
        return _repeated(one, count, size)

    def gaussian(scale: float, count: int, noise: str) -> PrivacyLossDistribution:
        if noise == "continuous":  # count Gaussians are one with the noise divided by sqrt(count)
            return pld.from_gaussian_mechanism(scale / math.sqrt(count), value_discretization_interval=INTERVAL)
        one = pld.from_discrete_gaussian_mechanism(
            scale, sensitivity=1, value_discretization_interval=INTERVAL, use_connect_dots=True
        )
        return _repeated(one, count, size)

    match event:
        case LaplaceEvent(epsilon=epsilon, count=count):
            return [pure(epsilon, count)]
        case LNMaxEvent(gamma=gamma, count=count):
            return [pure(2 * gamma, count)]
        case GaussianEvent(noise_multiplier=scale, count=count, noise=noise):
            return [gaussian(scale, count, noise)]
        case GNMaxEvent(sigma=sigma, count=count, noise=noise):
            return [gaussian(sigma, 2 * count, noise)]  # two counts move by one each
        case ConfidentGNMaxEvent(sigma=sigma, sigma_threshold=sigma1, count=count, answered=answered, noise=noise):
            parts = [gaussian(sigma1, count, noise)]
            return [*parts, gaussian(sigma, 2 * answered, noise)] if answered else parts
        case SubsampledGaussianEvent(noise_multiplier=scale, sampling_rate=rate, steps=steps):
            one = pld.from_gaussian_mechanism(scale, sampling_prob=rate, value_discretization_interval=INTERVAL)
            return [_repeated(one, steps, size)]
        case _:
            raise AssertionError(f"no privacy loss distribution for {event}")


def _key(events: Sequence[Event], delta: float) -> str:
    body = {
        "events": [to_json(e) for e in events],
        "delta": delta,
        "interval": INTERVAL,
        "dp-accounting": version("dp-accounting"),
    }
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _folder() -> Path:
    if root := os.environ.get("UNDERSTUDY_CACHE"):
        return Path(root) / "pld"
    import platformdirs

    return Path(platformdirs.user_cache_dir("understudy")) / "pld"


def _read(key: str) -> float | None:
    try:
        value = json.loads((_folder() / f"{key}.json").read_text())["epsilon"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value >= 0 else None


def _write(key: str, epsilon: float) -> None:
    with contextlib.suppress(OSError):  # no cache is no harm
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w") as file:
            json.dump({"epsilon": epsilon}, file)
        Path(name).replace(folder / f"{key}.json")
