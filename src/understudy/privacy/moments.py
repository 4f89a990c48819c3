"""The moments accountant of PATE 2017 for LNMax, kept as the papers (PATE-GAN, the thesis) use it.

A moment l is Rényi order l + 1, and moment / l the Rényi cost. Data-dependent moments hold at the votes that came and
are themselves private.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.events import check_count, check_delta, check_positive

Floats = NDArray[np.float64]
_BLOCK = 1 << 14


def check_moments(moments: ArrayLike) -> Floats:
    array = np.asarray(moments, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array) & (array > 0)):
        raise InputError("`moments` must be a list of finite numbers above 0.")
    return array


def lnmax_moments(gamma: float, moments: ArrayLike) -> Floats:
    """Unconditional moments of one query, 2 gamma^2 l (l + 1) and at most 2 gamma l (PATE 2017, Theorem 2)."""
    check_positive("gamma", gamma)
    l = check_moments(moments)
    return np.minimum(2 * gamma**2 * l * (l + 1), 2 * gamma * l)


def data_dependent_lnmax_moments(logq: ArrayLike, gamma: float, moments: ArrayLike) -> Floats:
    """Private. PATE 2017, Theorem 3, queries x moments; infinite unless q < 1 / (exp(2 gamma) + 1).

    Without that condition the expression is no bound (and turns to NaN where exp(2 gamma) q passes 1).
    """
    check_positive("gamma", gamma)
    q = np.atleast_1d(np.asarray(logq, dtype=np.float64))
    l = check_moments(moments)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        valid = q < -np.logaddexp(0.0, 2 * gamma)
        log1q = np.log1p(-np.exp(q))
        log_ratio = log1q - np.log1p(-np.exp(2 * gamma + q))
        cost = np.logaddexp(log1q[:, None] + log_ratio[:, None] * l, q[:, None] + 2 * gamma * l)
    return np.where(valid[:, None] & np.isfinite(cost), np.maximum(cost, 0.0), np.inf)


def total_lnmax_moments(
    logq: ArrayLike, gamma: float, moments: ArrayLike, unconditional: Floats | None = None
) -> Floats:
    """Private. Sum over queries of the smaller of the two moments; `unconditional` may be a tighter valid one."""
    q = np.atleast_1d(np.asarray(logq, dtype=np.float64))
    if unconditional is None:
        unconditional = lnmax_moments(gamma, moments)
    total = np.zeros_like(unconditional)
    for start in range(0, len(q), _BLOCK):
        block = data_dependent_lnmax_moments(q[start : start + _BLOCK], gamma, moments)
        total += np.minimum(block, unconditional).sum(axis=0)
    return total


def moments_to_epsilon(moments: ArrayLike, totals: ArrayLike, delta: float) -> tuple[float, float]:
    """epsilon = min over l of (total moment + ln(1/delta)) / l, and the l that gave it."""
    check_delta(delta)
    l = check_moments(moments)
    sums = np.asarray(totals, dtype=np.float64)
    if np.any(np.isnan(sums)) or np.any(sums < 0):
        raise InputError("a moment is NaN or negative: refused, since no epsilon follows from it.")
    epsilons = (sums - math.log(delta)) / l
    best = int(np.argmin(epsilons))
    return float(epsilons[best]), float(l[best])


def closed_form_epsilon(gamma: float, queries: int, delta: float) -> float:
    """4 T gamma^2 + 2 gamma sqrt(2 T ln(1/delta)): the thesis' closed form for T LNMax queries, unconditional."""
    check_positive("gamma", gamma)
    check_count("queries", queries)
    check_delta(delta)
    return 4 * queries * gamma**2 + 2 * gamma * math.sqrt(-2 * queries * math.log(delta))
