"""Which sort of value each part of a rule has, and what does not go together: said before anything is spent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from understudy.errors import InputError
from understudy.tables.column import LISTED, Column, seconds
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
    parts,
)
from understudy.tables.rules.functions import FUNCTIONS, Sort
from understudy.wording import did_you_mean, listed

if TYPE_CHECKING:
    from understudy.tables.coordinates import Known
    from understudy.tables.rules.grammar import Rule

Sorts = Mapping[str, Sort | None]
"""The sort of each column; None where nobody has said what it is."""


def column_sort(column: Column) -> Sort | None:
    """The sort of a column as its schema describes it."""
    if column.kind in LISTED:
        if column.categories is None:
            return None
        return "text" if any(isinstance(label, str) for label in column.categories) else "number"
    if column.kind == "duration":
        return None  # rules do not calculate with columns of this kind yet
    sorts: dict[str, Sort] = {"boolean": "truth", "datetime": "moment"}
    return sorts.get(column.kind, "number")


def known_sort(known: Known) -> Sort | None:
    """The sort of a column as far as its schema or its type says."""
    if known.column is not None:
        return column_sort(known.column)
    sorts: dict[str | None, Sort] = {"number": "number", "datetime": "moment", "boolean": "truth"}
    return sorts.get(known.kind)


def infer(rules: Sequence[Rule], sorts: Sorts) -> dict[str, Sort | None]:
    """The sorts, and what the rules themselves say of columns of which nothing is known: `month(x)` says that x is a date."""
    found = dict(sorts)
    before: dict[str, Sort | None] = {}
    while before != found:
        before = dict(found)
        for rule in rules:
            for part in parts(rule.statement):
                match part:
                    case Call(function, (Named(name),)) if FUNCTIONS[function].takes == ("moment",):
                        found[name] = found.get(name) or "moment"
                    case Comparison(sign, left, right):
                        for here, there in ((left, right), (right, left)):
                            if isinstance(here, Named) and found.get(here.name) is None:
                                found[here.name] = _from_beside(sign, there, found)
                    case _:
                        pass
    return found


def _from_beside(sign: str, there: Expression, sorts: Sorts) -> Sort | None:
    """The sort of a column from what it is compared with. Beside a single value it may be a category, unless in an order."""
    if isinstance(there, Constant):
        if sign in ("==", "!="):
            return None
        return "moment" if isinstance(there.value, str) else "number"
    try:
        sort = sort_of(there, sorts)
    except InputError:
        return None
    return "number" if sort == "span" else sort


def check_sorts(rules: Sequence[Rule], sorts: Sorts) -> None:
    """Refuse rules whose parts do not go together, or of which it is not known whether they do."""
    for number, rule in enumerate(rules, start=1):
        try:
            _check(rule.statement, sorts)
        except InputError as error:
            raise InputError(f"rule {number} ({rule.short}): {error}") from None


def _check(statement: Statement, sorts: Sorts) -> None:
    match statement:
        case Implies(condition, then):
            _need_truth(condition, sorts)
            _need_truth(then, sorts)
        case Determines():
            return
        case _:
            _need_truth(statement, sorts)


def _need_truth(node: Expression, sorts: Sorts) -> None:
    if sort_of(node, sorts) not in ("truth", None):
        raise InputError(f"{node} is neither true nor false. Compare it with something.")


def sort_of(node: Expression, sorts: Sorts) -> Sort | None:
    """The sort of a part; None where a column is alone and nobody has said what it is."""
    match node:
        case Named(name):
            return sorts.get(name)
        case Constant(value):
            return "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
        case Negative(of):
            return _amount(of, sorts, "-")
        case Arithmetic():
            return _arithmetic(node, sorts)
        case Call(function, of):
            return _call(function, of, sorts)
        case Comparison(sign, left, right):
            _check_comparison(sign, left, right, sorts)
        case Negation(of):
            _need_truth(of, sorts)
        case Joined(_, inner):
            for part in inner:
                _need_truth(part, sorts)
        case Among() | Absent():
            pass
    return "truth"


def _amount(node: Expression, sorts: Sorts, sign: str) -> Sort:
    """The sort of a part that is to be calculated with."""
    sort = sort_of(node, sorts)
    if sort is None:
        _unknown([str(node)])
    if sort == "text":
        raise InputError(f"{node} is text, and {sign!r} is for numbers and dates.")
    return "number" if sort == "truth" else sort


def _arithmetic(node: Arithmetic, sorts: Sorts) -> Sort:
    left, right = (_amount(part, sorts, node.operation) for part in (node.left, node.right))
    pair = {left, right}
    match node.operation:
        case "+" if pair <= {"number", "span"}:
            return "span" if "span" in pair else "number"
        case "+" if left != right and "moment" in pair:
            return "moment"
        case "-" if left == right == "moment":
            return "span"
        case "-" if left == "moment":
            return "moment"
        case "-" if "moment" not in pair:
            return "span" if "span" in pair else "number"
        case "*" if pair <= {"number", "span"} and (left != "span" or right != "span"):
            return "span" if "span" in pair else "number"
        case "/" if pair <= {"number", "span"} and not (left == "number" and right == "span"):
            return "span" if (left, right) == ("span", "number") else "number"
        case _:
            raise InputError(f"{node}: a {_word(left)} {node.operation} a {_word(right)} means nothing.")


def _call(name: str, of: tuple[Expression, ...], sorts: Sorts) -> Sort:
    function = FUNCTIONS[name]
    given = [_amount(part, sorts, name) for part in of]
    for part, sort in zip(of, given, strict=True):
        if sort not in function.takes:
            raise InputError(
                f"{name}({part}): {part} is a {_word(sort)}, and {name} is of {_word(function.takes[0])}s."
            )
    if len(set(given)) > 1 and "moment" in given:
        raise InputError(f"{name}({', '.join(map(str, of))}) mixes dates and numbers.")
    if function.unit is not None:
        return "number" if given[0] == "span" else "span"
    if "span" in given:
        return function.gives or "span"
    return function.gives or _amount(of[0], sorts, name)


def _check_comparison(sign: str, left: Expression, right: Expression, sorts: Sorts) -> None:
    pair = [sort_of(part, sorts) for part in (left, right)]
    for here, sort in ((left, pair[1]), (right, pair[0])):
        if sort == "moment" and isinstance(here, Constant) and isinstance(here.value, str):
            moment_of(here.value)
            return
    if sign not in ("==", "!="):
        if None in pair:
            _unknown([str(part) for part, sort in zip((left, right), pair, strict=True) if sort is None])
        if "text" in pair:
            raise InputError(f"{left} {sign} {right}: text has no order. List the values with `in`.")
    if None in pair or pair[0] == pair[1] or set(pair) <= {"number", "span", "truth"}:
        return
    literal = [part for part in (left, right) if isinstance(part, Constant)]
    if "text" in pair and literal and "moment" not in pair and _may_be_code(literal[0].value, pair):
        return
    raise InputError(f"{left} {sign} {right} compares a {_word(pair[0])} with a {_word(pair[1])}.")


def _may_be_code(value: object, pair: Sequence[str | None]) -> bool:
    """Whether a value may be meant for a column of another sort: a code with or without quotes, yes and no."""
    if isinstance(value, bool) or "truth" in pair:
        return str(value).lower() in SAID
    return not isinstance(value, str) or re.fullmatch(r"[-+]?[0-9.]+", value) is not None


def _unknown(what: list[str]) -> NoReturn:
    raise InputError(
        f"it is not known whether {' and '.join(what)} {'is a number or a date' if len(what) == 1 else 'are numbers or dates'}. "
        "Say their kinds in a schema (`kind: datetime`, `kind: integer`; bounds may be left out)."
    )


def _word(sort: str | None) -> str:
    return {"moment": "date", "span": "span of time", "truth": "truth value", None: "value of unknown kind"}.get(
        sort, str(sort)
    )


def moment_of(text: str) -> float:
    """A date that a rule writes in quotes, in seconds since 1970."""
    try:
        return float(seconds(datetime.fromisoformat(text).replace(tzinfo=None)))
    except ValueError:
        raise InputError(f"{text!r} is not a date; write it as 2024-12-31 or 2024-12-31 23:59:59.") from None


def check_values(rules: Sequence[Rule], columns: Mapping[str, Column]) -> None:
    """Refuse a value that a declared column never has: most often it is misspelt."""
    for number, rule in enumerate(rules, start=1):
        for part in parts(rule.statement):
            for name, value in _compared(part):
                column = columns.get(name)
                if column is None or not column.complete or column.kind in ("continuous", "integer", "datetime"):
                    continue
                if column.kind == "boolean":
                    known: list[str] = ["true", "false"]
                    fits = isinstance(value, bool) or str(value).lower() in SAID or value in (0, 1)
                else:
                    known = [str(label) for label in column.labels]
                    fits = str(value) in known or value in column.labels
                if not fits:
                    raise InputError(
                        f"rule {number} ({rule.short}): column {name!r} is never {value!r}; it is one of "
                        f"{listed(known, 6)}.{did_you_mean(value, known)}"
                    )


def _compared(part: Statement) -> list[tuple[str, str | float | int | bool]]:
    """Columns with the values that they are compared with."""
    match part:
        case Comparison(sign, Named(name), Constant(value)) | Comparison(sign, Constant(value), Named(name)):
            return [(name, value)] if sign in ("==", "!=") else []
        case Among(columns, rows):
            return [(c.name, v.value) for row in rows for c, v in zip(columns, row, strict=True)]
        case Determines(columns, target, rows) if rows is not None:
            # A public list may hold more than this table does; what it leads to must be a value of the column.
            return [(target.name, row[-1].value) for row in rows]
        case _:
            return []
