"""Rows as small whole-number codes, for tables of counts: numbers by bins of their released marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.tables.coordinates.among import places_among
from understudy.tables.coordinates.described import Described


@dataclass(frozen=True)
class Bins:
    """Public. About `number` bins of equal mass for each ordered column, a code for each label of the others.

    A column that may be missing has one more code, the last.
    """

    columns: Sequence[Described]
    number: int = 20

    @cached_property
    def edges(self) -> list[np.ndarray | None]:
        return [column.marginal.bins(self.number) if column.ordered else None for column in self.columns]

    @cached_property
    def sizes(self) -> list[int]:
        """How many codes each column has, the one for a missing value included."""
        return [
            (len(column.labels) if edges is None else len(edges) - 1) + column.nullable
            for column, edges in zip(self.columns, self.edges, strict=True)
        ]

    def encode(self, cells: np.ndarray) -> np.ndarray:
        """Codes (int32, rows x columns) of cells as `Coordinates.cells` gives them; as private as they are."""
        codes = np.empty(cells.shape, dtype=np.int32, order="F")
        for place in range(len(self.columns)):
            codes[:, place] = self.encode_column(place, cells[:, place])
        return codes

    def encode_column(self, place: int, values: np.ndarray) -> np.ndarray:
        """The codes of one column's cells; as private as they are."""
        column, edges = self.columns[place], self.edges[place]
        missing = np.isnan(values)
        some = bool(missing.any())
        if edges is not None:
            inside = column.marginal.clip(np.where(missing, edges[0], values) if some else values)
            values = places_among(edges, inside) - 1
        return np.where(missing, self.sizes[place] - 1, values) if some else values

    def decode(self, codes: np.ndarray, rng: np.random.Generator, ranks: np.ndarray | None = None) -> np.ndarray:
        """Cells drawn within the bins as the marginals are spread, NaN where the value is missing; with `ranks` those of such ranks."""
        cells = codes.astype(np.float64)
        for place, (column, edges, size) in enumerate(zip(self.columns, self.edges, self.sizes, strict=True)):
            if edges is not None:
                at = np.minimum(codes[:, place], len(edges) - 2)
                chosen = rng.random(len(codes)) if ranks is None else ranks[:, place]
                cells[:, place] = column.marginal.places_between(edges[at], edges[at + 1], chosen)
            if column.nullable:
                cells[codes[:, place] == size - 1, place] = np.nan
        return cells
