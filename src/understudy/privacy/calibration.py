"""From a budget to noise or a number of queries, and never over the budget: every search returns the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from understudy.errors import InputError
from understudy.privacy.accountant import compose
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LNMaxEvent,
    Noise,
    SubsampledGaussianEvent,
    check_count,
    check_delta,
    check_positive,
)
from understudy.privacy.rdp import DEFAULT_ORDERS

_LARGEST = 1e12
_MOST = 2**40
Accounting = Literal["tightest", "rdp"]


def smallest_noise(
    events: Callable[[float], Sequence[Event]],
    epsilon: float,
    delta: float,
    *,
    accounting: Accounting = "tightest",
    tolerance: float | None = None,
) -> float:
    """The smallest noise (to a relative `tolerance`, rounded up) at which `events(noise)` costs at most `epsilon`.

    The tolerance is 1e-4, or 1e-7 where only Rényi's way is asked for, which is quick.

    The Rényi answer comes first and is an upper end; the slower methods then only look below it.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta, zero_allowed=accounting == "tightest")

    def cost_rdp(noise: float) -> float:
        if delta <= 0:
            return cost(noise)
        return compose(events(noise), delta, orders=DEFAULT_ORDERS).epsilon

    def cost(noise: float) -> float:
        return compose(events(noise), delta, good_enough=epsilon).epsilon

    if accounting == "rdp":
        return _narrow(cost_rdp, epsilon, *_bracket(cost_rdp, epsilon), tolerance=tolerance or 1e-7)
    tolerance = tolerance or 1e-4
    try:
        high = _narrow(cost_rdp, epsilon, *_bracket(cost_rdp, epsilon), tolerance=tolerance)
    except InputError:  # what was spent before may fit by a tighter method alone
        return _narrow(cost, epsilon, *_bracket(cost, epsilon), tolerance=tolerance)
    guess = _below(lambda noise: _cost_continuous(events(noise), epsilon, delta), epsilon, high, tolerance)
    # Where the exact method is the slow one, the continuous answer is all but right: a few looks confirm it.
    low = guess * (1 - tolerance)
    for step in (1, 10, 100):
        candidate = guess * (1 + step * tolerance)
        if candidate >= high:
            break
        if cost(candidate) <= epsilon:
            return candidate
        low = candidate
    return high if cost_rdp(low) <= epsilon else _narrow(cost, epsilon, low, high, tolerance=10 * tolerance)


def _cost_continuous(events: Sequence[Event], epsilon: float, delta: float) -> float:
    """As if discrete noise were continuous: a guess that is quick to have, never an answer."""
    smooth = [
        replace(e, noise="continuous") if isinstance(e, GaussianEvent | GNMaxEvent | ConfidentGNMaxEvent) else e
        for e in events
    ]
    return compose(smooth, delta, good_enough=epsilon).epsilon


def _below(cost: Callable[[float], float], epsilon: float, high: float, tolerance: float) -> float:
    """The smallest noise that fits, from one that does."""
    low = high
    while cost(low) <= epsilon:
        high, low = low, low * 0.9
        if low < 1e-9:
            raise InputError("epsilon is so large that no noise is needed; there is nothing to calibrate.")
    return high if low == high else _narrow(cost, epsilon, low, high, tolerance=tolerance)


def _bracket(cost: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    high = 1.0
    while cost(high) > epsilon:
        high *= 2
        if high > _LARGEST:
            raise InputError(
                f"no amount of noise brings the cost down to epsilon {epsilon}: give a larger epsilon or delta."
            )
    low = high / 2
    while cost(low) <= epsilon:
        high, low = low, low / 2
        if low < 1e-9:
            raise InputError(
                f"`epsilon` (={epsilon}) is so large that no noise is needed; there is nothing to calibrate."
            )
    return low, high


def _narrow(cost: Callable[[float], float], epsilon: float, low: float, high: float, *, tolerance: float) -> float:
    """The smallest noise that costs at most `epsilon`, between one that costs more and one that does not.

    Epsilon is nearly a power of the noise, so a line through the logarithms says where to look: a few looks, each of which may
    take a second, instead of a dozen. A look is moved by a third of the tolerance, so that both ends close in; where two looks
    did not halve the interval, the third does.
    """

    def excess(noise: float) -> float:
        """At most 0 where it fits, and above where it does not, even by the last bit."""
        found = cost(noise)
        if found <= epsilon:
            return -math.inf if found <= 0 else min(math.log(found / epsilon), 0.0)
        return max(math.log(found / epsilon), 1e-300) if found < math.inf else math.inf

    over, under = excess(low), excess(high)
    nudge, width, looks = 1.0, high - low, 0
    while high - low > tolerance * high:
        share = over / (over - under) if math.isfinite(over - under) and over > under else 0.5
        middle = low * (high / low) ** share * (1 + nudge * tolerance / 3)
        if looks == 2 or not low < middle < high:
            middle, looks = (low + high) / 2, 0
        found = excess(middle)
        if found <= 0:
            high, under, nudge = middle, found, -1.0
        else:
            low, over, nudge = middle, found, 1.0
        if high - low <= width / 2:
            width, looks = high - low, 0
        else:
            looks += 1
    return high


def largest_count(events: Callable[[int], Sequence[Event]], epsilon: float, delta: float) -> int:
    """The largest number of queries or steps at which `events(count)` costs at most `epsilon`; 0 if even one is over.

    Past a thousand the search stops within two in a thousand, on the safe side.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta, zero_allowed=True)

    def fits(count: int) -> bool:
        return compose(events(count), delta, good_enough=epsilon).epsilon <= epsilon

    def fits_rdp(count: int) -> bool:
        return delta > 0 and compose(events(count), delta, orders=DEFAULT_ORDERS).epsilon <= epsilon

    low = 1  # the quick method first: the slow one then only looks above its answer
    while fits_rdp(low * 2):
        low *= 2
        if low > _MOST:
            raise InputError("the noise is so large that the number of queries is without limit for any purpose.")
    if not fits(low):
        return 0
    high = low + 1
    while fits(high):
        low, high = high, math.ceil(high * 1.5)
        if high > _MOST:
            raise InputError("the noise is so large that the number of queries is without limit for any purpose.")
    while high - low > max(1, low // 500):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def lnmax_gamma(epsilon: float, delta: float, queries: int) -> float:
    """The largest gamma (least noise) with which LNMax answers so many queries."""
    check_count("queries", queries)
    scale = smallest_noise(lambda noise: [LNMaxEvent(1 / noise, queries)], epsilon, delta)
    return math.nextafter(1 / scale, 0)


def gnmax_sigma(epsilon: float, delta: float, queries: int, *, noise: Noise = "discrete") -> float:
    """The smallest sigma with which GNMax answers so many queries."""
    check_count("queries", queries)
    return smallest_noise(lambda sigma: [GNMaxEvent(sigma, queries, noise)], epsilon, delta)


def gaussian_noise_multiplier(epsilon: float, delta: float, count: int = 1) -> float:
    """The smallest noise multiplier for so many Gaussian releases with floating-point noise."""
    check_count("count", count)
    return smallest_noise(lambda noise: [GaussianEvent(noise, count)], epsilon, delta, tolerance=1e-7)


def dpsgd_noise_multiplier(
    epsilon: float, delta: float, sampling_rate: float, steps: int, *, accounting: Accounting = "tightest"
) -> float:
    """The smallest noise multiplier for DP-SGD. Privacy loss distributions decide, unless `rdp` is asked for."""
    check_count("steps", steps)
    return smallest_noise(
        lambda noise: [SubsampledGaussianEvent(noise, sampling_rate, steps)], epsilon, delta, accounting=accounting
    )
