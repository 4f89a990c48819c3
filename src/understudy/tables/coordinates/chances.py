"""Public randomness for private rows: each row has its own, by its place in the whole table.

What is drawn for a row (a rank among equal values, a value where none may be missing) may come from a seed that everybody
knows. Then it must not depend on any other row: if blanking one row moved the draws of those behind it, one row would
change them all, and no sensitivity would hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Chances(Protocol):
    """A source of one number in [0, 1) for each row. A NumPy generator is one for a table without blank rows."""

    def random(self, size: int, /) -> np.ndarray: ...


@dataclass(frozen=True)
class RowChances:
    """Draws for every row of the whole table, and hands on those of the rows that are `present`."""

    rng: np.random.Generator
    present: np.ndarray

    def random(self, size: int, /) -> np.ndarray:
        drawn = self.rng.random(len(self.present))[self.present]
        assert len(drawn) == size, "one draw for each row that is present, or rows would share their draws"
        return drawn
