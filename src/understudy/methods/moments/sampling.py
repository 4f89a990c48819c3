"""Rows from a moments release, all of which fit the schema. Free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.moments.luck import Luck
from understudy.methods.moments.targets import Target


class CellModel(Protocol):
    """What both models can do; `ratio` is the share of each class, with the noise of the release."""

    @property
    def ratio(self) -> np.ndarray: ...
    def draw(self, n: int, wanted: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]: ...
    def fill(
        self, cells: np.ndarray, known: np.ndarray, classes: np.ndarray, whole: np.ndarray, luck: Luck
    ) -> np.ndarray: ...
    @property
    def lanes(self) -> np.ndarray: ...
    def arrays(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class MomentsModel:
    """All that a release holds, and all that sampling needs; public."""

    model: CellModel
    target: Target
    balance: float = 0.0

    def balanced(self, balance: float) -> MomentsModel:
        """The model that draws rare classes more often: as often as in the release at 0, all equally often at 1."""
        if isinstance(balance, bool) or not isinstance(balance, int | float) or not 0 <= balance <= 1:
            raise InputError(f"`balance` (={balance!r}) must be a number from 0 (as released) to 1 (classes alike).")
        if balance and not self.target.listed:
            raise InputError("`balance` is about the classes of a target, and this release has none. Leave it out.")
        return replace(self, balance=float(balance))

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """`n` rows; where a class is wanted, all of that class."""
        given = self.target.class_of(wanted)
        if self.balance and given is not None:
            raise InputError("the condition names a class already: leave `balance` out.")
        cells, classes = self.cells(n, given, rng)
        return self.target.attach(self.target.features.frame(cells), classes, rng)

    def cells(self, n: int, given: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """`n` rows of cells and their classes; all of class `given` if one is."""
        if not self.balance:
            return self.model.draw(n, given, rng)
        share = self.model.ratio ** (1 - self.balance)
        counts = rng.multinomial(n, share / share.sum())
        parts = [self.model.draw(int(count), c, rng) for c, count in enumerate(counts) if count]
        order = rng.permutation(n)
        return np.concatenate([p[0] for p in parts])[order], np.concatenate([p[1] for p in parts])[order]

    def arrays(self) -> dict[str, np.ndarray]:
        return self.model.arrays()
