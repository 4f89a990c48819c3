"""Rows drawn without the noise of chance: each value as often as its share says, as nearly as whole rows allow. Free of privacy cost.

Rows drawn one by one add chance to the noise of the release: of 2,000 rows in twenty bins four in a hundred land elsewhere than their
shares say, more than the noise moved at epsilon 10. Drawn rows are therefore put right, column by column, by as few changes as can be,
and each goes to a row that is likely to have the other value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FEWEST = 500
"""Fewer rows are left as they were drawn: putting them right would change so many that columns no longer go together."""
# A value that is short of rows looks at so many candidates for each one that it needs.
_CANDIDATES = 20


def counts_of(n: int, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers that sum to `n`, each within one of `n` times its share, and by chance that on average."""
    reached = np.cumsum(shares) / np.sum(shares) * n
    reached[-1] = n
    return np.diff(np.floor(reached + rng.random()).astype(np.int64), prepend=0)


def evenly(n: int, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A place for each of `n` rows, in random order, each as often as its share says."""
    return rng.permutation(np.repeat(np.arange(len(shares)), counts_of(n, shares, rng)))


def moved(
    codes: np.ndarray,
    counts: np.ndarray,
    fit: Callable[[np.ndarray, int], np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Codes of one column, of which as few are changed as it takes that each occurs as often as `counts` says.

    `fit` tells of some rows and a code how much likelier (a logarithm) each is to have it than the code that it has; minus
    infinity where it may not. A row is picked in proportion to that, so rows that get a code are like those that have it.
    """
    codes = codes.copy()
    over = np.bincount(codes, minlength=len(counts)) - counts
    for code in np.argsort(over, kind="stable"):
        need = -int(over[code])
        if need <= 0:
            break
        rows = np.flatnonzero(over[codes] > 0)
        if len(rows) > _CANDIDATES * need:
            rows = rng.choice(rows, _CANDIDATES * need, replace=False)
        score = fit(rows, int(code)) + rng.gumbel(size=len(rows))
        rows = rows[np.argsort(-score, kind="stable")][: np.count_nonzero(score > -np.inf)]
        chosen = rows[_turn(codes[rows]) < over[codes[rows]]][:need]
        over -= np.bincount(codes[chosen], minlength=len(counts))
        over[code] += len(chosen)
        codes[chosen] = code
    return codes


def _turn(values: np.ndarray) -> np.ndarray:
    """How many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    _, starts, sizes = np.unique(values[order], return_index=True, return_counts=True)
    turn = np.empty(len(values), dtype=np.int64)
    turn[order] = np.arange(len(values)) - np.repeat(starts, sizes)
    return turn
