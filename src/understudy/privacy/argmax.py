"""How likely the noisy argmax of vote counts is not the true one: the q of PATE's data-dependent bounds.

Everything works on many vote histograms at once and in logarithms (q may be far below the smallest float).
Gaps between integer counts are integers, so each bound is a table over gaps 0..teachers and a gather.

With *continuous* noise the tables hold the papers' formulas. With *discrete* noise (what Understudy draws) the
papers' formulas are not upper bounds, so the tables hold the exact tail of the difference of two discrete noises,
a tie counted as an error, which covers every tie rule.
"""

from __future__ import annotations

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from understudy.errors import InputError
from understudy.privacy.events import Noise, check_positive

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 1 << 16
_TABLE = 1 << 18


def check_votes(votes: ArrayLike, *, teachers: int | None = None) -> Ints:
    """Votes as an int64 array queries x classes, or an error that names the offending row and value."""
    try:
        array = np.asarray(votes)
    except ValueError:
        raise InputError(f"`votes` has rows of different lengths: {_first_ragged(votes)}.") from None
    if array.dtype == object:
        raise InputError(f"`votes` must be whole numbers in rows of equal length: {_first_ragged(votes)}.")
    if array.size == 0:
        raise InputError("`votes` is empty: give at least one row of counts, one count a class.")
    if array.ndim != 2:
        raise InputError(f"`votes` must be rows of counts (queries x classes), got {array.ndim} dimension(s).")
    if array.dtype == bool or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise InputError(f"`votes` must be whole numbers, got {array.dtype}.")
    if array.shape[1] < 2:
        raise InputError("`votes` has one class; a vote needs at least two.")
    if np.issubdtype(array.dtype, np.floating):
        wrong = ~np.isfinite(array) | (array != np.floor(array)) | (np.abs(array) > 2**53)
        _refuse(array, wrong, "is not a whole number")
    _refuse(array, array < 0, "is negative")
    _refuse(array, array > 2**40, "is more teachers than any ensemble has")
    result = array.astype(np.int64)
    totals = result.sum(axis=1)
    expected = int(totals[0]) if teachers is None else teachers
    if np.any(totals != expected):
        row = int(np.flatnonzero(totals != expected)[0])
        raise InputError(
            f"row {row} of `votes` sums to {int(totals[row])}, but {'row 0' if teachers is None else 'teachers'} "
            f"has {expected}: every teacher votes once in every row."
        )
    if expected == 0:
        raise InputError("`votes` has no votes in it: every row sums to 0.")
    return result


def _refuse(array: NDArray[np.generic], wrong: NDArray[np.bool_], why: str) -> None:
    if np.any(wrong):
        row, column = (int(i[0]) for i in np.nonzero(wrong))
        raise InputError(f"`votes` row {row}, column {column}: {array[row, column]} {why}.")


def _first_ragged(votes: object) -> str:
    if not isinstance(votes, list | tuple) or not votes:
        return "not a table"
    for i, row in enumerate(votes):  # a loop over what is wrong, only to say where
        if not isinstance(row, list | tuple | np.ndarray):
            return f"row {i} is {type(row).__name__}, not a list of counts"
        if len(row) != len(votes[0]):
            return f"row 0 has {len(votes[0])} counts, row {i} has {len(row)}"
        for j, cell in enumerate(row):
            if not isinstance(cell, int | float) or isinstance(cell, bool):
                return f"row {i}, column {j} is {cell!r}"
    return "counts are too large"


# --------------------------------------------------------------------------------------------------------------
# Tables: log of an upper bound on Pr[a class that trails by `gap` overtakes the leader]


def _laplace_continuous(gamma: float, gaps: Floats) -> Floats:
    # PATE 2017, Lemma 4: (2 + gamma*gap) / (4 exp(gamma*gap)).
    return np.log(2 + gamma * gaps) - math.log(4) - gamma * gaps


def _laplace_discrete(gamma: float, gaps: Floats) -> Floats:
    # The difference D of two noises with Pr[k] ~ p^|k|, p = exp(-gamma), has for m >= 0
    # Pr[D = m] = c p^m (m + b), c = ((1-p)/(1+p))^2, b = (1+p^2)/(1-p^2); summed from m = gap:
    # Pr[D >= gap] = c p^gap [(gap + b)/(1-p) + p/(1-p)^2].
    p = math.exp(-gamma)
    log_one_minus_p = math.log(-math.expm1(-gamma))
    b = (1 + p * p) / (-math.expm1(-2 * gamma))
    bracket = np.logaddexp(np.log(gaps + b) - log_one_minus_p, -gamma - 2 * log_one_minus_p)
    return 2 * (log_one_minus_p - math.log1p(p)) - gamma * gaps + bracket


def _gaussian_continuous(sigma: float, gaps: Floats) -> Floats:
    # PATE 2018, Proposition 7: erfc(gap / (2 sigma)) / 2, the tail of N(0, 2 sigma^2).
    return special.log_ndtr(-gaps / (math.sqrt(2) * sigma))


def _gaussian_discrete(sigma: float, gaps: Floats) -> Floats:
    # Two discrete Gaussians: Pr[D = m] = exp(-m^2/(4 sigma^2)) theta(m mod 2) / Z^2, where
    # theta(r) = sum_x exp(-(x + r/2)^2 / sigma^2) and Z = sum_x exp(-x^2 / (2 sigma^2)).
    log_theta = np.array([_log_theta(r / 2, 1 / sigma**2) for r in (0, 1)])
    log_z = _log_theta(0.0, 1 / (2 * sigma**2))
    return _lattice_tail(gaps, 1 / (4 * sigma**2), log_theta - 2 * log_z)


def _log_theta(shift: float, a: float) -> float:
    """log of sum over integers x of exp(-a (x + shift)^2), rounded to nothing smaller than the truth."""
    if a < 1e-3:  # Poisson summation: the correction is below 1e-4000
        return 0.5 * math.log(math.pi / a)
    reach = math.ceil(math.sqrt(750 / a)) + 2
    x = np.arange(-reach, reach + 1) + shift
    return float(np.asarray(special.logsumexp(-a * x * x)))


def _lattice_tail(gaps: Floats, a: float, log_weight: Floats) -> Floats:
    """log of sum over integers m >= gap of exp(-a m^2) w(m mod 2), for whole gaps >= 0; an upper bound, near exact.

    Moderate sizes are summed term by term. Beyond, the sum of a decreasing function is at most its first term plus its
    integral, and, since terms two apart shrink by at least exp(-4a(gap+1)), at most a geometric series.
    """
    largest = float(gaps.max(initial=0.0))
    reach = math.ceil(math.sqrt(750 / a + largest**2)) + 2 if a > 0 and largest < 1e15 else math.inf
    if reach <= _TABLE:
        m = np.arange(int(reach) + 1)
        tail = np.logaddexp.accumulate((-a * m * m + log_weight[m % 2])[::-1])[::-1]
        return tail[gaps.astype(np.int64)]
    heavier = float(log_weight.max())
    first = -a * gaps * gaps + heavier
    integral = heavier + 0.5 * math.log(math.pi / a) + special.log_ndtr(-gaps * math.sqrt(2 * a))
    series = first + math.log(2) - np.log(-np.expm1(-4 * a * (gaps + 1)))
    return np.minimum(np.logaddexp(first, integral), series)


def _formula(kind: str, scale: float, noise: Noise) -> Callable[[Floats], Floats]:
    formula = {
        ("laplace", "continuous"): _laplace_continuous,
        ("laplace", "discrete"): _laplace_discrete,
        ("gaussian", "continuous"): _gaussian_continuous,
        ("gaussian", "discrete"): _gaussian_discrete,
    }[kind, noise]
    return lambda gaps: np.minimum(formula(scale, gaps), 0.0)


@lru_cache(maxsize=64)
def _table(kind: str, scale: float, noise: Noise, largest_gap: int) -> Floats:
    table = _formula(kind, scale, noise)(np.arange(largest_gap + 1, dtype=np.float64))
    table.setflags(write=False)
    return table


def _overtake(kind: str, scale: float, noise: Noise, largest_gap: int) -> Callable[[Ints], Floats]:
    if largest_gap > _TABLE:
        formula = _formula(kind, scale, noise)
        return lambda gaps: formula(gaps.astype(np.float64))
    return _table(kind, scale, noise, largest_gap).__getitem__


def _logq(votes: Ints, overtake: Callable[[Ints], Floats]) -> Floats:
    """Union bound over the classes that trail, capped at 1 - 1/classes."""
    queries, classes = votes.shape
    result = np.empty(queries)
    cap = math.log1p(-1 / classes)
    for start in range(0, queries, _CHUNK):
        block = votes[start : start + _CHUNK]
        leader = block.argmax(axis=1)
        rows = np.arange(len(block))
        terms = overtake(block[rows, leader][:, None] - block)
        terms[rows, leader] = -np.inf
        result[start : start + _CHUNK] = np.minimum(_logsumexp(terms), cap)
    return result


def _logsumexp(terms: Floats) -> Floats:
    top = terms.max(axis=1)
    return top + np.log(np.exp(terms - top[:, None]).sum(axis=1))


def lnmax_logq(votes: ArrayLike, gamma: float, *, noise: Noise = "continuous") -> Floats:
    """Private. log q of each histogram for LNMax with Lap(1/gamma) noise."""
    check_positive("gamma", gamma)
    counts = check_votes(votes)
    return _logq(counts, _overtake("laplace", float(gamma), noise, int(counts.max())))


def gnmax_logq(votes: ArrayLike, sigma: float, *, noise: Noise = "continuous") -> Floats:
    """Private. log q of each histogram for GNMax with N(0, sigma^2) noise."""
    check_positive("sigma", sigma)
    counts = check_votes(votes)
    return _logq(counts, _overtake("gaussian", float(sigma), noise, int(counts.max())))


def half_gap_gnmax_logq(votes: ArrayLike, sigma: float) -> Floats:
    """Private. log q from the continuous formula with every positive gap reduced by one half.

    Smooth sensitivity needs a q of the erfc form. This one is checked, for the sigma and the gaps at hand, against the
    exact discrete tail, so what uses it holds for the noise that is really drawn.
    """
    check_positive("sigma", sigma)
    counts = check_votes(votes)
    largest = int(counts.max())
    if largest > _TABLE:
        raise InputError(f"{largest} teachers are too many for the sanitised release (at most {_TABLE}).")
    gaps = np.arange(largest + 1, dtype=np.float64)
    table = _gaussian_continuous(float(sigma), np.where(gaps > 0, gaps - 0.5, 0.0))
    uncovered = np.flatnonzero(_table("gaussian", float(sigma), "discrete", largest)[1:] > table[1:] + 1e-12)
    if uncovered.size:
        raise InputError(
            f"`sigma` (={sigma}): the half-gap bound does not cover the discrete noise at a gap of "
            f"{int(uncovered[0]) + 1} votes, so the sanitised release is refused; use a larger sigma."
        )
    return _logq(counts, table.__getitem__)


def threshold_log_answered(max_counts: ArrayLike, threshold: float, sigma: float) -> Floats:
    """Private. log Pr[max count + N(0, sigma^2) >= threshold], the chance that Confident-GNMax answers."""
    check_positive("sigma_threshold", sigma)
    return special.log_ndtr((np.asarray(max_counts, dtype=np.float64) - threshold) / sigma)


def threshold_logq(max_counts: ArrayLike, threshold: float, sigma: float, *, noise: Noise = "continuous") -> Floats:
    """Private. log of the smaller of Pr[answered] and Pr[not answered]: how unlikely the less likely outcome is."""
    check_positive("sigma_threshold", sigma)
    counts = np.asarray(max_counts, dtype=np.float64)
    if noise == "continuous":
        return special.log_ndtr(-np.abs(threshold - counts) / sigma)
    # Answered means noise >= needed; by symmetry the less likely side is a tail that starts at 1 or later.
    needed = math.ceil(threshold) - counts
    log_z = _log_theta(0.0, 1 / (2 * sigma**2))
    weight = np.full(2, -log_z)
    return np.minimum(_lattice_tail(np.maximum(needed, 1 - needed), 1 / (2 * sigma**2), weight), math.log(0.5))
