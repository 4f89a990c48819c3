"""From two tables on disk to a released classifier, and from a release to labelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.bundle import check_target
from understudy.methods.loading import load
from understudy.methods.pate import PATEClassifier
from understudy.privacy import Budget
from understudy.privacy.spending import check_ledger_options, spending
from understudy.tables import (
    Column,
    Schema,
    check_table_path,
    check_writable,
    estimate_schema,
    read_table,
    validate_frame,
    write_table,
)
from understudy.tables.public import schema_from_public
from understudy.tables.values import codes
from understudy.tables.wording import did_you_mean

# What finding out the labels may cost, where nobody says them.
CLASSES_SHARE = 0.1


@dataclass(frozen=True)
class Request:
    """What a person asks `understudy classify` for."""

    data: Path
    target: str
    public: Path
    out: Path
    epsilon: float
    delta: float
    schema: Path | None = None
    classes: tuple[str, ...] | None = None
    ledger: str | None = None
    dataset: str | None = None


def classify_table(request: Request, **parameters: Any) -> PATEClassifier:
    """Touches private data. Everything that can be wrong is checked before the first charge."""
    check_target(request.out)
    check_ledger_options(request.ledger, request.dataset)
    frame, public = read_table(request.data), read_table(request.public)
    _check_target_column(frame, request)
    schema = _features(public, frame, request)
    labels = _labels(frame, schema, request)
    validate_frame(frame.drop(columns=[request.target]), schema.features)
    teachers = parameters.get("teachers", 50)
    if teachers > len(frame):
        raise InputError(f"{teachers} teachers for {len(frame)} rows: every teacher needs at least one row of its own.")
    purpose = f"classify {request.target}"
    ledger = {"ledger": request.ledger, "dataset": request.dataset}
    with spending(request.epsilon, request.delta, purpose=purpose, **ledger) as run:
        if labels is None:
            labels = _estimate_labels(frame, request, run.budget)
        full = Schema((*schema.features.columns, labels), request.target)
        y = np.asarray(labels.labels, dtype=object)[codes(frame[request.target], labels)]
        model = PATEClassifier(
            epsilon=request.epsilon, delta=request.delta, classes=labels.labels, schema=full, **parameters
        )
        features = list(schema.features.names)
        model.fit(frame[features], y, public=public[features], budget=run.budget)
        model.save(request.out)
        run.certificate = model.certificate_
    return model


def predict_table(release: Path, data: Path, out: Path | None) -> pd.DataFrame:
    """Labels and probabilities for each row of a table, by a released classifier."""
    if out is not None:
        check_table_path(out)
        check_writable(out)
    model = load(release)
    if not isinstance(model, PATEClassifier) or model.schema is None:
        raise InputError(f"{release} is not a classifier of tables.")
    frame = read_table(data)
    features = list(model.schema.features.names)
    if absent := [name for name in features if name not in frame.columns]:
        hint = did_you_mean(absent[0], [str(c) for c in frame.columns])
        raise InputError(f"{data} lacks column {absent[0]!r}, which the classifier needs.{hint}")
    rows = frame[features]
    probabilities = model.predict_proba(rows)
    result = pd.DataFrame({str(model.schema.target): model.classes_[probabilities.argmax(axis=1)]})
    for place, label in enumerate(model.classes_):
        result[f"probability of {label}"] = probabilities[:, place].round(6)
    if out is not None:
        write_table(result, out)
    return result


def _check_target_column(frame: pd.DataFrame, request: Request) -> None:
    names = [str(c) for c in frame.columns]
    if request.target not in names:
        raise InputError(f"{request.data} has no column {request.target!r}.{did_you_mean(request.target, names)}")
    if len(frame) == 0:
        raise InputError(f"{request.data} has no rows.")
    missing = frame[request.target].isna().to_numpy()
    if missing.any():
        raise InputError(
            f"the target {request.target!r} is missing in {int(missing.sum())} of {len(frame)} rows, first in row "
            f"{int(missing.argmax())} (counted from 0). Drop the rows without it."
        )
    if frame[request.target].nunique() == 1:
        raise InputError(f"the target {request.target!r} has one class only; there is nothing to learn.")


def _features(public: pd.DataFrame, frame: pd.DataFrame, request: Request) -> Schema:
    schema = schema_from_public(public, request.target) if request.schema is None else Schema.read(request.schema)
    if request.schema is not None:
        schema = schema.with_target(request.target) if request.target in schema else schema
        schema.features.require_complete()
    wanted = schema.features.names
    for where, table in ((request.data, frame), (request.public, public)):
        names = [str(c) for c in table.columns]
        if absent := [name for name in wanted if name not in names]:
            raise InputError(f"{where} lacks column {absent[0]!r}.{did_you_mean(absent[0], names)}")
    extra = [str(c) for c in frame.columns if str(c) not in wanted and str(c) != request.target]
    if extra:
        raise InputError(
            f"{request.data} has column {extra[0]!r}, which {request.schema or request.public} does not know: the public "
            "rows need the same features. Drop it, or add it there."
        )
    return schema


def _labels(frame: pd.DataFrame, schema: Schema, request: Request) -> Column | None:
    """The labels as somebody said them, or None if they are to be estimated."""
    if request.classes is not None:
        numeric = pd.api.types.is_numeric_dtype(frame[request.target]) and not pd.api.types.is_bool_dtype(
            frame[request.target]
        )
        try:
            labels = tuple(_number(c) for c in request.classes) if numeric else request.classes
        except ValueError:
            raise InputError(
                f"--classes {','.join(request.classes)}: the target holds numbers, so must the list."
            ) from None
        column = Column(request.target, "categorical", categories=labels)
    elif schema.target == request.target and schema[request.target].complete:
        column = schema[request.target]
        if column.kind not in ("categorical", "boolean", "ordinal"):
            raise InputError(
                f"the target {request.target!r} is {column.kind} in the schema; a classifier needs categories."
            )
    else:
        return None
    codes(frame[request.target], column)  # a label that is not listed is refused here
    return column


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _estimate_labels(frame: pd.DataFrame, request: Request, budget: Budget) -> Column:
    draft = Schema.draft(frame[[request.target]], request.target)
    share = (CLASSES_SHARE * request.epsilon, CLASSES_SHARE * request.delta)
    found = draft if not draft.missing() else estimate_schema(frame[[request.target]], draft, budget, *share)
    column = found[request.target]
    if column.kind not in ("categorical", "boolean", "ordinal"):
        raise InputError(
            f"the target {request.target!r} is {column.kind}; a classifier needs categories: say --classes."
        )
    if not column.complete or len(column.labels) < 2:
        raise InputError(
            f"fewer than two labels of {request.target!r} are frequent enough to be found for epsilon {share[0]:g}, which is "
            "spent. Say them with --classes."
        )
    return column
