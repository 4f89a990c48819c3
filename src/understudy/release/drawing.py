"""What a fitted generator of tables does: rows from a released model, and the release on disk. All of it is public, and free."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.release.bundle import Bundle
from understudy.release.estimator import Estimator
from understudy.release.person_rows import PersonRows, without_rows
from understudy.release.sampling import Drawn, stream, write_partitions, write_stream
from understudy.release.whole_persons import DrawnPersons, flat, stream_persons, write_persons
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.persons import ROWS
from understudy.tables.rules.rulebook import Rulebook
from understudy.tables.visits import Visits


class TableModel(Protocol):
    """What a method releases. Public."""

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """`n` rows that fit the schema, as many as it can of those that fulfil `wanted`; others are sorted out."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that the release keeps."""
        ...


class DrawsRows(Estimator):
    """What `TableGenerator` is once it is fitted or loaded."""

    kind: ClassVar[str] = "generator"
    model_: TableModel
    facts_: dict[str, Any]
    schema_: Schema
    coordinates_: Coordinates | None
    rules_: Rulebook | None = None
    """How drawn rows are finished, where there are rules; the model is then one of the table as `rules_.learnt` says."""

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> TableModel:
        """The model of a release, from what `model.arrays()` and the facts of `learn` said."""
        raise NotImplementedError

    def _ready(self, model: TableModel, facts: dict[str, Any], schema: Schema) -> None:
        self.model_, self.facts_, self.schema_ = model, facts, schema

    def sample(
        self,
        n: int,
        conditions: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        *,
        where: str | Sequence[str] = (),
        **how: Any,
    ) -> pd.DataFrame:
        """`n` synthetic rows, all of which fit the schema and its rules; with `conditions` such that fulfil them. Free.

        A condition is a value, a range as a tuple `(30, 40)`, several values as a list, or a function from the column to
        truth values. `where` says more in the words of rules: `age >= 65 and ward in ("A", "B")`. Of a release whose rows stand
        in an order `n` is a number of persons: all of their rows come, and conditions are on what stays the same for a person.
        """
        if (visits := self.visits_) is not None:
            found = list(self._persons(visits, n, conditions, random_state, where, None, how))
            flats = [flat(part, self.schema_, visits) for part in found]
            return flats[0] if len(flats) == 1 else pd.concat(flats, ignore_index=True)
        parts = list(stream(self._rows(**how), self.schema_, n, conditions, random_state, self.rules_, where))
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def sample_tables(
        self,
        n: int,
        conditions: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        *,
        where: str | Sequence[str] = (),
        **how: Any,
    ) -> DrawnPersons:
        """`n` synthetic persons, one row each, and their rows: as two tables that a new id joins. Free."""
        if (visits := self.visits_) is None:
            raise InputError("this release was not learnt from persons with their rows in an order: use `sample`.")
        parts = list(self._persons(visits, n, conditions, random_state, where, None, how))
        return DrawnPersons(*(pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True)))

    @property
    def visits_(self) -> Visits | None:
        """How rows of a person follow one another, where they were learnt so: then whole persons are drawn."""
        self._check_fitted()
        said = self.facts_.get("visits")
        return None if said is None else Visits.from_dict(said)

    def _persons(
        self, visits: Visits, n: int, conditions: Any, seed: int | None, where: Any, tally: Drawn | None, how: Any
    ) -> Iterator[DrawnPersons]:
        model: Any = self._drawing(**how)
        return stream_persons(model, self.schema_, visits, n, conditions, seed, where, tally)

    def sample_to(
        self,
        path: str | Path,
        n: int,
        conditions: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        *,
        where: str | Sequence[str] = (),
        child: str | Path | None = None,
        partitions: int | None = None,
        **how: Any,
    ) -> Drawn:
        """Write `n` synthetic rows to a table file, however many they are; says how many had to be drawn for it.

        With `partitions` they go into a new folder of up to so many Parquet files: the same rows however many there are. Of a
        release whose rows stand in an order `n` is a number of persons; with `child` who they are goes into the one file and
        their rows into the other.
        """
        if (visits := self.visits_) is not None:
            if partitions is not None:
                raise InputError(
                    "whole persons are written to one file, and not yet to several: leave `partitions` out."
                )
            tally = Drawn()
            parts = self._persons(visits, n, conditions, random_state, where, tally, how)
            write_persons(parts, self.schema_, visits, path, child)
            return tally
        if child is not None:
            raise InputError("this release was not learnt from persons with their rows in an order: leave `child` out.")
        if partitions is not None:
            return write_partitions(
                self._rows(**how), self.schema_, path, n, conditions, random_state, partitions, self.rules_, where
            )
        return write_stream(self._rows(**how), self.schema_, path, n, conditions, random_state, self.rules_, where)

    def _rows(self, **how: Any) -> TableModel:
        """The model whose rows are as common as in the table, also where it was learnt from persons."""
        return self._by_rows(self._drawing(**how), int(self.facts_.get("rows_per_person", 1)))

    def _by_rows(self, model: TableModel, each: int) -> TableModel:
        numbered = self.coordinates_ is not None and ROWS in self.coordinates_.names
        return PersonRows(model, each) if numbered else model

    def _drawing(self, **how: Any) -> TableModel:
        """The model that rows are drawn from; a method that can draw in other ways takes them as keywords."""
        self._check_fitted()
        if how:
            raise InputError(f"method {self.method!r} has no way to draw called `{next(iter(how))}`. Leave it out.")
        return self.model_

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        said = super().__repr__(N_CHAR_MAX)
        return said if self._summary is None else f"{said}: {self._summary}"

    @property
    def _summary(self) -> str | None:
        """One line about what was learnt, for people at a prompt."""
        if not hasattr(self, "certificate_"):
            return None
        goal = "no target" if self.schema_.target is None else f"target {self.schema_.target!r}"
        promise = f"epsilon {self.certificate_.epsilon:.4g}, delta {self.certificate_.delta:g}"
        return f"fitted, {len(self.schema_.names)} columns, {goal}, {promise}; .sample(n) draws rows, .save(path) keeps them"

    def _repr_html_inner(self) -> str:
        """What a notebook shows (scikit-learn's own diagram knows nothing of releases)."""
        return f"<p>{html.escape(repr(self))}</p>"

    def _contents(self) -> Bundle:
        parameters: dict[str, Any] = {"settings": self._settings(), "facts": self.facts_}
        if self.coordinates_ is not None:
            parameters["coordinates"] = self.coordinates_.to_dict()
        if self.rules_ is not None:
            parameters["rules"] = self.rules_.to_dict()
        return Bundle(self.kind, self.method, parameters, self.model_.arrays(), self.certificate_, self.schema_)

    def _restore(self, bundle: Bundle) -> None:
        if bundle.schema is None:
            raise InputError("the release has no schema: it is damaged. Copy it again.")
        facts = dict(bundle.parameters["facts"])
        said, ruled = bundle.parameters.get("coordinates"), bundle.parameters.get("rules")
        if bool(bundle.schema.rules) != (ruled is not None):
            raise InputError("the release says its rules only in part: it is damaged. Copy it again.")
        self.rules_ = None if ruled is None else Rulebook.from_dict(ruled, bundle.schema)
        learnt = bundle.schema if self.rules_ is None else self.rules_.learnt
        self.coordinates_ = None if said is None else Coordinates.from_dict(said)
        if self.coordinates_ is not None and without_rows(self.coordinates_.schema).names != learnt.names:
            raise InputError(
                "the schema and the description of the columns differ: the release is damaged. Copy it again."
            )
        self._ready(self.restore(bundle.arrays, learnt, facts), facts, bundle.schema)
