"""A CREATE TABLE statement: types, keys, NOT NULL, enumerations, and checks of ranges and lists.

Only what a statement plainly says is taken; a check of another form is passed over, and the gap stays.
"""

from __future__ import annotations

import re
from pathlib import Path

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.codebooks.plain import bounded, listed, text_of
from understudy.tables.column import BOUNDED, Column, Kind
from understudy.tables.hints import hint_for
from understudy.wording import did_you_mean
from understudy.wording import listed as names_of

_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|[A-Za-z_][\w$]*)'
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_STRING = r"'(?:[^']|'')*'"
_VALUE = rf"(?:{_STRING}|{_NUMBER})"
_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"interval|time\b", "duration"),
    (r"bool|bit\b", "boolean"),
    (r"(tiny|small|medium|big|u?)int|integer|int[248]?\b|serial|year", "integer"),
    (r"numeric|decimal|number|float|real|double|money", "continuous"),
    (r"date|timestamp|smalldatetime", "datetime"),
    (r"(var|n|nvar|var2)?char|character|text|string|clob|enum|citext", "categorical"),
)


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry for each column of the table."""
    statements = tables(text_of(path))
    if not statements:
        raise InputError(f"{path}: there is no CREATE TABLE statement in it.")
    if table is None and len(statements) > 1:
        raise InputError(f"{path} has the tables {names_of(list(statements))}: choose one with --table.")
    table = next(iter(statements)) if table is None else table
    if table not in statements:
        raise InputError(f"{path} has no table {table!r}.{did_you_mean(table, statements)}")
    return columns(statements[table])


def tables(text: str) -> dict[str, str]:
    """The name of each table that is created, and what stands between its parentheses."""
    text = re.sub(rf"({_STRING})|--[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
    found: dict[str, str] = {}
    start = rf"create\s+(?:\w+\s+)*?table\s+(?:if\s+not\s+exists\s+)?((?:{_NAME}\.)*)({_NAME})\s*\("
    for match in re.finditer(start, text, re.IGNORECASE):
        found[_unquoted(match[2])] = _until_closed(text[match.end() :])
    return found


def columns(body: str) -> list[Column | Aside]:
    """The columns of one statement."""
    parts = _split(body)
    keys: list[str] = []
    checks: list[str] = []
    lines: list[str] = []
    for part in parts:
        bare = re.sub(rf"^constraint\s+{_NAME}\s+", "", part, flags=re.IGNORECASE)
        if match := re.match(r"primary\s+key\s*\((.*)\)", bare, re.IGNORECASE | re.DOTALL):
            keys += [_unquoted(name.strip()) for name in match[1].split(",")]
        elif re.match(r"check\s*\(", bare, re.IGNORECASE):
            checks.append(bare)
        elif not re.match(r"(unique|foreign\s+key|index|key|exclude|like)\b", bare, re.IGNORECASE):
            lines.append(part)
    return [_entry(line, keys, checks) for line in lines]


def _entry(line: str, keys: list[str], checks: list[str]) -> Column | Aside:
    match = re.match(rf"({_NAME})\s+(.*)", line, re.DOTALL)
    if match is None:
        raise InputError(f"cannot read the column {line[:60]!r} of the CREATE TABLE statement.")
    name, rest = _unquoted(match[1]), match[2].strip()
    low = rest.lower()
    if keys == [name] or "primary key" in low or low.startswith(("serial", "bigserial", "uuid", "uniqueidentifier")):
        return Aside(name, "id", 0)
    kind: Kind | None = next((kind for rule, kind in _KINDS if re.match(rf"(?:{rule})", low)), None)
    if kind is None:
        return Aside(name, "drop", 0)
    if kind == "categorical" and (hint := hint_for(name)) is not None and hint.kind == "code":
        kind = "code"
    if re.match(r"(numeric|decimal|number)\s*\(\s*\d+\s*(,\s*0\s*)?\)", low):
        kind = "integer"
    nullable = "not null" not in low
    if match := re.match(rf"enum\s*\(((?:\s*{_STRING}\s*,?)*)\)", rest, re.IGNORECASE):
        return listed(name, _values(match[1]), nullable=nullable)
    about = " ".join([rest, *checks])
    me = rf'(?<!\w)"?`?\[?{re.escape(name)}\]?`?"?'
    if match := re.search(rf"{me}\s+in\s*\(((?:\s*{_VALUE}\s*,?)+)\)", about, re.IGNORECASE):
        return listed(name, _values(match[1]), nullable=nullable)
    if kind in BOUNDED:
        return bounded(name, kind, *_ends(about, me), nullable=nullable)
    return Column(name, kind, nullable=nullable)


def _ends(about: str, me: str) -> tuple[str | None, str | None]:
    """Both ends of `x BETWEEN a AND b`, or of `x >= a` and `x <= b`; a strict end is taken as it is written."""
    if match := re.search(rf"{me}\s+between\s+({_VALUE})\s+and\s+({_VALUE})", about, re.IGNORECASE):
        return _value(match[1]), _value(match[2])
    low = re.search(rf"{me}\s*>=?\s*({_VALUE})", about, re.IGNORECASE)
    high = re.search(rf"{me}\s*<=?\s*({_VALUE})", about, re.IGNORECASE)
    return (_value(low[1]) if low else None), (_value(high[1]) if high else None)


def _values(text: str) -> list[str]:
    return [_value(value) for value in re.findall(_VALUE, text)]


def _value(text: str) -> str:
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[:1] in ('"', "`", "[") else name


def _split(body: str) -> list[str]:
    """The parts between commas that stand in no parentheses and no quotes."""
    parts, depth, start = list[str](), 0, 0
    for match in re.finditer(rf"{_STRING}|[(),]", body):
        if match[0] in ("(", ")"):
            depth += 1 if match[0] == "(" else -1
        elif match[0] == "," and depth == 0:
            parts.append(body[start : match.start()].strip())
            start = match.end()
    return [part for part in [*parts, body[start:].strip()] if part]


def _until_closed(text: str) -> str:
    depth = 1
    for match in re.finditer(rf"{_STRING}|[()]", text):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return text[: match.start()]
    raise InputError("a CREATE TABLE statement ends before its parenthesis is closed.")
