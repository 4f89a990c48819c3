"""A private table on its way in: checked against the schema, its gaps paid for, its rows settled."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.privacy.persons import grid_of
from understudy.release.driver import Run
from understudy.tables import Column, Encoder, Schema, read_table, validate_frame
from understudy.tables.aside import without_aside
from understudy.tables.batches import HeldRows, TableRows
from understudy.tables.coordinates import (
    Coordinates,
    KeyedChances,
    Known,
    RowChances,
    declared,
    known_columns,
    read_column,
)
from understudy.tables.io import PrivateTable, Table, as_frame, column_of, read_private
from understudy.tables.persons import ROWS, Person, Persons, gather, id_column, refuse_person
from understudy.tables.schema import SchemaLike
from understudy.tables.visits import Visits
from understudy.tables.written import as_read


@dataclass(frozen=True)
class Intake:
    """Private: a table as a method takes it in.

    A row whose cells are all missing is blank: it contributes nothing, and is not in `frame`. How many rows there are,
    blank ones included, is public: that is the length. `present` says which of them are in `frame`; of persons, which of their
    seats are taken. `declared` is what
    is public of the columns, as far as it goes; `coordinates` is what was bought of them, if it was.
    """

    frame: pd.DataFrame
    present: np.ndarray
    declared: Schema | None
    target: str | None
    seed: int
    budget: Budget
    run: Run
    coordinates: Coordinates | None = None
    typed: bool = True
    persons: Persons | None = None
    """Whose each row of `frame` is, where a record is a person; then the length is the number of persons."""
    visits: Visits | None = None
    """How rows of a person follow one another, where they do: then they stand by person and in their order."""
    batches: TableRows | None = None
    """The rows in batches, where they are not in memory: then `frame` has the columns and their types, and no row."""

    @cached_property
    def table(self) -> TableRows:
        """Private. The rows, for looks that add up over batches."""
        return self.batches or HeldRows.of(self.frame, self.weights, self.chances)

    def __len__(self) -> int:
        return len(self.present) if self.persons is None else self.persons.number

    @property
    def each(self) -> int:
        """The most rows of one record."""
        return 1 if self.persons is None else self.persons.most

    @property
    def grid(self) -> int:
        """The parts of one in which rows are counted."""
        return grid_of(self.each)

    @property
    def weights(self) -> np.ndarray | None:
        """Private. The parts of one that each row of `frame` counts; None where every row is a record of its own."""
        return None if self.persons is None else self.persons.weights

    @property
    def schema(self) -> Schema:
        """The complete schema: as it was declared, or as it was bought."""
        if self.coordinates is not None:
            return self.coordinates.schema
        assert self.declared is not None
        return self.declared

    @property
    def estimated(self) -> list[str]:
        """The columns of which something was not declared."""
        said = {} if self.declared is None else {column.name: column for column in self.declared}
        return [name for name in map(str, self.frame.columns) if name not in said or not said[name].complete]

    def at_their_places(self, values: np.ndarray) -> np.ndarray:
        """Private. One value (or row of values) for each row of `frame`, with zeros where a row is blank."""
        if len(values) == len(self.present):
            return values
        whole = np.zeros((len(self.present), *values.shape[1:]), dtype=values.dtype)
        whole[self.present] = values
        return whole

    def encoder(self) -> Encoder:
        return Encoder(self.schema)

    def rng(self, *path: int) -> np.random.Generator:
        """Public randomness of one place in the run; never that of the noise."""
        return np.random.default_rng([self.seed, *path])

    def chances(self, *path: int) -> RowChances | KeyedChances:
        """Public randomness for each row of `frame`, which no other row moves."""
        if self.persons is not None:
            return KeyedChances(self.persons.keys, int(self.rng(*path).integers(2**63)))
        return RowChances(self.rng(*path), self.present)

    @property
    def assumed_public(self) -> str:
        """What the certificate says was known of the columns before the look."""
        if self.estimated:
            return "names and types of the columns, and what the schema said before it was completed"
        return "the schema: kinds, bounds and categories of all columns"


def check_table(
    frame: Table, target: str | None, schema: SchemaLike, *, strict: bool = False, empty_allowed: bool = False
) -> tuple[pd.DataFrame, np.ndarray, Schema | None, str | None]:
    """Looks at private rows: those that are not blank, where they stand, what is declared of them, and the target.

    A table is refused for its names and types alone. A row without any cell is blank, and so is one without a target, or
    with one that is none of the declared classes. What else does not fit is settled later, cell by cell. With `strict` a
    table that does not fit what is declared is refused, which tells something about its rows. Nothing is charged.
    """
    schema = Schema.of(schema)
    refuse_person(None if schema is None else schema.person, "this method")
    table = as_read(without_aside(as_frame(frame, empty_allowed=empty_allowed), schema), schema)
    target = target if target is not None or schema is None else schema.target
    known = known_columns(table, schema, target)
    if schema is not None:
        schema = schema.with_target(target if target in schema else None)
    if strict:
        require_fit(table, schema, target)
    present = np.any(np.asarray(table.notna(), dtype=bool), axis=1, keepdims=True)[:, 0]
    goal = next((column for column in known if column.target), None)
    if goal is not None:
        present &= readable(column_of(table, goal.name), goal)
    rows = table if present.all() else table.loc[present].reset_index(drop=True)
    return rows, present, schema, target


def check_persons(
    frame: Table, target: str | None, schema: Schema | None, person: Person, seed: int, *, numbered: bool, strict: bool
) -> tuple[pd.DataFrame, Schema | None, str | None, Persons]:
    """Looks at private rows: as `check_table`, for persons. `numbered`: how many rows each has is one more column, declared."""
    whole = as_frame(frame)
    if ROWS in whole.columns:
        raise InputError(f"the table has a column {ROWS!r}, which is made here: name it otherwise.")
    ids, schema = id_column(whole, person), without_person(schema, person)
    if target == person.column:
        raise InputError(f"the column {person.column!r} says whose a row is, and cannot be the target.")
    rest = whole.drop(columns=[person.column])
    if rest.shape[1] == 0:
        raise InputError(f"the table has no column beside {person.column!r}: there is nothing to learn.")
    table, present, schema, target = check_table(rest, target, schema, strict=strict)
    places, persons = gather(ids, present, person, seed)
    at = (np.cumsum(present) - 1)[places]
    rows: pd.DataFrame = table.iloc[at].reset_index(drop=True)
    if numbered:
        rows, schema = with_number(rows, schema, persons)
    return rows, schema, target, persons


def with_number(rows: pd.DataFrame, schema: Schema | None, persons: Persons) -> tuple[pd.DataFrame, Schema | None]:
    """Private rows, with how many rows each one's person has as one more column, which is declared."""
    if persons.most == 1:
        return rows, schema
    number = Column(ROWS, "integer", bounds=(1, persons.most))
    columns = (number,) if schema is None else (*schema.columns, number)
    schema = Schema(columns) if schema is None else replace(schema, columns=columns)
    return rows.assign(**{ROWS: persons.rows_each}), schema


def without_person(schema: Schema | None, person: Person) -> Schema | None:
    """The schema of the columns that are learnt: whose a row is, is not."""
    if schema is None:
        return None
    columns = tuple(column for column in schema if column.name != person.column)
    aside = tuple(column for column in schema.aside if column.name != person.column)
    if not columns:
        return None
    goal = None if schema.target == person.column else schema.target
    return replace(schema, columns=columns, aside=aside, target=goal, person=None)


def with_labels(frame: Table, target: Any) -> tuple[Table, str | None]:
    """Private where they are. A table and the name of its target; labels that were given beside it stand in it then."""
    if target is None or isinstance(target, str):
        return frame, target
    table, name = as_frame(frame), getattr(target, "name", None)
    name = name if isinstance(name, str) else "target"
    if name in table.columns:
        raise InputError(f"there is a column {name!r} already: name the labels otherwise, or give the column's name.")
    if np.ndim(target) != 1 or len(target) != len(table):
        raise InputError(f"labels of the shape {np.shape(target)} do not go with {len(table)} rows: one for each.")
    labels = target.array if isinstance(target, pd.Series) else np.asarray(target)
    return table.assign(**{name: labels}), name


def read_rows(
    path: Path, schema: Schema | None, target: str | None, *, strict: bool, empty_allowed: bool = False
) -> PrivateTable:
    """Looks at private rows: those of a file. With `strict` they must fit what is declared, as for `check_table`."""
    if strict:
        require_fit(read_table(path), schema, target)
    return read_private(path, empty_allowed=empty_allowed)


def require_fit(table: Table, schema: Schema | None, target: str | None) -> None:
    """Looks at private rows, and refuses those that do not fit what is declared; whoever sees the refusal learns of them."""
    frame = as_read(without_aside(as_frame(table), schema), schema)
    said = {} if schema is None else {column.name: column for column in schema}
    drafted = Schema.draft(frame, target)
    whole = Schema(tuple(said.get(column.name, column) for column in drafted), target)
    try:
        validate_frame(frame, whole)
    except InputError as error:
        raise InputError(
            f"{error} (Refused because of `strict`; without it such cells and rows are left out.)"
        ) from None


def with_classes(frame: pd.DataFrame, schema: Schema | None, target: str) -> Schema:
    """What is public, and that the target is a class: whoever asks for classes says so, whatever its values look like."""
    if schema is not None and target in schema:
        return schema
    truth = isinstance(column_of(frame, target).dtype, pd.BooleanDtype)
    goal = Column(target, "boolean" if truth else "categorical")
    return (
        Schema((goal,), target) if schema is None else replace(schema, columns=(*schema.columns, goal), target=target)
    )


def readable(series: pd.Series, goal: Known) -> np.ndarray:
    """Private. Which rows have a target: one that is declared, or any at all where the classes are not."""
    there = series.notna().to_numpy(dtype=bool)
    if not goal.complete:
        return there
    described = replace(declared(goal), nullable=True)
    return there & ~np.isnan(read_column(series, described, np.random.default_rng(0)))


def take_in(rows: Intake, share: float) -> Intake:
    """Touches private data: where the schema does not say all, pay a share of the budget for the coordinates.

    The rows that come back fit the schema, whatever they said before.
    """
    if not rows.estimated:
        fitting = Coordinates.declared(rows.schema, len(rows))
        return replace(rows, frame=fitting.settled(rows.frame, rows.chances(7)))
    if share <= 0:
        said = Schema.draft(rows.frame, rows.target) if rows.declared is None else rows.declared
        said.require_complete()
    epsilon, delta = share * rows.budget.epsilon, share * rows.budget.delta

    def draw() -> np.ndarray:
        bought = Coordinates.release(
            rows.frame,
            rows.declared,
            rows.budget,
            epsilon=epsilon,
            delta=delta,
            target=rows.target,
            rows=len(rows),
            typed=rows.typed,
            persons=rows.persons,
        )
        return np.frombuffer(json.dumps(bought.to_dict()).encode(), dtype=np.uint8)

    plain = json.loads(rows.run.prelude("coordinates", rows.budget, draw).tobytes())
    coordinates = Coordinates.from_dict(plain)
    return replace(rows, frame=coordinates.settled(rows.frame, rows.chances(7)), coordinates=coordinates)
