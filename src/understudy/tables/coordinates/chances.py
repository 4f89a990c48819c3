"""Public randomness for private rows: each row has its own, by its place in the whole table.

What is drawn for a row (a rank among equal values, a value where none may be missing) may come from a seed that everybody
knows. Then it must not depend on any other row: if blanking one row moved the draws of those behind it, one row would
change them all, and no sensitivity would hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, cast

import numpy as np


class Chances(Protocol):
    """A source of one number in [0, 1) for each row. A NumPy generator is one for a table without blank rows."""

    def random(self, size: int, /) -> np.ndarray: ...


@dataclass(frozen=True)
class RowChances:
    """Draws for every row of the whole table, and hands on those of the rows that are `present`.

    Of a batch, the draws of so many rows `before` it and `after` it are passed over: a row has the same ones in whatever batch it is.
    """

    rng: np.random.Generator
    present: np.ndarray
    before: int = 0
    after: int = 0

    def random(self, size: int, /) -> np.ndarray:
        self._pass(self.before)
        drawn = self.rng.random(len(self.present))[self.present]
        self._pass(self.after)
        assert len(drawn) == size, "one draw for each row that is present, or rows would share their draws"
        return drawn

    def skip(self) -> None:
        """Pass over a draw for each row that nobody needs."""
        self._pass(self.before + len(self.present) + self.after)

    def _pass(self, rows: int) -> None:
        if rows:
            cast(np.random.PCG64, self.rng.bit_generator).advance(rows)


@dataclass(frozen=True)
class KeyedChances:
    """Draws for each row from its own `key` alone: how many other rows there are is private, where they are of persons."""

    keys: np.ndarray
    seed: int
    _turns: count[int] = field(default_factory=lambda: count(1), repr=False, compare=False)

    def random(self, size: int, /) -> np.ndarray:
        assert len(self.keys) == size, "one draw for each row, or rows would share their draws"
        turn = np.random.SeedSequence([self.seed, next(self._turns)]).generate_state(1, np.uint64)[0]
        return (mixed(self.keys ^ turn) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def pass_over(chances: Chances, size: int) -> None:
    """Leave the draws of so many rows unused: those that come next are what they would have been."""
    if isinstance(chances, RowChances):
        chances.skip()
    else:
        chances.random(size)


def mixed(keys: np.ndarray) -> np.ndarray:
    """Whole numbers of 64 bits whose bits have nothing to do with one another's: the last steps of SplitMix64 (Steele 2014)."""
    with np.errstate(over="ignore"):
        found = keys + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))
