"""Rows from a model of persons. Free.

A model that learnt from persons, whose rows together counted for one, draws the row of a person: a row of somebody with six is
drawn as often as the only row of somebody with one. How many rows the person has is a column that the model draws along, so
keeping a row in proportion to it makes rows as common as they are in a table of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from understudy.tables import Schema
from understudy.tables.persons import ROWS
from understudy.tables.visits import MADE

if TYPE_CHECKING:
    from understudy.release.drawing import TableModel

# So many rows are drawn at once at most.
_CHUNK = 1 << 16


def without_rows(schema: Schema) -> Schema:
    """The schema of what is written: how many rows a person has was a column only while it was learnt."""
    if ROWS not in schema:
        return schema
    return replace(schema, columns=tuple(column for column in schema if column.name not in MADE))


@dataclass(frozen=True)
class PersonRows:
    """Public. Draws from `model` by the number of rows, at most `most`, that each row's person has."""

    model: TableModel
    most: int

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """`n` rows without that number."""
        parts: list[pd.DataFrame] = []
        done, size = 0, min(max(2 * n, 64), _CHUNK)
        while done < n:
            drawn = self.model.draw(size, wanted, rng)
            each = np.clip(np.asarray(drawn[ROWS], dtype=np.float64), 1, self.most)
            kept: pd.DataFrame = drawn.loc[rng.random(size) * self.most < each].drop(columns=[ROWS]).head(n - done)
            parts.append(kept)
            done += len(kept)
        return pd.concat(parts, ignore_index=True)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.model.arrays()
