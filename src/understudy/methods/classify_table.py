"""From two tables on disk, private rows and public ones, to a released classifier."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.pate import PATEClassifier
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
from understudy.tables.column import LISTED, OTHER, Category
from understudy.tables.coordinates import Coordinates, Described, plan_within, read_column
from understudy.tables.coordinates.categories import threshold
from understudy.tables.coordinates.known import known_from
from understudy.tables.io import PrivateTable, column_of, read_private
from understudy.tables.mending import Mended, mended
from understudy.tables.persons import AUTO, Person, count_persons, gather, id_column
from understudy.tables.public import schema_from_public
from understudy.tables.rows_per_person import most_rows, with_rows
from understudy.wording import did_you_mean, listed

# What finding out the labels may cost, where nobody says them.
CLASSES_SHARE = 0.1
# More classes than these that are all numbers are rather a quantity; so are whole numbers declared to lie as far apart as these.
_MANY_NUMBERS, _FAR_APART = 12, 20
# A class of which so many labels are to be expected is taught; one of fewer is too rare.
_TAUGHT = 1.0


@dataclass(frozen=True)
class Request:
    """What a person asks `understudy classify` for."""

    data: Path
    target: str
    public: Path | None
    out: Path
    epsilon: float
    delta: float | None
    schema: Path | None = None
    classes: tuple[str, ...] | None = None
    ledger: str | None = None
    dataset: str | None = None
    strict: bool = False
    person: str | None = None
    rows_per_person: int | str | None = None


def _warn(said: str) -> None:
    warnings.warn(said, UnderstudyWarning, stacklevel=4)


def classes_file(out: Path) -> Path:
    """Where the classes that were paid for are kept."""
    return out.with_name(out.name + ".classes.yaml")


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
    owner = PATEClassifier().whose(_said(request), request.person, request.rows_per_person)
    records = len(frame) if owner is None else count_persons(frame, owner)
    delta = safe_delta(records) if request.delta is None else request.delta
    _check_target_column(frame, request, owner)
    schema = _features(public, frame, request, owner)
    Encoder(schema)
    shared = pd.DataFrame(public[list(schema.names)])
    with about(request.public):
        validate_frame(shared, schema)
    target = _target(private, request)
    if request.strict:
        _require_fit(schema, target, request)
    unit = "row" if owner is None else PERSON
    _check_enough(teachers, records, unit, queries, len(public))
    if together is not None:
        _check_together(target, owner)
    if not target.complete:
        _check_estimate(target, records, request.epsilon, delta, most_rows(owner))
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
            known, certificate = _bought_classes(private, target, request, delta, owner)
            schema = replace(schema, certificate=certificate)
            round_ = plan_round(Ballot(aggregator, teachers, 0.6), run.budget, available=len(public), queries=queries)
            _doubt(known, round_.answers, request, doubt)
        known, classes = replace(known, nullable=True), _classes(known)
        _warn_of_numbers(request.target, classes, records)
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


def _classes(known: Described) -> list[Any]:
    return [False, True] if known.kind == "boolean" else list(known.labels)


def _doubt(known: Described, labels: int, request: Request, doubt: Callable[[str], None]) -> None:
    """Public: say it where the paid look found no two classes, or some of which no label is to be expected."""
    classes = _classes(known)
    found = [label for label in classes if label != OTHER]
    shares = dict(zip(classes, known.shares, strict=False))
    rare = [str(label) for label in found if shares.get(label, 1.0) * labels < _TAUGHT]
    if len(found) < 2:
        said = f"no two classes of {request.target!r} stood out of the noise: is it a number? Say the classes with --classes"
    elif rare:
        said = f"about {labels} labels are to be had, and {listed(rare)} of {request.target!r} would get none: merge classes"
    else:
        return
    doubt(
        f"{said}, or raise epsilon. What was found is kept in {classes_file(request.out)}, and is free as a --schema. Without "
        "--public synthetic rows teach the classifier, of rare classes too; `understudy synthesize` takes numbers."
    )


def _warn_of_numbers(target: str, classes: list[Any], rows: int) -> None:
    """Public: say so where the classes are so many numbers that they rather are a quantity."""
    quantity = [label for label in classes if isinstance(label, int | float) and not isinstance(label, bool)]
    if len(quantity) > _MANY_NUMBERS:
        warnings.warn(
            f"the target {target!r} looks like a number: each of its {len(quantity)} values counts as a class of its own, with "
            f"{rows // len(quantity):,} rows on average. Cut it into a few classes first, or make synthetic rows of it with "
            "`understudy synthesize`, which takes numbers.",
            UnderstudyWarning,
            stacklevel=4,
        )


@contextmanager
def about(where: Path | None) -> Iterator[None]:
    """Two tables are in play: say which one an error is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


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


def _said(request: Request) -> Schema | None:
    return None if request.schema is None else Schema.read(request.schema)


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
    said = _said(request)
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


def _target(private: PrivateTable, request: Request) -> Column:
    """The target with its classes, if somebody said them; without, if they are to be looked at. Nothing is read off rows."""
    target = request.target
    said = _said(request)
    dtype: Any = column_of(private.frame, target).dtype if private.typed else None
    if request.classes is not None:
        column = said_classes(request.classes, target, dtype)
    elif said is not None and target in said and not _class_numbers(said[target]):
        column = said[target]
    else:
        column = Column(target, "boolean" if isinstance(dtype, pd.BooleanDtype) else "categorical")
    moments = dtype is not None and pd.api.types.is_datetime64_any_dtype(dtype)
    if column.kind not in (*LISTED, "boolean") or moments:
        raise InputError(
            f"the target {target!r} is {'datetime' if moments else column.kind}; a classifier needs categories. If its "
            f"values are classes, list them with --classes. For a number: `understudy synthesize {request.data} --target {target}`."
        )
    check_classes(column)
    return replace(column, nullable=False)


def check_classes(column: Column) -> None:
    """Refuse classes that somebody said and nobody can learn to tell apart."""
    if column.complete and column.kind != "boolean":
        if len(column.labels) < 2:
            raise InputError(
                f"the target {column.name!r} has one class only ({listed(column.labels)}); there is nothing to learn."
            )
        if any(isinstance(label, float) and not label.is_integer() for label in column.labels):
            raise InputError(
                f"the classes {listed(column.labels, 5)} of {column.name!r} must be text or whole numbers."
            )


def _class_numbers(column: Column) -> bool:
    """Whether a column of whole numbers may hold classes: few, or nobody says how many."""
    if column.kind != "integer":
        return False
    return column.bounds is None or column.number_bounds[1] - column.number_bounds[0] < _FAR_APART


def said_classes(classes: tuple[str, ...], target: str, dtype: Any) -> Column:
    """The classes as the command line lists them, in the type that the file says, or, in a CSV, that they look like."""
    option = f"--classes {','.join(classes)}"
    if "" in classes:
        raise InputError(f"{option}: a label is empty. Write the labels with one comma between them.")
    truths = sorted(label.lower() for label in classes) == ["false", "true"]
    if isinstance(dtype, pd.BooleanDtype) and not truths:
        raise InputError(f"{option}: the target {target!r} holds true and false, so must the list.")
    if truths and (dtype is None or isinstance(dtype, pd.BooleanDtype)):
        return Column(target, "boolean")
    numeric = dtype is not None and pd.api.types.is_numeric_dtype(dtype)
    labels: tuple[Category, ...] = classes
    if numeric or dtype is None:
        try:
            labels = tuple(_number(label) for label in classes)
        except ValueError:
            if numeric:
                raise InputError(f"{option}: the target {target!r} holds numbers, so must the list.") from None
    return Column(target, "categorical", categories=labels)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _check_estimate(column: Column, rows: int, epsilon: float, delta: float, each: int = 1) -> None:
    """Refuse a look that cannot find two labels. Only public numbers decide."""
    Budget(epsilon, delta)
    epsilon, delta = CLASSES_SHARE * epsilon, CLASSES_SHARE * delta
    if delta == 0:
        raise InputError(
            f"finding out the classes of {column.name!r} needs a --delta above 0. Give one, or say the classes with "
            "--classes or --schema."
        )
    plan = plan_within(known_from(Schema((column,), column.name)), rows, epsilon, delta, each=each)
    needed = math.ceil(threshold(plan.sigma, plan.delta, each))
    if rows < 2 * needed:
        raise InputError(
            f"nobody says the classes of {column.name!r}, and for {CLASSES_SHARE:.0%} of epsilon (={epsilon:g}) a "
            f"class must have about {needed} rows to be found; {rows} rows are too few for two of them. Say the classes "
            "with --classes or --schema."
        )


def _bought_classes(
    private: PrivateTable, target: Column, request: Request, delta: float, owner: Person | None
) -> tuple[Described, Mapping[str, Any]]:
    """Touches private data: the classes that stand out of the noise, and the certificate of that look, which is a run of its own."""
    epsilon, delta = CLASSES_SHARE * request.epsilon, CLASSES_SHARE * delta
    purpose, book, dataset = f"classes of {target.name}", request.ledger, request.dataset
    there, rows, persons = private.frame[[target.name]].dropna(), len(private.frame), None
    if owner is not None:
        known = np.asarray(column_of(private.frame, target.name).notna(), dtype=bool)
        places, persons = gather(id_column(private.frame, owner), known, owner, seed=0)
        there, rows = private.frame[[target.name]].iloc[places], persons.number
    unit = "row" if owner is None else PERSON
    with spending(epsilon, delta, purpose=purpose, ledger=book, dataset=dataset, unit=unit) as run:
        found = Coordinates.release(there, Schema((target,), target.name), run.budget, rows=rows, persons=persons)
        run.certificate = Certificate.from_budget(
            run.budget,
            release={"kind": "schema", "estimated": [target.name]},
            assumed_public=["names of the columns", *(["their types"] if private.typed else [])],
            unit=unit,
        )
        certificate = run.certificate.to_json()
        made = Schema((found[target.name].column,), target.name, certificate=certificate)
        made.write(classes_file(request.out))
    return found[target.name], certificate
