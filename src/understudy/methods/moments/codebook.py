"""A table as whole-number codes, one a column, and back: categories as they are, numbers by private bins.

What the schema lists is coded by its place; a number is coded by the bin of its private marginal. A missing value has a
code of its own, the last. Everything here is public once the marginals are paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from understudy.methods.moments.marginals import FINEST, Marginal
from understudy.tables import Coded, Column, Encoder, Schema

# An ordinal with more ranks than this is binned like a number.
_MOST_RANKS = 32
# Rows are coded so many at a time: what lies between a frame and its codes then stays small.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Slot:
    """Where a column stands in a `Coded` table, and how many cells its values fall into (None: codes as they are)."""

    column: Column
    code: int | None
    numeric: int
    cells: int | None
    whole: bool

    @property
    def categories(self) -> int:
        """How many codes a column that is not binned has, without the one for a missing value."""
        if self.column.kind == "boolean":
            return 2
        return len(self.column.labels)


class Codebook:
    """Between frames, cells (numbers on a fine public grid) and codes (bins)."""

    def __init__(self, schema: Schema) -> None:
        self.encoder = Encoder(schema)
        self.slots = _slots(schema)
        self.binned = [place for place, slot in enumerate(self.slots) if slot.cells is not None]

    @property
    def cells(self) -> list[int]:
        """The number of cells of each binned column."""
        return [slot.cells for slot in self.slots if slot.cells is not None]

    def read(self, frame: pd.DataFrame) -> np.ndarray:
        """Private rows as whole numbers, rows x columns: a cell, or a code; -1 where the value is missing.

        A column lies in one piece in memory, since nearly everything goes column by column from here on.
        """
        found = np.empty((len(frame), len(self.slots)), dtype=np.int32, order="F")
        for start in range(0, len(frame), _CHUNK):
            self._read(self.encoder.encode_codes(frame.iloc[start : start + _CHUNK]), found[start : start + _CHUNK])
        return found

    def _read(self, coded: Coded, found: np.ndarray) -> None:
        for place, slot in enumerate(self.slots):
            if slot.code is not None:
                codes = coded.codes[:, slot.code].astype(np.int32)
                found[:, place] = np.where(codes == slot.categories, -1, codes)
                continue
            unit = coded.numeric[:, slot.numeric].astype(np.float64)
            top = slot.categories if slot.cells is None else slot.cells
            cells = np.rint(unit * (top - 1)) if slot.whole or slot.cells is None else np.floor(unit * top)
            found[:, place] = np.clip(cells, 0, top - 1)
            if slot.column.nullable:
                found[coded.numeric[:, slot.numeric + 1] >= 0.5, place] = -1

    def write(self, cells: np.ndarray) -> pd.DataFrame:
        """Rows that fit the schema from (fractional) cells and codes, -1 where the value is missing."""
        n = len(cells)
        width = self.encoder.width - sum(self.encoder.code_sizes)
        numeric = np.zeros((n, width))
        codes = np.zeros((n, len(self.encoder.code_columns)), dtype=np.int64)
        for place, slot in enumerate(self.slots):
            values = cells[:, place]
            missing = values < 0
            if slot.code is not None:
                codes[:, slot.code] = np.where(missing, slot.categories, values).astype(np.int64)
                continue
            top = slot.categories if slot.cells is None else slot.cells
            if slot.whole or slot.cells is None:
                numeric[:, slot.numeric] = np.floor(values) / max(top - 1, 1)
            else:
                numeric[:, slot.numeric] = values / top
            if slot.column.nullable:
                numeric[:, slot.numeric] = np.where(missing, 0, numeric[:, slot.numeric])
                numeric[:, slot.numeric + 1] = missing
        return self.encoder.decode_codes(Coded(numeric, codes))


@dataclass(frozen=True)
class Bins:
    """A codebook with its private marginals: how cells become codes."""

    book: Codebook
    marginals: list[Marginal]
    number: int
    edges: list[np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", [marginal.bins(self.number) for marginal in self.marginals])

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has, the one for a missing value included."""
        edges = iter(self.edges)
        return [
            (len(next(edges)) - 1 if slot.cells is not None else slot.categories) + slot.column.nullable
            for slot in self.book.slots
        ]

    def encode(self, cells: np.ndarray) -> np.ndarray:
        """Private. Codes of private cells."""
        codes = np.empty_like(cells)
        edges = iter(self.edges)
        for place, (slot, size) in enumerate(zip(self.book.slots, self.sizes, strict=True)):
            if slot.cells is None:
                known = np.arange(slot.categories)
            else:
                ends = next(edges)
                known = np.searchsorted(ends, np.arange(ends[-1]), side="right") - 1
            # One entry a cell and, at the end, one for what is missing: that is where -1 points to.
            codes[:, place] = np.append(known, size - 1).astype(cells.dtype)[cells[:, place]]
        return codes

    def decode(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Cells drawn within the bins as their marginals are spread, -1 where the value is missing."""
        cells = codes.astype(np.float64)
        for place, edges, marginal in zip(self.book.binned, self.edges, self.marginals, strict=True):
            at = np.minimum(codes[:, place], len(edges) - 2)
            drawn = marginal.draw(edges[at], edges[at + 1], rng)
            cells[:, place] = drawn if self.book.slots[place].whole else marginal.exact(drawn)
        nullable = np.array([slot.column.nullable for slot in self.book.slots])
        missing = nullable & (codes == np.asarray(self.sizes) - 1)
        return np.where(missing, -1.0, cells)


def _slots(schema: Schema) -> list[Slot]:
    made: list[Slot] = []
    code = numeric = 0
    for column in schema:
        if column.kind == "categorical":
            made.append(Slot(column, code, -1, None, True))
            code += 1
            continue
        values = _values(column)
        binned = column.kind not in ("boolean", "ordinal") or (values or 0) > _MOST_RANKS
        whole = values is not None and values <= FINEST
        made.append(Slot(column, None, numeric, (values if whole else FINEST) if binned else None, whole))
        numeric += 1 + column.nullable
    return made


def _values(column: Column) -> int | None:
    """How many values a column can take, where they are evenly spaced; None where they are not."""
    if column.kind == "boolean":
        return 2
    if column.kind == "ordinal":
        return len(column.labels)
    if column.kind == "continuous" or column.scale == "log":
        return None
    low, high = column.number_bounds
    return int(high - low) + 1
