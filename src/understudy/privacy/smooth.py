"""Smooth sensitivity of GNMax's data-dependent cost (PATE 2018, Appendix B), so that it can be published.

The data-dependent cost is a function of private votes. Its local sensitivity at distance d says how much one more
teacher's vote can change it when d votes have changed already; the beta-smooth maximum over d scales the noise.

Three things differ from the published algorithm, each because it was unsound: parameters for which condition C6
fails are refused; on the plateau the cost above q0 is the unconditional one, whatever rounding says; and with
discrete noise q is the half-gap bound. Everything is in logarithms, for all queries at once.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from understudy.errors import InputError
from understudy.privacy.argmax import check_votes, gnmax_logq, half_gap_gnmax_logq, threshold_logq
from understudy.privacy.events import Noise, check_count, check_positive
from understudy.privacy.rdp import check_orders, data_dependent_gaussian_rdp, gaussian_rdp, gnmax_rdp

Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def log_q0(sigma: float, order: float) -> float:
    """log of the q above which the unconditional cost is the smaller one (or the only valid one)."""
    check_positive("sigma", sigma)
    check_orders([order])

    def excess(logq: float) -> float:
        return _theorem6(logq, sigma, order) - order / sigma**2

    # The largest q at which Theorem 6 can hold: mu1 >= order, mu2 > 1.
    upper = min(-((1 + 1 / sigma) ** 2), -(((order - 0.99) / sigma) ** 2), -1 / sigma**2)
    if not math.isfinite(_theorem6(upper, sigma, order)):
        raise InputError(
            f"sigma {sigma} and order {order}: the data-dependent bound has no valid start; use a larger sigma."
        )
    if excess(upper) < 0:
        return upper
    lower = 2 * upper
    while excess(lower) > 0:
        lower *= 1.5
        if lower < -1e6:
            raise InputError(f"sigma {sigma} and order {order}: the data-dependent cost is never the smaller one.")
    root: Any = optimize.brentq(excess, lower, upper)
    return float(root)


def _theorem6(logq: float, sigma: float, order: float) -> float:
    return float(data_dependent_gaussian_rdp([logq], sigma, [order])[0, 0])


def _cost(logq: Floats, sigma: float, order: float) -> Floats:
    """The cost as a function of q: Theorem 6 below q0, unconditional from there on."""
    dependent = data_dependent_gaussian_rdp(logq.ravel(), sigma, [order])[:, 0].reshape(logq.shape)
    return np.where(logq < log_q0(sigma, order), dependent, order / sigma**2)


def _shift(logq: Floats | float, sigma: float, classes: int, direction: int) -> Floats:
    """The largest (+1) or smallest (-1) q that one changed vote can lead to: B_U and B_L of Proposition 11."""
    z = special.ndtri_exp(np.minimum(np.asarray(logq, dtype=np.float64) - math.log(classes - 1), -1e-300))
    return np.minimum(math.log(classes - 1) + special.log_ndtr(z + direction * math.sqrt(2) / sigma), 0.0)


def _local(logq: Floats, sigma: float, order: float, classes: int) -> Floats:
    """Algorithm 3: an upper bound on the local sensitivity of the cost at q."""
    q0 = log_q0(sigma, order)
    q1 = float(_shift(q0, sigma, classes, -1))
    at_q1 = float(_cost(np.array(q1), sigma, order))
    below_q1 = float(_cost(_shift(q1, sigma, classes, -1), sigma, order))
    plateau = max(order / sigma**2 - at_q1, at_q1 - below_q1)
    here = _cost(logq, sigma, order)
    up = _cost(_shift(logq, sigma, classes, +1), sigma, order) - here
    down = here - _cost(_shift(logq, sigma, classes, -1), sigma, order)
    return np.where((logq >= q1) & (logq <= q0), plateau, np.maximum(np.maximum(up, down), 0.0))


def gnmax_local_sensitivity(votes: ArrayLike, sigma: float, order: float, *, noise: Noise = "continuous") -> Floats:
    """Private. Local sensitivity of the cost at distances 0..teachers-1, queries x teachers (Algorithms 4 and 5).

    Above q0 the histogram walks towards agreement, below q1 towards a tie, one vote a step; between the two it
    stays on the plateau. The loop is over distances; each step is one array operation over the queries that still
    walk.
    """
    counts = np.sort(check_votes(votes), axis=1)[:, ::-1].copy()
    queries, classes = counts.shape
    teachers = int(counts[0].sum())
    q_of = half_gap_gnmax_logq if noise == "discrete" else gnmax_logq
    q0 = log_q0(sigma, order)
    q1 = float(_shift(q0, sigma, classes, -1))
    plateau = float(_local(np.array([q1]), sigma, order, classes)[0])
    result = np.full((queries, teachers), plateau)
    logq = q_of(counts, sigma)
    result[:, 0] = _local(logq, sigma, order, classes)
    left = logq > q0
    walking = np.flatnonzero(left | (logq < q1))
    for distance in range(1, teachers):
        keep = np.where(left[walking], (logq[walking] > q0) & (counts[walking, 1] > 0), logq[walking] < q1)
        walking = walking[keep]
        if walking.size == 0:
            break
        step = np.where(left[walking], 1, -1)
        block = counts[walking]
        block[:, 0] += step
        block[:, 1] -= step
        block[:, 1:] = np.sort(block[:, 1:], axis=1)[:, ::-1]
        counts[walking] = block
        logq[walking] = q_of(block, sigma)
        result[walking, distance] = _local(logq[walking], sigma, order, classes)
    return result


def smooth_sensitivity(local: ArrayLike, beta: float) -> float:
    """Private. max over d of exp(-beta d) LS(d), where LS sums over the queries: one teacher votes in all of them."""
    check_positive("beta", beta)
    total = np.atleast_2d(np.asarray(local, dtype=np.float64)).sum(axis=0)
    return float(np.max(np.exp(-beta * np.arange(total.size)) * total))


def gnmax_conditions(sigma: float, classes: int, order: float) -> tuple[bool, bool]:
    """Conditions C5 (the cost grows with q below q0) and C6 (so does its step up), on a dense grid.

    The algorithm is only an upper bound where both hold; where C6 fails it was seen to understate to 0.35 of the truth.
    """
    check_count("classes", classes, least=2)
    q0 = log_q0(sigma, order)
    q1 = float(_shift(q0, sigma, classes, -1))

    def grows(upper: float, function: str) -> bool:
        logq = -(np.linspace(math.sqrt(-upper) + 1e-9, math.sqrt(-upper) + 40, 40_001)[::-1] ** 2)
        cost = data_dependent_gaussian_rdp(logq, sigma, [order])[:, 0]
        if function == "step":
            raised = np.minimum(_shift(logq, sigma, classes, +1), q0 - 1e-12)
            cost = data_dependent_gaussian_rdp(raised, sigma, [order])[:, 0] - cost
        scale = max(float(np.max(np.abs(cost))), 1e-300)
        return bool(np.all(np.diff(cost) >= -1e-12 * scale))

    c5 = grows(q0, "cost")
    return c5, c5 and grows(q1, "step")


def require_conditions(sigma: float, classes: int, order: float) -> None:
    c5, c6 = gnmax_conditions(sigma, classes, order)
    if not (c5 and c6):
        raise InputError(
            f"`sigma` (={sigma}), {classes} classes, order {order}: condition {'C6' if c5 else 'C5'} fails, so the "
            "data-dependent epsilon cannot be sanitised here. Use a larger sigma, a smaller order, "
            "or the unconditional epsilon."
        )


def threshold_local_sensitivity(max_count: int, teachers: int, threshold: float, sigma: float, order: float) -> Floats:
    """Private. As published, for reproducing tables only: the threshold step is charged unconditionally here."""
    counts = np.arange(teachers + 1)
    dependent = data_dependent_gaussian_rdp(threshold_logq(counts, threshold, sigma), math.sqrt(2) * sigma, [order])[
        :, 0
    ]
    cost = np.minimum(dependent, gaussian_rdp(sigma, [order])[0])
    step = np.abs(np.diff(cost))
    at = np.maximum(np.append(step, 0.0), np.insert(step, 0, 0.0))
    d = np.arange(teachers)
    up, down = max_count + d, max_count - d
    result = np.maximum(
        np.where(up <= teachers, at[np.minimum(up, teachers)], 0.0), np.where(down >= 0, at[np.maximum(down, 0)], 0.0)
    )
    result[max(max_count, teachers - max_count) :] = 0.0
    return result


def gnmax_cost(votes: ArrayLike, sigma: float, order: float, *, noise: Noise = "continuous") -> float:
    """Private. The summed data-dependent cost whose sensitivity this module bounds."""
    logq = half_gap_gnmax_logq(votes, sigma) if noise == "discrete" else gnmax_logq(votes, sigma)
    return float(np.minimum(_cost(logq, sigma, order), gnmax_rdp(sigma, [order])[0]).sum())
