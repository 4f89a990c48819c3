"""A private table in parts on its way in, as `understudy.release.intake` has one in memory: what is public, and which rows count."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.engines import PartedRows, RowSource, Shelf, Threads
from understudy.engines.parted import Owned, learnt_types, packed
from understudy.engines.parts import TablePart
from understudy.engines.sources import by_person
from understudy.errors import InputError
from understudy.learn.checkpoints import Log, Workspace
from understudy.privacy import Budget
from understudy.release.driver import Progress, Run
from understudy.release.intake import Intake, readable, with_number, without_person
from understudy.tables import Schema
from understudy.tables.coordinates import Known, known_columns
from understudy.tables.io import column_of
from understudy.tables.persons import ROWS, Person, Persons, count_persons, id_column, refuse_person
from understudy.tables.rules import Rule
from understudy.tables.rules.rulebook import refuse_contradictions
from understudy.tables.rules.taking_in import prepare

_NOBODY = np.zeros(0, dtype=np.int64)
_NO_KEYS = np.zeros(0, dtype=np.uint64)


def take_source(
    source: RowSource, target: str | None, schema: Schema | None, owner: Person | None, seed: int, run: Run,
    rules: Sequence[Rule] = (), *, typed: bool = True,
) -> tuple[RowSource, PartedRows, Schema | None, str | None, Persons | None]:  # fmt: skip
    """Looks at private rows: which of them count, as `check_table` and `check_persons` say it of a frame. Nothing is charged.

    Rows of persons are dealt to parts by person first; then the source that comes back is another one. With rules the rows, and what is
    said of them, are those that are left to be learnt.
    """
    types = source.types
    if owner is None:
        refuse_person(None if schema is None else schema.person, "this method")
    else:
        types, schema = _without_ids(types, schema, owner, target)
    types = learnt_types(types, schema)
    target = target if target is not None or schema is None else schema.target
    known = known_columns(types, schema, target)
    if schema is not None:
        schema = schema.with_target(target if target in schema else None)
    book = prepare(types, schema, target, rules, typed=typed) if rules else None
    if book is not None:
        refuse_contradictions(book)
    tell = _telling(run)
    if owner is not None:
        source = by_person(source, owner.column, seed, lambda done, of: tell("rows put together by person", done, of))
    owned = None if owner is None else Owned(owner, seed)
    # Rows of persons have weights, and a cluster has no folder of ours: their passes read the rows again.
    shelf = Shelf() if owner is None and isinstance(source.adder, Threads) else None
    rows = PartedRows(source.parts, types, seed, source.adder, schema, (), owned, tell=tell, shelf=shelf)
    rows.masks = _masks(rows, known, schema)
    if book is not None:
        rows.book, rows.types, schema = book, book.learnt_rows(types), book.learnt_schema
    persons = None
    if owner is not None:
        ids = [[owner.column]] * len(source.parts)
        number = sum(rows.map(PersonsOf(owner), ids, "persons are counted"))
        persons = Persons(number, owner.rows, _NOBODY, _NO_KEYS, _NO_KEYS)
        rows.types, schema = with_number(rows.types.assign(), schema, persons)
    return source, rows, schema, target, persons


def _without_ids(
    types: pd.DataFrame, schema: Schema | None, owner: Person, target: str | None
) -> tuple[pd.DataFrame, Schema | None]:
    if ROWS in types.columns:
        raise InputError(f"the table has a column {ROWS!r}, which is made here: name it otherwise.")
    id_column(types, owner)
    if target == owner.column:
        raise InputError(f"the column {owner.column!r} says whose a row is, and cannot be the target.")
    rest = types.drop(columns=[owner.column])
    if rest.shape[1] == 0:
        raise InputError(f"the table has no column beside {owner.column!r}: there is nothing to learn.")
    return rest, without_person(schema, owner)


@dataclass(frozen=True)
class PersonsOf:
    """How many persons a part has rows of."""

    person: Person

    def __call__(self, frame: pd.DataFrame) -> int:
        return count_persons(frame, self.person)


@dataclass(frozen=True)
class RowsThatCount:
    """Private. Which rows are neither blank nor without a target. `blank`: whether a row may be."""

    goal: Known | None
    blank: bool

    def __call__(self, frame: pd.DataFrame) -> bytes | None:
        present = np.ones(len(frame), dtype=bool)
        if self.blank:
            present = np.any(np.asarray(frame.notna(), dtype=bool), axis=1)
        if self.goal is not None and self.goal.name in frame.columns:
            present &= readable(column_of(frame, self.goal.name), self.goal)
        return packed(present)


def _masks(rows: PartedRows, known: tuple[Known, ...], schema: Schema | None) -> list[bytes | None]:
    """Private. Of each part which rows count. Most files say themselves that no row is blank: then only the target is read."""
    names = [name for name in map(str, rows.types.columns) if name != ROWS]
    goal = next((column for column in known if column.target), None)
    said = {} if schema is None else {column.name: column for column in schema}
    plain = {n for n in names if n not in said or (said[n].format is said[n].zone is None and said[n].kind != "code")}
    asked: list[tuple[int, TablePart, list[str], bool]] = []
    for place, part in enumerate(rows.parts):
        sure = part.never_missing() & plain
        if not sure:
            asked.append((place, part, names, True))
        elif goal is not None and (goal.complete or goal.name not in sure):
            asked.append((place, part, [goal.name], False))
    found: list[bytes | None] = [None] * len(rows.parts)
    for blank in (True, False):
        mine = [one for one in asked if one[3] == blank]
        some = replace(rows, parts=[one[1] for one in mine])
        masks = some.map(RowsThatCount(goal, blank), [one[2] for one in mine], "rows are counted") if mine else []
        for one, mask in zip(mine, masks, strict=True):
            found[one[0]] = mask
    return found


def intake_of(
    rows: PartedRows, persons: Persons | None, declared: Schema | None, target: str | None, seed: int, budget: Budget,
    run: Run, *, typed: bool,
) -> Intake:  # fmt: skip
    """Private. What a method takes in: the rows stay where they are."""
    size = sum(part.rows for part in rows.parts) if persons is None else persons.number * persons.most
    present = np.broadcast_to(np.True_, (size,))
    return Intake(rows.types, present, declared, target, seed, budget, run, typed=typed, persons=persons, batches=rows)


def remembered(workspace: Workspace) -> tuple[Callable[[str, Callable[[], Any]], Any], Log]:
    """Private. Sums of finished passes, kept in the workspace: a run that goes on does not read those rows again.

    What a first pass counts of different cells is not kept: that one pass is repeated.
    """
    log = Log(workspace.path / "passes.log")

    def remember(name: str, make: Callable[[], Any]) -> Any:
        if "FirstPass" in name or "OneShare" in name:
            return make()
        return _from_flat(*log.draw(name, lambda: _flat(make()))[:2])

    return remember, log


def _flat(sums: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Arrays of whole numbers, one by itself or several in a mapping or a row, as one."""
    if isinstance(sums, np.ndarray):
        form, parts = "one", [sums]
    elif isinstance(sums, dict):
        form, parts = json.dumps([int(place) for place in sums]), list(sums.values())
    else:
        form, parts = "row", list(sums)
    shapes = [list(part.shape) for part in parts]
    return {"form": form, "shapes": shapes}, np.concatenate([part.ravel() for part in parts]).astype(np.int64)


def _from_flat(header: dict[str, Any], flat: np.ndarray) -> Any:
    shapes = [tuple(shape) for shape in header["shapes"]]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = [part.reshape(shape).copy() for part, shape in zip(np.split(flat, ends), shapes, strict=True)]
    if header["form"] == "one":
        return parts[0]
    if header["form"] == "row":
        return tuple(parts)
    return dict(zip(json.loads(header["form"]), parts, strict=True))


def _telling(run: Run) -> Callable[[str, int, int], None]:
    import time

    began: dict[str, float] = {}

    def tell(words: str, done: int, of: int) -> None:
        now = time.monotonic()
        passed = now - began.setdefault(words, now)
        if run.progress is not None:
            run.progress(Progress(done, of, passed, passed / max(done, 1) * (of - done), words))

    return tell
