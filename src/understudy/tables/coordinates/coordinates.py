"""`Coordinates`: what every column of a table is and how it is spread, bought once, and the way into it and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy import special

from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.tables.batches import HeldRows
from understudy.tables.coordinates.bins import Bins
from understudy.tables.coordinates.chances import Chances
from understudy.tables.coordinates.declared import declared
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.known import Known, known_columns, known_from
from understudy.tables.coordinates.plan import DELTA_SHARE, Plan, plan_at, plan_within
from understudy.tables.coordinates.release import describe, describe_public
from understudy.tables.coordinates.rows import read_column, write_column
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.persons import Persons, refuse_person
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed

VERSION = 1
# Public rows are described as finely as rows that many times their number would be with noise.
_PUBLIC_NOISE = 1e-3


@dataclass(frozen=True)
class Ranked:
    """Rows in coordinates; as private as the rows.

    `numbers` (rows x ordered columns): Gaussian ranks, 0 where the value is missing, which `missing` says. `codes` (rows x
    other columns): places of labels, one past the last where the value is missing.
    """

    numbers: np.ndarray
    missing: np.ndarray
    codes: np.ndarray


@dataclass(frozen=True)
class Coordinates:
    """Public once paid for: the released description of every column, in the order of the table."""

    columns: tuple[Described, ...]
    rows: int
    plan: Plan | None = None

    # ---- how it is had ---------------------------------------------------------------------------------------

    @classmethod
    def release(
        cls,
        frame: Table,
        schema: Schema | None,
        budget: Budget,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        noise: float | None = None,
        target: str | None = None,
        public_sample: Table | None = None,
        rows: int | None = None,
        typed: bool = True,
        persons: Persons | None = None,
    ) -> Coordinates:
        """Touches private data (`frame`); what comes back is safe to publish at what is charged to `budget`.

        - `schema`: what is public, as far as it goes; it may name some of the columns only.
        - `epsilon`, `delta`: how much of the budget this may take; all of it if left out. Or `noise`: the noise
          multiplier of the whole description, for a method that plans all of its noise together; then `delta` is what
          categories that nobody declared may cost.
        - `public_sample`: rows that are public already. The columns that it has are described from it, and cost nothing.
        - `rows`: the public number of rows, if some of them are blanked and not in the frame.
        - `typed`: whether the types of text columns are declared; false for a file without types.
        - `persons`: whose each row is, where a record is a person with several rows; then their number is what is public.
        """
        refuse_person(schema.person if schema is not None and persons is None else None, "this look")
        private = as_frame(frame, empty_allowed=True)
        known = known_columns(private, schema, target, typed=typed)
        free = public_columns(public_sample, known, schema, target)
        wanted = [column for column in known if column.name not in free]
        size = (len(private) if persons is None else persons.number) if rows is None else rows
        each, weights = (1, None) if persons is None else (persons.most, persons.weights)
        made: dict[str, Described] = dict(free)
        plan = None
        if wanted:
            plan = cls.plan_for(wanted, size, budget, epsilon=epsilon, delta=delta, noise=noise, each=each)
            made |= {column.name: column for column in describe(HeldRows.of(private, weights), wanted, plan, budget)}
        return cls(tuple(made[column.name] for column in known), size, plan)

    @classmethod
    def declared(cls, schema: Schema, rows: int) -> Coordinates:
        """What a complete schema says, spread evenly: rows are mapped to it and back, and nothing is looked at or paid."""
        schema.require_complete()
        known = known_from(schema)
        return cls(tuple(declared(column) for column in known), rows)

    @staticmethod
    def plan_for(
        known: list[Known],
        rows: int,
        budget: Budget,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        noise: float | None = None,
        each: int = 1,
    ) -> Plan:
        """What `release` will charge and how fine it will be, from public sizes; looks at nothing."""
        if noise is not None:
            return plan_at(known, rows, noise, DELTA_SHARE * budget.delta if delta is None else delta, each)
        delta = budget.delta if delta is None else delta
        if not 0 < delta < 1:
            raise InputError(
                f"`delta` (={delta}) must lie strictly between 0 and 1: the noise is Gaussian. 1e-6 is usual."
            )
        if epsilon is None:
            return plan_within(known, rows, budget.epsilon, delta, budget.events, each)
        return plan_within(known, rows, epsilon, delta, each=each)

    # ---- what it says ----------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def target(self) -> str | None:
        return next((column.name for column in self.columns if column.target), None)

    @property
    def schema(self) -> Schema:
        """A complete schema: what was declared as it was said, the rest as it was found."""
        return Schema(tuple(column.column for column in self.columns), self.target)

    @property
    def empty(self) -> list[str]:
        """The columns of which nothing could be learnt: they are left empty."""
        return [column.name for column in self.columns if column.empty]

    @property
    def ordered(self) -> list[int]:
        """The places of the columns that are numbers or moments."""
        return [place for place, column in enumerate(self.columns) if column.ordered]

    @property
    def coded(self) -> list[int]:
        """The places of the other columns: categories and truth values."""
        return [place for place, column in enumerate(self.columns) if not column.ordered]

    def __iter__(self) -> Iterator[Described]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Described:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"there is no column {name!r}.{did_you_mean(name, self.names)}")

    # ---- rows in and out -------------------------------------------------------------------------------------

    def cells(self, frame: Table, chances: Chances) -> np.ndarray:
        """Private rows (float64, rows x columns): places on the grid, or codes of labels; NaN where missing.

        From `chances` comes what is missing where nothing may be, and classes that were not found.
        """
        private = as_frame(frame, empty_allowed=True)
        if absent := [name for name in self.names if name not in private.columns]:
            raise InputError(
                f"the table lacks {listed(absent)}, which was described.{did_you_mean(absent[0], private.columns)}"
            )
        made = np.empty((len(private), len(self.columns)), order="F")
        for place, column in enumerate(self.columns):
            made[:, place] = read_column(column_of(private, column.name), column, chances)
        return made

    def frame(self, cells: np.ndarray) -> pd.DataFrame:
        """Rows from cells: exact grids, bounds, labels and missing values; as public or private as the cells."""
        return pd.DataFrame(
            {
                column.name: write_column(
                    column.marginal.clip(cells[:, place]) if column.ordered else cells[:, place], column
                )
                for place, column in enumerate(self.columns)
            }
        )

    def settled(self, frame: Table, chances: Chances) -> pd.DataFrame:
        """Private rows that all fit `schema`, whatever they said before: for what reads rows by a schema."""
        return self.frame(self.cells(frame, chances))

    def ranks(self, frame: Table, chances: Chances) -> Ranked:
        """Private rows as Gaussian ranks and codes. Equal values are spread at random over the ranks that they share."""
        cells = self.cells(frame, chances)
        numbers = np.zeros((len(cells), len(self.ordered)), order="F")
        missing = np.zeros(numbers.shape, dtype=bool, order="F")
        for at, place in enumerate(self.ordered):
            values = cells[:, place]
            missing[:, at] = np.isnan(values)
            marginal = self.columns[place].marginal
            uniform = marginal.ranks(np.where(missing[:, at], marginal.edges[0], values), chances)
            numbers[:, at] = np.where(missing[:, at], 0.0, special.ndtri(uniform))
        codes = np.empty((len(cells), len(self.coded)), dtype=np.int64, order="F")
        for at, place in enumerate(self.coded):
            values, size = cells[:, place], len(self.columns[place].labels)
            codes[:, at] = np.where(np.isnan(values), size, values)
        return Ranked(numbers, missing, codes)

    def values(self, ranked: Ranked) -> pd.DataFrame:
        """Rows from ranks and codes: the inverse of `ranks`, on the grid and within the bounds.

        Labels come back exactly, and so do values of a grid but for the thinnest tails: a rank tells a millionth of the
        rows, and no less.
        """
        cells = np.empty((len(ranked.codes), len(self.columns)), order="F")
        for at, place in enumerate(self.ordered):
            places = self.columns[place].marginal.places(special.ndtr(ranked.numbers[:, at]))
            cells[:, place] = np.where(ranked.missing[:, at] & self.columns[place].nullable, np.nan, places)
        for at, place in enumerate(self.coded):
            codes = ranked.codes[:, at].astype(np.float64)
            cells[:, place] = np.where(codes == len(self.columns[place].labels), np.nan, codes)
        return self.frame(cells)

    @property
    def code_sizes(self) -> list[int]:
        """How many codes each of the `coded` columns has in `ranks`, the one for a missing value included."""
        return [len(self.columns[place].labels) + self.columns[place].nullable for place in self.coded]

    def bins(self, number: int = 20) -> Bins:
        """Codes for tables of counts: about `number` bins of equal mass for each number or moment."""
        return Bins(self.columns, number)

    def codes(self, frame: Table, chances: Chances, bins: int = 20) -> np.ndarray:
        """Private rows as small whole numbers, each below its place in `bins(number).sizes`."""
        return self.bins(bins).encode(self.cells(frame, chances))

    # ---- in files --------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {"version": VERSION, "rows": self.rows}
        if self.plan is not None:
            plain["plan"] = self.plan.to_dict()
        return plain | {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Coordinates:
        """What `to_dict` wrote. The plan is for people and is not read back."""
        if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
            raise InputError(
                f"this is no description of a table of version {VERSION}; update understudy if it is newer."
            )
        columns = plain.get("columns")
        if not isinstance(columns, list) or not isinstance(plain.get("rows"), int):
            raise InputError("the description of the table is damaged: it lacks its columns or its number of rows.")
        return cls(tuple(Described.from_dict(column) for column in columns), plain["rows"])


def public_columns(
    sample: Table | None, known: tuple[Known, ...], schema: Schema | None, target: str | None
) -> dict[str, Described]:
    """What rows that are public already say of the columns that they have, at no cost."""
    if sample is None:
        return {}
    frame = as_frame(sample)
    shared = [column for column in known if column.name in frame.columns]
    if not shared:
        raise InputError(f"the public sample has none of the table's columns; it has {listed(list(frame.columns), 5)}.")
    kept = None if schema is None else tuple(column for column in schema if column.name in frame.columns)
    part = None if schema is None or not kept else Schema(kept)
    goal = target if target in frame.columns else None
    named = cast(pd.DataFrame, frame[[column.name for column in shared]])
    # What the table's own types say holds for the sample; beyond that its text may stand for anything.
    mine = tuple(
        theirs if ours.kind is None else ours
        for ours, theirs in zip(shared, known_columns(named, part, goal, typed=False), strict=True)
    )
    # Nothing has to be hidden: a category needs no more rows than two.
    plan = plan_at(mine, len(frame), _PUBLIC_NOISE, 0.5)
    made = describe_public(named, mine, plan)
    # Sensitive rows may lack what no public row does.
    return {
        column.name: column if column.target or column.declared is not None else replace(column, nullable=True)
        for column in made
    }
