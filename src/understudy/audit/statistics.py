"""What an attacker computes from one release: a number for each of all the things that are published.

Rows that are drawn from it, its arrays by a fixed random projection, and the figures of its certificate. All of it is
public: anybody may compute this from a release.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from understudy.tables import Encoder, Schema

_PROJECTIONS = 4
_ROWS = 256
_LARGE = 1e12
_WIDTH = 0.25


def statistics(fitted: Any) -> dict[str, float]:
    """The statistics of a fitted estimator's release, by name. A plain array is its own release."""
    if isinstance(fitted, np.ndarray):
        return dict(projected("array", fitted))
    contents = fitted._contents()
    body = contents.certificate.body
    found = dict(_figures(body["release"], "facts")) | dict(_figures(body.get("sanitised"), "sanitised"))
    for name, array in contents.arrays.items():
        found |= dict(projected(name, np.asarray(array)))
    if contents.schema is not None and hasattr(fitted, "sample"):
        found |= dict(_moments(fitted.sample(_ROWS, random_state=0), contents.schema))
    return found


def side_by_side(
    here: Sequence[Mapping[str, float]], there: Sequence[Mapping[str, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Runs x statistics of both sides. What some releases have and others lack is 0 there: lacking it tells, too."""
    names = sorted({name for one in (*here, *there) for name in one})

    def matrix(side: Sequence[Mapping[str, float]]) -> np.ndarray:
        numbers = np.array([[one.get(name, 0.0) for name in names] for one in side], dtype=np.float64)
        return np.nan_to_num(numbers, posinf=_LARGE, neginf=-_LARGE)

    return matrix(here), matrix(there)


def projected(name: str, array: np.ndarray) -> Iterator[tuple[str, float]]:
    """A few public random projections of an array, and its length; the first weights are the same for any length."""
    yield f"{name}.size", float(array.size)
    if not np.issubdtype(array.dtype, np.number) and array.dtype != bool:
        return
    numbers = np.nan_to_num(array.astype(np.float64).ravel())
    weights = np.random.default_rng(zlib.crc32(name.encode())).standard_normal((len(numbers), _PROJECTIONS))
    for place, number in enumerate(numbers @ weights):
        yield f"{name}.{place}", float(number)


def closeness(fitted: Any, records: pd.DataFrame, schema: Schema) -> np.ndarray:
    """How much a release seems to know of each of these records: higher where more of what is drawn from it lies near.

    A classifier is asked how sure it is of each record's own label instead.
    """
    if hasattr(fitted, "predict_proba") and schema.target is not None:
        labels = [str(label) for label in fitted.classes_]
        sure = np.asarray(fitted.predict_proba(records[list(schema.features.names)]))
        return sure[np.arange(len(records)), [labels.index(str(label)) for label in records[schema.target]]]
    encoder = Encoder(schema)
    drawn, at = encoder.encode(_drawn(fitted)), encoder.encode(records)
    squares = (at**2).sum(axis=1)[:, None] - 2 * at @ drawn.T + (drawn**2).sum(axis=1)
    return np.asarray(special.logsumexp(-squares / (2 * _WIDTH**2 * encoder.width), axis=1))


def _drawn(fitted: Any) -> pd.DataFrame:
    """Rows of a release: drawn from a generator, or those of a distilled set."""
    return fitted.sample(16 * _ROWS, random_state=0) if hasattr(fitted, "sample") else fitted.records()


def _figures(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """All numbers in nested facts."""
    if isinstance(value, Mapping):
        for key in value:
            yield from _figures(value[key], f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _figures(one, f"{name}.{place}")
    elif isinstance(value, bool | int | float):
        yield name, float(value)


def _moments(rows: pd.DataFrame, schema: Schema) -> Iterator[tuple[str, float]]:
    """Means and spreads of the encoded columns of sampled rows."""
    cube = Encoder(schema).encode(rows)
    for place, (mean, spread) in enumerate(zip(cube.mean(axis=0), cube.std(axis=0), strict=True)):
        yield f"rows.mean.{place}", float(mean)
        yield f"rows.spread.{place}", float(spread)
