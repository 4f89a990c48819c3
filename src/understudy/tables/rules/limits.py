"""How far the parts of a rule can reach, from the public bounds of its columns: interval arithmetic.

It gives the bounds of a column that is computed, and finds a rule that no row can fulfil.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import InputError
from understudy.tables.column import Column
from understudy.tables.rules.expressions import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Expression,
    Named,
    Negative,
)
from understudy.tables.rules.functions import DAY, FUNCTIONS
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.sorts import Sorts, moment_of, sort_of


@dataclass(frozen=True)
class Reach:
    """Lowest and highest value, as `functions` has values; `whole` where all are whole numbers."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    @property
    def finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def times(self, factor: float) -> Reach:
        ends = sorted((self.low * factor, self.high * factor)) if factor else [0.0, 0.0]
        return Reach(ends[0], ends[1], self.whole and factor == int(factor))

    def plus(self, other: Reach) -> Reach:
        return Reach(self.low + other.low, self.high + other.high, self.whole and other.whole)


def column_reach(column: Column) -> Reach:
    """What the schema says of a column's values; anything where it says nothing."""
    if column.kind == "boolean":
        return Reach(0, 1, True)
    if column.bounds is not None:
        low, high = column.number_bounds
        return Reach(float(low), float(high), column.kind != "continuous")
    labels = [label for label in column.categories or () if not isinstance(label, str)]
    if labels and len(labels) == len(column.labels):
        return Reach(min(labels), max(labels), all(label == int(label) for label in labels))
    return Reach(whole=column.kind in ("integer", "datetime"))


def reach_of(node: Expression, columns: Mapping[str, Column], sorts: Sorts) -> Reach:
    """The reach of a part; anything where it cannot be told."""
    match node:
        case Named(name):
            return column_reach(columns[name]) if name in columns else Reach()
        case Constant(value) if not isinstance(value, str):
            return Reach(float(value), float(value), float(value).is_integer())
        case Negative(of):
            return reach_of(of, columns, sorts).times(-1)
        case Arithmetic():
            return _arithmetic(node, columns, sorts)
        case Call(function, of):
            return _call(function, of, columns, sorts)
        case Comparison():
            return Reach(0, 1, True)
        case _:
            return Reach()


def _arithmetic(node: Arithmetic, columns: Mapping[str, Column], sorts: Sorts) -> Reach:
    left, right = (reach_of(part, columns, sorts) for part in (node.left, node.right))
    kinds = [sort_of(part, sorts) for part in (node.left, node.right)]
    if node.operation in "+-":
        if {"moment", "span"} & set(kinds):
            left, right = (
                part.times(DAY) if kind in ("number", "truth") else part
                for part, kind in zip((left, right), kinds, strict=True)
            )
        return left.plus(right if node.operation == "+" else right.times(-1))
    if not (left.finite and right.finite) or (node.operation == "/" and right.low <= 0 <= right.high):
        return Reach()
    corners = [
        a * b if node.operation == "*" else a / b for a in (left.low, left.high) for b in (right.low, right.high)
    ]
    return Reach(min(corners), max(corners), node.operation == "*" and left.whole and right.whole)


def _call(name: str, of: tuple[Expression, ...], columns: Mapping[str, Column], sorts: Sorts) -> Reach:
    function = FUNCTIONS[name]
    if function.reach is not None:
        return Reach(*function.reach, whole=True)
    parts = [reach_of(part, columns, sorts) for part in of]
    kinds = [sort_of(part, sorts) for part in of]
    if function.unit is not None:
        return parts[0].times(1 / function.unit if kinds[0] == "span" else function.unit)
    if name == "abs":
        inner = parts[0]
        low = 0.0 if inner.low <= 0 <= inner.high else min(abs(inner.low), abs(inner.high))
        return Reach(low, max(abs(inner.low), abs(inner.high)), inner.whole)
    if "span" in kinds and function.gives == "number":
        parts = [part.times(1 / DAY) for part in parts]
    if name == "round" and len(parts) == 1:
        return Reach(math.floor(parts[0].low), math.ceil(parts[0].high), True) if parts[0].finite else Reach(whole=True)
    if name == "round" or ("span" in kinds and len(set(kinds)) > 1):
        return Reach()
    if not all(part.finite for part in parts):
        return Reach(whole=function.gives == "number")
    low, high = (float(function.apply(*(np.array(end) for end in ends))) for ends in zip(*((p.low, p.high) for p in parts), strict=True))  # fmt: skip
    return Reach(low, high, function.gives is not None or all(part.whole for part in parts))


def refuse_impossible(rules: Sequence[Rule], columns: Mapping[str, Column], sorts: Sorts) -> None:
    """Refuse a comparison that the bounds of its columns never let be true."""
    for number, rule in enumerate(rules, start=1):
        match rule.statement:
            case Comparison(sign, left, right):
                here, there = (_side(a, b, columns, sorts) for a, b in ((left, right), (right, left)))
            case _:
                continue
        above, below = here.low > there.high, here.high < there.low
        never = {
            "==": above or below,
            "!=": False,
            "<": here.low >= there.high,
            "<=": above,
            ">": here.high <= there.low,
            ">=": below,
        }[sign]
        if never:
            raise InputError(
                f"rule {number} ({rule.short}) can never be true: by the bounds in the schema, {left} lies between "
                f"{_shown(here, left, sorts)} and {right} between {_shown(there, right, sorts)}. Correct the rule or the bounds."
            )


def _side(part: Expression, other: Expression, columns: Mapping[str, Column], sorts: Sorts) -> Reach:
    beside = sort_of(other, sorts)
    if isinstance(part, Constant) and isinstance(part.value, str):
        if beside != "moment":
            return Reach()
        moment = moment_of(part.value)
        return Reach(moment, moment)
    if "text" in (beside, sort_of(part, sorts)):
        return Reach()
    found = reach_of(part, columns, sorts)
    return found.times(DAY) if beside == "span" and sort_of(part, sorts) in ("number", "truth") else found


def _shown(reach: Reach, part: Expression, sorts: Sorts) -> str:
    if sort_of(part, sorts) == "moment" or (isinstance(part, Constant) and isinstance(part.value, str)):
        low, high = (str(np.datetime64(int(end), "s")).replace("T", " ") if math.isfinite(end) else str(end) for end in (reach.low, reach.high))  # fmt: skip
        return f"{low} and {high}"
    unit = DAY if sort_of(part, sorts) == "span" else 1.0
    return f"{reach.low / unit:g} and {reach.high / unit:g}"
