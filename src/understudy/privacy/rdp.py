"""Rényi differential privacy: what each mechanism costs at each order, and how to get (epsilon, delta) from it.

Costs are arrays over orders. Unconditional costs hold for every dataset. Data-dependent ones (PATE 2018, Theorem 6)
hold at the votes that came, in one direction only, and are themselves private: they are no guarantee.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.events import check_delta, check_positive

Floats = NDArray[np.float64]
Conversion: TypeAlias = Literal["tight", "classical"]

# Dense where budgets around 1 have their optimum; beyond, 6 % apart, which costs less than half a percent of epsilon.
DEFAULT_ORDERS: tuple[float, ...] = (
    *(1 + x / 10 for x in range(1, 30)),
    *(x / 4 for x in range(16, 48)),
    *(float(x) for x in range(12, 64)),
    *(float(round(64 * 1.06**x)) for x in range(96)),
)
_BLOCK = 4096


def check_orders(orders: ArrayLike) -> Floats:
    try:
        array = np.asarray(orders, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("`orders` must be a list of numbers above 1.") from None
    if array.ndim != 1 or array.size == 0:
        raise InputError("`orders` must be a list of at least one number above 1.")
    if not np.all(np.isfinite(array) & (array > 1)):
        wrong = array[~(np.isfinite(array) & (array > 1))][0]
        raise InputError(f"`orders` holds {wrong}; every Rényi order must be a finite number above 1.")
    return array


# --------------------------------------------------------------------------------------------------------------
# Unconditional costs


def gaussian_rdp(noise_multiplier: float, orders: ArrayLike) -> Floats:
    """Gaussian noise of `noise_multiplier` sensitivities; for integer shifts the discrete Gaussian costs no more."""
    return check_orders(orders) / (2 * noise_multiplier**2)


def gnmax_rdp(sigma: float, orders: ArrayLike) -> Floats:
    """One GNMax answer: two counts move by one, so order / sigma^2 (PATE 2018, Proposition 8)."""
    return check_orders(orders) / sigma**2


def pure_rdp(epsilon: float, orders: ArrayLike) -> Floats:
    """Any epsilon-DP mechanism: randomised response is the worst of them, and this is its exact divergence."""
    a = check_orders(orders)
    log_sum = np.logaddexp(a * epsilon, (1 - a) * epsilon) - np.logaddexp(0.0, epsilon)
    # The same as log(cosh((a - 1/2) epsilon) / cosh(epsilon / 2)), where the difference of two logarithms would round
    # the cost of a tiny epsilon to nothing: a great many of them are not nothing.
    half = np.minimum(a * epsilon, 1.0) / 2
    small = np.log1p(2 * np.sinh(half) * np.sinh(half * (a - 1) / a) / math.cosh(min(epsilon, 1.0) / 2))
    exact = np.where(a * epsilon <= 1, small, log_sum)
    return np.minimum(np.maximum(exact / (a - 1), 0.0), epsilon)


def subsampled_gaussian_rdp(noise_multiplier: float, sampling_rate: float, orders: ArrayLike) -> Floats:
    """One DP-SGD step, by dp-accounting; an order at which its series does not converge costs infinity, never less."""
    from absl import logging
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    a = check_orders(orders)
    if sampling_rate == 1:
        return gaussian_rdp(noise_multiplier, a)
    accountant = RdpAccountant(orders=a.tolist())
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)  # an order that did not converge is handled below
    try:
        accountant.compose(PoissonSampledDpEvent(sampling_rate, GaussianDpEvent(noise_multiplier)))
    finally:
        logging.set_verbosity(verbosity)
    cost = np.asarray(accountant._rdp, dtype=np.float64)  # pyright: ignore[reportPrivateUsage]
    return np.where(np.isfinite(cost) & (cost >= 0), cost, np.inf)


def smooth_release_rdp(beta: float, sigma: float, orders: ArrayLike) -> Floats:
    """Gaussian noise of `sigma` times a `beta`-smooth sensitivity; infinite where the divergence is.

    The two scales differ by at most exp(beta) and the means by one sensitivity. The published formula (PATE 2018,
    Theorem 23) understates this for order * beta above about a quarter; this is the supremum of the closed-form
    divergence between the two Gaussians.
    """
    a = check_orders(orders)
    shrink = math.exp(-2 * beta)
    v = 1 - a * (-math.expm1(-2 * beta))
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = a * shrink / (2 * v * sigma**2) - beta + np.log(shrink / v) / (2 * (a - 1))
    return np.where(v > 0, cost, np.inf)


# --------------------------------------------------------------------------------------------------------------
# Data-dependent costs


def data_dependent_gaussian_rdp(logq: ArrayLike, sigma: float, orders: ArrayLike) -> Floats:
    """Private. PATE 2018, Theorem 6 with Proposition 10, queries x orders; infinite where its conditions fail."""
    return _theorem6(np.atleast_1d(np.asarray(logq, dtype=np.float64)), sigma, check_orders(orders))


def total_gnmax_rdp(logq: ArrayLike, sigma: float, orders: ArrayLike) -> Floats:
    """Private. Sum over queries of the smaller of the two costs, an array over orders."""
    q = np.atleast_1d(np.asarray(logq, dtype=np.float64))
    a = check_orders(orders)
    unconditional = gnmax_rdp(sigma, a)

    def block(start: int) -> Floats:
        return np.minimum(_theorem6(q[start : start + _BLOCK], sigma, a), unconditional).sum(axis=0)

    starts = range(0, len(q), _BLOCK)
    if len(starts) == 1:
        return block(0)
    with ThreadPoolExecutor() as pool:  # NumPy lets go of the interpreter inside the loops
        return np.sum(list(pool.map(block, starts)), axis=0)


def _theorem6(logq: Floats, sigma: float, orders: Floats) -> Floats:
    # A and B depend on q alone, so one logaddexp a query and order is all that is left.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mu2 = sigma * np.sqrt(-logq)
        mu1 = mu2 + 1
        eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
        limit = (mu2 - 1) * eps2 - mu2 * (np.log1p(1 / mu2) + np.log(mu2) - np.log(mu2 - 1))
        valid = (mu2 > 1) & (logq <= limit)
        log1q = np.log1p(-np.exp(logq))
        log_a = log1q - np.log1p(-np.exp((logq + eps2) * (1 - 1 / mu2)))
        log_b = eps1 - logq / (mu1 - 1)
        l = orders - 1
        left = log1q[:, None] + log_a[:, None] * l
        right = logq[:, None] + log_b[:, None] * l
        top = np.maximum(left, right)
        cost = (top + np.log1p(np.exp(-np.abs(left - right)))) / l
    usable = valid[:, None] & (orders <= mu1[:, None]) & np.isfinite(cost)
    cost = np.where(usable, np.maximum(cost, 0.0), np.inf)
    cost[np.isneginf(logq)] = 0.0
    return cost


# --------------------------------------------------------------------------------------------------------------
# From Rényi to (epsilon, delta)


def rdp_to_epsilon(
    orders: ArrayLike, rdp: Sequence[float] | Floats, delta: float, *, conversion: Conversion = "tight"
) -> tuple[float, float]:
    """The smallest epsilon over the orders, and the order that gave it.

    `classical` is Mironov's (the papers'); `tight` that of Canonne, Kamath and Steinke (2020, Proposition 12), with the
    total-variation corner by Bretagnolle-Huber, as dp-accounting has it. NaN is an error, infinity an unusable order.
    """
    check_delta(delta)
    a = check_orders(orders)
    r = np.asarray(rdp, dtype=np.float64)
    if r.shape != a.shape:
        raise InputError(f"`rdp` has {r.size} costs for {a.size} orders.")
    if np.any(np.isnan(r)) or np.any(r < 0):
        raise InputError("a Rényi cost is NaN or negative: refused, since no epsilon follows from it.")
    log_delta = math.log(delta)
    if conversion == "classical":
        epsilons = r - log_delta / (a - 1)
    elif conversion == "tight":
        epsilons = r + np.log1p(-1 / a) - (log_delta + np.log(a)) / (a - 1)
        epsilons = np.where(delta**2 + np.expm1(-r) > 0, 0.0, epsilons)
        epsilons = np.where(a < 1.01, np.inf, epsilons)
    else:
        raise InputError(f'`conversion` (={conversion!r}) must be "tight" or "classical".')
    best = int(np.argmin(epsilons))
    return max(0.0, float(epsilons[best])), float(a[best])


def epsilon_to_rdp(epsilon: float, delta: float, orders: ArrayLike) -> Floats:
    """How much Rényi cost each order may carry for the tight conversion to give `epsilon`; negative means none."""
    check_positive("epsilon", epsilon)
    check_delta(delta)
    a = check_orders(orders)
    return epsilon - np.log1p(-1 / a) + (math.log(delta) + np.log(a)) / (a - 1)
