"""How common each code is, from noisy tables of all pairs of columns. Free of privacy cost.

A column's own table is one of many that say it: each two-way table that it stands in sums to the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.tables.coordinates.histogram import simplex

# Where more than this part of what tells a column's codes apart is noise, they are drawn towards equal counts.
_NOISY = 0.5


def class_counts(tables: np.ndarray, sizes: Sequence[int], one: float, two: float) -> np.ndarray:
    """The rows of each class: every table of a class sums to them, and all the sums are averaged by their noise."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total = weight = 0.0
    for i, size in enumerate(sizes):
        here = slice(starts[i], starts[i + 1])
        total = total + tables[:, here, here].sum(axis=(1, 2)) / (size * one**2)
        weight += 1 / (size * one**2)
        for j in range(i + 1, len(sizes)):
            there = slice(starts[j], starts[j + 1])
            total = total + tables[:, here, there].sum(axis=(1, 2)) / (size * sizes[j] * two**2)
            weight += 1 / (size * sizes[j] * two**2)
    return np.asarray(total / weight)


def class_margins(tables: np.ndarray, sizes: Sequence[int], one: float, two: float) -> tuple[np.ndarray, np.ndarray]:
    """The count of each code in each class, averaged by the noise, and the deviations of these counts, equal in all classes."""
    starts, width = np.concatenate([[0], np.cumsum(sizes)]), tables.shape[1]
    total, weight = np.diagonal(tables, axis1=1, axis2=2).astype(np.float64) / one**2, np.full(width, 1 / one**2)
    if len(sizes) > 1:
        for j, size in enumerate(sizes):
            known = np.full(width, 1 / (size * two**2))
            known[starts[j] : starts[j + 1]] = 0.0
            total = total + known * tables[:, :, starts[j] : starts[j + 1]].sum(axis=2, dtype=np.float64)
            weight += known
    return total / weight, weight**-0.5


def code_counts(tables: np.ndarray, sizes: Sequence[int], one: float, two: float) -> tuple[np.ndarray, np.ndarray]:
    """The count of each code in all classes together, and the deviations of these counts."""
    counts, sigma = class_margins(tables, sizes, one, two)
    return counts.sum(axis=0), np.sqrt(len(tables)) * sigma


def consistent(counts: np.ndarray, kept: np.ndarray, owner: np.ndarray, total: float) -> np.ndarray:
    """The counts nearest to noisy ones that are not negative and sum to `total` in each column; zero for what is not kept."""
    found = np.zeros(len(counts))
    for column in range(owner[-1] + 1):
        mine = kept[owner[kept] == column]
        found[mine] = simplex(counts[mine], max(total, 1.0))
    return found


def shrunk(counts: np.ndarray, deviation: np.ndarray) -> np.ndarray | None:
    """Noisy counts of a column's codes drawn towards equal ones, as far as their differences are noise (James and Stein 1961).

    None where most of the differences are not: then a few codes may hold most rows, and drawing all of them together would lose that.
    """
    mean, size = counts.mean(), len(counts)
    unlike = float((((counts - mean) / deviation) ** 2).sum())
    keep = 1 - (size - 3) / max(unlike, 1e-12)
    return mean + max(keep, 0.0) * (counts - mean) if size > 3 and keep < _NOISY else None


def likely_counts(
    tables: np.ndarray, sizes: Sequence[int], total: float, one: float, two: float, *, listed: np.ndarray | None = None,
    also: tuple[np.ndarray, np.ndarray] | None = None, least: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The count of each code that all looks together make likely, summing to `total` in each column; and which codes may be drawn.

    `also` are counts from another look and their variances, infinite where it had none. `listed` says which codes are categories (all, if
    left out): one whose count is below `least` deviations of its noise is never drawn. Most such codes stand for no row at all, and a
    column that is constant in the table should be so in the rows. Bins of numbers were made to hold about the same number of rows, and
    all of them stay. So do the codes of a column that are nearly all noise: those are drawn towards equal counts, as far as their
    differences are noise (James and Stein 1961).
    """
    counts, deviation = code_counts(tables, sizes, one, two)
    if also is not None:
        weight = 1 / (1 + deviation**2 / also[1])
        counts, deviation = weight * counts + (1 - weight) * also[0], deviation * np.sqrt(weight)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    standing = counts >= (least if listed is None else np.where(listed, least, -np.inf)) * deviation
    for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        here = slice(start, start + size)
        if (alike := shrunk(counts[here], deviation[here])) is not None:
            counts[here], standing[here] = alike, True
        standing[start + counts[here].argmax()] = True
    return consistent(counts, np.flatnonzero(standing), owner, total), standing
