"""From events to epsilon: every valid way is tried, the tightest is returned, and it says which one it was."""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy import moments as pate2017
from understudy.privacy import rdp as renyi
from understudy.privacy.argmax import check_votes, gnmax_logq, lnmax_logq, threshold_logq
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    Noise,
    NonPrivateEvent,
    SmoothReleaseEvent,
    SubsampledGaussianEvent,
    ZCDPEvent,
    check_count,
    check_delta,
)
from understudy.privacy.pld import has_pld, pld_epsilon
from understudy.privacy.rdp import DEFAULT_ORDERS, Conversion

Floats = NDArray[np.float64]

# Past this a privacy loss distribution is large and its answer of no use to anybody.
_PLD_CEILING = 20.0
_SUBSAMPLED_CEILING = 256.0


@dataclass(frozen=True)
class Epsilon:
    """An epsilon, and how it was got: `pure`, `rdp`, `rdp-classical`, `moments`, `gaussian` or `pld`."""

    epsilon: float
    delta: float
    method: str
    order: float | None = None


# --------------------------------------------------------------------------------------------------------------
# Unconditional


def event_rdp(event: Event, orders: ArrayLike, *, moments_2017: bool = False) -> Floats:
    """Rényi cost of one event at each order. An event this function does not know is refused."""
    a = renyi.check_orders(orders)
    match event:
        case LaplaceEvent():
            return event.count * renyi.pure_rdp(event.epsilon, a)
        case LNMaxEvent() if moments_2017:
            return event.count * pate2017.lnmax_moments(event.gamma, a - 1) / (a - 1)
        case LNMaxEvent():
            return event.count * renyi.pure_rdp(2 * event.gamma, a)
        case GaussianEvent():
            return event.count * renyi.gaussian_rdp(event.noise_multiplier, a)
        case GNMaxEvent():
            return event.count * renyi.gnmax_rdp(event.sigma, a)
        case ConfidentGNMaxEvent():
            threshold = event.count * renyi.gaussian_rdp(event.sigma_threshold, a)
            return threshold + event.answered * renyi.gnmax_rdp(event.sigma, a)
        case SubsampledGaussianEvent():
            cost = event.steps * _subsampled_step(event.noise_multiplier, event.sampling_rate, tuple(a.tolist()))
            # The discrete Gaussian is covered by the binomial sum of integer orders only.
            return np.where(a == np.floor(a), cost, np.inf) if event.noise == "discrete" else cost
        case SmoothReleaseEvent():
            return renyi.smooth_release_rdp(event.beta, event.sigma, a)
        case ZCDPEvent():
            return event.rho * a
        case DeltaEvent():
            return np.zeros_like(a)
        case NonPrivateEvent():
            return np.full_like(a, np.inf)
        case _:
            raise InputError(f"unknown event {event!r}: no cost is known for it.")


@lru_cache(maxsize=1024)
def _subsampled_step(noise_multiplier: float, sampling_rate: float, orders: tuple[float, ...]) -> Floats:
    # At high orders the series is long and the cost explodes: nothing is lost by not looking there.
    a = np.array(orders)
    cost = np.full_like(a, np.inf)
    low = a <= _SUBSAMPLED_CEILING
    if low.any():
        cost[low] = renyi.subsampled_gaussian_rdp(noise_multiplier, sampling_rate, a[low])
    return cost


def total_rdp(events: Sequence[Event], orders: ArrayLike, *, moments_2017: bool = False) -> Floats:
    a = renyi.check_orders(orders)
    with np.errstate(over="ignore"):
        return sum((event_rdp(e, a, moments_2017=moments_2017) for e in events), np.zeros_like(a))


def compose(
    events: Sequence[Event],
    delta: float,
    *,
    orders: ArrayLike | None = None,
    moments: int | None = None,
    conversion: Conversion = "tight",
    good_enough: float = 0.0,
    cache: bool = True,
) -> Epsilon:
    """The unconditional epsilon of all events together: it holds for every dataset.

    By default every method that covers all the events is tried and the smallest epsilon wins. Giving `orders`,
    `moments` (PATE 2017 with moments 1..L) or the classical conversion asks for that method alone. A method that
    reaches `good_enough` ends the search. With no delta to spend (`delta=0`) only pure events compose.
    """
    check_delta(delta, zero_allowed=True)
    if any(isinstance(e, NonPrivateEvent) for e in events):
        return Epsilon(math.inf, delta, "not-private")
    events = merge(events)
    left = delta_left(events, delta)
    costly = [e for e in events if not isinstance(e, DeltaEvent)]
    if not costly:
        return Epsilon(0.0, delta, "pure")
    if moments is not None or orders is not None or conversion == "classical":
        if left <= 0:
            raise InputError("`delta` is 0 or used up: Rényi and moments accounting need a delta above 0.")
        return replace(
            _from_rdp(partial(total_rdp, costly), left, orders, moments, conversion),
            delta=delta,
        )
    bounds: list[Epsilon] = []
    for method in (_pure, _rdp, _gaussian, _pld):
        ceiling = min((bound.epsilon for bound in bounds), default=math.inf)
        epsilon, name, order = method(costly, left, ceiling, cache)
        if math.isnan(epsilon):
            raise InputError("the composed epsilon is NaN: refused, since it proves nothing.")
        bounds.append(Epsilon(max(0.0, epsilon), delta, name, order))
        if bounds[-1].epsilon <= good_enough:
            break
    return min(bounds, key=lambda bound: bound.epsilon)


def delta_left(events: Sequence[Event], delta: float) -> float:
    """What the delta events leave of delta; an error if they want more than there is."""
    paid = math.fsum(e.delta for e in events if isinstance(e, DeltaEvent))
    if paid > delta:
        raise InputError(f"the events spend delta {paid:.6g} outright, more than the {delta:.6g} there is.")
    return delta - paid


_Found = tuple[float, str, float | None]


def _pure(events: Sequence[Event], delta: float, ceiling: float, cache: bool) -> _Found:
    del delta, ceiling, cache
    total = Fraction(0)  # of the decimals as written, so that three times 0.1 is 0.3
    for event in events:
        match event:
            case LaplaceEvent():
                total += event.count * Fraction(str(event.epsilon))
            case LNMaxEvent():
                total += event.count * 2 * Fraction(str(event.gamma))
            case _:
                return math.inf, "pure", None
    return float(total), "pure", None


def _rdp(events: Sequence[Event], delta: float, ceiling: float, cache: bool) -> _Found:
    del ceiling, cache
    if delta <= 0:
        return math.inf, "rdp", None
    epsilon, order = renyi.rdp_to_epsilon(DEFAULT_ORDERS, total_rdp(events, DEFAULT_ORDERS), delta)
    return epsilon, "rdp", order


def _gaussian(events: Sequence[Event], delta: float, ceiling: float, cache: bool) -> _Found:
    """Gaussians with continuous noise compose to one Gaussian, whose epsilon is known exactly (Balle and Wang 2018)."""
    del ceiling, cache
    precision = 0.0
    for event in events:
        match event:
            case GaussianEvent(noise="continuous"):
                precision += event.count / event.noise_multiplier**2
            case GNMaxEvent(noise="continuous"):
                precision += 2 * event.count / event.sigma**2
            case ConfidentGNMaxEvent(noise="continuous"):
                precision += event.count / event.sigma_threshold**2 + 2 * event.answered / event.sigma**2
            case _:
                return math.inf, "gaussian", None
    if delta <= 0 or not 1e-12 < precision < 1e6:
        return math.inf, "gaussian", None
    return _gaussian_epsilon(precision, delta), "gaussian", None


@lru_cache(maxsize=4096)
def _gaussian_epsilon(precision: float, delta: float) -> float:
    from dp_accounting import get_epsilon_gaussian

    return get_epsilon_gaussian(1 / math.sqrt(precision), delta, tol=1e-10) + 1e-10


def _pld(events: Sequence[Event], delta: float, ceiling: float, cache: bool) -> _Found:
    if delta <= 0 or ceiling > _PLD_CEILING or not all(has_pld(e) for e in events):
        return math.inf, "pld", None
    if ceiling == 0 or all(
        isinstance(e, GaussianEvent | GNMaxEvent | ConfidentGNMaxEvent) and e.noise == "continuous" for e in events
    ):
        return math.inf, "pld", None  # nothing to gain on zero, or on what `_gaussian` knows exactly
    return pld_epsilon(events, delta, cache=cache), "pld", None


def _from_rdp(
    total: Callable[..., Floats], delta: float, orders: ArrayLike | None, moments: int | None, conversion: Conversion
) -> Epsilon:
    if moments is not None:
        check_count("moments", moments)
        if moments > 100_000:
            raise InputError(f"`moments` (={moments}) is more than any accountant needs; at most 100000.")
        l = np.arange(1, moments + 1, dtype=np.float64)
        epsilon, best = pate2017.moments_to_epsilon(l, total(l + 1, moments_2017=True) * l, delta)
        return Epsilon(epsilon, delta, "moments", best)
    a = DEFAULT_ORDERS if orders is None else orders
    epsilon, order = renyi.rdp_to_epsilon(a, total(a), delta, conversion=conversion)
    return Epsilon(epsilon, delta, "rdp" if conversion == "tight" else "rdp-classical", order)


def merge(events: Sequence[Event]) -> list[Event]:
    """Events with equal parameters become one with a larger count; what was spent stays the same."""
    merged: dict[Any, Event] = {}
    for event in events:
        match event:
            case ConfidentGNMaxEvent():
                key = replace(event, count=1, answered=0)
                if isinstance(old := merged.get(key), ConfidentGNMaxEvent):
                    merged[key] = replace(old, count=old.count + event.count, answered=old.answered + event.answered)
                    continue
            case SubsampledGaussianEvent():
                key = replace(event, steps=1)
                if isinstance(old := merged.get(key), SubsampledGaussianEvent):
                    merged[key] = replace(old, steps=old.steps + event.steps)
                    continue
            case LaplaceEvent() | GaussianEvent() | LNMaxEvent() | GNMaxEvent():
                key = replace(event, count=1)
                if isinstance(old := merged.get(key), type(event)):
                    merged[key] = replace(old, count=old.count + event.count)
                    continue
            case _:
                key = (event, len(merged))
        merged[key] = event
    return list(merged.values())


def without(events: Sequence[Event], votes: LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent) -> list[Event]:
    """All events but one run of `votes`, which must be among them: what else was spent."""
    rest = merge(events)
    for i, event in enumerate(rest):
        match event, votes:
            case (LNMaxEvent(), LNMaxEvent()) | (GNMaxEvent(), GNMaxEvent()):
                left = event.count - votes.count
                if left >= 0 and replace(event, count=votes.count) == votes:
                    return [*rest[:i], *([replace(event, count=left)] if left else []), *rest[i + 1 :]]
            case ConfidentGNMaxEvent(), ConfidentGNMaxEvent():
                left, answers = event.count - votes.count, event.answered - votes.answered
                if left >= answers >= 0 and replace(event, count=votes.count, answered=votes.answered) == votes:
                    kept = [replace(event, count=left, answered=answers)] if left else []
                    return [*rest[:i], *kept, *rest[i + 1 :]]
            case _:
                pass
    raise InputError(f"{votes} was not charged: there is no such run of votes to look at.")


# --------------------------------------------------------------------------------------------------------------
# Data-dependent


@dataclass(frozen=True)
class Observed:
    """Private. An event together with the votes it answered; `answered` marks what Confident-GNMax let through."""

    event: LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent
    votes: NDArray[np.int64]
    answered: NDArray[np.bool_] | None = None
    noise: Noise = "discrete"

    def __post_init__(self) -> None:
        check_votes(self.votes)
        if len(self.votes) != self.event.count:
            raise InputError(f"{len(self.votes)} rows of votes for {self.event.count} queries.")
        if isinstance(self.event, ConfidentGNMaxEvent):
            if self.answered is None or len(self.answered) != len(self.votes):
                raise InputError("`answered` needs one true or false for each row of votes.")
            if int(np.sum(self.answered)) != self.event.answered:
                raise InputError(
                    f"`answered` marks {int(np.sum(self.answered))} rows, the event {self.event.answered}."
                )


def observed_rdp(observed: Observed, orders: ArrayLike, *, moments_2017: bool = False) -> Floats:
    """Private. The data-dependent Rényi cost at each order, never above the unconditional one."""
    a = renyi.check_orders(orders)
    event, votes = observed.event, observed.votes
    match event:
        case LNMaxEvent():
            l = a - 1
            old = pate2017.lnmax_moments(event.gamma, l)
            most = old if moments_2017 else np.minimum(old, renyi.pure_rdp(2 * event.gamma, a) * l)
            logq = lnmax_logq(votes, event.gamma, noise=observed.noise)
            return pate2017.total_lnmax_moments(logq, event.gamma, l, most) / l
        case GNMaxEvent():
            return renyi.total_gnmax_rdp(gnmax_logq(votes, event.sigma, noise=observed.noise), event.sigma, a)
        case ConfidentGNMaxEvent():
            logq = threshold_logq(votes.max(axis=1), event.threshold, event.sigma_threshold, noise=observed.noise)
            total = renyi.total_gnmax_rdp(logq, math.sqrt(2) * event.sigma_threshold, a)
            if event.answered:
                passed = votes[np.asarray(observed.answered)]
                logq = gnmax_logq(passed, event.sigma, noise=observed.noise)
                total = total + renyi.total_gnmax_rdp(logq, event.sigma, a)
            return total


def data_dependent_epsilon(
    observed: Sequence[Observed],
    others: Sequence[Event],
    delta: float,
    *,
    orders: ArrayLike | None = None,
    moments: int | None = None,
    conversion: Conversion = "tight",
) -> Epsilon:
    """Private. Epsilon at the votes that came. A statement about this dataset, itself private, and no guarantee."""
    if any(isinstance(e, NonPrivateEvent) for e in others):
        return Epsilon(math.inf, delta, "not-private")
    left = delta_left(others, delta)

    def total(a: ArrayLike, *, moments_2017: bool = False) -> Floats:
        seen = sum(
            (observed_rdp(o, a, moments_2017=moments_2017) for o in observed), np.zeros_like(np.asarray(a, float))
        )
        return seen + total_rdp(others, a, moments_2017=moments_2017)

    return replace(_from_rdp(total, left, orders, moments, conversion), delta=delta)
