"""Whose each row is, where a record is a person with several rows.

The number of persons is public, and who they are stays the same from one neighbour to the other: it is all rows of one person
that are blanked. How many rows a person has, and so how many rows there are, is private. Whatever is drawn for a row, and
whether it is taken at all, follows from its person's rows alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import InputError
from understudy.privacy.persons import grid_of, person_weights
from understudy.wording import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

# So many values, and such a part of the rows, make a column whose equal values stand together look like an id.
_MANY, _SHARE = 20, 0.1
# What columns that say whose a row is are called, beside those that are called ids.
_WHOSE = re.compile(
    r"(patient|person|subject|participant|customer|client|member|user|account|household)s?([ _.-]?\w{1,6})?", re.I
)

ROWS = "rows of this person"
"""The column that holds how many rows a person has, while a table is learnt from."""


AUTO = "auto"
"""In the place of the most rows of a person: they are to be chosen from a look that is paid for."""


@dataclass(frozen=True)
class Person:
    """Public: the column that says whose a row is, and the most rows of one person that are taken, or `AUTO`.

    `order` names the column that says in which order a person's rows stand; `constant` those that stay the same in all of them.
    """

    column: str
    rows: Any
    order: str | None = None
    constant: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise InputError(f"person: `column` (={self.column!r}) must be the name of a column.")
        self._check_order()
        if isinstance(self.rows, str) and self.rows == AUTO:
            return
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise InputError(
                f"person: `rows` (={self.rows!r}) must be the most rows of one person that are taken, a whole number from 1 on, or "
                f"{AUTO!r}."
            )
        grid_of(self.rows)

    def _check_order(self) -> None:
        for name in (self.order, *self.constant):
            if name is not None and (not isinstance(name, str) or not name):
                raise InputError(f"person: {name!r} must be the name of a column.")
            if name == self.column:
                raise InputError(f"person: {name!r} says whose a row is, and is neither their order nor learnt.")
        if self.constant and self.order is None:
            raise InputError("person: `constant` goes with `order`: without it rows are drawn one by one.")

    @classmethod
    def of(cls, plain: object, *, where: str = "person") -> Person:
        """From plain values, as a schema file has them."""
        known = {"column", "rows", "order", "constant"}
        if not isinstance(plain, Mapping) or not {"column", "rows"} <= set(plain) <= known:
            raise InputError(
                f"{where}: write `person` as {{column: NAME, rows: K}}: whose a row is, and how many are taken; beside them "
                "`order: NAME` and `constant: [NAMES]` may stand."
            )
        constant = plain.get("constant", ())
        if not isinstance(constant, list | tuple):
            raise InputError(f"{where}: `constant` (={constant!r}) must be a list of names.")
        return cls(plain["column"], plain["rows"], plain.get("order"), tuple(constant))

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"column": self.column, "rows": self.rows}
        if self.order is not None:
            plain["order"] = self.order
        return plain | ({"constant": list(self.constant)} if self.constant else {})


@dataclass(frozen=True)
class Persons:
    """Private, but for `number` and `most`: for each row that is taken, the number of its person and a key for its draws.

    Rows of one person stand together, and persons in the order of their keys. Every person has `most` seats, of which the
    first are taken: how many seats there are is public, and a row keeps its seat whatever happens to other persons' rows.
    """

    number: int
    most: int
    owner: np.ndarray
    keys: np.ndarray
    person_keys: np.ndarray
    """Of each person: its draws, and whom it is dealt to, follow from its id."""

    @property
    def present(self) -> np.ndarray:
        """Which seats are taken."""
        found = np.zeros(self.number * self.most, dtype=bool)
        found[self.owner * self.most + _ranks(self.owner)] = True
        return found

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The parts that each row counts; None where a person has one row, which counts whole."""
        return None if self.most == 1 else person_weights(self.owner, grid_of(self.most))

    @property
    def rows_each(self) -> np.ndarray:
        """For each row, how many rows its person has."""
        return np.bincount(self.owner, minlength=self.number)[self.owner]


def gather(
    ids: pd.Series, present: np.ndarray, person: Person, seed: int, times: np.ndarray | None = None
) -> tuple[np.ndarray, Persons]:
    """Private. Which of the rows that are present are taken, and whose they are.

    A row without an id belongs to no person and is left out. Of a person with more rows than `person.rows` those are taken whose draws
    are the lowest; they follow from `seed`, the id and the place of a row among its person's. Where `times` say in which order
    rows stand, they come in that order, and the first are taken.
    """
    from understudy.tables.coordinates.chances import mixed

    owner, names = _persons(ids)
    keys = _hashed(names, seed)
    by_key = np.argsort(keys, kind="stable")
    numbers = np.empty(len(keys), dtype=np.int64)
    numbers[by_key] = np.arange(len(keys))
    owner, keys = np.where(owner >= 0, numbers[owner], -1) if len(keys) else owner, keys[by_key]
    mine = present & (owner >= 0)
    places = np.flatnonzero(mine)
    order = places[np.lexsort((np.zeros(len(places)) if times is None else times[places], owner[places]))]
    rank = _ranks(owner[order])
    row_keys = mixed(keys[owner[order]] + mixed(rank.astype(np.uint64)))
    lowest = np.lexsort((row_keys if times is None else rank, owner[order]))
    taken = lowest[_ranks(owner[order][lowest]) < person.rows]
    taken = np.sort(taken)  # by person, then by place in the table
    return order[taken], Persons(len(names), person.rows, owner[order[taken]], row_keys[taken], keys)


def _hashed(names: np.ndarray, seed: int) -> np.ndarray:
    """SipHash, keyed by the seed: an id keeps its key whoever else is there."""
    import pandas as pd

    hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
    return hashing.hash_array(names, hash_key=f"{seed:016x}"[-16:], categorize=False)


def keys_of(ids: pd.Series, seed: int) -> np.ndarray:
    """Private. For each row the key of its person, which follows from the id alone; 0 where there is no id."""
    owner, names = _persons(ids)
    return np.append(_hashed(names, seed), np.uint64(0))[owner]


def _persons(ids: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Private. The number of each row's person, -1 where there is no id, and the ids as text: 3 and 3.0 are the same person."""
    import pandas as pd

    from understudy.tables.texts import whole_text

    places, values = pd.factorize(ids)
    texts = [str(int(v)) if isinstance(v, float) and v.is_integer() else whole_text(str(v)) for v in values.tolist()]
    numbers, names = pd.factorize(np.array(texts, dtype=object))
    return np.append(numbers, -1)[places], np.asarray(names, dtype=object)


def number_ids(ids: pd.Series) -> np.ndarray:
    """Private. A number for each row's id, -1 where there is none; 3, 3.0 and "3" are the same."""
    return _persons(ids.astype(object))[0]


def refuse_person(person: Person | None, what: str) -> None:
    """Refuse to go on row by row where a schema says that a person has several rows. Nothing is spent by then."""
    if person is not None:
        raise InputError(
            f"the schema says that one person has several rows ({person.column!r}), and {what} promises for one row alone. Nothing "
            "was spent. Use `understudy synthesize` with the method moments; or take `person` out of the schema, and know that "
            "somebody with several rows is protected less."
        )


def repeating_ids(frame: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Private, for the owner's eyes: columns that look as if they said whose a row is, with their values and the most rows of one.

    By its name (and many values, where that only says whose it may be), or because equal values stand together and are many;
    and some value is there more than once.
    """
    from understudy.tables.hints import hint_for
    from understudy.tables.io import column_of, is_nested

    found: dict[str, tuple[int, int]] = {}
    for name in map(str, frame.columns):
        hint, dtype = hint_for(name), column_of(frame, name).dtype
        if is_nested(dtype) or (hint is None and dtype.kind in "fbM"):
            continue
        places, values = _persons(column_of(frame, name))
        known = places[places >= 0]
        most = int(np.bincount(known).max()) if len(known) else 0
        if most < 2 or len(values) < 2:
            continue
        together = np.count_nonzero(np.diff(known)) + 1 == len(values) >= max(_MANY, _SHARE * len(known))
        named = (hint is not None and hint.kind == "id") or (_WHOSE.fullmatch(name) and len(values) >= _MANY)
        if named or (together and np.mean(np.bincount(known) > 1) > _SHARE):
            found[name] = len(values), most
    return found


def _ranks(sorted_owner: np.ndarray) -> np.ndarray:
    """The place of each entry among those of its group, where groups stand together."""
    if not len(sorted_owner):
        return np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], sorted_owner[1:] != sorted_owner[:-1]]))
    return np.arange(len(sorted_owner)) - np.repeat(starts, np.diff(np.append(starts, len(sorted_owner))))


def count_persons(frame: pd.DataFrame, person: Person) -> int:
    """How many persons there are, which is public."""
    return len(_persons(id_column(frame, person))[1])


def numbers_of_rows(frame: pd.DataFrame, person: Person) -> np.ndarray:
    """Private. How many rows each person has, those in which nothing but the id stands left out."""
    owner, names = _persons(id_column(frame, person))
    present = np.asarray(frame.drop(columns=[person.column]).notna().any(axis=1), dtype=bool)
    return np.bincount(owner[(owner >= 0) & present], minlength=len(names))


def left_out(frame: pd.DataFrame, person: Person) -> tuple[int, int]:
    """Private, for the owner's eyes: how many rows are beyond those that are taken of their person, and how many have no id."""
    owner = _persons(id_column(frame, person))[0]
    each = np.bincount(owner[owner >= 0])
    return int(np.maximum(each - person.rows, 0).sum()), int(np.count_nonzero(owner < 0))


def id_column(frame: pd.DataFrame, person: Person) -> pd.Series:
    """Private. The column that says whose each row is."""
    from understudy.tables.io import column_of

    if person.column not in frame.columns:
        raise InputError(
            f"the table has no column {person.column!r} that could say whose a row is."
            + did_you_mean(person.column, [str(name) for name in frame.columns])
        )
    return column_of(frame, person.column)
