"""Records to plant in a table, and the neighbours that they make. Where a record stands and how many there are is public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables import Column, Encoder, Schema


def worst(schema: Schema, *, lowest: bool = False) -> dict[str, Any]:
    """The record that moves most: every number at its upper bound, the last category of every list.

    `lowest` is its opposite: lower bounds and first categories.
    """
    schema.require_complete()
    return {column.name: _end(column, 0 if lowest else -1) for column in schema}


def _end(column: Column, place: int) -> Any:
    if column.bounds is not None:
        return column.bounds[place]
    return (False, True)[place] if column.kind == "boolean" else column.labels[place]


def plant(frame: pd.DataFrame, record: Mapping[str, Any], place: int = -1) -> pd.DataFrame:
    """The table with this record in the place of another."""
    return _replaced(frame, [record], [place])


def blanked(frame: pd.DataFrame, place: int = -1) -> pd.DataFrame:
    """The neighbour: one record replaced by an empty one, which contributes nothing."""
    return _replaced(frame, [dict.fromkeys(frame.columns)], [place])


def plant_person(frame: pd.DataFrame, records: Sequence[Mapping[str, Any]], column: str, who: Any) -> pd.DataFrame:
    """The table with these records in the place of all rows of one person, at the end."""
    others: pd.DataFrame = frame.loc[frame[column] != who]
    theirs = pd.DataFrame([{**record, column: who} for record in records], columns=frame.columns)
    return pd.concat([others.astype(object), theirs.astype(object)], ignore_index=True).infer_objects()


def blanked_person(frame: pd.DataFrame, column: str, who: Any) -> pd.DataFrame:
    """The neighbour of a table of persons: of one of them nothing is left but that there is such a person."""
    return plant_person(frame, [dict.fromkeys(frame.columns)], column, who)


def _replaced(frame: pd.DataFrame, records: Sequence[Mapping[str, Any]], places: Sequence[int]) -> pd.DataFrame:
    """Columns keep their type where the new values fit it, so that no type tells of one record."""
    new = frame.astype(object).reset_index(drop=True)
    for record, place in zip(records, places, strict=True):
        if not -len(frame) <= place < len(frame):
            raise InputError(f"there is no row {place}: the table has {len(frame)}, counted from 0.")
        new.iloc[place] = [record.get(name) for name in frame.columns]
    return new.infer_objects()


def random_rows(schema: Schema, rows: int, seed: int = 0, *, corners: bool = False) -> pd.DataFrame:
    """Public: rows that fit the schema and have nothing to do with any table. `corners`: numbers at their bounds only."""
    encoder = Encoder(schema)
    rng = np.random.default_rng(seed)
    frame = encoder.decode(rng.random((rows, encoder.width)))
    for column in schema if corners else ():
        if column.bounds is not None:
            frame[column.name] = [column.bounds[place] for place in rng.integers(0, 2, rows)]
    return frame


def with_some(frame: pd.DataFrame, records: pd.DataFrame, present: np.ndarray) -> pd.DataFrame:
    """The table whose last rows are these records, those that are not `present` blank."""
    if len(records) >= len(frame):
        raise InputError(f"{len(records)} canaries do not fit into a table of {len(frame)} rows.")
    empty = dict.fromkeys(frame.columns)
    chosen = [record if there else empty for record, there in zip(records.to_dict("records"), present, strict=True)]
    return _replaced(frame, chosen, [place - len(records) for place in range(len(records))])  # pyright: ignore[reportArgumentType]


def random_images(like: Any, number: int = 60, seed: int = 99) -> Any:
    """Public: images of that size and those classes, of random pixels, all of the first class."""
    from understudy.images import ImageDataset

    low, high = like.value_range
    pixels = np.random.default_rng(seed).integers(low, high + 1, (number, *like.shape)).astype(np.uint8)
    return ImageDataset(pixels, np.zeros(number, dtype=int), like.classes, like.value_range)
