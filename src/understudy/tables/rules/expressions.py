"""What a rule consists of, and its text. Nothing here reads a row.

A rule is a tree of these parts. `str(rule)` is the one way to write it, and reading that text gives the same tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

WORDS = frozenset(("if", "then", "and", "or", "not", "in", "is", "missing", "determines", "true", "false"))
_PLAIN = re.compile(r"[^\W\d]\w*")

Sign: TypeAlias = Literal["==", "!=", "<=", ">=", "<", ">"]
Operation: TypeAlias = Literal["+", "-", "*", "/"]
Literally: TypeAlias = "str | float | int | bool"
"""A value that a rule writes out."""


@dataclass(frozen=True)
class Named:
    """A column of the table."""

    name: str

    def __str__(self) -> str:
        if _PLAIN.fullmatch(self.name) and self.name not in WORDS:
            return self.name
        return "`" + self.name.replace("\\", "\\\\").replace("`", "\\`") + "`"


@dataclass(frozen=True)
class Constant:
    """A number, a text, true or false."""

    value: Literally

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __str__(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True)
class Negative:
    """The same number below zero."""

    of: Expression

    def __str__(self) -> str:
        return f"-{_inside(self.of, 3)}"


@dataclass(frozen=True)
class Arithmetic:
    """Two parts added, subtracted, multiplied or divided."""

    operation: Operation
    left: Expression
    right: Expression

    def __str__(self) -> str:
        level = 1 if self.operation in "+-" else 2
        return f"{_inside(self.left, level)} {self.operation} {_inside(self.right, level + 1)}"


@dataclass(frozen=True)
class Call:
    """A function of `functions`."""

    function: str
    of: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.of))})"


@dataclass(frozen=True)
class Comparison:
    """Two parts side by side; of missing values nothing is known."""

    sign: Sign
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{_inside(self.left, 1)} {self.sign} {_inside(self.right, 1)}"


@dataclass(frozen=True)
class Among:
    """Columns whose values together are one of the rows of a list: allowed combinations."""

    columns: tuple[Named, ...]
    rows: tuple[tuple[Constant, ...], ...]

    def __str__(self) -> str:
        if len(self.columns) == 1:
            return f"{self.columns[0]} in {_one_by_one(self.rows)}"
        return f"({', '.join(map(str, self.columns))}) in {_listed(self.rows)}"


@dataclass(frozen=True)
class Absent:
    """Whether a column's value is missing; always known."""

    column: Named

    def __str__(self) -> str:
        return f"{self.column} is missing"


@dataclass(frozen=True)
class Negation:
    of: Expression

    def __str__(self) -> str:
        return f"not {_inside(self.of, 0)}"


@dataclass(frozen=True)
class Joined:
    """Several conditions, all of which (`and`) or one of which (`or`) must hold."""

    word: Literal["and", "or"]
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(_inside(part, -1 if self.word == "and" else -2) for part in self.parts)


@dataclass(frozen=True)
class Implies:
    """`if … then …`: the second holds wherever the first does."""

    condition: Expression
    then: Expression

    def __str__(self) -> str:
        return f"if {self.condition} then {self.then}"


@dataclass(frozen=True)
class Determines:
    """Equal values of the first columns always stand beside the same value of the last one; `rows` says which, if given."""

    columns: tuple[Named, ...]
    target: Named
    rows: tuple[tuple[Constant, ...], ...] | None = None

    def __str__(self) -> str:
        left = str(self.columns[0]) if len(self.columns) == 1 else f"({', '.join(map(str, self.columns))})"
        return f"{left} determines {self.target}" + ("" if self.rows is None else f" in {_listed(self.rows)}")


Expression: TypeAlias = (
    Named | Constant | Negative | Arithmetic | Call | Comparison | Among | Absent | Negation | Joined
)
Statement: TypeAlias = Expression | Implies | Determines


def parts(node: Statement) -> Iterator[Statement]:
    """The statement and all that it consists of."""
    yield node
    match node:
        case Negative(of) | Negation(of):
            yield from parts(of)
        case Arithmetic(_, left, right) | Comparison(_, left, right) | Implies(left, right):
            yield from parts(left)
            yield from parts(right)
        case Call(_, inner) | Joined(_, inner):
            for part in inner:
                yield from parts(part)
        case Among(columns, _):
            yield from columns
        case Determines(columns, target, _):
            yield from (*columns, target)
        case Absent(column):
            yield column
        case _:
            pass


def names(node: Statement) -> list[str]:
    """The columns that a statement is about, each once."""
    return list(dict.fromkeys(part.name for part in parts(node) if isinstance(part, Named)))


def _level(node: Expression) -> int:
    """How tightly the outermost sign of a text binds."""
    match node:
        case Joined("or", _):
            return -3
        case Joined(_, _):
            return -2
        case Negation():
            return -1
        case Comparison() | Among() | Absent():
            return 0
        case Arithmetic(operation, _, _):
            return 1 if operation in "+-" else 2
        case Negative():
            return 3
        case Constant(value) if isinstance(value, int | float) and not isinstance(value, bool) and str(value)[0] == "-":
            return 3
        case _:
            return 4


def _inside(node: Expression, least: int) -> str:
    return str(node) if _level(node) >= least else f"({node})"


def _one_by_one(rows: tuple[tuple[Constant, ...], ...]) -> str:
    return f"({', '.join(str(row[0]) for row in rows)})"


def _listed(rows: tuple[tuple[Constant, ...], ...]) -> str:
    return f"({', '.join('(' + ', '.join(map(str, row)) + ')' for row in rows)})"
