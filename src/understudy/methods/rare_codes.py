"""Codes that too few rows have, put together before pairs are counted (MST, "compress domain"). Made of noisy counts alone: public.

A code whose noisy count is below `STANDS_OUT` deviations of the noise is one of the many cells of a pair's table that hold noise and
nothing else. As one code they are one cell; whoever draws rows deals them out again, by the counts of the column. Where noise is large
next to all codes, what lies below is no longer nothing: `most` limits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.errors import InputError
from understudy.release.arrays import fitting

STANDS_OUT = 3.0


@dataclass(frozen=True)
class RareCodes:
    """Public. For every column, which new code each code has, and which share of that it is."""

    codes: tuple[np.ndarray, ...]
    within: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, tables: Sequence[np.ndarray], sigma: float, whole: int | None, most: float | None = None) -> RareCodes:
        """From noisy counts of every column; the codes of the column `whole` stay apart, whatever they count.

        With `most`, only so many of the least codes that together, and with so many deviations of noise more, they are no more than
        that share of the column.
        """
        rare = [
            np.zeros(len(table), dtype=bool) if v == whole else _rare(table, sigma, most)
            for v, table in enumerate(tables)
        ]
        found = [_put_together(table, few) for table, few in zip(tables, rare, strict=True)]
        return cls(tuple(codes for codes, _ in found), tuple(within for _, within in found))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(codes.max()) + 1 for codes in self.codes)

    def narrowed(self, codes: np.ndarray) -> np.ndarray:
        """Private where rows are: their new codes."""
        return np.stack([new[old] for new, old in zip(self.codes, codes.T, strict=True)], axis=1)

    def table(self, column: int, counts: np.ndarray) -> np.ndarray:
        """Counts of a column by its new codes."""
        return np.bincount(self.codes[column], weights=counts, minlength=self.sizes[column])

    def sigma(self, column: int, sigma: float) -> np.ndarray:
        """The noise on those, where every code has `sigma`: what was put together has more."""
        return sigma * np.sqrt(np.bincount(self.codes[column], minlength=self.sizes[column]))

    def widened(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows as they were coded before."""
        wide = np.empty_like(codes)
        for v, (new, within) in enumerate(zip(self.codes, self.within, strict=True)):
            order = np.argsort(new, kind="stable")
            ends = np.cumsum(within[order])
            # Shares of one new code sum to one, so row i of a code c lies between c and c + 1 of the running sum.
            at = np.searchsorted(ends / ends[-1] * self.sizes[v], codes[:, v] + rng.random(len(codes)), side="right")
            wide[:, v] = order[np.minimum(at, len(order) - 1)]
        return wide

    def arrays(self) -> dict[str, np.ndarray]:
        return {"new_codes": np.concatenate(self.codes), "within": np.concatenate(self.within)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], sizes: Sequence[int], whole: int | None) -> RareCodes | None:
        """What `arrays` gave, from whoever; None where it is not there."""
        if "new_codes" not in arrays:
            return None
        total, ends = sum(sizes), np.cumsum(sizes)[:-1]
        codes = np.split(fitting(arrays, "new_codes", total, least=0, most=max(sizes) - 1).astype(np.int64), ends)
        within = np.split(fitting(arrays, "within", total, least=0.0, most=1.0).astype(np.float64), ends)
        for v, (new, shares) in enumerate(zip(codes, within, strict=True)):
            sums = np.bincount(new, weights=shares)
            apart = v != whole or np.array_equal(new, np.arange(len(new)))
            if np.any(np.bincount(new) == 0) or np.any(np.abs(sums - 1) > 1e-6) or not apart:
                raise InputError("codes that were put together do not fit: the release is damaged. Copy it again.")
        return cls(tuple(codes), tuple(within))


def _rare(table: np.ndarray, sigma: float, most: float | None) -> np.ndarray:
    """Which codes do not stand out."""
    rare = table < STANDS_OUT * sigma
    if most is not None:
        order = np.argsort(table, kind="stable")
        together = np.cumsum(table[order]) + STANDS_OUT * sigma * np.sqrt(np.arange(1, len(table) + 1))
        few = np.logical_and.accumulate(together <= most * table.sum())
        rare[order] &= few
    return rare


def _put_together(table: np.ndarray, rare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The new codes of a column, and the share of each: of those that are rare by their counts, as far as those are counts at all."""
    codes, within = np.arange(len(table)), np.ones(len(table))
    if rare.sum() < 2:
        return codes, within
    codes[~rare] = np.arange(int((~rare).sum()))
    codes[rare] = int((~rare).sum())
    few = np.maximum(table[rare], 0.0)
    within[rare] = few / few.sum() if few.sum() > 0 else 1 / len(few)
    return codes, within
