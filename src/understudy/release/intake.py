"""A private table on its way in: checked against the schema, its gaps paid for, its rows settled."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from understudy.privacy import Budget
from understudy.release.driver import Run
from understudy.tables import Encoder, Schema, validate_frame
from understudy.tables.aside import without_aside
from understudy.tables.coordinates import Coordinates, known_columns
from understudy.tables.io import Table, as_frame
from understudy.tables.schema import SchemaLike
from understudy.tables.written import as_moments


@dataclass(frozen=True)
class Intake:
    """Private: a table as a method takes it in.

    A row whose cells are all missing is blank: it contributes nothing, and is not in `frame`. How many rows there are,
    blank ones included, is public: that is the length. `present` says which of them are in `frame`. `declared` is what
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

    def __len__(self) -> int:
        return len(self.present)

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

    @property
    def assumed_public(self) -> str:
        """What the certificate says was known of the columns before the look."""
        if self.estimated:
            return "names and types of the columns, and what the schema said before it was completed"
        return "the schema: kinds, bounds and categories of all columns"


def check_table(
    frame: Table, target: str | None, schema: SchemaLike
) -> tuple[pd.DataFrame, np.ndarray, Schema | None, str | None]:
    """Looks at private rows: those that are not blank, where they stand, what is declared of them, and the target.

    A table with a complete schema must fit it. Of any other nothing is refused but by its names and types: what its
    columns hold is looked at later, and paid for. Nothing is charged.
    """
    schema = Schema.of(schema)
    table = as_moments(without_aside(as_frame(frame), schema), schema)
    target = target if target is not None or schema is None else schema.target
    known_columns(table, schema, target)
    names = list(table.columns) if schema is None else list(schema.names)
    present = np.any(np.asarray(table[names].notna(), dtype=bool), axis=1, keepdims=True)[:, 0]
    rows = table if present.all() or not present.any() else table.loc[present].reset_index(drop=True)
    if schema is not None:
        schema = schema if target is None else schema.with_target(target)
        if not schema.missing() and set(schema.names) == set(table.columns):
            validate_frame(rows, schema)
    return rows, present if present.any() else np.ones_like(present), schema, target


def take_in(rows: Intake, share: float) -> Intake:
    """Touches private data: where the schema does not say all, pay a share of the budget for the coordinates.

    The rows that come back fit the schema, whatever they said before.
    """
    if not rows.estimated:
        return rows
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
        )
        return np.frombuffer(json.dumps(bought.to_dict()).encode(), dtype=np.uint8)

    plain = json.loads(rows.run.prelude("coordinates", rows.budget, draw).tobytes())
    coordinates = Coordinates.from_dict(plain)
    return replace(rows, frame=coordinates.settled(rows.frame, rows.rng(7)), coordinates=coordinates)
