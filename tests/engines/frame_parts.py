"""A table in memory, as parts that are read one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class FramePart:
    """Some rows of a frame in memory."""

    frame: pd.DataFrame

    @property
    def rows(self) -> int:
        return len(self.frame)

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        yield self.frame.loc[:, list(columns)]

    def never_missing(self) -> set[str]:
        return set()
