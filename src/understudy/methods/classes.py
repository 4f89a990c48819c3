"""The classes of a table: said by somebody, or looked at and paid for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.request import Request
from understudy.privacy import Budget, Certificate
from understudy.privacy.units import PERSON
from understudy.release.spending import spending
from understudy.tables import Column, Schema
from understudy.tables.column import LISTED, OTHER, Category
from understudy.tables.coordinates import Coordinates, Described, plan_within
from understudy.tables.coordinates.categories import threshold
from understudy.tables.coordinates.known import known_from
from understudy.tables.io import PrivateTable, column_of
from understudy.tables.persons import Person, gather, id_column
from understudy.wording import listed

# What finding out the labels may cost, where nobody says them.
CLASSES_SHARE = 0.1
# More classes than these that are all numbers are rather a quantity; so are whole numbers declared to lie as far apart as these.
_MANY_NUMBERS, _FAR_APART = 12, 20
# A class of which so many labels are to be expected is taught; one of fewer is too rare.
_TAUGHT = 1.0


def classes_file(out: Path) -> Path:
    """Where the classes that were paid for are kept."""
    return out.with_name(out.name + ".classes.yaml")


def target_of(private: PrivateTable, request: Request) -> Column:
    """The target with its classes, if somebody said them; without, if they are to be looked at. Nothing is read off rows."""
    target = request.target
    said = request.declared()
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


def check_estimate(column: Column, rows: int, epsilon: float, delta: float, each: int = 1) -> None:
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


def bought_classes(
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


def classes_of(known: Described) -> list[Any]:
    return [False, True] if known.kind == "boolean" else list(known.labels)


def doubt_classes(known: Described, labels: int, request: Request, doubt: Callable[[str], None]) -> None:
    """Public: say it where the paid look found no two classes, or some of which no label is to be expected."""
    classes = classes_of(known)
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


def warn_of_numbers(target: str, classes: list[Any], rows: int) -> None:
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
