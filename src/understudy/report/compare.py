"""Synthetic rows beside real ones, column by column, for the figures of the page.

The real side is the test table that was handed in, shown as it is; the page says that this is not covered by the promise.
Without one it is what the release itself tells of how the private columns are spread, with noise and paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from understudy.tables import Column, Coordinates, Schema
from understudy.tables.column import BOUNDED, LISTED, NOMINAL
from understudy.tables.coordinates.rows import draw
from understudy.tables.forms import DAYS_FORMAT, duration_text
from understudy.tables.values import numbers as values_of

Values: TypeAlias = Any  # a pandas Series; its stubs know a column of a frame as many things
SHOWN_COLUMNS = 12
_BINS = 20
_CATEGORIES = 8
_CORRELATED = 16
_MARGINAL_ROWS = 4000


@dataclass(frozen=True)
class ColumnFigure:
    """Shares of one column: in bins from `low` to `high`, or for `labels`. `distance` is the total variation."""

    name: str
    kind: str
    synthetic: tuple[float, ...]
    real: tuple[float, ...] | None
    labels: tuple[str, ...] | None = None
    low: str = ""
    high: str = ""
    missing: tuple[float, float | None] | None = None

    @property
    def distance(self) -> float | None:
        if self.real is None:
            return None
        return sum(abs(a - b) for a, b in zip(self.synthetic, self.real, strict=True)) / 2


@dataclass(frozen=True)
class Correlations:
    """Pearson correlations of the columns that have an order, synthetic and, where test rows are given, real."""

    names: tuple[str, ...]
    synthetic: np.ndarray
    real: np.ndarray | None

    @property
    def difference(self) -> float | None:
        """The mean absolute difference over all pairs."""
        if self.real is None:
            return None
        above = np.triu_indices(len(self.names), 1)
        return float(np.nanmean(np.abs(self.synthetic - self.real)[above]))


def as_schema_says(schema: Schema, table: pd.DataFrame) -> pd.DataFrame:
    """A table from elsewhere in the types and within the bounds of the schema, as the synthetic rows are."""
    from understudy.tables import Encoder

    encoder = Encoder(schema)
    return encoder.decode(encoder.encode(table))


def column_figures(schema: Schema, synthetic: pd.DataFrame, real: pd.DataFrame | None) -> list[ColumnFigure]:
    """The target first, then the columns in their order."""
    columns = sorted(schema.columns, key=lambda c: c.name != schema.target)
    return [
        _figure(column, synthetic[column.name], None if real is None or column.name not in real else real[column.name])
        for column in columns
        if column.name in synthetic
    ]


def released_marginals(coordinates: Coordinates | None) -> pd.DataFrame | None:
    """A table that is spread, column by column, as the release says that the private rows are; None if it does not say.

    What was released holds noise, and is covered by the promise. How columns go together is not in it.
    """
    told = () if coordinates is None else tuple(c for c in coordinates if "spread" in c.paid and c.found)
    if not told:
        return None
    chances = (np.arange(_MARGINAL_ROWS) + 0.5) / _MARGINAL_ROWS
    cells = np.column_stack([draw(column, chances) for column in told])
    for place, column in enumerate(told):
        lacking = round(column.missing * _MARGINAL_ROWS) if column.nullable else 0
        # Spread over the quantiles, so that what is left is still spread as it was.
        cells[np.linspace(0, _MARGINAL_ROWS - 1, lacking).astype(np.int64), place] = np.nan
    return Coordinates(told, _MARGINAL_ROWS).frame(cells)


def _figure(column: Column, made: Values, real: Values | None) -> ColumnFigure:
    missing = None
    if column.nullable:
        missing = (float(made.isna().mean()), None if real is None else float(real.isna().mean()))
    if column.kind in BOUNDED:
        return _binned(column, made, real, missing)
    values = [True, False] if column.kind == "boolean" else list(column.labels)
    counts = _label_shares(made, values)
    order = list(np.argsort(-counts, kind="stable")) if column.kind in NOMINAL else list(range(len(values)))
    kept, folded = order[:_CATEGORIES], order[_CATEGORIES:]
    labels = [str(values[i]) for i in kept]
    if folded:
        labels.append(f"{len(folded)} others")

    def gathered(shares: np.ndarray) -> tuple[float, ...]:
        tail = [float(shares[folded].sum())] if folded else []
        return (*(float(shares[i]) for i in kept), *tail)

    there = None if real is None else gathered(_label_shares(real, values))
    return ColumnFigure(column.name, column.kind, gathered(counts), there, tuple(labels), missing=missing)


def _label_shares(values: Values, labels: Sequence[Any]) -> np.ndarray:
    present: Any = values.dropna()
    texts = present.astype(bool).astype(str) if labels == [True, False] else present.astype(str)
    counts = texts.value_counts()
    found = np.array([float(counts.get(str(label), 0)) for label in labels])
    return found / max(len(present), 1)


def _binned(column: Column, made: Values, real: Values | None, missing: Any) -> ColumnFigure:
    sides = [_numbers(made, column)] + ([] if real is None else [_numbers(real, column)])
    log = column.scale == "log"
    ends = [np.quantile(side, [0.005, 0.995]) for side in sides if len(side)]
    low, high = (float(min(e[0] for e in ends)), float(max(e[1] for e in ends))) if ends else (0.0, 1.0)
    whole = column.kind == "integer" and not log
    if not high > low and not whole:
        low, high = low - 0.5, high + 0.5
    shift = 1.0 if low <= 0 else 0.0
    if whole:
        edges = _whole_edges(low, high)
    elif log and low + shift > 0:
        edges = np.geomspace(low + shift, high + shift, _BINS + 1) - shift
    else:
        edges = np.linspace(low, high, _BINS + 1)

    def share(values: np.ndarray) -> tuple[float, ...]:
        inside = np.clip(values, edges[0], edges[-1])
        return tuple((np.histogram(inside, edges)[0] / max(len(values), 1)).tolist())

    there = None if real is None else share(sides[1])
    within = 0.5 if whole else 0.0  # the first and the last whole number, not the edges between them
    names = (_edge(edges[0] + within, column), _edge(edges[-1] - within, column))
    return ColumnFigure(column.name, column.kind, share(sides[0]), there, None, *names, missing=missing)


def _whole_edges(low: float, high: float) -> np.ndarray:
    """Edges halfway between whole numbers, each bin as many of them as the next: else some bins would look twice as full."""
    first, last = math.floor(low), math.ceil(high)
    step = max(1, -(-(last - first + 1) // _BINS))
    return np.arange(first, last + step + 1, step) - 0.5


def _numbers(values: Values, column: Column) -> np.ndarray:
    present: Any = values.dropna()
    if column.kind in ("datetime", "duration"):
        return values_of(present, column)[0].astype(float)
    parsed: Any = pd.to_numeric(present, errors="coerce")
    return parsed.dropna().to_numpy(dtype=float)


def _edge(value: float, column: Column) -> str:
    if column.kind == "datetime":
        return str(pd.Timestamp(value, unit="s", tz="UTC").date())
    if column.kind == "duration":
        return duration_text(value, column.format or DAYS_FORMAT)
    said = f"{np.round(value):,.0f}" if column.kind == "integer" else f"{value:.4g}"
    return "0" if said == "-0" else said


def correlations(schema: Schema, synthetic: pd.DataFrame, real: pd.DataFrame | None) -> Correlations | None:
    """Correlations of at most sixteen columns that have an order; None where there are fewer than two."""
    frames = [synthetic] if real is None else [synthetic, real]
    columns = [c for c in schema.columns if _ordered(c) and all(c.name in frame for frame in frames)][:_CORRELATED]
    if len(columns) < 2:
        return None
    found = [_correlation(columns, frame) for frame in frames]
    return Correlations(tuple(c.name for c in columns), found[0], found[1] if real is not None else None)


def _ordered(column: Column) -> bool:
    listed = column.categories is not None and (column.kind == "ordinal" or len(column.labels) == 2)
    return column.kind in (*BOUNDED, "boolean") or listed


def _correlation(columns: Sequence[Column], frame: pd.DataFrame) -> np.ndarray:
    coded = {i: _codes(column, frame[column.name]) for i, column in enumerate(columns)}
    return pd.DataFrame(coded).corr().to_numpy(dtype=float)


def _codes(column: Column, values: Values) -> np.ndarray:
    if column.kind in LISTED:
        place = {str(label): i for i, label in enumerate(column.labels)}
        texts: Any = values.astype("object")
        return np.array([np.nan if pd.isna(v) else place.get(str(v), np.nan) for v in texts], dtype=float)
    if column.kind == "boolean":
        truths: Any = values.astype("object")
        return np.array([np.nan if pd.isna(v) else float(bool(v)) for v in truths])
    if column.kind in ("datetime", "duration"):
        numbers = np.full(len(values), np.nan)
        numbers[values.notna().to_numpy()] = _numbers(values, column)
        return numbers
    parsed: Any = pd.to_numeric(values, errors="coerce")
    numbers = parsed.to_numpy(dtype=float, na_value=np.nan)
    if column.scale == "log":
        numbers = np.log1p(np.clip(numbers, 0, None))
    return numbers
