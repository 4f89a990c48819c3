"""Drawn rows as they are written: what is computed is computed, differences become ends again, and what breaks a rule is told.

Everything here is done to released things, and free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables.column import LISTED, Category, Column
from understudy.tables.coordinates.declared import declared
from understudy.tables.coordinates.known import known_from
from understudy.tables.coordinates.rows import write_column
from understudy.tables.io import column_of
from understudy.tables.rules.building import CLIPPED, REPLACED, Step, other_side
from understudy.tables.rules.evaluate import evaluate, holds, literal_as, lookup, missing, read_values, truth
from understudy.tables.rules.expressions import Constant, Determines, Expression, Named, Statement
from understudy.tables.rules.functions import DAY, Sort, tidy
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.limits import Reach, column_reach, reach_of
from understudy.tables.rules.sorts import column_sort, sort_of
from understudy.tables.rules.taking_in import RuledTable, as_bounds, grain_of
from understudy.tables.schema import Schema

Lists = Mapping[int, tuple[tuple[Constant, ...], ...]]
"""For a rule (from 0) that says `determines` without a list: the list that was found in drawn rows."""


@dataclass(frozen=True)
class Finisher:
    """Public: from rows of the learnt table to rows of the whole one."""

    rules: tuple[Rule, ...]
    steps: tuple[Step, ...]
    sorts: Mapping[str, Sort | None]
    schema: Schema
    lists: Lists

    @property
    def statements(self) -> list[Statement]:
        """The rules, with the lists that were found."""
        return [_closed(rule.statement, self.lists.get(number)) for number, rule in enumerate(self.rules)]

    @property
    def touched(self) -> list[str]:
        """The columns that rules are about."""
        return list(dict.fromkeys(name for rule in self.rules for name in rule.columns))

    def finish(self, drawn: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
        """The rows that fit the schema and keep every rule, whole; and of all rows what they keep (rows x 1 + rules).

        The first column says whether a row fits the schema. The rules are asked of the values as they are written: whole
        numbers, seconds, days where the format of a date says no more.
        """
        apart = [step.column for step in self.steps if step.how in REPLACED]
        coarse = [c.name for c in self.schema if grain_of(c) > 1 and c.name in drawn.columns and c.name not in apart]
        values = start_values(drawn, {*self.touched, *coarse}, self.sorts, apart)
        for name in coarse:
            values[name] = np.floor(values[name] / grain_of(self.schema[name])) * grain_of(self.schema[name])
        fits = np.ones(len(drawn), dtype=bool)
        for step in self.steps:
            found, inside = _fitted(step_values(step, self, values, len(drawn)), self.schema[step.column])
            values[step.column] = found
            fits &= inside
        kept = np.column_stack([fits, *(holds(truth(said, values, self.sorts)) for said in self.statements)])
        good = kept.all(axis=1)
        made: dict[str, Any] = {
            name: column_of(drawn, name).loc[good].reset_index(drop=True)
            for name in self.schema.names
            if name in drawn.columns
        }
        for name in {*coarse, *(step.column for step in self.steps)}:
            made[name] = _written(values[name][good], self.schema[name])
        return pd.DataFrame({name: made[name] for name in self.schema.names}), kept


def _closed(statement: Statement, rows: tuple[tuple[Constant, ...], ...] | None) -> Statement:
    return replace(statement, rows=rows) if isinstance(statement, Determines) and rows is not None else statement


def start_values(
    drawn: pd.DataFrame, names: Iterable[str], sorts: Mapping[str, Sort | None], apart: Sequence[str]
) -> dict[str, np.ndarray]:
    """The values of some columns of drawn rows; of those in `apart` a difference stands there, which is a number."""
    return {
        name: read_values(column_of(drawn, name), "number" if name in apart else sorts.get(name))
        for name in set(names) & set(drawn.columns)
    }


def step_values(step: Step, table: Finisher | Sketch, values: Mapping[str, np.ndarray], size: int) -> np.ndarray:
    """What a step makes of the values that are there, in so many rows."""
    dated = table.sorts.get(step.column) == "moment"
    if step.how in ("looked up", "mapped"):
        return _looked_up(step, table, values)
    if step.how == "computed" and step.form is None:
        node = other_side(table.rules[step.rule], step.column)
        if isinstance(node, Constant):
            made = literal_as(node.value, table.sorts.get(step.column))
            return np.full(size, made, dtype=object if isinstance(made, str) else np.float64)
        return _computed(node, table, values)
    assert step.form is not None
    bound = step.form.evaluate(values, table.sorts)
    if step.how == "computed":
        return np.rint(bound * DAY) if dated else tidy(bound)
    mine = values[step.column]
    if step.how in CLIPPED:
        mine = mine / DAY if dated else mine
        mine = np.maximum(mine, bound) if step.how == "at least" else np.minimum(mine, bound)
        return np.rint(mine * DAY) if dated else mine
    apart = np.maximum(mine, 0.0) * (1 if step.how == "above" else -1)
    if dated:
        return np.floor(np.rint((bound + apart) * DAY) / step.grain) * step.grain
    # Rounding to decimals must not lead past what the column is compared with.
    made = tidy(bound + apart)
    return np.maximum(made, bound) if step.how == "above" else np.minimum(made, bound)


def _computed(node: Expression, table: Finisher | Sketch, values: Mapping[str, np.ndarray]) -> np.ndarray:
    found = evaluate(node, values, table.sorts)
    given = sort_of(node, table.sorts)
    if given == "span":
        found = found / DAY
    if found.dtype == object:
        return found
    return np.rint(found) if given == "moment" else tidy(found)


def _looked_up(step: Step, table: Finisher | Sketch, values: Mapping[str, np.ndarray]) -> np.ndarray:
    statement = table.rules[step.rule].statement
    assert isinstance(statement, Determines)
    rows = statement.rows if statement.rows is not None else table.lists.get(step.rule)
    if rows is None:
        return values[step.column]
    found = lookup(statement.columns, rows, values, table.sorts, table.sorts.get(step.column))
    if not step.learnt:
        return found
    unknown = np.any([missing(values[c.name]) for c in statement.columns], axis=0)
    return np.where(unknown, values[step.column], found)


def _fitted(values: np.ndarray, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Values as the column can hold them, and which of them it can: what does not fit is missing."""
    grain = grain_of(column)
    if column.kind == "datetime" and grain > 1:
        values = np.floor(values / grain) * grain
    absent = missing(values)
    if column.kind in LISTED:
        fits = _codes(values, column) >= 0
    elif column.kind == "boolean":
        fits = (values == 0) | (values == 1)
    else:
        reach = column_reach(column)
        if column.kind == "integer":
            whole = np.rint(values)
            values = np.where(np.abs(values - whole) < 1e-9, whole, values)
        with np.errstate(invalid="ignore"):
            fits = (values >= reach.low) & (values <= reach.high)
        if column.kind != "continuous":
            fits &= values == np.rint(values)
    fits = np.where(absent, column.nullable, fits)
    nothing: Any = None if values.dtype == object else np.nan
    return np.where(fits & ~absent, values, nothing), fits


def _codes(values: np.ndarray, column: Column) -> np.ndarray:
    """The place of each value among the labels, -1 where it is none of them."""
    texts = values if values.dtype == object else None
    if texts is None:
        codes, found = pd.factorize(values)
        texts = np.array([*(literal_as(float(value), "text") for value in found), None], dtype=object)[codes]
    known = pd.Index([str(literal_as(label, "text")) for label in column.labels])
    places = known.get_indexer(pd.Index(texts))
    if column.other:
        places = np.where((places < 0) & ~missing(texts), len(column.labels) - 1, places)
    return places


def _written(values: np.ndarray, column: Column) -> object:
    described = declared(known_from(Schema((replace(column, nullable=True),)))[0])
    if column.kind in LISTED:
        codes = _codes(values, column)
        return write_column(np.where(codes < 0, np.nan, codes.astype(np.float64)), described)
    return write_column(values.astype(np.float64), described)


@dataclass
class Sketch:
    """What a finisher is made of, column by column: the schema of the whole table, from that of the learnt one.

    Bounds of a computed column follow from those of the others; where they do not (a quotient), from drawn rows.
    """

    prepared: RuledTable
    learnt: Schema
    sorts: dict[str, Sort | None]
    lists: Lists

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.prepared.rules

    def schema(self, drawn: pd.DataFrame) -> Schema:
        said = {} if self.prepared.declared is None else {column.name: column for column in self.prepared.declared}
        columns = {column.name: column for column in self.learnt}
        apart = [step.column for step in self.prepared.steps if step.how in REPLACED]
        values = start_values(drawn, map(str, drawn.columns), self.sorts, apart)
        for step in self.prepared.steps:
            found = step_values(step, self, values, len(drawn))
            if step.how not in ("mapped", *CLIPPED) and not (step.learnt and step.column in columns):
                known = said.get(step.column)
                complete = known is not None and known.complete
                columns[step.column] = known if complete else self._column(step, known, columns, found)  # pyright: ignore
            values[step.column] = found
        whole = tuple(columns[name] for name in self.prepared.names)
        aside = () if self.prepared.declared is None else self.prepared.declared.aside
        return Schema(whole, self.learnt.target, aside=aside, rules=self.rules)

    def _column(self, step: Step, known: Column | None, columns: Mapping[str, Column], found: np.ndarray) -> Column:
        nullable = any(columns[name].nullable for name in step.needs(self.rules))
        nullable = (
            nullable
            or (step.how in REPLACED and columns[step.column].nullable)
            or (known is not None and known.nullable)
        )
        sort = self.sorts.get(step.column)
        if sort == "truth":
            return Column(step.column, "boolean", nullable=nullable)
        if sort in ("text", None) or (known is not None and known.kind in LISTED):
            return Column(step.column, "categorical", categories=self._labels(step, columns, found), nullable=nullable)
        reach = self._reach(step, columns)
        there = found[~np.isnan(found)]
        if not reach.finite:
            if not len(there):
                raise InputError(
                    f"column {step.column!r} could not be computed in any drawn row: say its bounds in the schema."
                )
            reach = Reach(float(there.min()), float(there.max()), bool(np.all(there == np.rint(there))))
        whole = "integer" if reach.whole else "continuous"
        kind = "datetime" if sort == "moment" else whole if known is None else known.kind
        reach = reach if kind == "continuous" else Reach(np.floor(reach.low), np.ceil(reach.high), True)
        form = None if known is None else known.format
        return Column(step.column, kind, as_bounds(reach, kind), nullable=nullable, format=form)

    def _reach(self, step: Step, columns: Mapping[str, Column]) -> Reach:
        dated = self.sorts.get(step.column) == "moment"
        if step.form is None:
            node = other_side(self.rules[step.rule], step.column)
            found = reach_of(node, columns, self.sorts)
            return found.times(1 / DAY) if sort_of(node, self.sorts) == "span" else found
        found = step.form.reach(columns, self.sorts)
        if step.how in REPLACED:
            own = column_reach(columns[step.column])
            found = found.plus(own.times(1 if step.how == "above" else -1))
        return found.times(DAY) if dated else found

    def _labels(self, step: Step, columns: Mapping[str, Column], found: np.ndarray) -> tuple[Category, ...]:
        statement = self.rules[step.rule].statement
        if isinstance(statement, Determines):
            rows = statement.rows or ()
            labels = [row[-1].value for row in rows]
            texts = any(isinstance(label, str | bool) for label in labels)
            return tuple(dict.fromkeys(str(label) if texts else label for label in labels))
        node = other_side(self.rules[step.rule], step.column)
        if isinstance(node, Named):
            return columns[node.name].labels
        if isinstance(node, Constant) and not isinstance(node.value, bool):
            return (node.value,)
        values = sorted(set(found[~missing(found)].tolist()))
        return tuple(int(value) if value == int(value) else value for value in values)


def final_sorts(prepared: RuledTable, learnt: Schema) -> dict[str, Sort | None]:
    """The sorts that were known before, the rest as it was found; of what is computed, as what it is computed from."""
    sorts = dict(prepared.sorts)
    for column in learnt:
        if sorts.get(column.name) is None:
            sorts[column.name] = column_sort(column)
    for step in prepared.steps:
        if sorts.get(step.column) is not None:
            continue
        statement = prepared.rules[step.rule].statement
        if isinstance(statement, Determines):
            texts = any(isinstance(row[-1].value, str) for row in statement.rows or ())
            sorts[step.column] = "text" if texts else "number"
        else:
            sort = sort_of(other_side(prepared.rules[step.rule], step.column), sorts)
            sorts[step.column] = "number" if sort == "span" else sort
    return sorts
