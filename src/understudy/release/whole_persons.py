"""Whole persons from a released model of visits, a bounded number at a time: their new ids, and their rows in order. Free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.release.sampling import CHUNK, AskedFor, Drawn, table_file
from understudy.tables import Schema
from understudy.tables.aside import with_aside
from understudy.tables.visits import MADE, Visits
from understudy.tables.written import as_written

# A condition that fewer than one person in this many fulfils is given up.
_PATIENCE = 2000


class PersonsModel(Protocol):
    """What a method that takes rows in their order releases. Public."""

    def draw_tables(
        self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """What belongs to `n` persons, and their rows in order; both with the number of the person, from 0 on."""
        ...


class DrawnPersons(NamedTuple):
    """Public: some persons, one row each, and the rows of them; both with their new ids."""

    persons: pd.DataFrame
    rows: pd.DataFrame


def stream_persons(
    model: PersonsModel,
    schema: Schema,
    visits: Visits,
    n: int,
    conditions: Mapping[str, Any] | None,
    random_state: int | None,
    where: str | Sequence[str] = (),
    tally: Drawn | None = None,
) -> Iterator[DrawnPersons]:
    """Parts of together `n` persons; a condition is one on what belongs to a person, and is checked before the first."""
    asked = AskedFor.of(schema, n, conditions, where)
    if changing := [name for name in asked.columns if name not in visits.constant]:
        raise InputError(
            f"condition: {changing[0]!r} changes from row to row, and whole persons are drawn: ask for what stays the same "
            f"for a person ({', '.join(visits.constant) or 'nothing here'}), or choose among the rows afterwards."
        )
    return _stream(model, schema, visits, asked, np.random.default_rng(random_state), tally or Drawn())


def _stream(
    model: PersonsModel, schema: Schema, visits: Visits, asked: AskedFor, rng: np.random.Generator, tally: Drawn
) -> Iterator[DrawnPersons]:
    size = max(1, min(CHUNK // visits.person.rows, max(asked.n, 256) if asked.choosy else asked.n))
    key, done = visits.person.column, 0
    while done < asked.n:
        persons, rows = model.draw_tables(size, asked.exact(None), rng)
        tally.tried += size
        kept = np.flatnonzero(asked.holds(persons, schema))[: asked.n - done]
        # New ids, from 1 on, in the order in which persons are kept.
        ids = np.zeros(size, dtype=np.int64)
        ids[kept] = np.arange(done + 1, done + 1 + len(kept))
        persons = persons.assign(**{key: ids}).iloc[kept].reset_index(drop=True)
        rows = rows.assign(**{key: ids[rows[key].to_numpy()]})
        rows = rows.loc[rows[key] > 0].reset_index(drop=True)
        done += len(kept)
        tally.rows += len(rows)
        if len(kept):
            yield DrawnPersons(as_written(persons, schema), as_written(rows, schema))
        if tally.tried > _PATIENCE * max(done, 100):
            raise InputError(
                f"condition {asked.words}: {done} of {tally.tried:,} generated persons fulfil it. This generator hardly makes such "
                "persons; drop the condition or widen it."
            )


def flat(drawn: DrawnPersons, schema: Schema, visits: Visits, first: int = 1) -> pd.DataFrame:
    """Rows with what belongs to their person, as one table; what is set aside stands in it again."""
    key = visits.person.column
    whose = drawn.rows[key].to_numpy() - (int(drawn.persons[key].iloc[0]) if len(drawn.persons) else 0)
    mine = drawn.persons.drop(columns=[key]).take(whose).reset_index(drop=True)
    names = [name for name in schema.names if name not in MADE]
    return with_aside(pd.concat([drawn.rows, mine], axis=1).loc[:, [key, *names]], schema, first)


def write_persons(
    parts: Iterator[DrawnPersons], schema: Schema, visits: Visits, path: str | Path, child: str | Path | None
) -> None:
    """Write persons to one table file, or to two: who they are, and their rows; each whole or not at all."""
    with ExitStack() as opened:
        add = opened.enter_context(table_file(path))
        add_rows = None if child is None else opened.enter_context(table_file(child))
        first = 1
        for part in parts:
            if add_rows is None:
                add(flat(part, schema, visits, first))
                first += len(part.rows)
            else:
                add(part.persons)
                add_rows(part.rows)
