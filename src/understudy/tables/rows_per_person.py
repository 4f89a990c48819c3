"""How many rows of a person are taken, where nobody says: from a paid histogram of how many rows persons have.

**Sensitivity.** The bins are public, and a person is in one of them, by the number of that person's own rows: blanking all rows of a
person takes one from one count and moves no other. So this is `GaussianCounts` with one cell. It is charged before anything
else is looked at; the number that follows from noisy counts is free, and what is looked at afterwards may go by it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.privacy import Budget, GaussianCounts, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.persons import MOST_ROWS
from understudy.tables.persons import AUTO, Person, numbers_of_rows

if TYPE_CHECKING:
    import pandas as pd

# The upper ends of the bins, and the part of the budget's precision that they take.
ENDS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, MOST_ROWS)
SHARE = 0.03
# So many persons may have more rows than are taken: a larger number costs next to nothing, and loses none of theirs.
_BEYOND = 0.02
# What is reckoned with before the look.
_PERHAPS = 24


def with_rows(frame: pd.DataFrame, person: Person, budget: Budget) -> Person:
    """Touches private data where the number of rows is left open: then it is chosen, and paid for. Safe to publish."""
    if person.rows != AUTO:
        return person
    each = numbers_of_rows(frame, person)
    counts = np.bincount(np.searchsorted(ENDS[:-1], each[each > 0]), minlength=len(ENDS))
    whole = smallest_noise(lambda n: [GaussianEvent(n)], budget.epsilon, budget.delta, tolerance=1e-3)
    look = GaussianCounts(whole / math.sqrt(SHARE))
    noisy = look.release(counts, budget).astype(np.float64)
    return Person(person.column, chosen(noisy, look.sigma, len(each)))


def most_rows(person: Person | None) -> int:
    """Public, for what is reckoned beforehand: the most rows of a record, or what they may turn out to be."""
    return 1 if person is None else _PERHAPS if person.rows == AUTO else person.rows


def chosen(noisy: np.ndarray, sigma: float, persons: int) -> int:
    """Public: the fewest rows beyond which hardly any person has more, as far as the noise lets that be told."""
    for place, end in enumerate(ENDS[:-1]):
        rest = noisy[place + 1 :]
        if rest.sum() <= max(_BEYOND * persons, sigma * math.sqrt(len(rest))):
            return end
    return ENDS[-1]
