"""The public cells that a column without bounds is counted into first, and those of a column with bounds.

Cells are half-open intervals of places: on a grid a place is a whole number (the value divided by the step), without one it
is the value itself. The ladder of numbers is signed and geometric: zero, then powers of four up to about 1e12, from 1e-6
where there is no grid; whole numbers have cells for one and for the years 1900 to 2100 beside. That of moments is the years 1800 to 2199 in 64 even parts.
"""

from __future__ import annotations

import math

import numpy as np

from understudy.tables.coordinates.cells import FIRST_SECOND, LAST_SECOND
from understudy.tables.coordinates.readings import LIMIT, to_index

BASE = 4.0
_SMALLEST = -10
TINY = BASE**_SMALLEST
"""About 1e-6: without a grid, what is nearer to zero than this is zero."""
_DATE_CELLS = 64
# Whole numbers are often zeros and ones, or years: these have cells of their own.
_USUAL = (2.0, 1900.0, 2101.0)


def number_ladder(step: float) -> np.ndarray:
    """Edges of the signed geometric cells; the middle one is zero."""
    if step == 0:
        ends = BASE ** np.arange(_SMALLEST, math.ceil(math.log(LIMIT, BASE)) + 1)
        ends[-1] = np.nextafter(LIMIT, np.inf)
        return np.concatenate([-ends[::-1], ends])
    powers = np.arange(0, math.ceil(math.log(LIMIT / step, BASE)) + 1)
    ends = BASE**powers
    if step == 1:
        ends = np.unique(np.concatenate([ends, _USUAL]))
    ends[-1] = np.floor(LIMIT / step) + 1
    return np.concatenate([1 - ends[::-1], ends])


def date_ladder(step: float) -> np.ndarray:
    """Edges of even cells over four hundred years."""
    low, high = np.floor(FIRST_SECOND / step), np.floor(LAST_SECOND / step) + 1
    return np.unique(np.rint(np.linspace(low, high, _DATE_CELLS + 1)))


def bounded(bounds: tuple[float, float], step: float, parts: int, *, log: bool = False) -> np.ndarray:
    """Edges of about so many cells between declared bounds, even (or even in the logarithm), zero in one of its own."""
    if step > 0:
        low, high = (float(place) for place in to_index(np.array(bounds), step))
        high += 1
    else:
        low, high = bounds[0], float(np.nextafter(bounds[1], np.inf))
    spread = np.linspace(0, 1, parts + 1)
    if log:
        base = low if low > 0 else 1.0
        spread = np.expm1(spread * math.log1p((high - low) / base)) * base / (high - low)
    edges = low + spread * (high - low)
    edges[-1] = high
    if step > 0:
        return np.unique(np.rint(edges))
    if low <= 0 < high:
        tiny = zero_width(low, high)
        kept = edges[(edges <= -tiny) | (edges >= tiny)]
        edges = np.concatenate([kept, [max(low, -tiny), min(tiny, high)]])
    return np.unique(edges)


def zero_width(low: float, high: float) -> float:
    """How near to zero counts as zero between these bounds, where there is no grid."""
    return min(TINY, (high - low) * 1e-9)
