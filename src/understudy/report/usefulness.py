"""How good the releases are: measured scores, and synthetic beside real columns and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy import registry
from understudy.errors import InputError
from understudy.report import figures, words
from understudy.report.evaluations import ScoreTable, read_scores
from understudy.report.facts import Release
from understudy.report.text import number, percent, shown

SAMPLED_ROWS = 5000
PICTURES = 100
RECORDS, RECORD_COLUMNS = 10, 6


def usefulness(
    releases: Sequence[Release], evaluations: Sequence[str | Path], test: str | Path | None
) -> dict[str, Any]:
    """Everything of the section, ready for the page."""
    scores = [score for path in evaluations for score in read_scores(path)]
    tables = [_table(release, test) for release in releases if release.kind == "generator"]
    records = [_records(release) for release in releases if release.kind == "distilled"]
    predicted = [p for release in releases if (p := _predictions(release, test))]
    return {
        "headline": [*(s.headline for s in scores if s.headline), *(_told(p) for p in predicted)],
        "predicted": predicted,
        "scores": [_scores(s) for s in scores],
        "tables": [t for t in tables if t is not None],
        "records": [r for r in records if r is not None],
        "pictures": [p for release in releases if (p := _pictures(release))],
        "test": shown(Path(test).name) if test is not None else None,
    }


def _scores(scores: ScoreTable) -> dict[str, Any]:
    values = [v for row in scores.rows for v in (row.real, row.synthetic, row.inside) if v is not None]
    low = min([0.5, *values]) if scores.metric in ("auroc", "accuracy") else min([0.0, *values])
    rows = []
    for row in scores.rows:
        said = [f"{name} {value:.3f}" for name, value in row.named() if value is not None]
        label = f"{shown(row.classifier)}: {', '.join(said)}"
        points = [("inside", row.inside), ("made", row.synthetic), ("real", row.real)]
        rows.append(
            {
                "name": shown(row.classifier, 40),
                "real": row.real,
                "synthetic": row.synthetic,
                "inside": row.inside,
                "note": shown(row.note, 160) if row.note else "",
                "figure": figures.dots(points, low, 1.0, label),
            }
        )
    return {
        "name": shown(scores.name),
        "metric": shown(scores.metric_name),
        "low": low,
        "rows": rows,
        "mean": scores.mean(),
        "has_real": any(row.real is not None for row in scores.rows),
        "has_inside": any(row.inside is not None for row in scores.rows),
        "noise": scores.noise,
        "others": [(shown(k, 120), v) for k, v in scores.others],
        "notes": [shown(note, 400) for note in scores.notes],
        "seeds": scores.seeds,
        "error": shown(scores.error, 300) if scores.error else None,
    }


def _table(release: Release, test: str | Path | None) -> dict[str, Any] | None:
    """Samples of a release beside test rows; None for a release that makes no table."""
    if release.schema is None or release.path.is_file():
        return None
    from understudy.registry import load
    from understudy.report.compare import (
        SHOWN_COLUMNS,
        as_schema_says,
        column_figures,
        correlations,
        released_marginals,
    )
    from understudy.tables import read_table

    model = load(release.path)
    synthetic = model.sample(SAMPLED_ROWS, random_state=0)
    real = None
    if test is not None:
        table = read_table(test)
        if missing := [name for name in release.schema.names if name not in table]:
            raise InputError(
                f"the test table {test} has no column {missing[0]!r}, which the release {release.path} has."
            )
        real = as_schema_says(release.schema, table)
    told = released_marginals(getattr(model, "coordinates_", None)) if real is None else None
    if told is not None and (book := getattr(model, "rules_", None)) is not None:
        # Of the others a difference was released, or nothing.
        told = told.drop(columns=[name for name in told.columns if name not in book.own])
    columns = column_figures(release.schema, synthetic, real if told is None else told)
    together = correlations(release.schema, synthetic, real)
    shown_columns = []
    for column in columns[:SHOWN_COLUMNS]:
        beside = "" if not column.real else " and real" if told is None else " and as it was released"
        label = f"Distribution of {shown(column.name)}, synthetic{beside}."
        bars = None
        if column.labels is not None:
            real_shares = column.real or (None,) * len(column.labels)
            rows = zip(column.labels, column.synthetic, real_shares, strict=True)
            bars = [{"label": shown(text, 40), "made": made, "real": there} for text, made, there in rows]
        shown_columns.append(
            {
                "name": shown(column.name),
                "target": column.name == release.schema.target,
                "low": column.low,
                "high": column.high,
                "bars": bars,
                "figure": None if bars else figures.histogram(column.synthetic, column.real, label),
                "distance": column.distance,
                "missing": column.missing,
            }
        )
    return {
        "name": shown(release.path.name),
        "kind": words.release_words(release.kind, release.method)[0],
        "rows": len(synthetic),
        "real_rows": None if real is None else len(real),
        "released": told is not None,
        "columns": shown_columns,
        "more": len(columns) - len(shown_columns),
        "mean_distance": None
        if real is None or not columns
        else sum(c.distance or 0.0 for c in columns) / len(columns),
        "correlations": None if together is None else _correlations(together),
    }


def _predictions(release: Release, test: str | Path | None) -> dict[str, Any] | None:
    """How many real test rows a classifier (or a distilled set's predictor) gets right; None where it cannot be told."""
    if test is None or release.kind not in ("classifier", "distilled") or release.path.is_file():
        return None
    from understudy.registry import load
    from understudy.tables import read_table

    table = read_table(test)
    if release.schema is None or release.schema.target is None or release.schema.target not in table:
        return None
    truth = table[release.schema.target].astype(str).to_numpy()
    said = np.asarray(load(release.path).predict(table)).astype(str)
    return {
        "name": shown(release.path.name),
        "what": "The classifier" if release.kind == "classifier" else "The predictor of the distilled set",
        "right": float(np.mean(said == truth)),
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        "rows": len(truth),
    }


def _told(predicted: dict[str, Any]) -> str:
    return (
        f"{predicted['what']} gets {percent(predicted['right'])} of {predicted['rows']:,} real test rows right; always naming "
        f"the most frequent class would get {percent(predicted['majority'])}."
    )


def _records(release: Release) -> dict[str, Any] | None:
    """The first records of a distilled table, the target first."""
    if release.schema is None or release.path.is_file():
        return None
    from understudy.registry import load
    from understudy.tables.io import as_frame

    frame = as_frame(load(release.path).distilled_)
    names = sorted(release.schema.names, key=lambda name: name != release.schema.target)[:RECORD_COLUMNS]  # type: ignore[union-attr]
    rows = frame[names].iloc[:: max(1, -(-len(frame) // RECORDS))].head(RECORDS).itertuples(index=False)
    return {
        "name": shown(release.path.name),
        "names": [shown(name, 40) for name in names],
        "rows": [[number(cell) if isinstance(cell, float) else shown(cell, 40) for cell in row] for row in rows],
        "all": len(frame),
        "more": len(release.schema) - len(names),
    }


def _correlations(found: Any) -> dict[str, Any]:
    names = [shown(name, 40) for name in found.names]
    return {
        "names": names,
        "synthetic": figures.heatmap(found.synthetic, f"Correlations of {len(names)} columns, synthetic rows."),
        "real": None
        if found.real is None
        else figures.heatmap(found.real, f"Correlations of {len(names)} columns, real test rows."),
        "difference": found.difference,
    }


def _makes_images(method: str) -> bool:
    entry = registry.find(method)
    return entry is not None and entry.kind == "generator" and "images" in entry.takes


def _pictures(release: Release) -> dict[str, Any] | None:
    """A grid of a release's pictures, class by class; None for a release that has none."""
    if "images" in release.arrays:
        images, labels = release.arrays["images"], release.arrays.get("labels")
        if labels is not None and len(labels) == len(images):
            images = images[np.argsort(labels, kind="stable")]
        everything = len(images)
    elif release.kind == "generator" and _makes_images(release.method) and release.path.is_dir():
        from understudy.registry import load

        model = load(release.path)
        drawn = model.sample(PICTURES, random_state=0, labels=np.sort(np.arange(PICTURES) % len(model.classes_)))
        low, high = drawn.value_range
        images, everything = (drawn.images.astype(np.float32) - low) / (high - low), None
    else:
        return None
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] != 3):
        return None
    few = images[:: max(1, -(-len(images) // PICTURES))][:PICTURES]
    return {
        "name": shown(release.path.name),
        "shown": len(few),
        "all": everything,
        "source": figures.picture(figures.grid(few)),
    }
