"""Sums of columns: which column an equation can be solved for, and what difference an order leaves.

`discharge >= admission + 1` is `discharge - admission - 1 >= 0`: a sum of columns with a number before each. Where dates
are among them everything counts in days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.tables.column import Column
from understudy.tables.rules.evaluate import Values
from understudy.tables.rules.expressions import Arithmetic, Call, Comparison, Constant, Expression, Named, Negative
from understudy.tables.rules.functions import DAY, FUNCTIONS
from understudy.tables.rules.limits import Reach, column_reach
from understudy.tables.rules.sorts import Sorts, moment_of, sort_of


@dataclass(frozen=True)
class Linear:
    """Columns, each with the number that it is multiplied by, and a constant. A date counts in days since 1970."""

    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    @property
    def columns(self) -> list[str]:
        return [name for name, _ in self.terms]

    def factor(self, name: str) -> float:
        return dict(self.terms).get(name, 0.0)

    def plus(self, other: Linear, factor: float = 1.0) -> Linear:
        terms = dict(self.terms)
        for name, times in other.terms:
            terms[name] = terms.get(name, 0.0) + factor * times
        kept = tuple((name, times) for name, times in terms.items() if times)
        return Linear(kept, self.constant + factor * other.constant)

    def times(self, factor: float) -> Linear:
        return Linear(()).plus(self, factor)

    def without(self, name: str) -> Linear:
        """What the column equals where the whole is zero."""
        rest = Linear(tuple(t for t in self.terms if t[0] != name), self.constant)
        return rest.times(-1 / self.factor(name))

    def replaced(self, name: str, by: Linear) -> Linear:
        rest = Linear(tuple(t for t in self.terms if t[0] != name), self.constant)
        return rest.plus(by, self.factor(name))

    def evaluate(self, values: Values, sorts: Sorts) -> np.ndarray:
        """Dates in days."""
        size = len(next(iter(values.values())))
        made = np.full(size, self.constant)
        for name, times in self.terms:
            made = made + times * (values[name] / DAY if sorts.get(name) == "moment" else values[name])
        return made

    def reach(self, columns: Mapping[str, Column], sorts: Sorts) -> Reach:
        found = Reach(self.constant, self.constant, float(self.constant).is_integer())
        for name, times in self.terms:
            one = column_reach(columns[name]) if name in columns else Reach()
            found = found.plus(one.times(times / DAY if sorts.get(name) == "moment" else times))
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"terms": dict(self.terms), "constant": self.constant}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Linear:
        terms = tuple((str(name), float(times)) for name, times in plain["terms"].items())
        return cls(terms, float(plain["constant"]))


def difference(node: Comparison, sorts: Sorts) -> Linear | None:
    """The left side less the right one, if both are sums of columns."""
    left, right = (_linear(a, sorts, b) for a, b in ((node.left, node.right), (node.right, node.left)))
    return None if left is None or right is None else left.plus(right, -1.0)


def _linear(node: Expression, sorts: Sorts, beside: Expression | None = None) -> Linear | None:
    match node:
        case Named(name):
            return Linear(((name, 1.0),)) if sorts.get(name) in ("number", "moment") else None
        case Constant(value):
            if isinstance(value, str):
                if beside is None or sort_of(beside, sorts) != "moment":
                    return None
                return Linear((), moment_of(value) / DAY)
            return Linear((), float(value))
        case Negative(of):
            inner = _linear(of, sorts)
            return None if inner is None else inner.times(-1)
        case Arithmetic("+" | "-" as sign, left, right):
            parts = [_linear(part, sorts) for part in (left, right)]
            if parts[0] is None or parts[1] is None:
                return None
            return parts[0].plus(parts[1], 1.0 if sign == "+" else -1.0)
        case Arithmetic("*", Constant(value), inner) | Arithmetic("*", inner, Constant(value)):
            made = _linear(inner, sorts)
            return None if made is None or isinstance(value, str) else made.times(float(value))
        case Call(name, (inner,)) if FUNCTIONS[name].unit is not None:
            made, unit = _linear(inner, sorts), FUNCTIONS[name].unit or DAY
            if made is None:
                return None
            return made.times(DAY / unit if sort_of(inner, sorts) == "span" else unit / DAY)
        case _:
            return None
