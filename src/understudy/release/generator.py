"""Generators of tables: from a frame to a released model, to any number of rows. A method says how to learn the model.

The order is always the same. The frame is checked against the schema; what the schema does not say is paid for; the
method fixes its noise from what is left of the budget and charges before it draws. Sampling is free.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
import pandas as pd

from understudy.engines import RowSource, open_source
from understudy.errors import BudgetExceeded, InputError
from understudy.learn.checkpoints import Workspace
from understudy.privacy import Budget, Sanitised
from understudy.privacy.units import PERSON
from understudy.release.bundle import Bundle
from understudy.release.driver import Progress, Run
from understudy.release.estimator import Estimator
from understudy.release.intake import Intake, check_persons, check_table, take_in, with_labels, with_number
from understudy.release.out_of_core import intake_of, remembered, take_source
from understudy.release.person_rows import PersonRows, without_rows
from understudy.release.replay import logged
from understudy.release.sampling import Drawn, stream, write_partitions, write_stream
from understudy.release.spending import spending_of
from understudy.release.verdict import Verdict
from understudy.release.visits import check_owned
from understudy.release.whole_persons import DrawnPersons, flat, stream_persons, write_persons
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.io import Table, as_frame
from understudy.tables.persons import AUTO, ROWS, Person, Persons, count_persons
from understudy.tables.rows_per_person import with_rows
from understudy.tables.rules import Rule, parse_rules
from understudy.tables.rules.rulebook import Rulebook, refuse_contradictions
from understudy.tables.rules.taking_in import RuledTable, prepare
from understudy.tables.schema import SchemaLike
from understudy.tables.visits import Visits

# So many synthetic rows are shown to a check.
CHECK_ROWS = 5000


class TableModel(Protocol):
    """What a method releases. Public."""

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """`n` rows that fit the schema, as many as it can of those that fulfil `wanted`; others are sorted out."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that the release keeps."""
        ...


class HeldOutCheck(Protocol):
    """Private: rows that were held out, and a count of them that is paid for."""

    def __call__(self, synthetic: pd.DataFrame, schema: Schema, coordinates: Coordinates | None) -> Any:
        """Touches private data: a score of synthetic rows on them, with noise, that can be written `to_dict`."""
        ...


class Learnt(NamedTuple):
    """A model, public facts for its certificate, and what the method knows beyond them."""

    model: Any
    facts: dict[str, Any]
    sanitised: Sanitised | None = None
    unsafe: tuple[str, ...] = ()
    unprotected: str | None = None
    """Why nothing protects the rows, for a method that is not private."""
    budget: Budget | None = None
    """What the certificate is written from, where that is not the budget of the fit."""
    coordinates: Coordinates | None = None
    """What was bought of the columns, where the method buys it itself."""
    verdict: Verdict | None = None
    """What the method's own noise says of the release; None where it cannot tell."""


class TableGenerator(Estimator):
    """Base of the generators of tables. Fitted: `certificate_`, `model_`, `facts_` and `schema_` are public.

    A method is a dataclass of settings with `learn`, which touches private data and returns a public model, and
    `restore`, which makes the model of a release again.
    """

    kind: ClassVar[str] = "generator"
    buys_coordinates: ClassVar[bool] = False
    """Whether `learn` buys what the schema does not say together with the rest of its look."""
    takes_order: ClassVar[bool] = False
    """Whether `learn` can take a person's rows in their order, and draw whole persons again."""
    takes_batches: ClassVar[bool] = False
    """Whether `learn` needs no more of the rows than sums over batches of them: then the table need not fit into memory."""
    schema_epsilon_share: float
    rules_: Rulebook | None = None
    """How drawn rows are finished, where there are rules; the model is then one of the table as `rules_.learnt` says."""

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: the method. Everything that leaves is charged to `rows.budget` before it is drawn."""
        raise NotImplementedError

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> TableModel:
        """The model of a release, from what `model.arrays()` and the facts of `learn` said."""
        raise NotImplementedError

    def _check_rows(self, rows: int) -> None:
        """Refuse a table that is too small for the settings, before anything is spent."""
        if rows < 2:
            raise InputError("one row is not a table to learn from.")

    # ---- learning ------------------------------------------------------------------------------------------------

    def fit(
        self,
        frame: Table | RowSource | str | PathLike[str] | Iterator[Any],
        target: str | Any = None,
        schema: SchemaLike = None,
        *,
        ledger: str | None = None,
        dataset: str | None = None,
        budget: Budget | None = None,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
        checkpoint_seconds: float = 60.0,
        typed: bool = True,
        strict: bool = False,
        check: HeldOutCheck | None = None,
        person: str | None = None,
        rows_per_person: int | str | None = None,
        order: str | None = None,
        constant: Sequence[str] = (),
        parent: Table | None = None,
        rules: Sequence[str | Rule] = (),
    ) -> Self:
        """Touches private data (`frame`). What the schema (an object, plain values or a path) does not say is paid for.

        A method that `takes_batches` (moments) learns from a table that need not fit into memory: a path (a folder of Parquet files, a
        query), a DuckDB relation, an iterator of Arrow batches, a Dask dataframe, or what `understudy.engines.open_source` made of one.

        No table is refused for what its rows say: cells that do not fit are missing, "other" or clipped, and a row without
        a target is blank. `strict` refuses instead, and whoever learns of the refusal learns something about the rows.
        `target` names a column, or holds the labels themselves, one for each row: `fit(X, y)`.
        `typed=False` says that text columns may stand for anything, as in a CSV file without types.
        `ledger` and `dataset` charge a ledger, as on the command line.
        `budget` may hold earlier charges for the same data. A method that takes long keeps checkpoints in `workspace`,
        a folder named `*.private`; with `resume` the run in it goes on. Ctrl-C ends such a run after the current
        iteration and leaves a generator that may be released: all of it is paid for. `check` (see `understudy.evaluation.check`)
        holds other rows, and is shown synthetic ones before the certificate is written. `rules` are public statements
        about every row, beside those of the schema: every row that is drawn fulfils them.
        `person` names the column that says whose a row is, where a person has several: then the promise is for one person with
        all of their rows, of which at most `rows_per_person` are taken ("auto": chosen from a paid look). A schema may say both.
        `order` names the column by which a person's rows stand in time, `constant` those that stay the same: then whole persons
        are drawn. `parent` is a table of the persons themselves, one row each, with the same column `person`; `frame` holds
        their rows then.
        """
        self._check_settings()
        said = parse_rules(rules)
        if (source := self._source(frame)) is not None:
            return self._fit_source(
                source, Schema.of(schema),
                {"`rules`": said, "`strict`": strict, "`check`": check, "`parent`": parent, "labels": target}, ledger=ledger, dataset=dataset, budget=budget, workspace=workspace,
                resume=resume, run=Run(None, progress, checkpoint_seconds), typed=typed and source.typed, person=person,
                rows_per_person=rows_per_person, order=order, constant=constant,
            )  # fmt: skip
        (frame, target), schema = with_labels(cast(Table, frame), target), Schema.of(schema)
        owner = self.in_order(self.whose(schema, person, rows_per_person), order, constant, linked=parent is not None)
        _refuse_with_order(owner, parent is not None, check, (*(() if schema is None else schema.rules), *said))
        if ledger is not None or dataset is not None:
            if budget is not None:
                raise InputError("`budget` and `ledger` are two ways to pay: give one of them.")
            place = None if workspace is None else Path(workspace)
            purpose = f"{self.method} fit"
            with spending_of(
                self, purpose=purpose, ledger=ledger, dataset=dataset, workspace=place, resume=resume,
                unit="row" if owner is None else PERSON,
            ) as booked:  # fmt: skip
                self.fit(
                    frame, target, schema, budget=booked.budget, workspace=workspace, resume=resume, progress=progress,
                    checkpoint_seconds=checkpoint_seconds, typed=typed, strict=strict, rules=said, person=person,
                    rows_per_person=rows_per_person, order=order, constant=constant, parent=parent,
                )  # fmt: skip
                booked.certificate, booked.interrupted = self.certificate_, self.interrupted_
            return self
        if resume and not self.resumable:
            raise InputError(
                f"method {self.method!r} keeps no checkpoints, its fit takes seconds: run it again without resume."
            )
        persons, visits, seed = None, None, self._seed()
        if owner is not None and owner.rows == AUTO:
            owner, budget = self._with_rows(frame, target, schema, owner, budget, workspace)
        said = parse_rules((*(() if schema is None else schema.rules), *said))
        if owner is None:
            table, present, declared, goal = check_table(frame, target, schema, strict=strict)
        else:
            table, declared, goal, persons, visits = check_owned(
                frame, target, schema, owner, seed, parent=parent, typed=typed, strict=strict
            )
            present = persons.present
        size = len(present) if persons is None else persons.number
        self._check_rows(size)
        book = prepare(table, declared, goal, said, typed=typed) if said else None
        if book is not None:
            refuse_contradictions(book)
            table, declared = book.learnt_rows(table), book.learnt_schema
        if persons is not None and visits is None and self.takes_persons == "weighted":
            table, declared = with_number(table, declared, persons)
        share = getattr(self, "schema_epsilon_share", 0.0)
        paying = self._budget(budget, size)
        files = self._workspace(table, declared, workspace, resume, said, owner, persons) if self.resumable else None
        run = Run(files, progress, checkpoint_seconds)
        try:
            rows = Intake(
                table, present, declared, goal, seed, paying, run, typed=typed, persons=persons, visits=visits
            )
            taken = rows if self.buys_coordinates else take_in(rows, share if self.private else 0.0)
            self.fit_intake(taken, check, book)
        except (InputError, BudgetExceeded):
            if files is not None and files.untouched:
                files.remove()  # refused before the first draw: there is no run to resume
            raise
        finally:
            if files is not None:
                files.close()
        return self

    def _source(self, table: Any) -> RowSource | None:
        """A table that is not in memory; None for one that is."""
        if isinstance(table, pd.DataFrame):
            return None
        if self.takes_batches:
            return open_source(table)
        if isinstance(table, RowSource | str | PathLike):
            raise InputError(
                f"method {self.method!r} needs all rows in memory, and cannot learn from {type(table).__name__}: read the table with "
                "`understudy.tables.read_table`, or a part of its rows; or use the method moments, which reads rows in batches."
            )
        return None

    def _fit_source(
        self, source: RowSource, schema: Schema | None, given: dict[str, Any], *, ledger: str | None,
        dataset: str | None, budget: Budget | None, workspace: str | Path | None, resume: bool, run: Run, typed: bool,
        person: str | None, rows_per_person: int | str | None, order: str | None, constant: Sequence[str],
    ) -> Self:  # fmt: skip
        """Touches private data: as `fit`, of a table in parts. `given` is what may have been given and does not go with one."""
        with source:
            target = given.pop("labels")
            given["labels beside the table"] = None if target is None or isinstance(target, str) else target
            owner = self.in_order(self.whose(schema, person, rows_per_person), order, constant)
            given["rules of the schema"] = None if schema is None else schema.rules
            given["`order`"] = None if owner is None else owner.order
            given['`rows_per_person="auto"`'] = owner is not None and owner.rows == AUTO
            for what, said in given.items():
                if said is not None and said is not False and not (isinstance(said, tuple | list) and not said):
                    raise InputError(
                        f"{what} and a table that is read in batches do not go together yet. Nothing was spent. Leave it out, or "
                        "learn from rows in memory: a frame, or one file without --out-of-core."
                    )
            return self._pay_source(
                source, target, schema, owner, ledger, dataset, budget, workspace, resume, run, typed
            )

    def _pay_source(
        self, source: RowSource, target: str | None, schema: Schema | None, owner: Person | None, ledger: str | None,
        dataset: str | None, budget: Budget | None, workspace: str | Path | None, resume: bool, run: Run, typed: bool,
    ) -> Self:  # fmt: skip
        """Touches private data: with a ledger, or with a budget."""
        if ledger is not None or dataset is not None:
            if budget is not None:
                raise InputError("`budget` and `ledger` are two ways to pay: give one of them.")
            place = None if workspace is None else Path(workspace)
            with spending_of(
                self, purpose=f"{self.method} fit", ledger=ledger, dataset=dataset, workspace=place, resume=resume,
                unit="row" if owner is None else PERSON,
            ) as booked:  # fmt: skip
                self._learn_source(source, target, schema, owner, booked.budget, workspace, resume, run, typed)
                booked.certificate, booked.interrupted = self.certificate_, self.interrupted_
            return self
        return self._learn_source(source, target, schema, owner, budget, workspace, resume, run, typed)

    def _learn_source(
        self, source: RowSource, target: str | None, schema: Schema | None, owner: Person | None, budget: Budget | None,
        workspace: str | Path | None, resume: bool, run: Run, typed: bool,
    ) -> Self:  # fmt: skip
        """Touches private data: sums over batches, each kept in the workspace once it is whole; all noise is logged there too."""
        seed = self._seed()
        taken, rows, declared, goal, persons = take_source(source, target, schema, owner, seed, run)
        with taken, ExitStack() as opened:
            opened.callback(rows.close)
            size = taken.rows if persons is None else persons.number
            self._check_rows(size)
            paying = self._budget(budget, size)
            intake = intake_of(rows, persons, declared, goal, seed, paying, run, typed=typed)
            if workspace is not None:
                files = self._source_workspace(taken, declared, workspace, resume, owner)
                opened.callback(files.close)
                rows.remember, log = remembered(files)
                opened.callback(log.close)
                opened.enter_context(logged(paying, files.prelude))
            return self.fit_intake(intake)

    def _source_workspace(
        self, source: RowSource, declared: Schema | None, path: str | Path, resume: bool, owner: Person | None
    ) -> Workspace:
        """What a source says of itself tells whether a run is resumed on the same table."""
        if self.random_state is None:
            raise InputError("a run with a workspace needs a `random_state`: resumed without, it would be another.")
        said = {} if declared is None else declared.to_dict()
        said |= {} if owner is None else {"person": owner.to_dict()}
        identity = {**self._settings(), "method": self.method, "rows": source.rows, **said}
        digest = np.frombuffer(source.identity.encode(), dtype=np.uint8)
        return Workspace(path, identity, digest, resume=resume)

    def fit_intake(self, rows: Intake, check: HeldOutCheck | None = None, book: RuledTable | None = None) -> Self:
        """Touches private data (`rows`, taken in already): learn, and certify what its budget was charged.

        With a `book` the rows are those that its rules leave to be learnt.
        """
        learnt = self.learn(rows)
        self.interrupted_ = rows.run.stopped
        self.coordinates_ = learnt.coordinates or rows.coordinates
        schema = without_rows(rows.schema if self.coordinates_ is None else self.coordinates_.schema)
        declared = rows.declared if book is None else book.declared
        drawing = self._by_rows(learnt.model, rows.each)
        self.rules_ = None
        if book is None:
            schema = replace(schema, aside=() if declared is None else declared.aside, rules=())
        else:
            schema = replace(schema, aside=(), rules=(), certificate=None)
            self.rules_ = Rulebook.of(book, schema, lambda n: drawing.draw(n, {}, rows.rng(41)))
            schema = self.rules_.schema
        sizes: dict[str, Any] = {"rows": len(rows)}
        if rows.persons is not None:
            sizes = {"persons": len(rows), "rows_per_person": rows.persons.most}
            learnt = learnt._replace(facts={**learnt.facts, **sizes})
        if rows.visits is not None and self.coordinates_ is not None:
            learnt = learnt._replace(facts={**learnt.facts, "visits": rows.visits.to_dict()})
            schema = without_rows(replace(schema, columns=rows.visits.written(self.coordinates_)))
        self._ready(learnt.model, learnt.facts, schema)
        facts = {**learnt.facts, **sizes, "schema_estimated": rows.estimated}
        if self.rules_ is not None:
            facts["rules"] = self.rules_.facts()
        if self.coordinates_ is not None and self.coordinates_.empty:
            facts["not_learnt"] = self.coordinates_.empty
        if learnt.verdict is not None:
            facts["verdict"] = learnt.verdict.to_dict()
        if check is not None:
            synthetic = drawing.draw(CHECK_ROWS, {}, rows.rng(31))
            if self.rules_ is not None:
                synthetic, _ = self.rules_.finisher.finish(synthetic)
            facts["check"] = check(synthetic, schema, self.coordinates_ if book is None else None).to_dict()
        if learnt.unprotected is not None:
            self._certify_unprotected(self.kind, facts, learnt.unprotected)
        else:
            self._certify(
                learnt.budget or rows.budget,
                self.kind,
                facts,
                [
                    rows.assumed_public,
                    *(["the rules, which the owner stated"] if self.rules_ is not None else []),
                    *([] if rows.visits is None else [rows.visits.assumed_public]),
                ],
                sanitised=learnt.sanitised,
                unsafe=learnt.unsafe,
                schema=declared,
                unit="row" if rows.persons is None else PERSON,
            )
        return self

    def _with_rows(
        self, frame: Table, target: str | None, schema: Schema | None, owner: Person, budget: Budget | None, kept: Any
    ) -> tuple[Person, Budget]:
        """Touches private data: how many rows of a person are taken, chosen from a look that is paid for before all others."""
        if kept is not None:
            raise InputError(
                "`rows_per_person` may be chosen by a look of its own where a fit takes seconds; a run with a workspace needs the "
                "number, or it could not be resumed. `understudy describe --person` tells how many rows persons have."
            )
        check_persons(frame, target, schema, replace(owner, rows=1), 0, numbered=False, strict=False)
        table = as_frame(frame)
        paying = self._budget(budget, count_persons(table, owner))
        return with_rows(table, owner, paying), paying

    def in_order(
        self, person: Person | None, order: str | None, constant: Sequence[str], *, linked: bool = False
    ) -> Person | None:
        """Whose rows stand in which order, from the arguments or the schema; what cannot be kept is refused."""
        if isinstance(constant, str):
            raise InputError(f"`constant` (={constant!r}) must be a list of names.")
        if person is None:
            if order is not None or constant or linked:
                raise InputError(
                    "`order`, `constant` and `parent` (--order, --constant, --child) go with `person` and `rows_per_person`: whose a "
                    "row is, and how many of one person are taken at most."
                )
            return None
        if linked and constant:
            raise InputError("`constant` is what the table of persons holds, where there is one: leave it out.")
        if order is not None or constant:
            person = replace(person, order=order or person.order, constant=tuple(constant) or person.constant)
        if (person.order is not None or linked) and not self.takes_order:
            raise InputError(
                f"method {self.method!r} draws row by row, and not yet persons with their rows in an order. Nothing was spent. Use the "
                "method moments; or leave the order out."
            )
        return replace(person, constant=()) if linked else person

    def _workspace(
        self,
        table: pd.DataFrame,
        declared: Schema | None,
        path: str | Path | None,
        resume: bool,
        rules: Sequence[Rule] = (),
        owner: Person | None = None,
        persons: Persons | None = None,
    ) -> Workspace | None:
        """Touches private data: a keyed digest of the rows tells whether a run is resumed on the same table."""
        if path is None:
            return None
        if self.random_state is None:
            raise InputError("a run with a workspace needs a `random_state`: resumed without, it would be another.")
        hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
        if (
            declared is not None and not declared.missing()
        ):  # then the same rows may be text in one file and typed in another
            table = Coordinates.declared(declared, len(table)).settled(table, np.random.default_rng(0))
        digest = hashing.hash_pandas_object(table, index=False).to_numpy()
        if persons is not None:  # whose each row is, too
            digest = np.concatenate([digest, persons.person_keys[persons.owner]])
        said = {} if declared is None else declared.to_dict()
        said |= {"rules": [str(rule) for rule in rules]} if rules else {}
        said |= {} if owner is None else {"person": owner.to_dict()}
        identity = {**self._settings(), "method": self.method, "rows": len(table), **said}
        return Workspace(path, identity, digest, resume=resume)

    def _ready(self, model: TableModel, facts: dict[str, Any], schema: Schema) -> None:
        self.model_, self.facts_, self.schema_ = model, facts, schema

    # ---- the release ---------------------------------------------------------------------------------------------

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

        With `partitions` they go into a new folder of up to so many Parquet files: the same rows however many there are. Of a release whose rows stand in an order `n` is a number of persons; with `child` who they are goes into the one file
        and their rows into the other.
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


def _refuse_with_order(owner: Person | None, linked: bool, check: HeldOutCheck | None, rules: Sequence[Rule]) -> None:
    """What does not go with whole persons in their order, before anything is spent."""
    if owner is None or (owner.order is None and not linked):
        return
    for what, given in {
        "a check on held-out rows": check is not None,
        "rules": bool(rules),
        "`auto` rows of a person": owner.rows == AUTO,
    }.items():
        if given:
            raise InputError(f"{what} and persons with their rows in an order do not go together yet: leave one out.")
