"""A table on its way in, as its rules leave it to be learnt: without what is computed, with differences instead of later ends.

Private rows are changed one by one, each by its own cells: a row that breaks a rule is not left out, its difference is
clipped at zero. So a blanked row changes nothing but its own place, and how many rows there are stays public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables.column import Column
from understudy.tables.coordinates.known import known_columns
from understudy.tables.io import column_of
from understudy.tables.rules.building import CLIPPED, REPLACED, Step, build
from understudy.tables.rules.evaluate import read_values
from understudy.tables.rules.expressions import Determines
from understudy.tables.rules.functions import DAY, Sort, tidy
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.limits import Reach, column_reach, refuse_impossible
from understudy.tables.rules.sorts import Sorts, check_sorts, check_values, infer, known_sort
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class RuledTable:
    """Public: rules that go with a table, what of them is built in, and the table's columns in their order."""

    rules: tuple[Rule, ...]
    steps: tuple[Step, ...]
    sorts: Mapping[str, Sort | None]
    names: tuple[str, ...]
    declared: Schema | None
    target: str | None
    read_as: Mapping[str, Sort]
    """Columns of which only a rule says that they are dates or numbers."""

    @property
    def computed(self) -> list[str]:
        """The columns that are not learnt at all."""
        return [s.column for s in self.steps if s.how in ("computed", "looked up") and not s.learnt]

    @property
    def learnt_schema(self) -> Schema | None:
        """What is public of the table that is learnt; without rules, which are about the whole."""
        if self.declared is None:
            return None
        said = {column.name: column for column in self.declared}
        for step in self.steps:
            if step.column in said and step.how in (*REPLACED, *CLIPPED):
                shaped = _difference if step.how in REPLACED else _narrowed
                said[step.column] = shaped(step, said[step.column], {c.name: c for c in self.declared}, self)
        kept = tuple(column for column in said.values() if column.name not in self.computed)
        return replace(self.declared, columns=kept, rules=()) if kept else None

    def learnt_rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Private rows in, private rows out: each as it is learnt, by its own cells alone."""
        needed = {name for s in self.steps if s.form is not None for name in (s.column, *s.form.columns)}
        values = {n: read_values(column_of(frame, n), self.sorts.get(n)) for n in needed}
        made: dict[str, np.ndarray] = {
            name: _typed(read_values(column_of(frame, name), sort), sort) for name, sort in self.read_as.items()
        }
        for step in self.steps:
            if step.form is None or step.how == "computed":
                continue
            dated = self.sorts.get(step.column) == "moment"
            mine = values[step.column] / DAY if dated else values[step.column]
            bound = step.form.evaluate(values, self.sorts)
            match step.how:
                case "above":
                    mine = np.maximum(mine - bound, 0.0)
                case "below":
                    mine = np.maximum(bound - mine, 0.0)
                case "at least":
                    mine = np.maximum(mine, bound)
                case _:
                    mine = np.minimum(mine, bound)
            if step.how in CLIPPED:
                values[step.column] = mine * DAY if dated else mine
            moment = dated and step.how in CLIPPED
            made[step.column] = _typed(np.rint(mine * DAY), "moment") if moment else tidy(mine)
        return frame.assign(**made).drop(columns=self.computed)


def prepare(
    frame: pd.DataFrame, declared: Schema | None, target: str | None, rules: Sequence[Rule], *, typed: bool = True
) -> RuledTable:
    """Rules against the columns of a table: looks at names and types, and at no value. Refuses what cannot be meant."""
    known = known_columns(frame, declared, target, typed=typed)
    names = tuple(column.name for column in known)
    aside = [] if declared is None else [column.name for column in declared.aside]
    check_named(rules, names, aside)
    said: dict[str, Sort | None] = {column.name: known_sort(column) for column in known}
    sorts = infer(rules, said)
    columns = {} if declared is None else {column.name: column for column in declared}
    check_sorts(rules, sorts)
    check_values(rules, columns)
    refuse_impossible(rules, columns, sorts)
    _refuse_endless(rules, columns, sorts)
    steps = build(rules, sorts, target, columns)
    replaced = {step.column for step in steps if step.how in REPLACED} | {
        step.column for step in steps if step.how in ("computed", "looked up") and not step.learnt
    }
    read_as: dict[str, Sort] = {
        name: sort
        for name, sort in sorts.items()
        if said[name] is None and sort in ("moment", "number") and name not in replaced and name != target
    }
    complete = declared is not None and set(declared.names) == set(names)
    order = declared.names if complete and declared is not None else names
    return RuledTable(tuple(rules), steps, sorts, order, declared, target, read_as)


def check_named(rules: Sequence[Rule], names: Sequence[str], aside: Sequence[str]) -> None:
    """Refuse a rule about a column that there is not."""
    for number, rule in enumerate(rules, start=1):
        for name in rule.columns:
            if name in aside:
                raise InputError(f"rule {number} ({rule.short}): column {name!r} is not learnt (it is set aside).")
            if name not in names:
                raise InputError(
                    f"rule {number} ({rule.short}): there is no column {name!r}.{did_you_mean(name, names)} Text "
                    "stands in quotes, and a name with spaces in backticks."
                )


def _refuse_endless(rules: Sequence[Rule], columns: Mapping[str, Column], sorts: Sorts) -> None:
    for number, rule in enumerate(rules, start=1):
        match rule.statement:
            case Determines(left, _, None):
                for column in left:
                    known = columns.get(column.name)
                    if sorts.get(column.name) == "moment" or (known is not None and known.kind == "continuous"):
                        raise InputError(
                            f"rule {number} ({rule.short}): {column.name!r} has too many values to keep what each determines. "
                            "Write how it is computed (`year == year(date)`), or compare (`if age < 18 then …`)."
                        )
            case _:
                pass


def _difference(step: Step, column: Column, columns: Mapping[str, Column], table: RuledTable) -> Column:
    """The column of the difference: from 0 to what the bounds leave; between dates in days, of which most are few."""
    assert step.form is not None
    dated = table.sorts.get(step.column) == "moment"
    own = column_reach(column).times(1 / DAY if dated else 1.0)
    base = step.form.reach(columns, table.sorts)
    apart = own.plus(base.times(-1)) if step.how == "above" else base.plus(own.times(-1))
    _refuse_empty(apart.high, step, table)
    may_miss = [columns[n].nullable if n in columns else True for n in (step.column, *step.form.columns)]
    if dated:
        dates = [columns.get(n) for n in (step.column, *step.form.columns) if table.sorts.get(n) == "moment"]
        whole = (
            all(date is not None and grain_of(date) == DAY for date in dates) and float(step.form.constant).is_integer()
        )
    else:
        whole = column.kind != "continuous" and own.whole and base.whole
    finite = bool(np.isfinite(apart.high))
    bounds = (0, int(apart.high) if whole else apart.high) if finite else None
    scale = "log" if dated and finite else column.scale
    return Column(step.column, "integer" if whole else "continuous", bounds, nullable=any(may_miss), scale=scale)


def grain_of(column: Column) -> float:
    """How many seconds a date's format cannot tell apart."""
    if column.format is None or column.kind != "datetime":
        return 1.0
    moment = datetime(2023, 11, 29, 13, 37, 59)
    again = datetime.strptime(moment.strftime(column.format), column.format)
    left = (moment - again).total_seconds()
    return next(size for size, least in ((DAY, 3600), (3600.0, 60), (60.0, 1), (1.0, -1)) if left >= least)


def _narrowed(step: Step, column: Column, columns: Mapping[str, Column], table: RuledTable) -> Column:
    """The same column with the bounds that the rule leaves; what is listed stays as it is."""
    if column.bounds is None or step.form is None:
        return column
    own = column_reach(column)
    bound = step.form.constant * (DAY if column.kind == "datetime" else 1.0)
    rounded = np.ceil(bound - 1e-6) if step.how == "at least" else np.floor(bound + 1e-6)
    bound = float(rounded) if column.kind != "continuous" else bound
    low, high = (max(own.low, bound), own.high) if step.how == "at least" else (own.low, min(own.high, bound))
    _refuse_empty(high - low, step, table)
    return replace(column, bounds=as_bounds(Reach(low, high), column.kind))


def as_bounds(reach: Reach, kind: str) -> tuple[float | int | datetime, float | int | datetime]:
    """Lowest and highest value as a schema has them."""
    if kind == "datetime":
        low, high = (EPOCH + timedelta(seconds=float(np.clip(end, -6e10, 2.5e11))) for end in (reach.low, reach.high))
        return low, high
    return (int(reach.low), int(reach.high)) if kind == "integer" else (float(reach.low), float(reach.high))


def _refuse_empty(room: float, step: Step, table: RuledTable) -> None:
    if room < 0:
        rule = table.rules[step.rule]
        raise InputError(
            f"rule {step.rule + 1} ({rule.short}) can never be true within the bounds of {step.column!r} and of what it is "
            "compared with. Correct the rule or the bounds."
        )


def _typed(values: np.ndarray, sort: Sort | None) -> np.ndarray:
    """Values in a type that says their sort, whatever the rows hold."""
    if sort != "moment":
        return values
    seconds = np.where(np.isnan(values), 0.0, values).astype(np.int64).astype("datetime64[s]")
    return np.where(np.isnan(values), np.datetime64("NaT", "s"), seconds)
