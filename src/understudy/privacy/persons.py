"""Persons with several rows: weights by which all rows of one person together count for no more than one row did.

Neighbours are two tables of which one has all rows of one person blanked. A look that counted each row in full would move
by up to K, the most rows that a person may have, and need K times the noise. Here each of a person's k rows counts
floor(GRID / k) of GRID parts, so that a person's rows count at most GRID parts in all, whatever k is.

Formal guarantee, for the mechanisms that take a `grid`: they add up, row by row, vectors of norm at most one (a cell of a
table, a clipped row, its products). Of a person with k rows the sum holds k times floor(GRID / k) / GRID of such vectors:
by the triangle inequality a vector of norm at most one. So the L2 sensitivity, and the noise, are those of one row. A person
may move several cells, each by a part of one: the loss is no longer that of one integer that moves by one, and the event
says so (`integer_unit` is false). In grid parts all sums are whole numbers, and so is the noise on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.events import check_count

Ints = NDArray[np.int64]

GRID = 5040
"""Parts that one person has; a multiple of 1 to 10, so that up to ten rows lose nothing by rounding."""
MOST_ROWS = 1000
"""The largest K: beyond it rounding down would cost a person much of what it may count."""


def grid_of(most: int) -> int:
    """In how many parts a record counts where a person has at most so many rows; one row counts as a whole."""
    check_count("rows per person", most)
    if most > MOST_ROWS:
        raise InputError(f"at most {MOST_ROWS} rows of one person are taken, not {most}. Choose fewer.")
    return 1 if most == 1 else GRID


def person_weights(persons: ArrayLike, grid: int) -> Ints:
    """Private. For each row the parts that it counts, from the number of the person whose it is."""
    whose = np.asarray(persons)
    if whose.ndim != 1 or not np.issubdtype(whose.dtype, np.integer) or (whose.size and whose.min() < 0):
        raise InputError("expected one person, numbered from 0, for each row.")
    rows = np.bincount(whose)[whose]
    if whose.size and rows.max() > grid:
        raise InputError(f"a person has {rows.max()} rows, more than the {grid} parts that one may count.")
    return (grid // np.maximum(rows, 1)).astype(np.int64)


def noise_on_a_count(most: int, epsilon: float, delta: float) -> float:
    """The noise on one count that takes all of a budget, where a person has at most so many rows; from public numbers alone."""
    from understudy.privacy.calibration import smallest_noise
    from understudy.privacy.events import GaussianEvent

    whole = grid_of(most) == 1
    return smallest_noise(lambda n: [GaussianEvent(n, 1, "discrete", integer_unit=whole)], epsilon, delta)


def in_parts(sigma: float, grid: int) -> float:
    """The noise on a sum of parts whose noise in ones is `sigma`, never less."""
    return sigma if grid == 1 else math.nextafter(sigma * grid, math.inf)


def check_weights(weights: ArrayLike | None, rows: int, grid: int) -> Ints | None:
    """Refuse weights that no grid of this size gives; none where every row is a record of its own."""
    if weights is None:
        if grid != 1:
            raise InputError("rows of persons need their `weights`.")
        return None
    parts = np.asarray(weights)
    if parts.shape != (rows,) or not np.issubdtype(parts.dtype, np.integer):
        raise InputError(f"expected one whole-numbered weight for each of {rows} rows.")
    if parts.size and (parts.min() < 1 or parts.max() > grid):
        raise InputError(f"a weight lies outside of 1 to {grid}.")
    return parts.astype(np.int64)


def weighted(total: Callable[[Ints], Ints], rows: int, weights: Ints | None) -> Ints:
    """Private. What `total` says of all rows, each counted by its weight: rows of one weight are added up together, exactly."""
    if weights is None:
        return total(np.arange(rows, dtype=np.int64))
    found = total(np.zeros(0, dtype=np.int64))
    for weight in np.unique(weights):
        found = found + weight * total(np.flatnonzero(weights == weight))
    return found
