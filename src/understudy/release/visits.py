"""Visits on their way in: a person's rows in their order, or two tables of which one holds the persons and the other their rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.release.intake import check_persons, check_table, without_person
from understudy.tables import Schema
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.persons import Person, Persons, gather, id_column, left_out, number_ids
from understudy.tables.visits import Visits, check_order, in_order, order_values, refuse_tables
from understudy.tables.written import as_read


class TakenIn(NamedTuple):
    """Private: rows by person and time, with what is declared of them; `persons` says whose they are."""

    frame: pd.DataFrame
    declared: Schema | None
    target: str | None
    persons: Persons
    visits: Visits | None


class JoinedRows(NamedTuple):
    """Private: the rows of two tables as one. `empty` rows stand for a person without any in the other table."""

    frame: pd.DataFrame
    ids: pd.Series
    empty: np.ndarray


def check_owned(
    frame: Table, target: str | None, schema: Schema | None, person: Person, seed: int, *, parent: Table | None,
    typed: bool, strict: bool,
) -> TakenIn:  # fmt: skip
    """Looks at private rows: those of persons, in their order where there is one."""
    if person.order is None and parent is None:
        return TakenIn(*check_persons(frame, target, schema, person, seed, numbered=False, strict=strict), None)
    return check_visits(frame, target, schema, person, seed, parent=parent, typed=typed, strict=strict)


def check_visits(
    frame: Table,
    target: str | None,
    schema: Schema | None,
    person: Person,
    seed: int,
    *,
    parent: Table | None = None,
    typed: bool = True,
    strict: bool = False,
) -> TakenIn:
    """Looks at private rows: as `check_persons`, for rows in an order, of a table of persons (`parent`) if there is one.

    A table is refused for names and types alone. A row without a place in the order is left out, and so is one whose key no
    person has; of two persons with one key the first counts. Nothing is charged.
    """
    rows, said = as_frame(frame), without_person(schema, person)
    target = target if target is not None or said is None else said.target
    if target == person.column:
        raise InputError(f"the column {person.column!r} says whose a row is, and cannot be the target.")
    if parent is None:
        joined, constant = JoinedRows(rows, id_column(rows, person), np.zeros(len(rows), dtype=bool)), person.constant
        number = None
    else:
        above = as_frame(parent)
        refuse_tables({"table of persons": list(above.columns), "child table": list(rows.columns)}, person.column)
        constant = tuple(name for name in above.columns if name != person.column)
        if person.order in constant:
            raise InputError(
                f"order: {person.order!r} is a column of the table of persons; it must be one of the other."
            )
        joined, number = _join(above, rows, person, said, strict=strict), len(above)
    visits = Visits(person, constant, parent is not None)
    if visits.linked and said is not None:
        whole = tuple(c.name for c in said if visits.changes(c.name) and not c.nullable)
        missing = {c.name: replace(c, nullable=True) for c in said if c.name in (*whole, person.order)}
        said = replace(said, columns=tuple(missing.get(c.name, c) for c in said), target=None)
        visits = replace(visits, whole=whole)
    table: pd.DataFrame = joined.frame.drop(columns=[person.column], errors="ignore")
    check_order(visits, [str(name) for name in table.columns], said, target)
    _refuse_text(table, said, person.order, typed)
    # What changes from row to row is a column like any other; only what belongs to a person can be its class.
    goal = target if target in constant else None
    said = None if said is None else said.with_target(goal if goal in said else None)
    if target is not None and target not in table.columns:
        check_table(table, target, said)  # refuses, and says which column may have been meant
    taken, present, said, goal = check_table(table, goal, said, strict=strict)
    times = _times(table, said, person.order, strict=strict)
    placed = present & (joined.empty | ~np.isnan(times)) if person.order is not None else present
    at, persons = gather(joined.ids, placed, person, seed, times if person.order is not None else None)
    here = (np.cumsum(present) - 1)[at]
    found = in_order(taken.iloc[here].reset_index(drop=True), times[at], joined.empty[at], persons.owner, visits)
    made = visits.made(said)
    said = Schema(made) if said is None else replace(said, columns=(*said.columns, *made))
    return TakenIn(found, said, goal, persons if number is None else replace(persons, number=number), visits)


def _times(table: pd.DataFrame, schema: Schema | None, order: str | None, *, strict: bool) -> np.ndarray:
    """Private. Where each row stands in time; zero where nothing says it."""
    if order is None:
        return np.zeros(len(table))
    column = None if schema is None or order not in schema else schema[order]
    times = order_values(column_of(as_read(column_of(table, order).to_frame(), schema), order), column)
    absent = int(np.count_nonzero(np.isnan(times)))
    if strict and absent:
        raise InputError(
            f"order: {absent} of {len(times)} rows have no {order!r} that could be read. (Refused because of `strict`; without it "
            "such rows are left out.)"
        )
    return times


def _refuse_text(table: pd.DataFrame, schema: Schema | None, order: str | None, typed: bool) -> None:
    """Refuse an order that is text by its type: what it stands for would have to be told from the rows."""
    from pandas.api import types

    if order is None or not typed or (schema is not None and order in schema):
        return
    dtype = column_of(table, order).dtype
    if isinstance(dtype, pd.CategoricalDtype) or (types.is_string_dtype(dtype) and not types.is_object_dtype(dtype)):
        raise InputError(
            f"order: the column {order!r} is text by its type. Convert it to dates or numbers, or say in a schema what it is."
        )


def _join(
    parent: pd.DataFrame, child: pd.DataFrame, person: Person, schema: Schema | None, *, strict: bool
) -> JoinedRows:
    """Private. Each row of the child table with what its person's row says, and a row for each person without any.

    Who has which rows follows from the keys alone, person by person.
    """
    key, columns = person.column, [name for name in child.columns if name != person.column]
    numbers = number_ids(pd.concat([column_of(parent, key), column_of(child, key)], ignore_index=True))
    above, below = numbers[: len(parent)], numbers[len(parent) :]
    rows = np.full(int(numbers.max(initial=-1)) + 2, -1, dtype=np.int64)
    rows[above[::-1]] = np.arange(len(parent))[::-1]
    rows[-1] = -1  # where the number of a row without a key points to
    whose = rows[below]
    if strict and (
        lost := int(np.count_nonzero(whose < 0)) + int(np.count_nonzero(rows[above] != np.arange(len(above))))
    ):
        raise InputError(
            f"key: {lost} rows have a {key!r} that no person has, or that another one has too. (Refused because of `strict`; "
            "without it such rows are left out.)"
        )
    there = (whose >= 0) & np.any(np.asarray(child[columns].notna(), dtype=bool), axis=1)
    if person.order is not None:
        there &= ~np.isnan(_times(child, schema, person.order, strict=strict)) if person.order in columns else False
    owners = np.zeros(len(parent) + 1, dtype=bool)
    owners[whose[there]] = True
    alone = np.flatnonzero(~owners[:-1] & (above >= 0) & (rows[above] == np.arange(len(above))))
    at = np.concatenate([whose[there], alone])
    places = np.concatenate([np.flatnonzero(there), np.full(len(alone), -1)])
    left = parent.drop(columns=[key]).iloc[at].reset_index(drop=True)
    right = child[columns].reset_index(drop=True).reindex(places).reset_index(drop=True)
    ids = column_of(parent, key).iloc[at].reset_index(drop=True)
    empty = np.arange(len(at)) >= np.count_nonzero(there)
    return JoinedRows(pd.concat([left, right], axis=1), ids, empty)


def rows_left_out(
    frame: pd.DataFrame, parent: pd.DataFrame | None, person: Person, schema: Schema | None
) -> dict[str, int]:
    """Private, for the owner's eyes: how many rows are left out, by the reason."""
    if parent is not None:
        refuse_tables({"table of persons": list(parent.columns), "child table": list(frame.columns)}, person.column)
    ids, names = id_column(frame, person), [str(name) for name in frame.columns]
    if person.order is not None or parent is not None:
        check_order(Visits(replace(person, constant=())), names, without_person(schema, person), None)
    second = 0
    if parent is not None:
        numbers = number_ids(pd.concat([column_of(parent, person.column), ids], ignore_index=True))
        above, below = numbers[: len(parent)], numbers[len(parent) :]
        known = np.unique(above[above >= 0])
        second = int(np.count_nonzero(above >= 0) - len(known))
        ids = ids.where(np.isin(below, known))
    lost = np.isnan(_times(frame, without_person(schema, person), person.order, strict=False))
    beyond, nobody = left_out(ids.to_frame(person.column).loc[~lost], person)
    found = {"beyond_rows_per_person": beyond, "without_person": nobody}
    visits = person.order is not None or parent is not None
    return found | ({"without_order": int(lost.sum()), "second_rows": second} if visits else {})
