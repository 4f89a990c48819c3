"""From two tables on disk, private rows and public ones, to a released classifier."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.classes import (
    CLASSES_SHARE,
    bought_classes,
    check_estimate,
    classes_file,
    classes_of,
    doubt_classes,
    target_of,
    warn_of_numbers,
)
from understudy.methods.pate import PATEClassifier
from understudy.methods.request import Request, about
from understudy.methods.students import NAMES
from understudy.methods.together import Together
from understudy.methods.voting import AGGREGATORS, Aggregator, Ballot, plan_round
from understudy.privacy import Budget, Certificate
from understudy.privacy.units import PERSON
from understudy.release.bundle import check_target
from understudy.release.intake import without_person
from understudy.release.preflight import PublicSizes, safe_delta, table_sizes
from understudy.release.spending import Spending, check_ledger_options, spending
from understudy.tables import Column, Encoder, Schema, read_table, validate_frame
from understudy.tables.coordinates import Coordinates, read_column
from understudy.tables.io import PrivateTable, column_of, read_private
from understudy.tables.mending import Mended, mended
from understudy.tables.persons import AUTO, Person, count_persons
from understudy.tables.public import schema_from_public
from understudy.tables.rows_per_person import most_rows, with_rows
from understudy.wording import did_you_mean


def _warn(said: str) -> None:
    warnings.warn(said, UnderstudyWarning, stacklevel=4)


@dataclass(frozen=True)
class Classified:
    """A released classifier, and what of the rows did not fit (private)."""

    model: PATEClassifier
    private_mended: Mended


def classify_table(
    request: Request,
    *,
    teachers: int = 50,
    aggregator: Aggregator = "confident-gnmax",
    queries: int | None = None,
    student: str = "logistic",
    estimator: str | None = None,
    random_state: int | None = None,
    together: Callable[[], Together] | None = None,
    unsafe_noise_seed: int | None = None,
    stop: Callable[[PublicSizes], bool] | None = None,
    ask: Callable[[pd.DataFrame], None] = lambda frame: None,
    doubt: Callable[[str], None] = _warn,
) -> Classified | None:
    """Touches private data. Everything that can be wrong is checked before the first charge; no row is among it.

    `stop` is shown the public sizes before anything is reserved; where it says so nothing is done, and there is no result.
    `ask` is shown the rows, for their owner's eyes, where nobody says the classes.
    What the features are is told by a schema, or by the public rows, which is free. What the classes are is told by the
    request or a schema, or looked at and paid for: a run of its own, kept beside the release, so that `doubt`, which is
    told what speaks against going on, may stop here by an error, and the labels cost nothing then.
    `together` is called when all is checked, and meets the other processes. Those that are not the first have no result.
    """
    _check_options(request, teachers, random_state, aggregator, student)
    private, public = _read(request)
    frame = private.frame
    owner = PATEClassifier().whose(request.declared(), request.person, request.rows_per_person)
    records = len(frame) if owner is None else count_persons(frame, owner)
    delta = safe_delta(records) if request.delta is None else request.delta
    _check_target_column(frame, request, owner)
    schema = _features(public, frame, request, owner)
    Encoder(schema)
    shared = pd.DataFrame(public[list(schema.names)])
    with about(request.public):
        validate_frame(shared, schema)
    target = target_of(private, request)
    if request.strict:
        _require_fit(schema, target, request)
    unit = "row" if owner is None else PERSON
    _check_enough(teachers, records, unit, queries, len(public))
    if together is not None:
        _check_together(target, owner)
    if not target.complete:
        check_estimate(target, records, request.epsilon, delta, most_rows(owner))
        if (kept := classes_file(request.out)).exists():
            raise InputError(f"{kept} holds classes that were paid for: use them with --schema {kept}, or remove it.")
    sizes = table_sizes(frame, schema, request.target)
    if stop is not None and stop(sizes if owner is None else replace(sizes, rows=records * most_rows(owner))):
        return None
    if not target.complete:
        ask(frame)
    others = None if together is None else together()
    booked = {"purpose": f"classify {request.target}", "ledger": request.ledger, "dataset": request.dataset}
    left = 1.0 if target.complete else 1 - CLASSES_SHARE
    # The labels' share is set aside first: a ledger that has no room for it refuses before the classes are paid for.
    with _paying(left * request.epsilon, left * delta, others, unit, unsafe_noise_seed, booked) as run:
        owner = None if owner is None else with_rows(frame, owner, run.budget)
        known = Coordinates.declared(Schema((target,), target.name), len(frame)).columns[0] if target.complete else None
        if known is None:
            known, certificate = bought_classes(private, target, request, delta, owner)
            schema = replace(schema, certificate=certificate)
            round_ = plan_round(Ballot(aggregator, teachers, 0.6), run.budget, available=len(public), queries=queries)
            doubt_classes(known, round_.answers, request, doubt)
        known, classes = replace(known, nullable=True), classes_of(known)
        warn_of_numbers(request.target, classes, records)
        numbers = read_column(column_of(frame, request.target), known, np.random.default_rng(0))
        model = PATEClassifier(
            teachers=teachers,
            aggregator=aggregator,
            epsilon=run.budget.epsilon,
            delta=run.budget.delta,
            estimator=estimator,
            student=student,
            queries=queries,
            classes=classes,
            schema=replace(
                schema, columns=(*schema.columns, replace(known.column, nullable=False)), target=request.target
            ),
            random_state=random_state if others is None else random_state or 0,
            unsafe_noise_seed=unsafe_noise_seed,
        )
        # A row without a class keeps its place and is blank: dropped, it would move other rows between teachers.
        y = [None if np.isnan(number) else classes[int(number)] for number in numbers]
        whose = {} if owner is None else {"person": owner.column, "rows_per_person": owner.rows}
        features = frame[[*schema.names, *([] if owner is None else [owner.column])]]
        model.fit(features, y, shared, budget=run.budget, **whose, together=others)
        run.certificate = _saved(model, request.out, others)
    if others is not None:
        others.end()
    return None if run.certificate is None else Classified(model, mended(private, _described(model)))


def _described(model: PATEClassifier) -> Schema:
    assert model.described_ is not None
    return model.described_


def _saved(model: PATEClassifier, out: Path, together: Together | None) -> Certificate | None:
    """The certificate of the release, which of several processes the first writes; the others have none."""
    if together is not None and not together.processes.first:
        return None
    model.save(out)
    return model.certificate_


def _paying(
    epsilon: float,
    delta: float,
    together: Together | None,
    unit: str,
    unsafe_noise_seed: int | None,
    booked: dict[str, Any],
) -> AbstractContextManager[Spending]:
    """The budget of the run. Of several processes the first alone spends it; the others plan with one like it."""
    if together is None:
        return spending(epsilon, delta, unit=unit, unsafe_noise_seed=unsafe_noise_seed, **booked)
    if not together.processes.first:
        return nullcontext(Spending(Budget(epsilon, delta, unsafe_noise_seed=unsafe_noise_seed)))
    kept = {"workspace": together.folder, "resume": together.begun}
    return spending(epsilon, delta, unit=unit, unsafe_noise_seed=unsafe_noise_seed, **kept, **booked)


def _check_options(request: Request, teachers: int, random_state: int | None, aggregator: str, student: str) -> None:
    check_target(request.out)
    check_ledger_options(request.ledger, request.dataset)
    _check_names(aggregator, student)
    if teachers < 1:
        raise InputError(f"--teachers {teachers} must be at least 1.")
    if random_state is not None and not 0 <= random_state < 2**32:
        raise InputError(f"--seed {random_state} must lie between 0 and {2**32 - 1}.")


def _check_enough(teachers: int, records: int, unit: str, queries: int | None, public: int) -> None:
    if teachers > records:
        raise InputError(
            f"{teachers} teachers for {records} {unit}s: every teacher needs at least one {unit} of its own. "
            f"Use at most {records} teachers, or more {unit}s."
        )
    if queries is not None and not 1 <= queries <= public:
        raise InputError(f"--queries {queries} must lie between 1 and the {public} public rows there are.")


def _check_together(target: Column, owner: Person | None) -> None:
    """A run of several processes draws once, at its end: what else would be bought by a look must be said."""
    if not target.complete:
        raise InputError(
            f"nobody says the classes of {target.name!r}: several processes do not look for them. Say them with --classes or "
            "--schema."
        )
    if owner is not None and owner.rows == AUTO:
        raise InputError("--rows-per-person auto: several processes do not look for it. Give a number.")


def _check_names(aggregator: str, student: str) -> None:
    for option, given, known in (("--aggregator", aggregator, AGGREGATORS), ("--student", student, NAMES)):
        if given not in known:
            raise InputError(f"{option} {given!r} must be one of {', '.join(known)}.{did_you_mean(given, known)}")


def _read(request: Request) -> tuple[PrivateTable, pd.DataFrame]:
    if request.public is None:
        raise InputError("teachers label public rows: name them with --public.")
    private, public = read_private(request.data), read_table(request.public)
    if _same(request.data, request.public):
        raise InputError(
            f"{request.public} is the sensitive table itself. The release holds the public rows as they are, so they "
            "must be other rows, which anybody may see."
        )
    return private, public


def _same(data: Path, public: Path) -> bool:
    """Whether two names stand for one table: one file, or one place in a database."""
    both = [Path(os.fspath(source)) for source in (data, public)]
    return both[0] == both[1] or (both[0].exists() and both[1].exists() and both[0].samefile(both[1]))


def _check_target_column(frame: pd.DataFrame, request: Request, owner: Person | None) -> None:
    names = [str(c) for c in frame.columns]
    if owner is not None and request.target == owner.column:
        raise InputError(f"the column {owner.column!r} says whose a row is, and cannot be the target.")
    if request.target not in names:
        raise InputError(f"{request.data} has no column {request.target!r}.{did_you_mean(request.target, names)}")


def _features(public: pd.DataFrame, frame: pd.DataFrame, request: Request, owner: Person | None) -> Schema:
    """The schema of the features, of which whose a row is is none: as a file says it, or as the public rows show it."""
    assert request.public is not None
    if owner is not None:
        public, frame = (table.drop(columns=[owner.column], errors="ignore") for table in (public, frame))
    said = request.declared()
    if said is not None and owner is not None:
        said = without_person(said, owner)
    if said is None or said.names == (request.target,):
        with about(request.public):
            schema = schema_from_public(public, request.target)
        schema = replace(schema, certificate=None if said is None else said.certificate)
    else:
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
            "public rows need the same features. Drop it, or add it there; if it says whose a row is, name it with --person."
        )
    return schema


def _require_fit(schema: Schema, target: Column, request: Request) -> None:
    """Looks at private rows, and refuses what does not fit: only for who asked for that, since it tells."""
    frame = read_table(request.data)
    with about(request.data):
        validate_frame(frame[[*schema.names, target.name]], Schema((*schema.columns, target), target.name))
