"""From events to the trade-off curve: how often the best test finds a record, for each share of false alarms.

An attacker tests "this record took part" against "it was blank". The events say more about that test than the one
pair (epsilon, delta) does: every pair (epsilon', delta(epsilon')) that they fulfil is a line that no test crosses, and so
is every Rényi cost. A curve here is the lowest of all those lines (Dong, Roth and Su 2022, Proposition 2.12): never below
what the best test can do. Which lines there are:

- Gaussian noise: all of it composes to one Gaussian mechanism, whose line is known for every epsilon.
- Discrete Gaussian noise where one record moves single integer cells by one, votes, Laplace noise and DP-SGD: privacy
  loss distributions, by dp-accounting, rounded pessimistically.
- Any other discrete Gaussian noise: that of the continuous one, and `discrete_excess` on top.
- Whatever is left is known by its Rényi cost alone. A test is an outcome with two values, so the Rényi divergence of
  those two chances is at most the cost, at every order and in both directions.

All bounds are for both directions (blank against real, real against blank), so curves are their own mirror images.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from understudy.errors import InputError
from understudy.privacy.accountant import merge, total_rdp
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    NonPrivateEvent,
)
from understudy.privacy.pld import composed, delta_curve, has_pld
from understudy.privacy.rdp import DEFAULT_ORDERS, rdp_to_epsilon

Floats = NDArray[np.float64]

# What a (mu, delta) of Gaussian differential privacy leaves to delta: tests that find less than this.
TAIL = 1e-12
_ORDERS = (
    1.01,
    1.03,
    *DEFAULT_ORDERS[:29:2],
    *DEFAULT_ORDERS[29:61:4],
    *DEFAULT_ORDERS[61:113:6],
    *DEFAULT_ORDERS[113::8],
)
_CONVOLUTION = 1e-13  # what rounding in the convolutions of privacy loss distributions may hide of delta
_LINES = 1200
_POINTS, _MOST_POINTS, _CLOSE = 64, 512, 5e-4
_FARTHEST = 37.0  # standard deviations: a float holds no smaller share of false alarms
_PLD_CEILING, _MOST_EXACT = 40.0, 8  # beyond these a privacy loss distribution takes long and gains little
_LEAST_NOISE, _MOST_NOISE = 0.3, 2e4


@dataclass(frozen=True)
class GaussianDP:
    """(mu, delta): no test does better than one of N(0, 1) against N(mu, 1), but for finding `delta` more."""

    mu: float
    delta: float

    def found(self, false_alarms: float) -> float:
        """The largest share of members that a test with this share of false alarms can find."""
        return min(1.0, float(special.ndtr(special.ndtri(false_alarms) + self.mu)) + self.delta)


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A curve that no test crosses. `mu` is known where the events are one Gaussian mechanism exactly.

    Each pair of `epsilons` and `deltas` is a line, each pair of `orders` and `rdp` a bound of its own; `outright` is
    what the events spend of delta without any epsilon.
    """

    epsilons: Floats
    deltas: Floats
    orders: Floats
    rdp: Floats
    outright: float = 0.0
    mu: float | None = None

    def found(self, false_alarms: float) -> float:
        """The largest share of members that a test with this share of false alarms can find."""
        if not 0 <= false_alarms <= 1:
            raise InputError(f"`false_alarms` (={false_alarms}) is a share: between 0 and 1.")
        return float(self._found(np.array([false_alarms], dtype=np.float64), self.outright)[0])

    def missed(self, false_alarms: float) -> float:
        """The trade-off function: the least share of members that a test with this share of false alarms misses."""
        return 1 - self.found(false_alarms)

    def corner(self) -> tuple[float, float]:
        """(false alarms, found) of the test that is right most often: as many false alarms as members missed."""
        alarms = self._corner(self.outright)[0]
        return alarms, 1 - alarms

    def best_guess(self) -> float:
        """How often the best attacker is right about a record that took part with a chance of one half."""
        return self.corner()[1]

    def gaussian_dp(self) -> GaussianDP | None:
        """The least mu (all but exactly) whose curve lies above this one, and the delta that no mu covers.

        The chance of finding somebody is a concave function of the false alarms. From one point of a fine grid to the
        next it is therefore at most what the last two points say, continued; and since a Gaussian's is concave too, it
        is enough to be below it there. None where no mu of any use covers the curve.
        """
        return self._gaussian_dp

    @cached_property
    def _gaussian_dp(self) -> GaussianDP | None:
        if self.outright + TAIL >= 1:
            return None
        if self.mu is not None:
            return GaussianDP(self.mu, self.outright)
        far = np.arange(4.0, _FARTHEST)
        small = np.flatnonzero(self._found(special.ndtr(-far), 0.0) <= TAIL)
        if not len(small):
            return None
        first, last = float(far[small[0]]), -float(special.ndtri(self._corner(0.0)[1]))
        t = np.concatenate([[first + 1], np.linspace(first, last, _POINTS)])
        found = self._found(special.ndtr(-t), 0.0)
        while True:
            alarms = special.ndtr(-t)
            slope = np.diff(found) / np.diff(alarms)
            reached = np.minimum((found[1:-1] + slope[:-1] * np.diff(alarms)[1:]) * (1 + 1e-9), 1.0)
            wanted = special.ndtri(np.maximum(reached - TAIL, 0.0)) + t[2:]
            least = float(np.max(special.ndtri(np.maximum(found - TAIL, 0.0)) + t))
            rough = np.flatnonzero(wanted > least * (1 + _CLOSE)) + 1
            if not len(rough) or len(t) > _MOST_POINTS:
                break
            between = (t[rough, None] + (t[rough + 1] - t[rough])[:, None] * np.array([0.25, 0.5, 0.75])).ravel()
            t = np.concatenate([t, between])
            found = np.concatenate([found, self._found(special.ndtr(-between), 0.0)])
            order = np.argsort(-t)
            t, found = t[order], found[order]
        mu = max(least, float(np.max(wanted)))
        return GaussianDP(mu * (1 + 1e-9), self.outright + TAIL) if math.isfinite(mu) else None

    def _corner(self, outright: float) -> tuple[float, float]:
        """Two shares of false alarms, one to each side of the bend and all but equal."""
        low, high = 0.0, 0.5
        for _ in range(4):  # many points at once cost little more than one
            alarms = np.linspace(low, high, 65)
            inside = int(np.count_nonzero(self._found(alarms, outright) + alarms < 1))
            low, high = float(alarms[max(inside - 1, 0)]), float(alarms[min(inside, 64)])
        return low, high

    def _found(self, alarms: Floats, outright: float) -> Floats:
        reached = np.ones_like(alarms)
        deltas = np.minimum(self.deltas + outright, 1.0)
        grown = np.exp(self.epsilons)
        for block in np.array_split(np.arange(len(alarms)), max(1, len(alarms) // 64)):
            a = alarms[block, None]
            lines = np.minimum(deltas + grown * a, 1 - (1 - deltas - a) / grown)
            reached[block] = np.min(lines, axis=1, initial=1.0)
        if len(self.orders):
            reached = np.minimum(reached, _found_by_rdp(alarms, self.orders, self.rdp) + outright)
        return np.clip(reached, alarms, 1.0)


def trade_off(events: Sequence[Event], *promises: tuple[float, float]) -> TradeOff:
    """The curve of all events together. Pairs (epsilon, delta) that are known to hold for them are taken along."""
    return _trade_off(tuple(merge(events)), promises)


@lru_cache(maxsize=64)
def _trade_off(events: tuple[Event, ...], promises: tuple[tuple[float, float], ...]) -> TradeOff:
    nothing = np.zeros(0)
    if any(isinstance(e, NonPrivateEvent) for e in events):
        return TradeOff(nothing, nothing, nothing, nothing)
    outright = math.fsum(e.delta for e in events if isinstance(e, DeltaEvent))
    costly = tuple(e for e in events if not isinstance(e, DeltaEvent))
    if not costly:
        return TradeOff(nothing, nothing, np.array([2.0]), np.zeros(1), outright, 0.0)
    epsilons, deltas, mu = _profile(costly)
    for epsilon, delta in promises:
        if math.isfinite(epsilon) and delta >= outright:
            epsilons, deltas = np.append(epsilons, epsilon), np.append(deltas, delta - outright)
    usable = epsilons <= 600  # past this e^epsilon is no float
    orders = np.asarray(_ORDERS, dtype=np.float64)
    rdp = total_rdp(costly, orders) if mu is None else np.full_like(orders, math.inf)
    finite = np.isfinite(rdp)
    return TradeOff(epsilons[usable], deltas[usable], orders[finite], rdp[finite], outright, mu)


def _profile(events: Sequence[Event]) -> tuple[Floats, Floats, float | None]:
    """Pairs (epsilon, delta) that the events fulfil, as many as are worth having; mu where they are one Gaussian."""
    covered = [(event, _gaussian(event)) for event in events]
    # The more noise, the less there is to gain from a distribution of its own.
    covered.sort(key=lambda one: -one[1][0] if one[1] else -math.inf)
    precision, excess, exact = 0.0, 0.0, list[Event]()
    for event, smooth in covered:
        if has_pld(event) and (smooth is None or (smooth[1] > 0 and len(exact) < _MOST_EXACT)):
            exact.append(event)
        elif smooth is not None:
            precision, excess = precision + smooth[0], excess + smooth[1]
        else:
            return np.zeros(0), np.zeros(0), None
    mu = math.sqrt(precision)
    if not exact:
        if not math.isfinite(mu):
            return np.zeros(0), np.zeros(0), None
        epsilons = np.linspace(0, mu**2 / 2 + 9 * mu, _LINES)
        return epsilons, gaussian_delta(epsilons, mu) + excess, mu if excess == 0 else None
    if mu > 1 / _LEAST_NOISE:
        return np.zeros(0), np.zeros(0), None
    if mu:
        exact.append(GaussianEvent(min(1 / mu, _MOST_NOISE)))
    farthest = rdp_to_epsilon(DEFAULT_ORDERS, total_rdp(exact, DEFAULT_ORDERS), TAIL / 100)[0]
    if farthest > _PLD_CEILING:
        return np.zeros(0), np.zeros(0), None
    losses = composed(exact)
    if losses is None:
        return np.zeros(0), np.zeros(0), None
    epsilons = np.linspace(0, farthest, _LINES)
    return epsilons, delta_curve(losses, epsilons) + excess + _CONVOLUTION, None


def _gaussian(event: Event) -> tuple[float, float] | None:
    """(1 / sigma^2, excess) of the Gaussian mechanism that covers the event, `excess` aside; None where there is none."""
    match event:
        case GaussianEvent():
            parts = [(event.noise_multiplier, event.count)]
        case GNMaxEvent():
            parts = [(event.sigma, 2 * event.count)]  # two counts move by one each
        case ConfidentGNMaxEvent():
            parts = [(event.sigma_threshold, event.count), (event.sigma, 2 * event.answered)]
        case _:
            return None
    precision = math.fsum(count / scale**2 for scale, count in parts)
    if event.noise == "continuous":
        return precision, 0.0
    if min(scale for scale, _ in parts) < _LEAST_NOISE:
        return None
    return precision, math.fsum(count * discrete_excess(scale) for scale, count in parts)


def discrete_excess(noise_multiplier: float) -> float:
    """By how much delta(epsilon) of a discrete Gaussian mechanism can pass that of the continuous one, at any epsilon.

    One coordinate after the other is made continuous. With W(epsilon) the delta of all that comes after, a coordinate's
    part of delta is the mean of g(x) = W(log l - (2xs - s^2) / 2 sigma^2) over x, once a sum over whole numbers and once
    an integral. They differ by at most V / 16 (Euler and Maclaurin), V the total variation of the derivative of g - 1/2
    times the density; g rises from 0 to 1, its derivative is at most s / sigma and varies by at most twice that, so V is
    at most (0.484 + 2.394 s / sigma) / sigma^2. The last term is the sum of the density over whole numbers, which is not
    quite one. Summed over the coordinates that a record moves, each by one or more, this is largest for a single one
    that is moved by one, where sigma is the noise multiplier. The privacy review has it step by step.
    """
    z = noise_multiplier
    if z < _LEAST_NOISE:
        return math.inf
    return (0.03025 + 0.14961 / z) / z**2 + 1.01 * math.exp(-2 * math.pi**2 * z**2)


def gaussian_delta(epsilons: ArrayLike, mu: float) -> Floats:
    """delta(epsilon) of N(mu, 1) against N(0, 1) (Balle and Wang 2018), rounded up in the last places."""
    e = np.asarray(epsilons, dtype=np.float64)
    if mu == 0:
        return np.zeros_like(e)
    above, below = special.log_ndtr(mu / 2 - e / mu), special.log_ndtr(-mu / 2 - e / mu)
    return np.maximum(-np.exp(above) * np.expm1(np.minimum(e + below - above, 0.0)), 0.0) * (1 + 1e-11)


def _found_by_rdp(alarms: Floats, orders: Floats, rdp: Floats) -> Floats:
    """The largest p with Renyi divergence of (p, 1 - p) and (a, 1 - a) within the cost, at all orders, both ways."""
    a = np.clip(alarms, 1e-320, 1 - 1e-16)[:, None]
    log_a, log_rest = np.log(a), np.log1p(-a)
    # With what the logarithms below lose in rounding: a bound may be loose by that, never tight.
    room = (orders - 1) * rdp + 1e-15 * (1 - orders * log_a)

    def fits(odds: Floats) -> NDArray[np.bool_]:
        log_p, log_q = -np.logaddexp(0, -odds)[:, None], -np.logaddexp(0, odds)[:, None]
        there = np.logaddexp(orders * log_p + (1 - orders) * log_a, orders * log_q + (1 - orders) * log_rest)
        back = np.logaddexp(orders * log_a + (1 - orders) * log_p, orders * log_rest + (1 - orders) * log_q)
        return np.all((there <= room) & (back <= room), axis=1)

    low = (log_a - log_rest)[:, 0]
    high = np.full_like(low, 40.0)
    for _ in range(42):
        middle = (low + high) / 2
        inside = fits(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return special.expit(high)
