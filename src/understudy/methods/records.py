"""Rows as adversarial generators see them: records of Gaussian ranks and one-hot categories, in bought coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from understudy.learn.adversarial import Heads
from understudy.tables.coordinates import Chances, Coordinates, Ranked

# A category that was not seen keeps this share, so that its logit is finite.
_LEAST = 1e-4


@dataclass(frozen=True)
class RecordSpace:
    """Public. The columns of a record: for each column of the table a rank (and a flag, if it may be missing) or a one-hot
    group. A target that is a class is such a group, and its columns are `label`.
    """

    coordinates: Coordinates

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """The first column of a record for each column of the table, and the one after its last."""
        at, spans = 0, []
        for column in self.coordinates:
            size = 1 + column.nullable if column.ordered else len(column.labels) + column.nullable
            spans.append((at, at + size))
            at += size
        return spans

    @cached_property
    def heads(self) -> Heads:
        described = list(zip(self.coordinates, self._spans, strict=True))
        return Heads(
            width=self._spans[-1][1],
            one_hot=tuple(span for column, span in described if not column.ordered),
            missing=tuple((a, a + 1) for column, (a, _) in described if column.ordered and column.nullable),
        )

    @cached_property
    def target(self) -> int | None:
        """The place of a target that is a class."""
        name = self.coordinates.target
        at = None if name is None else self.coordinates.names.index(name)
        return None if at is None or self.coordinates.columns[at].ordered else at

    @property
    def label(self) -> tuple[int, int] | None:
        return None if self.target is None else self._spans[self.target]

    @property
    def values(self) -> list[Any]:
        """The classes, as the table writes them."""
        assert self.target is not None
        column = self.coordinates.columns[self.target]
        named = [False, True] if column.kind == "boolean" else list(column.labels)
        return [*named, None] if column.nullable else named

    @cached_property
    def ratio(self) -> np.ndarray:
        """How often each class was found; one that was not, hardly ever."""
        if self.target is None:
            return np.ones(1)
        return self._chances(self.target)

    def _chances(self, place: int) -> np.ndarray:
        column = self.coordinates.columns[place]
        shares = np.array(column.shares) * (1 - column.missing)
        shares = np.append(shares, column.missing) if column.nullable else shares
        return np.maximum(shares, _LEAST) / np.maximum(shares, _LEAST).sum()

    @cached_property
    def start(self) -> np.ndarray:
        """The logits of categories and of flags with which columns are drawn as they were released."""
        logits = np.zeros(self.heads.width)
        for place, (column, (a, b)) in enumerate(zip(self.coordinates, self._spans, strict=True)):
            if not column.ordered:
                logits[a:b] = np.log(self._chances(place))
            elif column.nullable:
                share = np.clip(column.missing, _LEAST, 1 - _LEAST)
                logits[a + 1] = np.log(share / (1 - share))
        return logits

    def records(self, frame: pd.DataFrame, chances: Chances) -> np.ndarray:
        """As private as the frame: its rows as records."""
        ranked = self.coordinates.ranks(frame, chances)
        made = np.zeros((len(frame), self.heads.width), dtype=np.float32)
        for at, place in enumerate(self.coordinates.ordered):
            a, b = self._spans[place]
            made[:, a] = ranked.numbers[:, at]
            if b - a == 2:
                made[:, a + 1] = ranked.missing[:, at]
        rows = np.arange(len(frame))
        for at, place in enumerate(self.coordinates.coded):
            a, b = self._spans[place]
            made[rows, a + np.minimum(ranked.codes[:, at], b - a - 1)] = 1
        return made

    def classes(self, records: np.ndarray) -> np.ndarray:
        """As private as the records: the class of each, 0 where there are none."""
        if self.label is None:
            return np.zeros(len(records), dtype=np.int32)
        return records[:, slice(*self.label)].argmax(axis=1).astype(np.int32)

    def frame(self, records: np.ndarray) -> pd.DataFrame:
        """Rows of the table from records; as public as they are."""
        coordinates = self.coordinates
        numbers = np.zeros((len(records), len(coordinates.ordered)))
        missing = np.zeros(numbers.shape, dtype=bool)
        for at, place in enumerate(coordinates.ordered):
            a, b = self._spans[place]
            numbers[:, at] = records[:, a]
            missing[:, at] = records[:, a + 1] > 0.5 if b - a == 2 else False
        codes = np.zeros((len(records), len(coordinates.coded)), dtype=np.int64)
        for at, place in enumerate(coordinates.coded):
            codes[:, at] = records[:, slice(*self._spans[place])].argmax(axis=1)
        return coordinates.values(Ranked(numbers, missing, codes))
