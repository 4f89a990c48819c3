"""One look at all pairs of columns: every one-way and two-way table of a coded dataset, class by class, in one release.

A row of codes stands in exactly one cell of each table, and it belongs to one class. That is all the sensitivity
there is: it does not depend on how many categories a column has, nor on how many classes there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.events import GaussianEvent, check_count, check_positive
from understudy.privacy.persons import check_weights, in_parts, weighted

Ints = NDArray[np.int64]

ABSENT = -1
"""The code of a row that was blanked: it is counted nowhere."""
_CHUNK = 1 << 13
# Nanoseconds a row: for each pair of columns, and for each cell of a product. Tables larger than so many cells are no longer in the
# processor's own memory while they are counted; a table of three columns has at most fewer.
_PAIR, _PRODUCT, _LARGEST, _MOST_CELLS = 0.6, 0.02, 1 << 18, 1 << 17
# Rows that are made ready together, and those that are counted together; the cells that 16 bits name.
_ROWS, _CELLS, _SHORT = 1 << 18, 1 << 16, 1 << 16


@dataclass(frozen=True)
class PairTables:
    """All one-way and two-way tables of m coded columns for each class, with exact discrete Gaussian noise.

    Formal guarantee: blanking a record takes one from one cell of each of the m one-way tables and of each of the
    m (m - 1) / 2 two-way tables of its class, and touches no other class. With noise of sigma_1 on the one-way and
    sigma_2 on the two-way cells that is m moves of one integer cell at sigma_1 and m (m - 1) / 2 at sigma_2, which is
    what the two events say. `marginal_share` divides the precision: m / sigma_1^2 = share / noise_multiplier^2 and
    m (m - 1) / 2 / sigma_2^2 = (1 - share) / noise_multiplier^2, so both together are a Gaussian mechanism of
    `noise_multiplier`. With a single column there are no pairs, and all of it goes to its one table.

    With a `grid` a record is a person, whose rows count so many parts in all (see `persons`): then it moves each table by a
    vector of norm at most one, at the same noise.
    """

    noise_multiplier: float
    marginal_share: float = 0.1
    grid: int = 1

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_count("grid", self.grid)
        if not 0 < self.marginal_share < 1:
            raise InputError(f"`marginal_share` (={self.marginal_share}) must lie strictly between 0 and 1.")

    def sigmas(self, columns: int) -> tuple[float, float]:
        """The noise's standard deviation on a cell of a one-way and of a two-way table."""
        check_count("columns", columns)
        share = self.marginal_share if columns > 1 else 1.0
        pairs = columns * (columns - 1) / 2
        one = math.nextafter(self.noise_multiplier * math.sqrt(columns / share), math.inf)
        two = math.nextafter(self.noise_multiplier * math.sqrt(pairs / (1 - share)), math.inf) if pairs else 0.0
        return one, two

    def events(self, columns: int) -> list[GaussianEvent]:
        """What a release of so many columns is charged as."""
        one, two = self.sigmas(columns)
        whole = self.grid == 1
        events = [GaussianEvent(one, columns, "discrete", integer_unit=whole)]
        if columns > 1:
            events.append(GaussianEvent(two, columns * (columns - 1) // 2, "discrete", integer_unit=whole))
        return events

    def release(
        self,
        codes: ArrayLike,
        sizes: Sequence[int],
        classes: ArrayLike,
        n_classes: int,
        budget: Budget,
        weights: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Noisy tables, classes x D x D with D = sum(sizes), in whole numbers or, with a grid, in parts of one. Safe to publish.

        The block of two columns is their two-way table (both triangles hold the same numbers); the diagonal holds the
        one-way tables, and the rest of a column's own block is zero. `codes` are rows x columns, each below the
        column's size; a row whose class is `ABSENT` is counted nowhere.
        """
        return self.release_counts(self.count(codes, sizes, classes, n_classes, weights), sizes, budget)

    def count(
        self,
        codes: ArrayLike,
        sizes: Sequence[int],
        classes: ArrayLike,
        n_classes: int,
        weights: ArrayLike | None = None,
    ) -> Ints:
        """Private. The exact tables of some rows, in parts of the grid; those of several batches of rows add up."""
        rows, groups = _check(codes, sizes, classes, n_classes)
        parts = check_weights(weights, len(rows), self.grid)
        if parts is None:
            return _count(rows, sizes, groups, n_classes)
        return weighted(lambda at: _count(rows[at], sizes, groups[at], n_classes), len(rows), parts)

    def release_counts(self, counts: Ints, sizes: Sequence[int], budget: Budget) -> NDArray[Any]:
        """The noisy tables of what `count` gave, of all rows. Safe to publish."""
        columns, width = len(sizes), int(np.sum(sizes))
        if counts.ndim != 3 or counts.shape[1:] != (width, width) or counts.dtype != np.int64:
            raise InputError(f"expected counts as classes x {width} x {width}, got {counts.dtype} {counts.shape}.")
        one, two = (in_parts(sigma, self.grid) if sigma else 0.0 for sigma in self.sigmas(columns))
        budget.charge(*self.events(columns))
        owner = np.repeat(np.arange(columns), sizes)
        upper = np.nonzero(np.less.outer(owner, owner))
        noisy = np.zeros_like(counts)
        places: Ints = np.arange(width, dtype=np.int64)
        noisy[:, places, places] = budget.noise.add_discrete_gaussian(counts[:, places, places], one)
        if columns > 1:
            pairs = budget.noise.add_discrete_gaussian(counts[:, upper[0], upper[1]], two)
            noisy[:, upper[0], upper[1]] = pairs
            noisy[:, upper[1], upper[0]] = pairs
        return noisy if self.grid == 1 else noisy / self.grid


def _count(codes: NDArray[Any], sizes: Sequence[int], classes: NDArray[Any], n_classes: int) -> Ints:
    """Private. Exact tables: of few columns at a time, or all at once by products of matrices, whichever takes less time."""
    width, pairs = sum(sizes), len(sizes) * (len(sizes) - 1) / 2
    if _PRODUCT * width**2 > _PAIR * pairs and n_classes * max(sizes) ** 2 <= _LARGEST:
        return _counted_by_block(codes, sizes, classes, n_classes)
    return _counted_by_product(codes, sizes, classes, n_classes)


def _counted_by_block(codes: NDArray[Any], sizes: Sequence[int], classes: NDArray[Any], n_classes: int) -> Ints:
    """A table of three columns holds those of its three pairs: one count of the rows for all of them."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = np.zeros((n_classes, starts[-1], starts[-1]), dtype=np.int64)
    present = None if (classes != ABSENT).all() else np.flatnonzero(classes != ABSENT)
    blocks, room = _blocks(tuple(sizes), n_classes), np.empty(_CELLS, dtype=np.intp)
    for start in range(0, len(codes if present is None else present), _ROWS):
        rows = slice(start, start + _ROWS) if present is None else present[start : start + _ROWS]
        parts = [classes[rows], *codes[rows].T]
        # Short whole numbers take a fraction of the time; most tables have fewer cells than these can name.
        short = np.array(parts, dtype=np.uint16) if max(n_classes, *sizes) < _SHORT else None
        long = dict[int, NDArray[np.uint32]]()
        ones: set[int] = set()
        for block in blocks:
            shape, mine = (n_classes, *(sizes[i] for i in block)), (0, *(1 + i for i in block))
            if short is not None and math.prod(shape) <= _SHORT:
                table = _table([short[place] for place in mine], shape, room)
            else:
                long |= {place: parts[place].astype(np.uint32) for place in mine if place not in long}
                table = _table([long[place] for place in mine], shape, room)
            for at, i in enumerate(block, start=1):
                here = slice(int(starts[i]), int(starts[i + 1]))
                if i not in ones:
                    others = tuple(k for k in range(1, len(shape)) if k != at)
                    places = np.arange(here.start, here.stop)
                    total[:, places, places] += table.sum(axis=others)
                    ones.add(i)
                for more, j in enumerate(block[at:], start=at + 1):
                    left = tuple(k for k in range(1, len(shape)) if k not in (at, more))
                    total[:, here, starts[j] : starts[j + 1]] += table.sum(axis=left)
    return total


def _table(parts: Sequence[NDArray[Any]], shape: tuple[int, ...], at: NDArray[np.intp]) -> Ints:
    """Private. How many rows are in each cell of the table of these columns. `at` has room for the places of a chunk of rows."""
    found = np.zeros(math.prod(shape), dtype=np.int64)
    for start in range(0, len(parts[0]), _CELLS):
        here = slice(start, start + _CELLS)
        cell = parts[0][here].copy()
        for part, size in zip(parts[1:], shape[1:], strict=True):
            cell *= cell.dtype.type(size)
            cell += part[here]
        np.copyto(at[: len(cell)], cell)
        np.add.at(found, at[: len(cell)], 1)  # it takes two thirds of the time of a bincount
    return found.reshape(shape)


@lru_cache(maxsize=16)
def _blocks(sizes: tuple[int, ...], n_classes: int) -> list[tuple[int, ...]]:
    """Columns that are counted together, in threes where they can be: every pair of columns is in exactly one block.

    Of m columns those three are a block whose numbers sum to a multiple of m: two of them tell the third.
    """
    m, blocks = len(sizes), list[tuple[int, ...]]()
    if m == 1:
        return [(0,)]
    for i in range(m):
        for j in range(i + 1, m):
            k = -(i + j) % m
            together = k not in (i, j) and n_classes * sizes[i] * sizes[j] * sizes[k] <= _MOST_CELLS
            if not together:
                blocks.append((i, j))
            elif k > j:
                blocks.append((i, j, k))
    return blocks


def _counted_by_product(codes: NDArray[Any], sizes: Sequence[int], classes: NDArray[Any], n_classes: int) -> Ints:
    """Products of one-hot blocks, each small enough for its sums to be exact in float32; the upper triangle alone is filled."""
    from scipy.linalg import blas  # pyright: ignore[reportMissingTypeStubs]
    from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

    multiply: Any = getattr(blas, "ssyrk")  # noqa: B009  (made at import; no checker knows it)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = np.zeros((n_classes, starts[-1], starts[-1]), dtype=np.int64)
    one_hot = np.zeros((min(_CHUNK, len(codes)), starts[-1]), dtype=np.float32)
    cells = one_hot.reshape(-1)
    first = np.arange(len(one_hot))[:, None] * starts[-1] + starts[:-1]  # of each row and column, in `cells`
    chunks = (
        (c, mine[start : start + _CHUNK])
        for c in range(n_classes)
        for mine in [np.flatnonzero(classes == c)]
        for start in range(0, len(mine), _CHUNK)
    )
    # A product takes milliseconds: threads that wait for one another would cost more than they give.
    with threadpool_limits(1):
        for c, rows in chunks:
            places = codes[rows] + first[: len(rows)]
            cells[places] = 1
            # The upper triangle of block' block, at half the work of the whole product.
            total[c] += np.asarray(multiply(1.0, one_hot[: len(rows)].T), dtype=np.int64)
            cells[places] = 0
    return total


def _check(
    codes: ArrayLike, sizes: Sequence[int], classes: ArrayLike, n_classes: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    rows, groups = np.asarray(codes), np.asarray(classes)
    check_count("n_classes", n_classes)
    for column, size in enumerate(sizes):
        check_count(f"sizes[{column}]", size)
    if rows.ndim != 2 or rows.shape[1] != len(sizes) or rows.shape[1] == 0:
        raise InputError(f"expected codes as records x {len(sizes)} columns, got an array of shape {rows.shape}.")
    if groups.shape != (len(rows),):
        raise InputError(f"expected one class for each of {len(rows)} records, got shape {groups.shape}.")
    for name, array in (("codes", rows), ("classes", groups)):
        if array.dtype == bool or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"`{name}` must be whole numbers of an integer type, got {array.dtype}.")
    present = groups != ABSENT
    wrong = present & ((groups < 0) | (groups >= n_classes))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"record {row} has class {groups[row]}; there are {n_classes}.")
    known = rows if present.all() else rows[present]
    # The extremes of a column tell at a fraction of the time whether there is a code to look for.
    if len(known) and ((known.min(axis=0) < 0) | (known.max(axis=0) >= np.asarray(sizes))).any():
        outside = present[:, None] & ((rows < 0) | (rows >= np.asarray(sizes)))
        row, column = (int(i[0]) for i in np.nonzero(outside))
        raise InputError(f"record {row}, column {column} has code {rows[row, column]}; it has {sizes[column]} values.")
    return rows, groups
