"""Where private rows stand: each at its own place, or at a seat of its person's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from understudy.tables.coordinates import KeyedChances, RowChances
from understudy.tables.persons import Person, Persons, gather


@dataclass(frozen=True)
class Seats:
    """Private. The places of the rows that are taken, and where they stand: at their own places, or at their persons' seats."""

    places: np.ndarray
    present: np.ndarray
    chances: RowChances | KeyedChances
    persons: Persons | None

    @classmethod
    def of(cls, present: np.ndarray, ids: pd.Series | None, owner: Person | None, seed: int) -> Self:
        if ids is None or owner is None:
            return cls(np.flatnonzero(present), present, RowChances(np.random.default_rng(seed), present), None)
        places, persons = gather(ids, present, owner, seed)
        return cls(places, persons.present, KeyedChances(persons.keys, seed), persons)

    def seated(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows that are taken at their seats, and zeros elsewhere."""
        whole = np.zeros((len(self.present), *values.shape[1:]), dtype=values.dtype)
        whole[self.present] = values
        return whole
