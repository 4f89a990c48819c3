"""Where the class of a table stands in the unit cube, and what each class looks like there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.tables import Encoder
from understudy.tables.column import NOMINAL


@dataclass(frozen=True)
class Label:
    """The target's columns in the unit cube and what each class looks like there; public, from the schema."""

    name: str
    start: int
    stop: int
    values: tuple[Any, ...]
    codes: tuple[tuple[float, ...], ...]

    def classes(self, cube: np.ndarray) -> np.ndarray:
        """Touches private data: the class number of each row."""
        part = cube[:, None, self.start : self.stop]
        return np.abs(part - np.array(self.codes)[None]).sum(axis=2).argmin(axis=1)


def label(encoder: Encoder) -> Label | None:
    """The label of a schema whose target is a class, else None."""
    target = encoder.schema.target
    if target is None:
        return None
    column = encoder.schema[target]
    group = next(group for group in encoder.groups if group.name == target)
    values: Sequence[Any]
    if column.kind == "boolean":
        values, codes = (False, True), ((0.0,), (1.0,))
    elif column.kind in NOMINAL:
        values = column.labels
        codes = tuple(tuple(float(i == j) for j in range(len(values))) for i in range(len(values)))
    elif column.kind == "ordinal":
        values = column.labels
        codes = tuple((i / max(len(values) - 1, 1),) for i in range(len(values)))
    else:
        return None
    return Label(target, group.start, group.stop, tuple(values), codes)
