"""Rows from a moments release, a bounded number at a time, all of which fit the schema. Free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.layout import check_conditions
from understudy.methods.moments.codebook import Codebook
from understudy.methods.moments.targets import Target

CHUNK = 1 << 16
# A condition that fewer than one row in this many fulfils is given up.
_PATIENCE = 2000


class Model(Protocol):
    """What both models can do; `ratio` is the share of each class, with the noise of the release."""

    @property
    def ratio(self) -> np.ndarray: ...
    def draw(self, n: int, wanted: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]: ...
    def arrays(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Sampler:
    """All that sampling needs; public."""

    model: Model
    book: Codebook
    target: Target
    names: tuple[str, ...]
    balance: float = 0.0

    def balanced(self, balance: float) -> Sampler:
        """The sampler that draws rare classes more often: as often as in the release at 0, all equally often at 1."""
        if isinstance(balance, bool) or not isinstance(balance, int | float) or not 0 <= balance <= 1:
            raise InputError(f"`balance` (={balance!r}) must be a number from 0 (as released) to 1 (classes alike).")
        if balance and not self.target.listed:
            raise InputError("`balance` is about the classes of a target, and this release has none. Leave it out.")
        return replace(self, balance=float(balance))

    def sample(self, n: int, conditions: Mapping[str, Any] | None, random_state: int | None) -> pd.DataFrame:
        parts = list(self.stream(n, conditions, random_state))
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def stream(self, n: int, conditions: Mapping[str, Any] | None, random_state: int | None) -> Iterator[pd.DataFrame]:
        """Frames of together `n` rows; conditions are checked before the first."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"`n` (={n!r}) must be a whole number of rows, at least 1.")
        wanted = dict(conditions or {})
        check_conditions(wanted, self.target.encoder)
        if self.balance and self.target.class_of(wanted) is not None:
            raise InputError("the condition names a class already: leave `balance` out.")
        return self._stream(int(n), wanted, np.random.default_rng(random_state))

    def _stream(self, n: int, wanted: dict[str, Any], rng: np.random.Generator) -> Iterator[pd.DataFrame]:
        given = self.target.class_of(wanted)
        size = min(CHUNK, n if not wanted else max(1024, 2 * n))
        made = tried = 0
        while made < n:
            cells, classes = self._draw(size, given, rng)
            frame: Any = self.target.attach(self.book.write(cells), classes)[list(self.names)]
            if wanted:
                frame = frame[_fulfils(frame, wanted)].reset_index(drop=True)
            frame = frame.head(n - made)
            made, tried = made + len(frame), tried + size
            if len(frame):
                yield frame
            if tried > _PATIENCE * max(made, 100):
                raise InputError(
                    f"condition {wanted}: {made} of {tried:,} generated rows fulfil it. This generator hardly makes "
                    "such rows; drop the condition or widen it."
                )

    def _draw(self, n: int, given: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if not self.balance:
            return self.model.draw(n, given, rng)
        share = self.model.ratio ** (1 - self.balance)
        counts = rng.multinomial(n, share / share.sum())
        parts = [self.model.draw(int(count), c, rng) for c, count in enumerate(counts) if count]
        order = rng.permutation(n)
        return np.concatenate([p[0] for p in parts])[order], np.concatenate([p[1] for p in parts])[order]


def _fulfils(frame: pd.DataFrame, wanted: dict[str, Any]) -> np.ndarray:
    kept = np.ones(len(frame), dtype=bool)
    for name, value in wanted.items():
        column = frame[name]
        hits = column.isna() if pd.isna(value) else (column == value).fillna(False)
        kept &= hits.to_numpy(dtype=bool)
    return kept
