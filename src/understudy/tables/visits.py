"""A person's rows in their order: what stays the same for a person, what changes from row to row, and the time between two.

While a table of visits is learnt, a row says how many rows its person has, its place among them, and the time since the row
before; the order itself is where the person's first row stands. All of that follows from that person's rows alone, whose rows
together count for one, as any rows of a person do (`understudy.privacy.persons`): the sensitivity is that of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import InputError
from understudy.tables.column import Column
from understudy.tables.persons import ROWS, Person
from understudy.wording import did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.coordinates import Coordinates, Described
    from understudy.tables.schema import Schema

GAP = "time since the row before"
PLACE = "place among the rows of this person"
MADE = (ROWS, PLACE, GAP)
"""Columns that are made while a table is learnt from, and are no part of what is written."""
DAY = 86400.0
# So much more must be missing to be more than what persons without rows explain.
_SURELY = 0.01


@dataclass(frozen=True)
class Visits:
    """Public: whose rows stand in which order, the columns that do not change for a person, and whether these are a table of their own.

    Somebody in a table of persons may have no row in the other: there all that changes is missing. `whole` are the columns of which the
    schema says that nothing is missing otherwise.
    """

    person: Person
    constant: tuple[str, ...] = ()
    linked: bool = False
    whole: tuple[str, ...] = ()

    @property
    def assumed_public(self) -> str:
        """What the certificate says was known beforehand."""
        if self.linked:
            return "which columns belong to persons and which to their rows"
        return "which columns stay the same for a person, which the owner stated"

    @property
    def least(self) -> int:
        """The fewest rows of a person: somebody in a table of persons may have none in the other."""
        return 0 if self.linked else 1

    @property
    def placed(self) -> bool:
        """Whether the place of a row among its person's tells anything that is not said already."""
        return self.person.order is not None and self.person.rows > 2

    def changes(self, name: str) -> bool:
        """Whether a column is one that differs from row to row of a person; its place is known wherever it is drawn."""
        return name not in (*self.constant, self.person.order, ROWS, PLACE)

    def may_miss(self, name: str, coordinates: Coordinates) -> bool:
        """Whether a value may be missing in a row that there is: more are missing than persons without any row explain."""
        column = coordinates[name]
        if name in (GAP, *self.whole) or not column.nullable:
            return False
        if not self.linked or name in self.constant or (column.declared is not None and column.declared.complete):
            return True
        rows = coordinates[ROWS]
        none = float(rows.marginal.mass[rows.marginal.edges[:-1] < 1].sum())
        doubt = 3 * max(column.sigma, rows.sigma) / max(coordinates.rows, 1)
        return column.missing > none + doubt + _SURELY

    def made(self, schema: Schema | None) -> tuple[Column, ...]:
        """What is public of the columns that are made: their bounds follow from K and from what is declared of the order."""
        most = self.person.rows
        found = [Column(ROWS, "integer", bounds=(self.least, most))]
        if self.placed:
            found.append(Column(PLACE, "integer", bounds=(1, most)))
        order = self.person.order
        if order is not None and schema is not None and order in schema and schema[order].complete:
            found.append(gap_column(schema[order]))
        return tuple(found)

    def written(self, coordinates: Coordinates) -> tuple[Column, ...]:
        """The columns of what is drawn: those of the table, the order as far as it can reach."""
        columns = [
            replace(column.column, nullable=column.column.nullable and self.may_miss(column.name, coordinates))
            for column in coordinates
            if column.name not in MADE
        ]
        order = self.person.order
        if order is None:
            return tuple(columns)
        place = [column.name for column in columns].index(order)
        columns[place] = replace(Timeline.of(coordinates, order, self.person.rows).column, nullable=False)
        return tuple(columns)

    def to_dict(self) -> dict[str, Any]:
        plain = {"person": self.person.to_dict(), "constant": list(self.constant), "linked": self.linked}
        return plain | {"whole": list(self.whole)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Visits:
        """What `to_dict` wrote, whoever wrote it."""
        try:
            constant, linked, whole = plain["constant"], plain["linked"], plain["whole"]
            person = Person.of(plain["person"])
        except (KeyError, TypeError):
            raise InputError("the release does not say whose rows it draws: it is damaged. Copy it again.") from None
        lists = isinstance(constant, list) and isinstance(whole, list)
        if not isinstance(linked, bool) or not lists or not all(map(_named, (*constant, *whole))):
            raise InputError("the release does not say what stays the same for a person: it is damaged. Copy it again.")
        return cls(person, tuple(constant), linked, tuple(whole))


def _named(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def gap_column(order: Column) -> Column:
    """What is public of the time between two rows, in days or in what the order counts; never negative."""
    from understudy.tables.rules.taking_in import grain_of

    low, high = order.number_bounds
    if order.kind in ("datetime", "duration"):
        whole, top = order.kind == "datetime" and grain_of(order) == DAY, (high - low) / DAY
    else:
        whole, top = order.kind == "integer", high - low
    bounds = (0, int(top)) if whole else (0.0, float(top))
    return Column(GAP, "integer" if whole else "continuous", bounds=bounds, nullable=True, scale="log")


def order_values(series: pd.Series, column: Column | None) -> np.ndarray:
    """Private. Where each row stands: a number, or days since 1970; each cell by itself, NaN where it says neither.

    Where nobody said what the column is, a cell is a number if it reads as one, else a moment or a duration.
    """
    from understudy.tables.coordinates.cells import factorise
    from understudy.tables.coordinates.known import ORDERED, kind_of

    cells, distinct = factorise(series)
    found = np.full(len(distinct.readings), np.nan)
    for kind in ORDERED if column is None else (kind_of(column.kind),):
        values = distinct.as_kind(kind, None if column is None else column.format)
        found = np.where(np.isnan(found), values if kind == "number" else values / DAY, found)
    return np.append(found, np.nan)[cells]


def check_order(visits: Visits, names: list[str], schema: Schema | None, target: str | None) -> None:
    """Refuse an order or constants that the table does not have, by names and kinds alone."""
    from understudy.tables.column import BOUNDED

    person = visits.person
    if person.rows < 2:
        raise InputError(
            f"`rows_per_person` (={person.rows}) must be at least 2 where rows stand in an order: of one row there is no next."
        )
    for made in MADE:
        if made in names:
            raise InputError(f"the table has a column {made!r}, which is made here: name it otherwise.")
    order = person.order
    for what, name in (("order", order), *(("constant", name) for name in visits.constant)):
        if name is not None and name not in names:
            raise InputError(f"{what}: the table has no column {name!r}.{did_you_mean(name, names)}")
    if order is None:
        return
    if order == target:
        raise InputError(f"the column {order!r} says in which order rows stand, and cannot be the target.")
    if order in visits.constant:
        raise InputError(f"the column {order!r} cannot both stay the same and say in which order rows stand.")
    if schema is not None and order in schema and schema[order].kind not in BOUNDED:
        raise InputError(
            f"order: the column {order!r} is {schema[order].kind} by the schema; rows stand in the order of numbers, dates or "
            "durations."
        )


def in_order(
    table: pd.DataFrame, times: np.ndarray | None, empty: np.ndarray, owner: np.ndarray, visits: Visits
) -> Any:
    """Private. Rows that stand by person and time, with the columns that are learnt: number, place and time since the row before.

    What does not change is that of a person's first row, and so is the order itself. `empty` rows stand for a person without any.
    """
    first, place = _first(owner), np.arange(len(owner)) - _first(owner)
    made: dict[str, Any] = {ROWS: np.where(empty, 0, np.bincount(owner)[owner] if len(owner) else 0)}
    if visits.placed:
        made[PLACE] = place + 1
    steady = [name for name in visits.constant if name in table.columns]
    if times is not None and visits.person.order is not None:
        before = np.where(place > 0, np.arange(len(owner)) - 1, 0)
        made[GAP] = np.where((place > 0) & ~empty, _tidy(times - times[before]) if len(times) else 0.0, np.nan)
        steady.append(visits.person.order)
    same = {name: table[name].iloc[first].set_axis(table.index) for name in steady}
    return table.assign(**same, **made)


def _tidy(gaps: np.ndarray) -> np.ndarray:
    """Differences without what floating point adds: 0.3 - 0.1 is 0.2; days to the second."""
    return np.maximum(np.round(gaps, 6), 0.0)


def _first(owner: np.ndarray) -> np.ndarray:
    """Of each row the place of its person's first row, where persons stand together."""
    if not len(owner):
        return np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    return np.repeat(starts, np.diff(np.append(starts, len(owner))))


def pairs(owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Private. The places of each row that has a next one, and of that one, where persons stand together."""
    before = np.flatnonzero(owner[1:] == owner[:-1])
    return before, before + 1


@dataclass(frozen=True)
class Timeline:
    """Public: where a person's first row stands, what lies between two, and how the order is written again."""

    start: Described
    gap: Described
    most: int

    @classmethod
    def of(cls, coordinates: Coordinates, order: str, most: int) -> Timeline:
        return cls(coordinates[order], coordinates[GAP], most)

    @property
    def _step(self) -> float:
        """The finer grid of the two, in what the order counts: seconds for moments and durations; 0 for none."""
        gap = self.gap.step * (DAY if self.start.kind != "number" else 1.0)
        if self.start.kind == "number":
            return 0.0 if not self.start.step or not gap else min(self.start.step, gap)
        return self.start.step if not gap else min(self.start.step, max(np.floor(gap), 1.0))

    @property
    def _shown(self) -> Described:
        return replace(self.start, step=self._step) if self.start.ordered else self.start

    @property
    def _bounds(self) -> tuple[float, float]:
        """Lowest and highest value; what was declared is kept to."""
        said = self.start.declared
        if said is not None and said.complete:
            return said.number_bounds
        low, high = self.start.bounds
        reach = self.gap.bounds[1] * (self.most - 1) if self.gap.ordered and not self.gap.empty else 0.0
        return low, high + reach * (DAY if self.start.kind != "number" else 1.0)

    @property
    def column(self) -> Column:
        """The order as the schema of what is written has it."""
        from datetime import datetime, timedelta

        column, said = self._shown.column if self.start.ordered else self.start.column, self.start.declared
        if not self.start.ordered or (said is not None and said.complete):
            return column
        low, high = self._bounds
        if self.start.kind == "datetime":
            epoch, last = datetime(1970, 1, 1), 2.5e11
            return replace(column, bounds=tuple(epoch + timedelta(seconds=min(end, last)) for end in (low, high)))  # pyright: ignore[reportArgumentType]
        if self.start.kind == "duration":
            return replace(column, bounds=(timedelta(seconds=low), timedelta(seconds=high)))
        ends = (int(low), int(np.ceil(high))) if column.kind == "integer" else (float(low), float(high))
        return replace(column, bounds=ends)

    def write(self, starts: np.ndarray, passed: np.ndarray) -> object:
        """The order of rows whose person's first one has the place `starts` on its grid, so much later than that one."""
        from understudy.tables.coordinates import write_column
        from understudy.tables.coordinates.readings import from_index, to_index

        if not self.start.ordered:
            return write_column(starts, self.start)
        moments = self.start.kind != "number"
        value = starts * self.start.step if moments else from_index(starts, self.start.step)
        value = np.clip(value + passed * (DAY if moments else 1.0), *self._bounds)
        shown = self._shown
        places = np.floor(value / shown.step + 1e-9) if moments else to_index(value, shown.step)
        return write_column(places, shown)


def refuse_tables(names: Mapping[str, list[str]], key: str) -> None:
    """Refuse two tables that do not go together, by the names of their columns alone."""
    for table, columns in names.items():
        if key not in columns:
            raise InputError(f"the {table} has no column {key!r} to be the key.{did_you_mean(key, columns)}")
        if len(columns) < 2:
            raise InputError(f"the {table} has no column beside the key {key!r}: there is nothing to learn.")
    parent, child = names.values()
    if both := [name for name in parent if name in child and name != key]:
        raise InputError(f"both tables have {listed(both)}: name one of them otherwise; only the key stands in both.")
