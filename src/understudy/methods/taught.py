"""A classifier taught by synthetic rows, for who has no public rows to label.

It touches nothing private: a generator's release is all that it sees, so it holds at the release's own epsilon, and any
number of students may be taught by one release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.classes import check_classes, said_classes
from understudy.methods.moments.generator import MomentsGenerator
from understudy.methods.pate import PATEClassifier
from understudy.methods.request import Request, about
from understudy.methods.students import NAMES, make_student, train_student
from understudy.privacy.units import PERSON
from understudy.release.bundle import check_target
from understudy.release.estimator import whose
from understudy.release.intake import as_frame, read_rows, with_classes
from understudy.release.preflight import PublicSizes, safe_delta, table_sizes
from understudy.release.spending import check_ledger_options, spending_of
from understudy.tables import Coordinates, Encoder, Schema, check_table_path, read_table, write_table
from understudy.tables.column import LISTED
from understudy.tables.io import PrivateTable, column_of
from understudy.tables.mending import Mended, mended
from understudy.tables.persons import count_persons
from understudy.tables.rows_per_person import most_rows
from understudy.tables.written import as_read
from understudy.wording import did_you_mean

STUDENT = "forest"
# Drawn to learn from. More rows teach no more than the release knows.
ROWS = 5_000


class Taught:
    """A student of rows that a release draws. `predict` and `predict_proba` take tables, and new cells are made to fit."""

    def __init__(self, generator: Any, student: Any = None, rows: int = ROWS, random_state: int = 0) -> None:
        schema: Schema = generator.schema_
        if schema.target is None:
            raise InputError("the release has no target, so there is nothing to predict: make one with a --target.")
        target = schema[schema.target]
        if target.kind not in (*LISTED, "boolean"):
            raise InputError(
                f"the target {target.name!r} is a number in this release, and a classifier predicts classes. Draw rows with "
                "`understudy sample`, and fit a regression to them."
            )
        drowned = generator.certificate_.body["release"].get("not_learnt", ())
        learnt = tuple(column for column in schema.features if column.name not in drowned)
        self.schema = Schema((*learnt, target), target.name)
        self.classes_ = np.array([False, True] if target.kind == "boolean" else list(target.labels), dtype=object)
        self._encoder = Encoder(self.schema.features)
        drawn = generator.sample(rows, random_state=random_state)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        labels = np.array([codes.get(label, -1) for label in drawn[target.name].tolist()])
        known = labels >= 0
        x = self._rows(drawn)[known]
        self.student_ = train_student(
            make_student(STUDENT if student is None else student, random_state), x, labels[known], None
        )

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        rows = self._rows(as_frame(X))
        chances = np.zeros((len(rows), len(self.classes_)))
        chances[:, np.asarray(self.student_.classes_, dtype=int)] = self.student_.predict_proba(rows)
        return chances

    def _rows(self, frame: pd.DataFrame) -> np.ndarray:
        features = self.schema.features
        fitting = Coordinates.declared(features, len(frame))
        return self._encoder.encode(fitting.settled(frame[list(features.names)], np.random.default_rng(0)))


def classify_by_rows(
    request: Request,
    *,
    random_state: int | None = None,
    ask: Callable[[pd.DataFrame], None] = lambda frame: None,
    stop: Callable[[MomentsGenerator, PublicSizes], bool] = lambda generator, sizes: False,
    tell: Callable[[MomentsGenerator], None] = lambda generator: None,
) -> tuple[MomentsGenerator, Mended] | None:
    """Touches private data: a release that draws rows, to teach a classifier. Where `stop` says so nothing is done.

    What the features are is told by a schema, or bought; that the target is a class is said by whoever asks for a classifier.
    `ask` is shown the rows, for their owner's eyes, and `tell` what was learnt before it is written. What of the rows did not fit comes back too, and is private.
    """
    check_target(request.out)
    check_ledger_options(request.ledger, request.dataset)
    said = getattr(request.data, "schema", None) if request.schema is None else Schema.read(request.schema)
    table = read_rows(request.data, said, request.target, strict=request.strict)
    said = _with_target(table, said, request)
    table = replace(table, frame=as_read(table.frame, said))
    owner = whose(said, request.person, request.rows_per_person)
    records = len(table.frame) if owner is None else count_persons(table.frame, owner)
    delta = safe_delta(records) if request.delta is None else request.delta
    generator = MomentsGenerator(epsilon=request.epsilon, delta=delta, random_state=random_state)
    sizes = table_sizes(table.frame, said, request.target)
    if stop(generator, sizes if owner is None else replace(sizes, rows=records * most_rows(owner))):
        return None
    ask(table.frame)
    purpose = f"classify {request.target}"
    unit, theirs = ("row", {}) if owner is None else (PERSON, {"person": owner.column, "rows_per_person": owner.rows})
    with spending_of(generator, purpose=purpose, ledger=request.ledger, dataset=request.dataset, unit=unit) as run:
        generator.fit(table.frame, request.target, said, budget=run.budget, typed=table.typed, **theirs)
        tell(generator)
        run.still_ours()
        generator.save(request.out)
        run.certificate = generator.certificate_
    return generator, mended(table, generator.schema_, generator.certificate_.body["release"].get("not_learnt", ()))


def _with_target(table: PrivateTable, said: Schema | None, request: Request) -> Schema:
    """What is public, the classes among it if the request lists them. Looks at names and types alone."""
    names, target = [str(name) for name in table.frame.columns], request.target
    if target not in names:
        raise InputError(f"{request.data} has no column {target!r}.{did_you_mean(target, names)}")
    if request.classes is not None:
        dtype = column_of(table.frame, target).dtype if table.typed else None
        goal = said_classes(request.classes, target, dtype)
        kept = () if said is None else tuple(column for column in said if column.name != target)
        said = Schema((goal,), target) if said is None else replace(said, columns=(*kept, goal), target=target)
    said = with_classes(table.frame, said, target)
    if said[target].kind not in (*LISTED, "boolean"):
        raise InputError(
            f"the target {target!r} is {said[target].kind}; a classifier needs categories. If its values are classes, list "
            f"them with --classes. For a number: `understudy synthesize {request.data} --target {target}`."
        )
    check_classes(said[target])
    return said


def predict_table(model: Taught | PATEClassifier, data: Path, out: Path | None) -> pd.DataFrame:
    """Labels and probabilities for each row of a table, by a released classifier."""
    if out is not None:
        check_table_path(out)
    assert model.schema is not None
    assert model.schema.target is not None
    frame, features = read_table(data), list(model.schema.features.names)
    if absent := [name for name in features if name not in frame.columns]:
        hint = did_you_mean(absent[0], [str(c) for c in frame.columns])
        raise InputError(f"{data} lacks column {absent[0]!r}, which the classifier needs.{hint}")
    with about(data):
        probabilities = model.predict_proba(frame[features])
    result = pd.DataFrame({model.schema.target: model.classes_[probabilities.argmax(axis=1)]})
    for number, label in enumerate(model.classes_):
        result[f"probability of {label}"] = probabilities[:, number].round(6)
    if out is not None:
        write_table(result, out)
    return result


def check_student(student: str | None) -> None:
    """Refuse a student that there is none of, before anything is spent."""
    if student is not None and student not in NAMES:
        raise InputError(f"--student {student!r} must be one of {', '.join(NAMES)}.{did_you_mean(student, NAMES)}")
