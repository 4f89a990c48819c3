"""Columns that are not learnt: ids, of which new ones are made; text, which is left empty; and what is dropped.

Their cells are never looked at. That a table has such a column is public, as its name is.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from understudy.errors import InputError
from understudy.wording import did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.schema import Schema

AsideKind: TypeAlias = Literal["id", "text", "drop"]
ASIDE: tuple[AsideKind, ...] = get_args(AsideKind)


@dataclass(frozen=True)
class Aside:
    """Public: a column that is not learnt, and its place among all columns of the schema.

    `pattern` (id): how new ones look, with one run of `#` for the number of the row, as in `P-#####`; whole numbers from
    1 on if it is left out.
    """

    name: str
    kind: AsideKind
    place: int
    pattern: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a column's `name` (={self.name!r}) must be text, and not empty.")
        if self.pattern is None:
            return
        if self.kind != "id":
            raise InputError(f"column {self.name!r}: `pattern` is for ids, not {self.kind}.")
        if not isinstance(self.pattern, str) or len(re.findall("#+", self.pattern)) != 1:
            raise InputError(
                f"column {self.name!r}: `pattern` (={self.pattern!r}) must hold one run of # for the number, as in P-#####."
            )

    def to_dict(self) -> dict[str, Any]:
        plain = {"name": self.name, "kind": self.kind}
        return plain if self.pattern is None else plain | {"pattern": self.pattern}

    def made(self, first: int, rows: int) -> object:
        """New values for the rows with the numbers `first` and up: ids, or nothing at all."""
        import pandas as pd

        if self.kind == "text":
            return pd.Series([None] * rows, dtype="str")
        if self.pattern is None:
            return range(first, first + rows)
        run = re.findall("#+", self.pattern)[0]
        return [self.pattern.replace(run, str(number).zfill(len(run))) for number in range(first, first + rows)]


def without_aside(frame: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """The table without the columns that its schema sets aside, and without the one that says whose a row is. Looks at names alone."""
    named = set() if schema is None else {column.name for column in schema.aside}
    if schema is not None and schema.person is not None and schema.person.column not in schema:
        named.add(schema.person.column)
    return frame.drop(columns=[name for name in frame.columns if name in named]) if named else frame


def with_aside(frame: pd.DataFrame, schema: Schema, first: int = 1) -> pd.DataFrame:
    """Rows that were drawn, with new ids and empty text at their places; what is dropped stays away."""
    kept = [column for column in schema.aside if column.kind != "drop"]
    if not kept:
        return frame
    frame = frame.copy(deep=False)
    dropped = [column.place for column in schema.aside if column.kind == "drop"]
    for column in sorted(kept, key=lambda column: column.place):
        place = column.place - sum(at < column.place for at in dropped)
        made = cast(Any, column.made(first, len(frame)))
        frame.insert(min(place, frame.shape[1]), column.name, made)
    return frame


def chosen_columns(
    frame: pd.DataFrame, schema: Schema | None, target: str | None, drop: str | None, only: str | None
) -> tuple[pd.DataFrame, Schema | None]:
    """The table and its schema with the columns that are asked for; `drop` and `only` are names with commas between them.

    Looks at names alone. The target stays with `only`, and cannot be dropped.
    """
    if drop is None and only is None:
        return frame, schema
    if drop is not None and only is not None:
        raise InputError("--drop and --only say the same thing from two sides: give one of them.")
    target = target if target is not None or schema is None else schema.target
    names = [str(name) for name in frame.columns]
    asked = _names("--drop" if only is None else "--only", only or drop or "", names)
    if only is not None:
        kept = [name for name in names if name in asked or name == target]
    elif target in asked:
        raise InputError(f"--drop {target!r}: it is the target. Choose another target, or leave it in.")
    else:
        kept = [name for name in names if name not in asked]
    if not kept:
        raise InputError("--drop leaves no column.")
    return frame.loc[:, kept], None if schema is None else narrowed(schema, kept)


def narrowed(schema: Schema, names: Sequence[str]) -> Schema | None:
    """What the schema says of some of its columns; None where that is nothing."""
    columns = tuple(column for column in schema if column.name in names)
    order = [column["name"] for column in schema.to_dict()["columns"] if column["name"] in names]
    aside = tuple(replace(c, place=order.index(c.name)) for c in schema.aside if c.name in names)
    if not columns and not aside:
        return None
    return replace(schema, columns=columns, aside=aside, target=schema.target if schema.target in names else None)


def _names(option: str, text: str, known: Sequence[str]) -> list[str]:
    asked = [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]
    if not asked:
        raise InputError(f"{option} names no column; write it as {option} a,b.")
    if unknown := [name for name in asked if name not in known]:
        raise InputError(f"{option}: the table has no column {listed(unknown)}.{did_you_mean(unknown[0], known)}")
    return asked
