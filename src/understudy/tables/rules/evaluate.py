"""What a rule says of many rows at once: true (1), false (0), or unknown (NaN) where a value is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd

from understudy.tables.coordinates.cells import factorise, text_of
from understudy.tables.coordinates.readings import SAID
from understudy.tables.rules.expressions import (
    Absent,
    Among,
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Determines,
    Expression,
    Implies,
    Joined,
    Named,
    Negation,
    Negative,
    Statement,
)
from understudy.tables.rules.functions import DAY, FUNCTIONS, Sort
from understudy.tables.rules.sorts import Sorts, moment_of, sort_of

Values = Mapping[str, np.ndarray]
"""The values of each column: float64 with NaN where one is missing; of text, objects with None there."""
# Two sums of the same decimals differ in their last places.
_TOLERANCE = 1e-9


def read_values(series: pd.Series, sort: Sort | None) -> np.ndarray:
    """As private as the rows. A column's values by its sort, each cell by itself; what does not fit is missing."""
    cells, distinct = factorise(series)
    if sort in ("number", "moment", "truth"):
        kind = {"number": "number", "moment": "datetime", "truth": "boolean"}[sort]
        return np.append(distinct.as_kind(kind), np.nan)[cells]
    labels = [distinct.label(place) for place in range(len(distinct.readings))]
    return np.array([*labels, None], dtype=object)[cells]


def truth(statement: Statement, values: Values, sorts: Sorts) -> np.ndarray:
    """Whether a statement holds, for each row. Of `determines` without a list nothing can be said row by row."""
    match statement:
        case Implies(condition, then):
            given = evaluate(condition, values, sorts)
            return _either([1 - given, evaluate(then, values, sorts)])
        case Determines(columns, target, rows):
            if rows is None:
                return np.full(len(values[target.name]), np.nan)
            found = lookup(columns, rows, values, sorts, sorts.get(target.name))
            known = ~np.any([missing(values[column.name]) for column in columns], axis=0)
            beyond = known & missing(found)
            same = _same(found, values[target.name])
            return np.where(beyond, 0.0, same)
        case _:
            return evaluate(statement, values, sorts)


def evaluate(node: Expression, values: Values, sorts: Sorts) -> np.ndarray:
    """The value of a part in each row, as its sort has it."""
    match node:
        case Named(name):
            return values[name]
        case Constant(value):
            return np.full(_length(values), value, dtype=object if isinstance(value, str) else np.float64)
        case Negative(of):
            return -evaluate(of, values, sorts)
        case Arithmetic():
            return _arithmetic(node, values, sorts)
        case Call(function, of):
            return _call(function, of, values, sorts)
        case Comparison():
            return _compare(node, values, sorts)
        case Among(columns, rows):
            table = tuple((*row, Constant(True)) for row in rows)
            found = lookup(columns, table, values, sorts, "truth")
            unknown = np.any([missing(values[column.name]) for column in columns], axis=0)
            return np.where(unknown, np.nan, np.where(missing(found), 0.0, 1.0))
        case Absent(column):
            return missing(values[column.name]).astype(np.float64)
        case Negation(of):
            return 1 - evaluate(of, values, sorts)
        case Joined(word, inner):
            found = [evaluate(part, values, sorts) for part in inner]
            return _either(found) if word == "or" else 1 - _either([1 - part for part in found])


def missing(values: np.ndarray) -> np.ndarray:
    return pd.isna(cast(Any, values)) if values.dtype == object else np.isnan(values)


def _length(values: Values) -> int:
    return len(next(iter(values.values())))


def _either(parts: list[np.ndarray]) -> np.ndarray:
    """True where one is, false where all are, else unknown (Kleene)."""
    table = np.stack(parts)
    unknown = np.isnan(table).any(axis=0)
    return np.where((table == 1).any(axis=0), 1.0, np.where(unknown, np.nan, 0.0))


def _arithmetic(node: Arithmetic, values: Values, sorts: Sorts) -> np.ndarray:
    left, right = (evaluate(part, values, sorts) for part in (node.left, node.right))
    kinds = [sort_of(part, sorts) for part in (node.left, node.right)]
    if node.operation in "+-" and len({"number" if kind == "truth" else kind for kind in kinds}) > 1:
        # Beside a date or a span, a number counts days.
        left, right = (
            part * DAY if kind in ("number", "truth") else part for part, kind in zip((left, right), kinds, strict=True)
        )
    with np.errstate(all="ignore"):
        match node.operation:
            case "+":
                made = left + right
            case "-":
                made = left - right
            case "*":
                made = left * right
            case "/":
                made = left / right
    return np.where(np.isfinite(made), made, np.nan)


def _call(name: str, of: tuple[Expression, ...], values: Values, sorts: Sorts) -> np.ndarray:
    function = FUNCTIONS[name]
    given = [evaluate(part, values, sorts) for part in of]
    kinds = [sort_of(part, sorts) for part in of]
    if function.unit is not None:
        return given[0] / function.unit if kinds[0] == "span" else given[0] * function.unit
    if "span" in kinds and (function.gives == "number" or len(set(kinds)) > 1):
        days = function.gives == "number"
        given = [
            part / DAY if days and kind == "span" else part * DAY if not days and kind != "span" else part
            for part, kind in zip(given, kinds, strict=True)
        ]
    with np.errstate(all="ignore"):
        made = function.apply(*given)
    return np.where(np.isfinite(made), made, np.nan)


def _compare(node: Comparison, values: Values, sorts: Sorts) -> np.ndarray:
    left, right = (_beside(a, b, values, sorts) for a, b in ((node.left, node.right), (node.right, node.left)))
    if node.sign in ("==", "!="):
        same = _same(left, right)
        return same if node.sign == "==" else 1 - same
    unknown = np.isnan(left) | np.isnan(right)
    compared = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[node.sign](left, right)
    return np.where(unknown, np.nan, compared.astype(np.float64))


def _beside(part: Expression, other: Expression, values: Values, sorts: Sorts) -> np.ndarray:
    """One side of a comparison in the form of the other: written dates as moments, numbers beside spans in days."""
    mine, theirs = sort_of(part, sorts), sort_of(other, sorts)
    if isinstance(part, Constant):
        return np.full(
            _length(values), literal_as(part.value, theirs), dtype=None if theirs not in ("text", None) else object
        )
    made = evaluate(part, values, sorts)
    return made * DAY if mine in ("number", "truth") and theirs == "span" else made


def literal_as(value: str | float | int | bool, sort: Sort | None) -> Any:
    """A value that a rule writes out, as the values of a column of that sort are compared with it."""
    if sort == "moment" and isinstance(value, str):
        return moment_of(value)
    if sort == "truth" and isinstance(value, str):
        return SAID.get(value.lower(), np.inf)
    if sort in ("text", None):
        return str(value) if isinstance(value, str | bool) else text_of(float(value))
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return np.inf  # no number is this text
    return float(value) * (DAY if sort == "span" else 1.0)


def _same(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    unknown = missing(left) | missing(right)
    if object in (left.dtype, right.dtype):
        left, right = (_texts(part) for part in (left, right))
        equal = np.asarray(left == right, dtype=bool)
    else:
        near = _TOLERANCE * np.maximum(np.abs(left), np.abs(right)) + 1e-12
        with np.errstate(invalid="ignore"):
            equal = (left == right) | (np.abs(left - right) <= np.where(np.isfinite(near), near, 0.0))
    return np.where(unknown, np.nan, equal.astype(np.float64))


def _texts(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return values
    codes, found = pd.factorize(values)
    return np.array([*(text_of(value) for value in found), None], dtype=object)[codes]


def lookup(
    columns: tuple[Named, ...], rows: tuple[tuple[Constant, ...], ...], values: Values, sorts: Sorts, gives: Sort | None
) -> np.ndarray:
    """What stands at the end of the list's row that begins with these values; missing where there is none."""
    if not rows:
        return np.full(_length(values), None if gives in ("text", None) else np.nan)
    keys = [
        np.array([literal_as(row[at].value, sorts.get(c.name)) for row in rows], dtype=object)
        for at, c in enumerate(columns)
    ]
    codes, size = np.zeros(_length(values), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for column, key in zip(columns, keys, strict=True):
        known = pd.Index(pd.unique(key))
        mine = known.get_indexer(pd.Index(values[column.name].astype(object)))
        mine = np.where(missing(values[column.name]), -1, mine)
        codes = np.where((codes < 0) | (mine < 0), -1, codes * len(known) + mine)
        size = size * len(known) + known.get_indexer(pd.Index(key))
        # Kept small: pairs that are in no row of the list are in no row at all.
        seen, size = np.unique(size, return_inverse=True)
        at = np.clip(np.searchsorted(seen, codes), 0, len(seen) - 1)
        codes = np.where((codes >= 0) & (seen[at] == codes), at, -1)
    made = [literal_as(row[-1].value, gives) for row in rows]
    ends = np.array([*made, None], dtype=object) if gives in ("text", None) else np.array([*made, np.nan])
    place = np.full(int(size.max()) + 1, len(rows))
    place[size[::-1]] = np.arange(len(rows))[::-1]
    return ends[np.where(codes < 0, len(rows), place[codes])]


def holds(found: np.ndarray) -> np.ndarray:
    """The rows that do not break a rule: it is true there, or nothing can be said."""
    return ~(found == 0)
