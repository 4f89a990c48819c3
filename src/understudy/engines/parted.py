"""A private table in parts: looks are done part by part, and what they say is added up by an engine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from understudy.engines.adding import Adder, Told
from understudy.engines.parts import TablePart
from understudy.engines.shelf import Shelf
from understudy.tables.aside import without_aside
from understudy.tables.batches import Batch, summed
from understudy.tables.coordinates.chances import Chances, KeyedChances, RowChances
from understudy.tables.persons import ROWS, Person, gather
from understudy.tables.rules.taking_in import RuledTable
from understudy.tables.schema import Schema
from understudy.tables.written import as_read

Remember = Callable[[str, Callable[[], Any]], Any]
"""By its name a sum that was kept, or, where there is none, one that is made now and kept."""


@dataclass(frozen=True)
class Owned:
    """Public: whose each row is. Parts hold all rows of a person, or none."""

    person: Person
    seed: int


@dataclass(frozen=True)
class PartTask:
    """A look at one part; what it needs travels with it to whoever does it.

    `before` and `rows`: where the part begins in the table, and how many rows that has. `mask`: which rows count, packed.
    """

    part: TablePart
    look: Callable[[Batch], Any]
    columns: tuple[str, ...]
    before: int
    rows: int
    seed: int
    alone: bool
    declared: Schema | None = None
    mask: bytes | None = None
    owned: Owned | None = None
    book: RuledTable | None = None
    place: int = 0
    shelf: Shelf | None = field(default=None, repr=False)

    def __call__(self) -> Any:
        kept = None if self.shelf is None else self.shelf.kept(self.place, tuple(getattr(self.look, "needs", ())))
        if kept is not None:
            return self._of_kept(kept)
        return self.of(self.part.batches(self.read))

    def _of_kept(self, batches: Iterator[dict[Hashable, Any]]) -> Any:
        """Touches private data: the sum over batches of which all that the look needs was kept."""
        return summed(self.look(Batch(pd.DataFrame(), alone=False, kept=kept)) for kept in batches)

    @property
    def read(self) -> list[str]:
        """The columns that are read, whose a row is among them; all, where rules make one of others."""
        wanted = self.columns if self.book is None else self.book.names
        known = [name for name in wanted if name != ROWS or self.owned is None]
        return known if self.owned is None else [*known, self.owned.person.column]

    def of(self, frames: Iterator[pd.DataFrame]) -> Any:
        """Touches private data: the sum over these frames, the part's rows in their order."""
        present = None if self.mask is None else _unpacked(self.mask, self.part.rows)
        if self.owned is not None:
            return self.look(self._of_persons(pd.concat(list(frames), ignore_index=True), present, self.owned))
        return summed(self._each(frames, present))

    def _each(self, frames: Iterator[pd.DataFrame], present: np.ndarray | None) -> Iterator[Any]:
        """Touches private data: what the look says of each frame. What it makes is left for the next passes."""
        at, number = 0, 0
        for number, frame in enumerate(frames, start=1):
            there = np.ones(len(frame), dtype=bool) if present is None else present[at : at + len(frame)]
            batch = self._batch(frame, there, at)
            yield self.look(batch)
            at += len(frame)
            if self.shelf is not None:
                for name in set(getattr(self.look, "makes", ())) & batch.kept.keys():
                    self.shelf.put(self.place, number - 1, name, batch.kept[name])
        if self.shelf is not None:
            self.shelf.whole(self.place, number)

    def _learnt(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Private rows as they are declared, and as rules leave them to be learnt: each by its own cells."""
        frame = as_read(frame, self.declared)
        return frame if self.book is None else self.book.learnt_rows(frame)

    def _batch(self, frame: pd.DataFrame, present: np.ndarray, at: int) -> Batch:
        frame = self._learnt(frame)
        whole = bool(present.all())
        before = self.before + at

        def draws(*path: int) -> Chances:
            rng = np.random.default_rng([self.seed, *path])
            return RowChances(rng, present, before, self.rows - before - len(present))

        kept = frame if whole else frame.loc[present].reset_index(drop=True)
        alone = self.alone and len(present) == self.rows
        return Batch(kept, None, draws, alone=alone, passes_on=self.shelf is not None)

    def _of_persons(self, frame: pd.DataFrame, present: np.ndarray | None, owned: Owned) -> Batch:
        ids = frame.pop(owned.person.column)
        frame = self._learnt(frame)
        there = np.ones(len(frame), dtype=bool) if present is None else present
        places, persons = gather(ids, there, owned.person, owned.seed)
        rows = frame.iloc[places].reset_index(drop=True)
        if ROWS in self.columns:
            rows = rows.assign(**{ROWS: persons.rows_each})

        def draws(*path: int) -> Chances:
            return KeyedChances(persons.keys, int(np.random.default_rng([self.seed, *path]).integers(2**63)))

        return Batch(rows, persons.weights, draws, alone=self.alone)


@dataclass
class PartedRows:
    """Private: the rows of a table in `parts`. `types` has its columns as they are learnt, and no row."""

    parts: Sequence[TablePart]
    types: pd.DataFrame
    seed: int
    adder: Adder
    declared: Schema | None = None
    masks: Sequence[bytes | None] = ()
    owned: Owned | None = None
    book: RuledTable | None = None
    tell: Callable[[str, int, int], None] | None = None
    remember: Remember | None = None
    shelf: Shelf | None = None
    """Where passes leave what the next ones need; None if whoever does the work is elsewhere."""
    passes: int = field(default=0, repr=False)
    """How often the rows were read, or parts of them."""

    def total(self, look: Callable[[Batch], Any], columns: Sequence[str] | None = None) -> Any:
        self.passes += 1
        names = tuple(map(str, self.types.columns) if columns is None else columns)

        def make() -> Any:
            return self.adder.total(self._tasks(look, names), self._telling(f"pass {self.passes}"))

        if self.remember is None:
            return make()
        return self.remember(f"pass {self.passes}: {type(look).__name__} of {len(names)} columns", make)

    def forget(self, *names: Hashable) -> None:
        if self.shelf is not None:
            self.shelf.forget(*names)

    def close(self) -> None:
        """Remove what passes have left for others."""
        if self.shelf is not None:
            self.shelf.close()

    def _tasks(self, look: Callable[[Batch], Any], names: tuple[str, ...]) -> list[PartTask]:
        starts = np.cumsum([0, *(part.rows for part in self.parts)])
        masks = self.masks or [None] * len(self.parts)
        alone = len(self.parts) == 1
        return [
            PartTask(
                part,
                look,
                names,
                int(start),
                int(starts[-1]),
                self.seed,
                alone,
                self.declared,
                mask,
                self.owned,
                self.book,
                place,
                self.shelf,
            )
            for place, (part, start, mask) in enumerate(zip(self.parts, starts, masks, strict=False))
        ]

    def _telling(self, words: str) -> Told:
        tell = self.tell
        return (lambda done, of: None) if tell is None else (lambda done, of: tell(words, done, of))

    def map(
        self, function: Callable[[pd.DataFrame], Any], part_columns: Sequence[Sequence[str]], words: str
    ) -> list[Any]:
        """What a function says of every part's rows, of which it is given these columns, read as they are declared."""
        tasks = [
            FrameTask(part, function, tuple(columns), self.declared)
            for part, columns in zip(self.parts, part_columns, strict=True)
        ]
        return self.adder.results(tasks, self._telling(words))


@dataclass(frozen=True)
class FrameTask:
    """A function of all rows of a part at once, of a few columns."""

    part: TablePart
    function: Callable[[pd.DataFrame], Any]
    columns: tuple[str, ...]
    declared: Schema | None = None

    @property
    def read(self) -> list[str]:
        return list(self.columns)

    def __call__(self) -> Any:
        return self.of(self.part.batches(self.read))

    def of(self, frames: Iterator[pd.DataFrame]) -> Any:
        return self.function(pd.concat([as_read(frame, self.declared) for frame in frames], ignore_index=True))


def _unpacked(mask: bytes, rows: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(mask, np.uint8), count=rows).astype(bool)


def packed(present: np.ndarray) -> bytes | None:
    """Which rows count, in bits; None for all of them."""
    return None if present.all() else np.packbits(present).tobytes()


def learnt_types(types: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """The columns that are learnt, as they are read: looks at names and types alone."""
    return as_read(without_aside(types, schema), schema)
