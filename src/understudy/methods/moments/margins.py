"""How common each code is, from noisy tables of all pairs of columns. Free of privacy cost.

A column's own table is one of many that say it: each two-way table that it stands in sums to the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
    """The counts nearest to noisy ones that are not negative and sum to `total` in each column; zero for what is not kept.

    All of a column's counts are lowered by the same amount, and what would be negative is zero.
    """
    found = np.zeros(len(counts))
    for column in range(owner[-1] + 1):
        mine = kept[owner[kept] == column]
        down = np.sort(counts[mine])[::-1]
        cuts = (np.cumsum(down) - max(total, 1.0)) / np.arange(1, len(down) + 1)
        found[mine] = np.maximum(counts[mine] - cuts[np.flatnonzero(down > cuts)[-1]], 0.0)
    return found
