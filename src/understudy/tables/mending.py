"""What of a private table did not fit and was left out, set to "other" or clipped: for its owner's eyes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.tables.column import OTHER
from understudy.tables.coordinates import Coordinates, Described, read_column
from understudy.tables.io import PrivateTable, column_of
from understudy.tables.schema import Schema
from understudy.wording import listed


@dataclass(frozen=True)
class Mended:
    """Private, every number of it; nothing of this may be published.

    - `rows`: how many were blank, could not be read (they are blank too), or had no target that is one of the classes.
    - `cells`: for each column how many cells were none of its kind or categories (`unfit`), beyond its bounds (`clipped`),
      not among its categories and so "other" (`other`), or missing where none may be (`missing`).
    """

    rows: dict[str, int]
    cells: dict[str, dict[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, what is zero left out."""
        rows = {what: count for what, count in self.rows.items() if count}
        return {"rows": rows, "cells": {name: found for name, found in self.cells.items() if found}}

    def sentences(self) -> list[str]:
        """For the owner to read."""
        words = {
            "unreadable": "lines could not be read and count as blank rows",
            "blank": "rows are blank",
            "without_target": "rows have no target, or one that is no class, and count as blank",
        }
        said = [f"{self.rows[what]} {text}" for what, text in words.items() if self.rows.get(what)]
        touched = [name for name, found in self.cells.items() if found]
        total = sum(sum(found.values()) for found in self.cells.values())
        if total:
            said.append(f"{total} cells do not fit, in {listed(touched, 5)} (--json counts them)")
        return said or ["every row and cell fits"]


def mended(table: PrivateTable, schema: Schema, empty: Sequence[str] = ()) -> Mended:
    """Looks at private rows: what reading them by this complete schema leaves out or changes. Private.

    Columns that are left `empty`, since nothing could be learnt of them, are said elsewhere.
    """
    frame, target = table.frame, schema.target
    there = np.asarray(frame.notna(), dtype=bool).any(axis=1)
    goal = there.copy()
    cells: dict[str, dict[str, int]] = {}
    for column in Coordinates.declared(schema, len(frame)):
        if column.name in empty:
            continue
        series = column_of(frame, column.name)
        if column.name == target:
            goal &= ~np.isnan(_read(series, column))
        else:
            cells[column.name] = _misfits(series.loc[there], column)
    rows = {
        "unreadable": table.unreadable,
        "blank": int((~there).sum()) - table.unreadable,
        "without_target": int((there & ~goal).sum()),
    }
    return Mended(rows, cells)


def _read(series: pd.Series, column: Described) -> np.ndarray:
    return read_column(series, replace(column, nullable=True), np.random.default_rng(0))


def _misfits(series: pd.Series, column: Described) -> dict[str, int]:
    missing = series.isna().to_numpy(dtype=bool)
    places = _read(series, column)
    found = {"unfit": int((np.isnan(places) & ~missing).sum())}
    if not column.nullable:
        found["missing"] = int(missing.sum())
    if column.ordered:
        inside = column.marginal.clip(places)
        found["clipped"] = int((~np.isnan(places) & (inside != places)).sum())
    elif column.other:
        named = series.astype(object).map(str) == OTHER
        found["other"] = int(((places == len(column.labels) - 1) & ~named.to_numpy(dtype=bool)).sum())
    return {what: count for what, count in found.items() if count}
