"""Where the rows of a column lie, from noisy counts of cells: the bounds that nobody declared. Sees released numbers only."""

from __future__ import annotations

import numpy as np

# The further a cell lies from what is found already, the more it must stand out of the noise.
_NEAR = (1.0, 2.0, 3.0)
_FAR = 4.0
_FIRST = 3.0
_WIDE = 0.25
_DROWNS = 0.5


def occupied(counts: np.ndarray, deviations: np.ndarray, least: float = _FIRST) -> tuple[int, int] | None:
    """The first and one past the last cell that holds rows; None where no cell stands out by `least` deviations.

    From the cell that stands out most it reaches on in both directions: the next cell counts from one deviation of the
    noise on, the one after from two, then three; anything further from four.
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


def without_empty_ends(edges: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> tuple[int, int]:
    """The first and one past the last cell, after an end has been cut off that is wide and in which all rows drown.

    Wide is a quarter of the range: a narrower end is not worth the rows that it may hold after all.
    """
    first = _empty_end(np.diff(edges), counts, deviations)
    last = _empty_end(np.diff(edges)[first:][::-1], counts[first:][::-1], deviations[first:][::-1])
    return first, len(counts) - last


def _empty_end(width: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> int:
    """How many cells to cut: as far as their sum never stands out, if that is wide."""
    stands_out = np.cumsum(counts) > _DROWNS * np.sqrt(np.cumsum(deviations**2))
    cut = int(np.argmax(stands_out)) if stands_out.any() else 0
    return cut if width[:cut].sum() >= _WIDE * width.sum() else 0


def _reach(score: np.ndarray) -> int:
    """How many of these cells, which lead away from what is found, are reached."""
    reached = 0
    for at in np.flatnonzero(score > _NEAR[0]):
        gap = at - reached
        if score[at] > (_NEAR[gap] if gap < len(_NEAR) else _FAR):
            reached = int(at) + 1
    return reached
