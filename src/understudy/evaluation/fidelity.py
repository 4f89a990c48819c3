"""How like the real rows synthetic ones are, column by column, pair by pair, and as a whole.

All figures compare with the real *training* rows and use at most `ROWS` rows of each table (drawn by a fixed seed): the
error of a share is then below half a percent, and a table of millions takes no longer. Everything here touches private
data, and nothing of it is noised.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.evaluation import public_bins, relations
from understudy.evaluation.features import Rows, opened, prepare
from understudy.evaluation.result import ColumnFidelity, Fidelity
from understudy.tables import values
from understudy.tables.column import LISTED, Column
from understudy.tables.io import column_of
from understudy.tables.schema import Schema

ROWS = 20_000
_FINE, _COARSE = 20, 5
# Public bins of a number in one-, two- and three-way tables: coarser the more columns a table has, so that rows fill its cells.
PUBLIC_BINS = (20, 10, 5)
_TABLES = 300
_C2ST_ROWS, _C2ST_FOLDS = 5_000, 3


def fidelity(
    real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, real_rows: Rows, synthetic_rows: Rows, seed: int = 0
) -> Fidelity:
    """Touches private data (`real`): all fidelity figures of one synthetic table."""
    real, synthetic = _some(real, seed), _some(synthetic, seed)
    declared = schema
    kinds = {column.name: column.kind for column in schema}
    schema = Schema(tuple(opened(column) for column in schema))
    pairs = {column.name: (_values(real, column), _values(synthetic, column)) for column in schema}
    columns = tuple(replace(_column(c, *pairs[c.name]), kind=kinds[c.name]) for c in schema)
    coarse = {column.name: _cells(column, *pairs[column.name], _COARSE) for column in schema}
    fine = {column.name: _cells(column, *pairs[column.name], _FINE) for column in schema}
    places = public_bins.positions(real, declared), public_bins.positions(synthetic, declared)
    public = [{c.name: _public(c, places, bins) for c in declared} for bins in PUBLIC_BINS]
    rules = relations.broken(fine, coarse, seed)
    distances = [c.wasserstein for c in columns if c.wasserstein is not None]
    return Fidelity(
        columns,
        tv=float(np.mean([c.tv for c in columns])),
        wasserstein=float(np.mean(distances)) if distances else None,
        correlation=_correlation([pairs[c.name] for c in schema if _numeric(c)]),
        association=_association(schema, coarse, seed),
        marginals_2=_marginals(coarse, 2, seed),
        marginals_3=_marginals(coarse, 3, seed),
        c2st=c2st(real_rows, synthetic_rows, seed),
        coverage=float(np.mean([c.coverage for c in columns])),
        distance_1=_marginals(public[0], 1, seed),
        distance_2=_marginals(public[1], 2, seed),
        distance_3=_marginals(public[2], 3, seed),
        range_error=public_bins.range_error(*places, declared, seed),
        rules=0 if rules is None else rules.rules,
        rules_broken=None if rules is None else rules.share,
        rows_breaking=None if rules is None else rules.rows,
    )


def _public(column: Column, places: Sequence[public_bins.Places], bins: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = (public_bins.cells(column, side[column.name], bins) for side in places)
    return first, second


def _some(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return frame if len(frame) <= ROWS else frame.sample(ROWS, random_state=seed)


def _numeric(column: Column) -> bool:
    return column.kind not in (*LISTED, "boolean")


def _values(frame: pd.DataFrame, column: Column) -> np.ndarray:
    """Numbers as floats, NaN where missing; categories and truth values as whole numbers, 0 where missing."""
    series = column_of(frame, column.name)
    if _numeric(column):
        numbers, missing = values.numbers(series, column)
        return np.where(missing, np.nan, numbers)
    if column.kind == "boolean":
        truths, missing = values.booleans(series, column)
        return np.where(missing, 0, truths + 1).astype(np.int64)
    return values.codes(series, column) + 1


def _column(column: Column, real: np.ndarray, synthetic: np.ndarray) -> ColumnFidelity:
    tv = _variation(*_cells(column, real, synthetic, _FINE))
    if not _numeric(column):
        had, seen = (set(np.unique(side).tolist()) - {0} for side in (real, synthetic))
        return ColumnFidelity(column.name, column.kind, tv, None, len(seen & had) / max(len(had), 1))
    a, b = (side[~np.isnan(side)] for side in (real, synthetic))
    if len(a) == 0 or len(b) == 0:
        return ColumnFidelity(column.name, column.kind, tv, None, float(len(a) == len(b)))
    from scipy.stats import wasserstein_distance

    low, high = float(a.min()), float(a.max())
    covered = 1.0 if low == high else (min(high, b.max()) - max(low, b.min())) / (high - low)
    spread = float(a.std()) or 1.0
    distance = float(wasserstein_distance(a, b)) / spread
    return ColumnFidelity(column.name, column.kind, tv, distance, float(np.clip(covered, 0, 1)))


def _cells(column: Column, real: np.ndarray, synthetic: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Both sides as small whole numbers: categories, or bins that hold equal shares of the real rows; missing is 0."""
    if not _numeric(column):
        return real, synthetic
    known = real[~np.isnan(real)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1])) if len(known) else np.zeros(0)
    first, second = (
        np.where(np.isnan(side), 0, np.searchsorted(edges, side, side="right") + 1).astype(np.int64)
        for side in (real, synthetic)
    )
    return first, second


def _variation(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Total variation distance of two columns of whole numbers."""
    size = int(max(real.max(initial=0), synthetic.max(initial=0))) + 1
    a, b = (np.bincount(side, minlength=size) / max(len(side), 1) for side in (real, synthetic))
    return float(np.abs(a - b).sum() / 2)


def _correlation(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float | None:
    """Mean absolute difference of correlations; a constant column correlates with nothing."""
    if len(pairs) < 2:
        return None
    a, b = (_correlations([pair[side] for pair in pairs]) for side in (0, 1))
    upper = np.triu_indices(len(pairs), 1)
    return float(np.abs(a - b)[upper].mean())


def _correlations(columns: list[np.ndarray]) -> np.ndarray:
    x = np.column_stack(columns)
    x = np.nan_to_num(x - np.nan_to_num(np.nanmean(np.where(np.isnan(x).all(axis=0), 0.0, x), axis=0)))
    length = np.sqrt((x**2).sum(axis=0))
    return (x.T @ x) / np.outer(np.where(length > 0, length, 1), np.where(length > 0, length, 1))


def _association(schema: Schema, cells: dict[str, tuple[np.ndarray, np.ndarray]], seed: int) -> float | None:
    """Mean absolute difference of Cramér's V over pairs of which one is a category at least."""
    pairs = [(a.name, b.name) for a, b in itertools.combinations(schema, 2) if not (_numeric(a) and _numeric(b))]
    if len(pairs) > _TABLES:
        pairs = [pairs[i] for i in np.random.default_rng(seed).choice(len(pairs), _TABLES, replace=False)]
    if not pairs:
        return None
    gaps = [abs(_cramer(cells[a][0], cells[b][0]) - _cramer(cells[a][1], cells[b][1])) for a, b in pairs]
    return float(np.mean(gaps))


def _cramer(a: np.ndarray, b: np.ndarray) -> float:
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = ((table - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi2 / (table.sum() * (min(table.shape) - 1))))


def _marginals(cells: dict[str, tuple[np.ndarray, np.ndarray]], ways: int, seed: int) -> float | None:
    """Mean total variation of `ways`-way tables: all of them, or so many drawn by the seed."""
    if len(cells) < ways:
        return None
    random = np.random.default_rng(seed)
    names = list(cells)
    chosen: list[Any] = list(itertools.islice(itertools.combinations(names, ways), _TABLES * 20))
    if len(chosen) > _TABLES:
        # A fresh draw of columns for each table: the first combinations all hold the first columns.
        chosen = [random.choice(len(names), ways, replace=False) for _ in range(_TABLES)]
        chosen = [tuple(names[i] for i in places) for places in chosen]
    return float(np.mean([_joint(cells, group) for group in chosen]))


def _joint(cells: dict[str, tuple[np.ndarray, np.ndarray]], names: tuple[str, ...]) -> float:
    codes = [np.zeros(len(side), dtype=np.int64) for side in cells[names[0]]]
    for name in names:
        size = int(max(side.max(initial=0) for side in cells[name])) + 1
        codes = [code * size + side for code, side in zip(codes, cells[name], strict=True)]
    places = np.unique(np.concatenate(codes), return_inverse=True)[1]
    return _variation(places[: len(codes[0])], places[len(codes[0]) :])


def c2st(real: Rows, synthetic: Rows, seed: int = 0) -> float:
    """Touches private data: AUROC of a boosted forest that tells real rows from synthetic ones, on rows it never saw.

    The mean over three folds. The label belongs to the row: a table whose labels are shuffled is told apart by it.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from threadpoolctl import threadpool_limits

    random = np.random.default_rng(seed)
    size = min(len(real), len(synthetic), _C2ST_ROWS)
    if size < 20:
        return 1.0
    sides = [side.take(random.choice(len(side), size, replace=False)) for side in prepare(real, synthetic)]
    x = np.concatenate([np.column_stack([side.x, side.y]) for side in sides])
    y = np.repeat([0, 1], size)
    fold = np.tile(np.arange(size) % _C2ST_FOLDS, 2)  # The rows of each side come in a random order.
    areas: list[float] = []
    # It would start a thread for each core; what runs in parallel here is the evaluation.
    with threadpool_limits(1):
        for held in range(_C2ST_FOLDS):
            learn, judge = fold != held, fold == held
            model = HistGradientBoostingClassifier(max_iter=50, random_state=seed).fit(x[learn], y[learn])
            areas.append(float(roc_auc_score(y[judge], model.predict_proba(x[judge])[:, 1])))
    return float(max(0.5, np.mean(areas)))
