"""From the text of a rule to what it says: a small grammar, read from left to right, and nothing is ever executed.

    rule        =  "if" condition "then" condition  |  columns "determines" column [ "in" list ]  |  condition
    condition   =  alternative { "or" alternative }            alternative  =  clause { "and" clause }
    clause      =  [ "not" ] ( sum sign sum | sum | columns "in" list | column "is" [ "not" ] "missing" )
    sum         =  product { ("+" | "-") product }             product      =  factor { ("*" | "/") factor }
    factor      =  "-" factor | number | text | "true" | "false" | column | function "(" … ")" | "(" condition ")"

What a stranger's rule can cost is bounded: its length, its depth, the number of its parts and of its list.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, cast

from understudy.errors import InputError
from understudy.tables.rules.expressions import (
    WORDS,
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
    names,
)
from understudy.tables.rules.functions import FUNCTIONS
from understudy.wording import did_you_mean

MOST_RULES = 200
LONGEST = 1 << 19
DEEPEST = 24
MOST_PARTS = 300
"""Columns, values and signs of one rule, lists left out: they may be as long as the text."""
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?(?![\w.]))
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`(?:[^`\\]|\\.)+`)
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>==|!=|<=|>=|[-+*/<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = ("==", "!=", "<=", ">=", "<", ">")


@dataclass(frozen=True)
class Rule:
    """Public: one statement of the owner about every row."""

    statement: Statement

    @classmethod
    def parse(cls, text: object, *, where: str = "rule") -> Rule:
        """The rule that a text says; `where` names its place in errors."""
        if not isinstance(text, str):
            raise InputError(f"{where}: a rule is text, as in `discharge >= admission`, not {type(text).__name__}.")
        if len(text) > LONGEST:
            raise InputError(f"{where} is {len(text):,} characters long; at most {LONGEST:,} are read.")
        return cls(_Reader(text, where).rule())

    def __str__(self) -> str:
        return str(self.statement)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that it is about."""
        return names(self.statement)

    @property
    def short(self) -> str:
        """Its text, cut where a list makes it long: for messages."""
        text = str(self)
        return text if len(text) <= 120 else f"{text[:110]} …"


def parse_rules(texts: object, *, where: str = "rules") -> tuple[Rule, ...]:
    """The rules of a list of texts; an error says which."""
    if not isinstance(texts, list | tuple):
        raise InputError(f"{where}: `rules` must be a list of texts, one for each rule.")
    given = list(texts)
    if len(given) > MOST_RULES:
        raise InputError(f"{where}: {len(given):,} rules; at most {MOST_RULES} are read.")
    if sum(len(text) for text in given if isinstance(text, str)) > 2 * LONGEST:
        raise InputError(f"{where}: the rules are longer than {2 * LONGEST:,} characters together.")
    made = [
        text if isinstance(text, Rule) else Rule.parse(text, where=f"{where}, rule {number}")
        for number, text in enumerate(given, start=1)
    ]
    return tuple(dict.fromkeys(made))


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Reader:
    """The tokens of one text, from left to right."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.at, self.depth, self.size = text, where, 0, 0, 0
        self.tokens = self._tokens()

    # ---- tokens --------------------------------------------------------------------------------------------------

    def _tokens(self) -> list[_Token]:
        found: list[_Token] = []
        place, end = 0, len(self.text.rstrip())
        while place < end:
            match = _TOKEN.match(self.text, place)
            if match is None:
                start = place + len(self.text[place:]) - len(self.text[place:].lstrip())
                self._refuse(f"cannot be read from {self.text[start : start + 20]!r} on", start)
            assert match.lastgroup is not None
            found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            place = match.end()
        return found

    def _peek(self, *texts: str, ahead: int = 0) -> bool:
        """Whether the next token is one of these words or signs."""
        if self.at + ahead >= len(self.tokens):
            return False
        token = self.tokens[self.at + ahead]
        return token.kind in ("word", "sign") and token.text in texts

    def _take(self, *texts: str) -> str | None:
        if not self._peek(*texts):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            self._refuse(f"needs {text!r} here: {self._rest()!r}")

    def _next(self) -> _Token:
        if self.at >= len(self.tokens):
            self._refuse("ends too soon")
        self.at += 1
        return self.tokens[self.at - 1]

    def _rest(self) -> str:
        start = self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)
        return self.text[start : start + 30] or "its end"

    def _refuse(self, why: str, start: int | None = None) -> NoReturn:
        if start is None:
            start = self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)
        shown = self.text if len(self.text) <= 120 else f"{self.text[:110]} …"
        raise InputError(
            f"{self.where}: {shown!r} {why} (character {start + 1}). Write a rule as `discharge >= admission`, "
            '`total == a + b`, `month == month(date)`, `if sex == "male" then pregnant == "no"` or `zip determines city`; '
            "text stands in quotes, and a name with spaces in backticks."
        )

    def _count(self) -> None:
        self.size += 1
        if self.size > MOST_PARTS:
            self._refuse(f"has more than {MOST_PARTS} parts")

    def _down(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self._refuse(f"is nested more than {DEEPEST} deep")

    # ---- rules ---------------------------------------------------------------------------------------------------

    def rule(self) -> Statement:
        if not self.tokens:
            self._refuse("is empty")
        made: Statement
        if self._take("if"):
            condition = self.condition()
            self._expect("then")
            made = Implies(condition, self.condition())
        else:
            made = self._determines() or self.condition()
        if self.at < len(self.tokens):
            self._refuse(f"should end before {self._rest()!r}")
        if isinstance(made, Named | Constant | Negative | Arithmetic | Call):
            self._refuse("says nothing that could be true or false", 0)
        if not names(made):
            self._refuse("is about no column", 0)
        return made

    def _determines(self) -> Determines | None:
        start = self.at
        columns = self._columns()
        if columns is None or self._take("determines") is None:
            self.at = start
            return None
        target = self._column("determines")
        if target in columns:
            self._refuse("names a column that determines itself")
        rows = self._list(len(columns) + 1) if self._take("in") else None
        if rows is not None:
            seen: dict[tuple[Constant, ...], Constant] = {}
            for row in rows:
                if seen.setdefault(row[:-1], row[-1]) != row[-1]:
                    self._refuse(f"says two things of {', '.join(map(str, row[:-1]))}: {seen[row[:-1]]} and {row[-1]}")
        return Determines(columns, target, rows)

    def _columns(self) -> tuple[Named, ...] | None:
        """One column, or several in brackets; None where something else stands, and then nothing is taken."""
        start = self.at
        if not self._peek("("):
            column = self._maybe_column()
            return None if column is None else (column,)
        self.at += 1
        found: list[Named] = []
        while (column := self._maybe_column()) is not None:
            found.append(column)
            if self._take(")"):
                return tuple(found)
            if not self._take(","):
                break
        self.at = start
        return None

    def _maybe_column(self) -> Named | None:
        if self.at >= len(self.tokens):
            return None
        token = self.tokens[self.at]
        plain = token.kind == "word" and token.text not in WORDS and not self._peek("(", ahead=1)
        if token.kind != "quoted" and not plain:
            return None
        self.at += 1
        return Named(
            re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL) if token.kind == "quoted" else token.text
        )

    def _column(self, after: str) -> Named:
        column = self._maybe_column()
        if column is None:
            self._refuse(f"needs the name of a column after {after!r}: {self._rest()!r}")
        return column

    def _list(self, width: int) -> tuple[tuple[Constant, ...], ...]:
        """Values in brackets, or rows of several values in brackets of their own."""
        self._expect("(")
        rows: list[tuple[Constant, ...]] = []
        while True:
            row: list[Constant] = []
            if width > 1:
                self._expect("(")
            while True:
                row.append(self._literal())
                if width == 1 or not self._take(","):
                    break
            if width > 1:
                self._expect(")")
                if len(row) != width:
                    self._refuse(f"has a row of {len(row)} values in its list, for {width} columns")
            rows.append(tuple(row))
            if not self._take(","):
                break
        self._expect(")")
        return tuple(rows)

    def _literal(self) -> Constant:
        sign = -1 if self._take("-") else 1
        token = self._next()
        if token.kind == "number":
            return Constant(sign * self._number(token))
        if sign == 1 and token.kind == "text":
            return Constant(self._text(token))
        if sign == 1 and token.text in ("true", "false"):
            return Constant(token.text == "true")
        self.at -= 1
        self._refuse(f"needs a number or a text in quotes here: {self._rest()!r}")

    def _number(self, token: _Token) -> int | float:
        value = float(token.text)
        if not math.isfinite(value):
            self._refuse(f"has the number {token.text}, which is too large", token.start)
        return int(token.text) if token.text.isdecimal() and value < 2**53 else value

    def _text(self, token: _Token) -> str:
        body = token.text[1:-1]
        if token.text[0] == "'":
            body = _requoted(body)
        try:
            said = json.loads(f'"{body}"', strict=False)
            said.encode()
        except (ValueError, UnicodeEncodeError):
            self._refuse("has a text with a backslash that means nothing; write \\\\ for a backslash", token.start)
        return said

    # ---- conditions ----------------------------------------------------------------------------------------------

    def condition(self) -> Expression:
        self._down()
        made = self._joined("or", lambda: self._joined("and", self._clause))
        self.depth -= 1
        return made

    def _joined(self, word: str, one: Any) -> Expression:
        found = [one()]
        while self._take(word):
            found.append(one())
        return found[0] if len(found) == 1 else Joined(cast(Any, word), tuple(found))

    def _clause(self) -> Expression:
        self._count()
        if self._take("not"):
            self._down()
            made = Negation(self._clause())
            self.depth -= 1
            return made
        start = self.at
        columns = self._columns()
        if columns is not None:
            if self._take("in"):
                return Among(columns, self._list(len(columns)))
            if len(columns) == 1 and self._take("is"):
                negated = self._take("not") is not None
                self._expect("missing")
                absent = Absent(columns[0])
                return Negation(absent) if negated else absent
        self.at = start
        left = self._sum()
        if (sign := self._take(*_SIGNS)) is not None:
            return Comparison(cast(Any, sign), left, self._sum())
        return left

    def _sum(self) -> Expression:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._factor))

    def _chain(self, signs: Sequence[str], one: Any) -> Expression:
        made = one()
        while (sign := self._take(*signs)) is not None:
            self._count()
            made = Arithmetic(cast(Any, sign), made, one())
        return made

    def _factor(self) -> Expression:
        self._count()
        if self._take("-"):
            self._down()
            inner = self._factor()
            self.depth -= 1
            if isinstance(inner, Constant) and type(inner.value) in (int, float) and cast(float, inner.value) > 0:
                return Constant(-cast(float, inner.value))
            return Negative(inner)
        if self._take("("):
            made = self.condition()
            self._expect(")")
            return made
        if (column := self._maybe_column()) is not None:
            return column
        token = self._next()
        if token.kind == "number":
            return Constant(self._number(token))
        if token.kind == "text":
            return Constant(self._text(token))
        if token.text in ("true", "false"):
            return Constant(token.text == "true")
        if token.kind == "word" and token.text not in WORDS and self._take("("):
            return self._call(token)
        self.at -= 1
        self._refuse(f"needs a column, a value or a function here: {self._rest()!r}")

    def _call(self, token: _Token) -> Call:
        if token.text not in FUNCTIONS:
            self._refuse(
                f"calls {token.text!r}, which is not known; known are {', '.join(FUNCTIONS)}."
                + did_you_mean(token.text, FUNCTIONS),
                token.start,
            )
        self._down()
        given = [self._sum()]
        while self._take(","):
            given.append(self._sum())
        self._expect(")")
        self.depth -= 1
        least, most = FUNCTIONS[token.text].arguments
        if not least <= len(given) <= most:
            self._refuse(
                f"gives {token.text!r} {len(given)} values; it takes {least}{'' if most == least else ' or more'}"
            )
        return Call(token.text, tuple(given))


def _requoted(body: str) -> str:
    """The inside of single quotes as it would stand in double ones."""
    return re.sub(r'\\.|"', lambda m: {"\\'": "'", '"': '\\"'}.get(m[0], m[0]), body, flags=re.DOTALL)
