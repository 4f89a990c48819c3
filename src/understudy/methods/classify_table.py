"""From two tables on disk to a released classifier, and from a release to labelled rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.pate import PATEClassifier
from understudy.methods.students import NAMES
from understudy.methods.voting import AGGREGATORS, Aggregator
from understudy.privacy import Budget
from understudy.release.bundle import check_target, read_bundle
from understudy.release.spending import check_ledger_options, spending
from understudy.tables import (
    Column,
    Encoder,
    Schema,
    check_table_path,
    estimate_schema,
    read_table,
    validate_frame,
    write_table,
)
from understudy.tables.bounds import tail_count
from understudy.tables.column import Category
from understudy.tables.io import column_of
from understudy.tables.public import schema_from_public
from understudy.tables.values import booleans, codes
from understudy.wording import did_you_mean, listed, nth_row

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


@dataclass(frozen=True)
class Classified:
    """A released classifier, and how many rows had a label that the estimated list does not hold (private)."""

    model: PATEClassifier
    private_unlisted_rows: int


def classify_table(
    request: Request,
    *,
    teachers: int = 50,
    aggregator: Aggregator = "confident-gnmax",
    queries: int | None = None,
    student: str = "logistic",
    random_state: int | None = None,
) -> Classified:
    """Touches private data. Everything that can be wrong is checked before the first charge."""
    check_target(request.out)
    check_ledger_options(request.ledger, request.dataset)
    _check_numbers(teachers=teachers, random_state=random_state)
    _check_names(aggregator, student)
    frame, public = _read(request)
    _check_target_column(frame, request)
    schema = _features(public, frame, request)
    rows, shared = (pd.DataFrame(table[list(schema.names)]) for table in (frame, public))
    _check_rows(rows, shared, schema, request)
    labels = _labels(frame, request)
    if teachers > len(frame):
        raise InputError(
            f"{teachers} teachers for {len(frame)} rows: every teacher needs at least one row of its own. "
            f"Use at most {len(frame)} teachers, or more rows."
        )
    if queries is not None and not 1 <= queries <= len(public):
        raise InputError(f"--queries {queries} must lie between 1 and the {len(public)} public rows there are.")
    purpose = f"classify {request.target}"
    book, dataset = request.ledger, request.dataset
    with spending(request.epsilon, request.delta, purpose=purpose, ledger=book, dataset=dataset) as run:
        known = labels if labels.complete else _estimate_labels(frame, labels, request, run.budget)
        classes = _classes(known)
        numbers = _class_numbers(column_of(frame, request.target), known, estimated=not labels.complete)
        unlisted = numbers >= len(classes)
        # Such a row must not be dropped: that would move other rows between teachers. Its label is drawn whatever it
        # was, so it still moves one vote at most.
        drawn = np.random.default_rng(random_state).integers(len(classes), size=len(numbers))
        model = PATEClassifier(
            teachers=teachers,
            aggregator=aggregator,
            epsilon=request.epsilon,
            delta=request.delta,
            student=student,
            queries=queries,
            classes=classes,
            schema=Schema((*schema.columns, known), request.target),
            random_state=random_state,
        )
        y = np.asarray(classes)[np.where(unlisted, drawn, numbers)]
        model.fit(rows, y, public=shared, budget=run.budget)
        model.save(request.out)
        run.certificate = model.certificate_
    return Classified(model, int(unlisted.sum()))


def predict_table(release: Path, data: Path, out: Path | None) -> pd.DataFrame:
    """Labels and probabilities for each row of a table, by a released classifier."""
    if out is not None:
        check_table_path(out)
    bundle = read_bundle(release)
    if bundle.method != PATEClassifier.method or bundle.schema is None:
        raise InputError(f"{release} is not a classifier of tables: name a folder that `understudy classify` made.")
    model = PATEClassifier.from_bundle(bundle)
    frame = read_table(data)
    features = list(bundle.schema.features.names)
    if absent := [name for name in features if name not in frame.columns]:
        hint = did_you_mean(absent[0], [str(c) for c in frame.columns])
        raise InputError(f"{data} lacks column {absent[0]!r}, which the classifier needs.{hint}")
    rows = frame[features]
    with _about(data):
        probabilities = model.predict_proba(rows)
    result = pd.DataFrame({str(bundle.schema.target): model.classes_[probabilities.argmax(axis=1)]})
    for number, label in enumerate(model.classes_):
        result[f"probability of {label}"] = probabilities[:, number].round(6)
    if out is not None:
        write_table(result, out)
    return result


@contextmanager
def _about(where: Path) -> Iterator[None]:
    """Two tables are in play: say which one an error is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _check_numbers(*, teachers: int, random_state: int | None) -> None:
    if teachers < 1:
        raise InputError(f"--teachers {teachers} must be at least 1.")
    if random_state is not None and not 0 <= random_state < 2**32:
        raise InputError(f"--seed {random_state} must lie between 0 and {2**32 - 1}.")


def _check_names(aggregator: str, student: str) -> None:
    for option, given, known in (("--aggregator", aggregator, AGGREGATORS), ("--student", student, NAMES)):
        if given not in known:
            raise InputError(f"{option} {given!r} must be one of {', '.join(known)}.{did_you_mean(given, known)}")


def _read(request: Request) -> tuple[pd.DataFrame, pd.DataFrame]:
    frame, public = read_table(request.data), read_table(request.public)
    if request.data.samefile(request.public):
        raise InputError(
            f"{request.public} is the sensitive table itself. The release holds the public rows as they are, so they "
            "must be other rows, which anybody may see."
        )
    return frame, public


def _check_target_column(frame: pd.DataFrame, request: Request) -> None:
    names = [str(c) for c in frame.columns]
    if request.target not in names:
        raise InputError(f"{request.data} has no column {request.target!r}.{did_you_mean(request.target, names)}")
    series = column_of(frame, request.target)
    missing = series.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"{request.data}: the target {request.target!r} is missing in {int(missing.sum())} of {len(frame)} rows, "
            f"first in {nth_row(int(missing.argmax()))}. Drop the rows without it."
        )
    if series.nunique() == 1:
        raise InputError(
            f"{request.data}: the target {request.target!r} has one class only; there is nothing to learn. "
            "Is it the right column?"
        )


def _features(public: pd.DataFrame, frame: pd.DataFrame, request: Request) -> Schema:
    """The schema of the features: as a file says it, or as the public rows show it."""
    if request.schema is None:
        with _about(request.public):
            schema = schema_from_public(public, request.target)
    else:
        said = Schema.read(request.schema)
        schema = said.with_target(request.target if request.target in said else None).features
        schema.require_complete()
    for where, table in ((request.data, frame), (request.public, public)):
        names = [str(c) for c in table.columns]
        if absent := [name for name in schema.names if name not in names]:
            source = request.schema or (request.public if where == request.data else request.data)
            raise InputError(
                f"{where} lacks column {absent[0]!r}, which {source} has.{did_you_mean(absent[0], names)} "
                "Both tables need the same features."
            )
    extra = [str(c) for c in frame.columns if c not in schema and c != request.target]
    if extra:
        raise InputError(
            f"{request.data} has column {extra[0]!r}, which {request.schema or request.public} does not have: the "
            "public rows need the same features. Drop it, or add it there."
        )
    return schema


def _check_rows(rows: pd.DataFrame, public: pd.DataFrame, schema: Schema, request: Request) -> None:
    """Looks at private rows: whatever the encoder would refuse later is refused here."""
    Encoder(schema)
    try:
        with _about(request.data):
            validate_frame(rows, schema)
    except InputError as error:
        if request.schema is not None:
            raise
        raise InputError(f"{error} (Here the public rows are the schema; --schema FILE says it instead.)") from None
    with _about(request.public):
        validate_frame(public, schema)


def _labels(frame: pd.DataFrame, request: Request) -> Column:
    """Looks at private rows. The target with its classes, if somebody said them; without, if they are to be estimated."""
    series, target = column_of(frame, request.target), request.target
    drafted = Schema.draft(frame[[target]], target)[target]
    said = None if request.schema is None else Schema.read(request.schema)
    if request.classes is not None:
        column = _said_classes(request.classes, series, drafted)
    else:
        column = said[target] if said is not None and target in said else drafted
        if column.kind == "integer":  # whole numbers are classes too
            column = drafted
    if column.kind not in ("categorical", "ordinal", "boolean"):
        raise InputError(
            f"the target {target!r} is {column.kind}; a classifier needs categories. If its values are classes, list "
            "them with --classes."
        )
    if not column.complete:
        _check_estimate(column, len(frame), request)
        return column
    classes = _classes(column)
    if len(classes) < 2:
        raise InputError(f"the target {target!r} has one class only ({listed(classes)}); there is nothing to learn.")
    if any(isinstance(label, float) and not label.is_integer() for label in classes):
        raise InputError(f"the classes {listed(classes, 5)} of {target!r} must be text or whole numbers.")
    with _about(request.data):
        _class_numbers(series, column)
    return column


def _said_classes(classes: tuple[str, ...], series: pd.Series, drafted: Column) -> Column:
    option = f"--classes {','.join(classes)}"
    if drafted.kind == "boolean":
        if sorted(label.lower() for label in classes) != ["false", "true"]:
            raise InputError(f"{option}: the target {drafted.name!r} holds true and false, so must the list.")
        return drafted
    if "" in classes:
        raise InputError(f"{option}: a label is empty. Write the labels with one comma between them.")
    labels: tuple[Category, ...] = classes
    if pd.api.types.is_numeric_dtype(series):
        try:
            labels = tuple(_number(label) for label in classes)
        except ValueError:
            raise InputError(f"{option}: the target {drafted.name!r} holds numbers, so must the list.") from None
    return Column(drafted.name, "categorical", categories=labels)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _classes(column: Column) -> tuple[Category, ...]:
    return (False, True) if column.kind == "boolean" else column.labels


def _class_numbers(series: pd.Series, column: Column, *, estimated: bool = False) -> np.ndarray:
    """Private. The number of each label among the classes; one past the end for a label too rare to be estimated."""
    if column.kind == "boolean":
        return booleans(series, column)[0].astype(np.int64)
    return codes(series, replace(column, other=True) if estimated else column)


def _shares(request: Request) -> tuple[float, float]:
    return CLASSES_SHARE * request.epsilon, CLASSES_SHARE * request.delta


def _check_estimate(column: Column, rows: int, request: Request) -> None:
    """Refuse an estimate that cannot find two labels. Only public numbers decide."""
    Budget(request.epsilon, request.delta)
    epsilon, delta = _shares(request)
    if delta == 0:
        raise InputError(
            f"finding out the classes of {column.name!r} needs a --delta above 0. Give one, or say the classes with "
            "--classes or --schema."
        )
    needed = 1 + tail_count(epsilon, delta)
    if rows < 2 * needed:
        raise InputError(
            f"nobody says the classes of {column.name!r}, and for {CLASSES_SHARE:.0%} of epsilon (={epsilon:g}) a "
            f"class must have about {needed} rows to be found; {rows} rows are too few for two of them. Say the classes "
            "with --classes or --schema."
        )


def _estimate_labels(frame: pd.DataFrame, target: Column, request: Request, budget: Budget) -> Column:
    """Looks at private rows; the classes that come back are paid for."""
    shares = _shares(request)
    estimated = estimate_schema(frame[[target.name]], Schema((target,), target.name), budget, *shares)[target.name]
    if not estimated.complete or len(estimated.labels) < 2:
        raise InputError(
            f"fewer than two labels of {target.name!r} are frequent enough to be found for epsilon {shares[0]:g}, "
            "which is spent. Say them with --classes."
        )
    return estimated
