"""What is public about each column: its kind, its bounds, its categories. Nothing here is learnt from the rows.

Every method encodes its table by a schema, so that no minimum, maximum or list of categories is taken from the data
unpaid (that leak is the most common one in public code of these methods). What the schema says counts as public: it may
come from a codebook, from a law of nature, or from `understudy schema init --epsilon`, which pays for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from understudy.errors import InputError
from understudy.tables.aside import ASIDE, Aside
from understudy.tables.column import Column, repeated
from understudy.tables.persons import Person
from understudy.tables.rules.grammar import Rule, parse_rules
from understudy.wording import did_you_mean, listed

if TYPE_CHECKING:
    from understudy.tables.io import Table

VERSION = 1
SchemaLike: TypeAlias = "Schema | Mapping[str, Any] | str | os.PathLike[str] | None"
"""What may stand for a schema: itself, plain values, or the path of a file."""


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order, and which of them is to be predicted.

    `aside` are columns that are not learnt (`kind: id`, `text` or `drop`); they are no part of `columns` and `names`.
    `person` says whose a row is, where a person has several. `certificate` is that of a schema which was looked at in the rows
    and paid for: whatever is made with it names it, and states what both cost together. `rules` are public statements about
    every row; see `understudy.tables.rules`.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    aside: tuple[Aside, ...] = field(default=(), kw_only=True)
    rules: tuple[Rule, ...] = field(default=(), kw_only=True)
    certificate: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    person: Person | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence):
            raise InputError(f"`columns` must be a list of columns, not {type(self.columns).__name__}.")
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns and not self.aside:
            raise InputError("a schema needs at least one column.")
        for column in self.columns:
            if not isinstance(column, Column):
                raise InputError(f"`columns` must hold Column objects, not {column!r}.")
        if twice := repeated((*self.names, *(column.name for column in self.aside))):
            raise InputError(f"column {twice[0]!r} is in the schema more than once.")
        if self.target is None:
            return
        if self.target not in self.names:
            raise InputError(
                f"`target` (={self.target!r}) is not a column of the schema." + did_you_mean(self.target, self.names)
            )
        if self[self.target].nullable:
            raise InputError(
                f"the target {self.target!r} is nullable; a row without its target cannot be learnt from. "
                "Say `nullable: false` and drop such rows."
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> Schema:
        """The same schema without its target."""
        if self.target is None:
            return self
        return replace(self, columns=[c for c in self.columns if c.name != self.target], target=None)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __bool__(self) -> bool:
        """Also one that only sets columns aside says something."""
        return True

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"the schema has no column {name!r}.{did_you_mean(name, self.names)}")

    def with_column(self, column: Column) -> Schema:
        """The same schema, with `column` instead of the one of that name."""
        position = self.names.index(self[column.name].name)
        return replace(self, columns=(*self.columns[:position], column, *self.columns[position + 1 :]))

    def with_target(self, target: str | None) -> Schema:
        """The same schema with another target."""
        return replace(self, target=target)

    def missing(self) -> list[str]:
        """The columns that still need bounds or categories."""
        return [column.name for column in self.columns if not column.complete]

    def require_complete(self) -> None:
        """Refuse a schema with gaps: they are never filled from the data for free."""
        needs = {what: [c.name for c in self.columns if c.needs == what] for what in ("bounds", "categories")}
        gaps = " and ".join(f"{what} of {listed(names)}" for what, names in needs.items() if names)
        if gaps:
            raise InputError(
                f"the schema does not say the {gaps}. Taking them from the data would leak it. Either write them in "
                "the schema (they must be public knowledge: a codebook, a natural limit), or spend a share of epsilon "
                "on looking at them (`understudy schema init DATA --epsilon 0.1`, or "
                "`understudy.tables.Coordinates.release`)."
            )

    @classmethod
    def draft(cls, frame: Table, target: str | None = None) -> Schema:
        """A first schema from column names and types alone: no value is looked at, no bound or category is filled.

        All columns but the target are drafted as nullable, since only their values could say that none is missing. A
        target of whole numbers is drafted as a category, since every method here learns a class.
        """
        from understudy.tables.draft import draft_columns

        return cls(draft_columns(frame, target), target)

    @classmethod
    def of(cls, given: SchemaLike) -> Schema | None:
        """A schema from whatever says it: itself, plain values as `to_dict` writes them, or the path of a file."""
        if given is None or isinstance(given, Schema):
            return given
        return cls.read(given) if isinstance(given, str | os.PathLike) else cls.from_dict(given)

    @classmethod
    def from_entries(cls, entries: Sequence[Column | Aside], target: str | None = None) -> Schema | None:
        """A schema of columns that are learnt and such that are not, in their order; None where none is to be learnt.

        A target is never missing, whatever was said of its column; one that is not among them is left out.
        """
        columns = tuple(entry for entry in entries if isinstance(entry, Column))
        aside = tuple(
            replace(entry, place=place) for place, entry in enumerate(entries) if not isinstance(entry, Column)
        )
        if not columns:
            return None
        columns = tuple(replace(c, nullable=False) if c.name == target else c for c in columns)
        goal = target if any(column.name == target for column in columns) else None
        return cls(columns, goal, aside=aside)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or YAML, with the version of this format."""
        plain: dict[str, Any] = {"version": VERSION}
        if self.target is not None:
            plain["target"] = self.target
        if self.person is not None:
            plain["person"] = self.person.to_dict()
        columns = [column.to_dict() for column in self.columns]
        for column in sorted(self.aside, key=lambda column: column.place):
            columns.insert(column.place, column.to_dict())
        plain["columns"] = columns
        if self.rules:
            plain["rules"] = [str(rule) for rule in self.rules]
        return plain if self.certificate is None else plain | {"certificate": dict(self.certificate)}

    @classmethod
    def from_dict(cls, plain: object, *, where: str = "schema") -> Schema:
        """The schema that `to_dict` wrote. Unknown keys are refused: a misspelt `bounds` must not become no bounds."""
        given = _keys(plain, ("version", "target", "person", "columns", "rules", "certificate"), where)
        if "version" not in given:
            raise InputError(f"{where}: `version` is missing; write `version: {VERSION}`.")
        if given["version"] != VERSION or isinstance(given["version"], bool):
            raise InputError(
                f"{where}: `version` is {given['version']!r}, this release of Understudy reads version {VERSION}. "
                "Upgrade Understudy if the file is newer."
            )
        columns = given.get("columns")
        if not isinstance(columns, list):
            raise InputError(f"{where}: `columns` must be a list with one entry for each column.")
        known = tuple(field.name for field in fields(Column))
        parsed: list[Column] = []
        aside: list[Aside] = []
        for number, entry in enumerate(columns, start=1):
            here = f"{where}, column {number}"
            not_learnt = isinstance(entry, Mapping) and entry.get("kind") in ASIDE
            column = _keys(entry, ("name", "kind", "pattern") if not_learnt else known, here)
            if missing := [key for key in ("name", "kind") if key not in column]:
                raise InputError(f"{here}: `{missing[0]}` is missing.")
            try:
                if not_learnt:
                    aside.append(Aside(**column, place=number - 1))
                else:
                    parsed.append(Column(**column))
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
        try:
            certificate = _certificate(given.get("certificate"), where)
            person = None if given.get("person") is None else Person.of(given["person"])
            rules = parse_rules(given.get("rules") or (), where="`rules`")
            return cls(tuple(parsed), given.get("target"), certificate, aside=tuple(aside), rules=rules, person=person)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None

    def to_json(self) -> str:
        from understudy.tables.schema_file import to_json

        return to_json(self.to_dict())

    def to_yaml(self) -> str:
        from understudy.tables.schema_file import to_yaml

        return to_yaml(self.to_dict())

    @classmethod
    def from_json(cls, text: str, *, where: str = "schema") -> Schema:
        from understudy.tables.schema_file import from_json

        return cls.from_dict(from_json(text, where), where=where)

    @classmethod
    def from_yaml(cls, text: str, *, where: str = "schema") -> Schema:
        from understudy.tables.schema_file import from_yaml

        return cls.from_dict(from_yaml(text, where), where=where)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a .yaml, .yml or .json file."""
        from understudy.tables.schema_file import read_schema_file

        return cls.from_dict(read_schema_file(path), where=os.fspath(path))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a .yaml, .yml or .json file, whole or not at all."""
        from understudy.tables.schema_file import write_schema_file

        write_schema_file(self.to_dict(), path)


def _certificate(plain: object, where: str) -> Mapping[str, Any] | None:
    """The certificate that a schema carries, whole and as it was written."""
    if plain is None:
        return None
    import json

    from understudy.privacy import Certificate

    return Certificate.parse(json.dumps(plain), where=f"{where}, `certificate`").to_json()


def _keys(plain: object, known: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(plain, Mapping):
        raise InputError(f"{where}: expected keys and values, got {type(plain).__name__}.")
    for key in plain:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}; known are {', '.join(known)}.{did_you_mean(key, known)}")
    return dict(plain)
