"""A look at all triples of columns at once: for each class, how the signs of three columns go together.

Every column is told apart into two halves, plus and minus one. The parity of three columns is the product of their signs;
summed over the rows of a class it says what no table of two columns can: whether three of them decide the class together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.events import GaussianEvent, check_count, check_positive
from understudy.privacy.pair_tables import ABSENT
from understudy.privacy.persons import check_weights, in_parts, weighted

Ints = NDArray[np.int64]
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Parities:
    """The sum of s_i s_j s_k over the rows of each class, for all triples i < j < k of m columns of signs.

    Formal guarantee: blanking a record takes plus or minus one from each of the m (m - 1) (m - 2) / 6 sums of its class and
    touches no other class. With exact discrete Gaussian noise of sigma on every sum these are that many moves of an integer by one,
    which is what the event says. sigma = noise_multiplier * sqrt(number of triples). With a `grid` a record is a person, whose rows
    count so many parts in all (see `persons`): it moves each sum by at most one.
    """

    noise_multiplier: float
    grid: int = 1

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_count("grid", self.grid)

    def sigma(self, columns: int) -> float:
        """The noise's standard deviation on one sum."""
        return math.nextafter(self.noise_multiplier * math.sqrt(math.comb(columns, 3)), math.inf)

    def events(self, columns: int) -> list[GaussianEvent]:
        """What a release of so many columns is charged as."""
        if columns < 3:
            return []
        return [GaussianEvent(self.sigma(columns), math.comb(columns, 3), "discrete", integer_unit=self.grid == 1)]

    def release(
        self, signs: ArrayLike, classes: ArrayLike, n_classes: int, budget: Budget, weights: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Noisy sums, classes x triples in the order of `triples`. Safe to publish.

        `signs` are plus and minus one, rows x columns; a row whose class is `ABSENT` is counted nowhere.
        """
        columns = np.asarray(signs).shape[-1]
        return self.release_sums(self.add_up(signs, classes, n_classes, weights), columns, budget)

    def add_up(self, signs: ArrayLike, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None) -> Ints:
        """Private. The exact sums of some rows, in parts of the grid; those of several batches of rows add up."""
        rows, groups = np.asarray(signs), np.asarray(classes)
        check_count("n_classes", n_classes)
        if rows.ndim != 2 or rows.shape[1] < 3 or groups.shape != (len(rows),):
            raise InputError(f"expected signs as records x 3 columns or more, and a class each; got {rows.shape}.")
        if not (np.abs(rows) == 1).all():
            raise InputError("`signs` must be plus or minus one.")
        if (present := groups[groups != ABSENT]).size and (present.min() < 0 or present.max() >= n_classes):
            raise InputError(f"there is a class outside of the {n_classes}.")
        parts = check_weights(weights, len(rows), self.grid)
        if parts is None:
            return _sums(rows, groups, n_classes)
        return weighted(lambda at: _sums(rows[at], groups[at], n_classes), len(rows), parts)

    def release_sums(self, sums: Ints, columns: int, budget: Budget) -> NDArray[Any]:
        """What `add_up` gave of all rows, with noise. Safe to publish."""
        if sums.ndim != 2 or sums.shape[1] != math.comb(columns, 3) or sums.dtype != np.int64:
            raise InputError(f"expected sums as classes x {math.comb(columns, 3)} triples, got {sums.shape}.")
        sigma = self.sigma(columns)
        budget.charge(*self.events(columns))
        noisy = budget.noise.add_discrete_gaussian(sums, in_parts(sigma, self.grid))
        return noisy if self.grid == 1 else noisy / self.grid


def triples(columns: int) -> Ints:
    """All triples of columns, as the sums stand in a release."""
    return np.array(list(combinations(range(columns), 3)), dtype=np.int64).reshape(-1, 3)


def _sums(signs: NDArray[Any], classes: Ints, n_classes: int) -> Ints:
    """Private. Exact sums: a row adds minus one where an odd number of its three signs is negative, which bits tell, 64 rows at once."""
    columns = signs.shape[1]
    total = np.zeros((n_classes, math.comb(columns, 3)), dtype=np.int64)
    for c in range(n_classes):
        mine = np.flatnonzero(classes == c)
        for start in range(0, len(mine), _CHUNK):
            rows = mine[start : start + _CHUNK]
            words = np.zeros((columns, -(-len(rows) // 64) * 8), dtype=np.uint8)
            for column in range(columns):
                negative = np.packbits(signs[:, column].take(rows) < 0)
                words[column, : len(negative)] = negative
            bits, at = words.view(np.uint64), 0
            for i in range(columns - 2):
                for j in range(i + 1, columns - 1):
                    odd = np.bitwise_count((bits[i] ^ bits[j]) ^ bits[j + 1 :]).sum(axis=1, dtype=np.int64)
                    total[c, at : at + len(odd)] += len(rows) - 2 * odd
                    at += len(odd)
    return total
