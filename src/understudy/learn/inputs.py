"""Checks on what teachers are given, shared by every kind of teacher.

The messages name rows and columns of private tables: they are for the data holder, and never part of a release.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.learn.partition import Shards


def matrix(
    X: ArrayLike, name: str, *, features: int | None = None, finite: bool = True
) -> Float[np.ndarray, "rows features"]:
    """Touches private data: rows as a float32 matrix, or an error that names the first cell that is no number."""
    try:
        values = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`{name}` must be a table of numbers ({error}). Encode its columns with a schema first."
        ) from None
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(
            f"`{name}` must have the shape (rows, features) with at least one feature, not {values.shape}."
        )
    if features is not None and values.shape[1] != features:
        raise InputError(
            f"`{name}` has {values.shape[1]} columns, but the teachers learnt from {features}. "
            "Encode both with the same schema."
        )
    if finite and not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"`{name}` is {values[row, column]} in row {row}, column {column}. Impute or clip it first: "
            "a network cannot learn from it."
        )
    return values


def codes(y: ArrayLike, classes: Sequence[Hashable]) -> Int[np.ndarray, " rows"]:
    """Touches private data: labels as positions in the public list of classes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"`y` must be one label for each row, not an array of shape {labels.shape}.")
    code_of = {label: position for position, label in enumerate(classes)}
    if len(code_of) < 2 or len(code_of) < len(classes):
        raise InputError(f"`classes` (={list(classes)!r}) must name at least two classes, each once.")
    coded = np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.int32)
    if np.any(coded < 0):
        row = int(np.argmax(coded < 0))
        raise InputError(
            f"`y` is {labels.tolist()[row]!r} in row {row}, which is none of the classes {list(classes)!r}. "
            "Add it to `classes`, or correct or drop the row."
        )
    return coded


def fits(rows: int, labels: int, shards: Shards, teachers: int | None = None) -> None:
    """Refuse a table, labels and a partition that do not belong together."""
    if labels != rows:
        raise InputError(f"`X` has {rows} rows but `y` has {labels} labels. Give one label for each row.")
    if shards.rows != rows:
        raise InputError(
            f"`shards` were made for {shards.rows} rows, but `X` has {rows}. Make them with `shards({rows}, ...)`."
        )
    if teachers is not None and shards.teachers != teachers:
        raise InputError(
            f"`shards` are for {shards.teachers} teachers, but the ensemble has {teachers}. Make both alike."
        )
