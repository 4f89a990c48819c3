"""Where the rows of a column lie, from noisy counts of cells: the bounds that nobody declared. Sees released numbers only."""

from __future__ import annotations

import numpy as np

from understudy.tables.coordinates.histogram import Estimate

# The further a cell lies from what is found already, the more it must stand out of the noise.
_NEAR = (1.3, 2.3, 3.3)
_FAR = 4.0
_FIRST = 3.5
_WIDE, _SPARSE, _CLEAR = 0.4, 0.1, 4.0
_EMPTY, _DROWNS, _QUIET = 0.1, 1.0, 0.003
_TAIL = 5.0
_UNSEEN = 1.5
_FEW, _MANY = 0.75, 3.0
_LEFT, _HALF = 0.2, 0.5


def occupied(counts: np.ndarray, deviations: np.ndarray, least: float = _FIRST) -> tuple[int, int] | None:
    """The first and one past the last cell that holds rows; None where no cell stands out by `least` deviations.

    From the cell that stands out most it reaches on in both directions: the next cell counts from 1.3 deviations of
    the noise on, the one after from 2.3, then 3.3; anything further from four.
    """
    if len(counts) == 0:
        return None
    score = counts / deviations
    top = int(np.argmax(score))
    if score[top] < least:
        return None
    return top - _reach(score[:top][::-1]), top + 1 + _reach(score[top + 1 :])


def ladder_range(edges: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> tuple[int, int] | None:
    """As `occupied`, for the signed ladder: each sign by itself, the weaker one from four deviations on; and zero.

    Cells shrink towards zero, so the small values of an ordinary column are the first to drown: a range that would
    grow by at most a third on its way to zero reaches it.
    """
    zero = len(counts) // 2
    score = counts / deviations
    above, below = slice(zero + 1, None), slice(0, zero)
    weaker = above if score[above].max() < score[below].max() else below
    found: list[tuple[int, int]] = []
    for side, start in ((below, 0), (above, zero + 1)):
        span = occupied(counts[side], deviations[side], _FAR if side == weaker else _FIRST)
        if span is not None:
            found.append((span[0] + start, span[1] + start))
    if score[zero] > _FIRST:
        found.append((zero, zero + 1))
    if not found:
        return None
    first, last = min(span[0] for span in found), max(span[1] for span in found)
    if first > zero and edges[first] <= edges[last] / 4:
        first = zero
    if last <= zero and edges[last] >= edges[first] / 4:
        last = zero + 1
    return first, last


def leaves_many(now: Estimate, span: tuple[int, int], rows: int) -> bool:
    """Whether a good part of the rows is neither there nor missing: all of them lie somewhere, whatever drowns."""
    inside = slice(*span)
    left = rows - now.missing - now.counts[inside].sum()
    noise = (now.missing_variance + now.variance[inside].sum()) ** 0.5
    return left > max(_LEFT * rows, _FIRST * noise)


def stretched(counts: np.ndarray, deviations: np.ndarray, span: tuple[int, int]) -> tuple[int, int]:
    """The span with the cells around it that hold most, next to noise: each end goes where the sum of what stands out by more
    than half a deviation is largest.
    """
    gain = counts - _HALF * deviations
    up, down = np.cumsum(gain[span[1] :]), np.cumsum(gain[: span[0]][::-1])
    last = span[1] + (int(np.argmax(up)) + 1 if len(up) and up.max() > 0 else 0)
    first = span[0] - (int(np.argmax(down)) + 1 if len(down) and down.max() > 0 else 0)
    return first, last


def without_sparse_ends(edges: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> tuple[int, int]:
    """The first and one past the last cell, without an end that takes a good part of the range for few of the rows,
    nor, where the noise hides next to no rows, one that takes a tenth of it for nothing.

    Rows that stand out clearly stay where they are. The others are not lost: they are counted with what lies beyond, and `ends` says how far they reach.
    """
    width = np.diff(edges)
    first = _sparse_end(width, counts, deviations)
    last = _sparse_end(width[first:][::-1], counts[first:][::-1], deviations[first:][::-1])
    return first, len(counts) - last


def _sparse_end(width: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> int:
    """How many cells to cut."""
    share = np.cumsum(width)[:-1] / width.sum()
    noise = np.sqrt(np.cumsum(deviations**2))[:-1]
    nothing = _DROWNS * noise
    few = np.maximum(np.minimum(_SPARSE * counts.sum(), _CLEAR * noise), nothing)
    rows = np.cumsum(counts)[:-1]
    empty = (rows <= nothing) & (noise <= _QUIET * counts.sum())
    cuts = np.flatnonzero(((rows <= few) & (share >= _WIDE)) | (empty & (share >= _EMPTY)))
    return int(cuts[-1]) + 1 if len(cuts) else 0


def tail(count: float, deviation: float, beside: float, width: float) -> float:
    """How far rows beyond a bound are taken to lie from it: `count` of them, noisy, and `beside` a row for each place.

    They are taken to thin out as an exponential does, from the density of the cells beside the bound: past `_TAIL` times
    its mean there are next to none. Where they do not stand out, what the noise may hide gets room: three quarters of the
    range (`width`) at most; where they do, three times it.
    """
    rows = max(count, _UNSEEN * deviation)
    most = _FEW if count < 2 * deviation else _MANY
    return min(_TAIL * rows / max(beside, 1e-300), most * width)


def ends(edges: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> tuple[float, float]:
    """Bounds from cells of which the first and the last hold what lies beyond those in between.

    No range crosses zero for rows that do not stand out: it is a natural end.
    """
    width, rows = np.diff(edges)[1:-1], np.maximum(counts, _UNSEEN * deviations)[1:-1]
    inside = float(edges[-2] - edges[1])
    # Two cells tell the density beside a bound better than one.
    below, above = (
        tail(float(counts[end]), float(deviations[end]), rows[near].sum() / width[near].sum(), inside)
        for end, near in ((0, slice(0, 2)), (-1, slice(-2, None)))
    )
    low, high = edges[1] - below, edges[-2] + above
    if edges[1] >= 0 > low and counts[0] < _FAR * deviations[0]:
        low = 0.0
    if edges[-2] <= 0 < high and counts[-1] < _FAR * deviations[-1]:
        high = 0.0
    return max(float(low), float(edges[0])), min(float(high), float(edges[-1]))


def _reach(score: np.ndarray) -> int:
    """How many of these cells, which lead away from what is found, are reached."""
    reached = 0
    for at in np.flatnonzero(score > _NEAR[0]):
        gap = at - reached
        if score[at] > (_NEAR[gap] if gap < len(_NEAR) else _FAR):
            reached = int(at) + 1
    return reached
