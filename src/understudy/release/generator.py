"""Generators of tables: from a frame to a released model, to any number of rows. A method says how to learn the model.

The order is always the same. The frame is checked against the schema; what the schema does not say is paid for; the
method fixes its noise from what is left of the budget and charges before it draws. Sampling is free.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
import pandas as pd

from understudy.engines import RowSource, open_source
from understudy.errors import InputError
from understudy.learn.checkpoints import Workspace
from understudy.privacy import Budget, Sanitised
from understudy.privacy.units import PERSON
from understudy.release.drawing import DrawsRows
from understudy.release.driver import Progress, Run, closed_after
from understudy.release.intake import Intake, check_persons, check_table, take_in, with_labels, with_number
from understudy.release.out_of_core import intake_of, remembered, take_source
from understudy.release.person_rows import without_rows
from understudy.release.replay import logged
from understudy.release.spending import spending_of
from understudy.release.verdict import Verdict
from understudy.release.visits import check_owned
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.io import Table, as_frame
from understudy.tables.persons import AUTO, Person, Persons, count_persons
from understudy.tables.rows_per_person import with_rows
from understudy.tables.rules import Rule, parse_rules
from understudy.tables.rules.rulebook import Rulebook, refuse_contradictions
from understudy.tables.rules.taking_in import RuledTable, prepare
from understudy.tables.schema import SchemaLike

# So many synthetic rows are shown to a check.
CHECK_ROWS = 5000


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


class TableGenerator(DrawsRows):
    """Base of the generators of tables. Fitted: `certificate_`, `model_`, `facts_` and `schema_` are public.

    A method is a dataclass of settings with `learn`, which touches private data and returns a public model, and
    `restore`, which makes the model of a release again.
    """

    buys_coordinates: ClassVar[bool] = False
    """Whether `learn` buys what the schema does not say together with the rest of its look."""
    takes_order: ClassVar[bool] = False
    """Whether `learn` can take a person's rows in their order, and draw whole persons again."""
    takes_batches: ClassVar[bool] = False
    """Whether `learn` needs no more of the rows than sums over batches of them: then the table need not fit into memory."""
    schema_epsilon_share: float

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: the method. Everything that leaves is charged to `rows.budget` before it is drawn."""
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
        holds other rows, and is shown synthetic ones before the certificate is written; it was made with the same `budget`.
        `rules` are public statements about every row, beside those of the schema: every row that is drawn fulfils them.
        `person` names the column that says whose a row is, where a person has several: then the promise is for one person with
        all of their rows, of which at most `rows_per_person` are taken ("auto": chosen from a paid look). A schema may say both.
        `order` names the column by which a person's rows stand in time, `constant` those that stay the same: then whole persons
        are drawn. `parent` is a table of the persons themselves, one row each, with the same column `person`; `frame` holds
        their rows then.
        """
        self._check_settings()
        if check is not None and budget is None:
            raise InputError("`check` was paid for from a budget of its own: give the fit the same one as `budget`.")
        said = parse_rules(rules)
        if (source := self._source(frame)) is not None:
            return self._fit_source(
                source, Schema.of(schema),
                said, {"`strict`": strict, "`check`": check, "`parent`": parent, "labels": target}, ledger=ledger, dataset=dataset, budget=budget, workspace=workspace,
                resume=resume, run=Run(None, progress, checkpoint_seconds), typed=typed and source.typed, person=person,
                rows_per_person=rows_per_person, order=order, constant=constant,
            )  # fmt: skip
        (frame, target), schema = with_labels(cast(Table, frame), target), Schema.of(schema)
        owner = self.in_order(self.whose(schema, person, rows_per_person), order, constant, linked=parent is not None)
        _refuse_with_order(owner, parent is not None, check, (*(() if schema is None else schema.rules), *said))
        if ledger is not None or dataset is not None:
            with self._booked(ledger, dataset, budget, workspace, resume, owner) as paying:
                return self.fit(
                    frame, target, schema, budget=paying, workspace=workspace, resume=resume, progress=progress,
                    checkpoint_seconds=checkpoint_seconds, typed=typed, strict=strict, rules=said, person=person,
                    rows_per_person=rows_per_person, order=order, constant=constant, parent=parent,
                )  # fmt: skip
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
        files = (
            self._workspace(table, declared, goal, workspace, resume, said, owner, persons) if self.resumable else None
        )
        run = Run(files, progress, checkpoint_seconds)
        with closed_after(files):
            rows = Intake(
                table, present, declared, goal, seed, paying, run, typed=typed, persons=persons, visits=visits
            )
            taken = rows if self.buys_coordinates else take_in(rows, share if self.private else 0.0)
            self.fit_intake(taken, check, book)
        return self

    @contextmanager
    def _booked(
        self, ledger: str | None, dataset: str | None, budget: Budget | None, workspace: str | Path | None, resume: bool,
        owner: Person | None,
    ) -> Generator[Budget]:  # fmt: skip
        """The budget of a fit that a ledger is charged for; the ledger gets its certificate once it is fitted."""
        if budget is not None:
            raise InputError("`budget` and `ledger` are two ways to pay: give one of them.")
        place = None if workspace is None else Path(workspace)
        with spending_of(
            self, purpose=f"{self.method} fit", ledger=ledger, dataset=dataset, workspace=place, resume=resume,
            unit="row" if owner is None else PERSON,
        ) as run:  # fmt: skip
            yield run.budget
            run.certificate, run.interrupted = self.certificate_, self.interrupted_

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
        self, source: RowSource, schema: Schema | None, said: Sequence[Rule], given: dict[str, Any], *, ledger: str | None,
        dataset: str | None, budget: Budget | None, workspace: str | Path | None, resume: bool, run: Run, typed: bool,
        person: str | None, rows_per_person: int | str | None, order: str | None, constant: Sequence[str],
    ) -> Self:  # fmt: skip
        """Touches private data: as `fit`, of a table in parts. `given` is what may have been given and does not go with one."""
        with source:
            target = given.pop("labels")
            given["labels beside the table"] = None if target is None or isinstance(target, str) else target
            owner = self.in_order(self.whose(schema, person, rows_per_person), order, constant)
            rules = parse_rules((*(() if schema is None else schema.rules), *said))
            given["`order`"] = None if owner is None else owner.order
            given['`rows_per_person="auto"`'] = owner is not None and owner.rows == AUTO
            for what, value in given.items():
                if value is not None and value is not False and not (isinstance(value, tuple | list) and not value):
                    raise InputError(
                        f"{what} and a table that is read in batches do not go together yet. Nothing was spent. Leave it out, or "
                        "learn from rows in memory: a frame, or one file without --out-of-core."
                    )
            with ExitStack() as opened:
                if ledger is not None or dataset is not None:
                    booked = self._booked(ledger, dataset, budget, workspace, resume, owner)
                    budget = opened.enter_context(booked)
                return self._learn_source(source, target, schema, owner, budget, workspace, resume, run, typed, rules)

    def _learn_source(
        self, source: RowSource, target: str | None, schema: Schema | None, owner: Person | None, budget: Budget | None,
        workspace: str | Path | None, resume: bool, run: Run, typed: bool, rules: Sequence[Rule],
    ) -> Self:  # fmt: skip
        """Touches private data: sums over batches, each kept in the workspace once it is whole; all noise is logged there too."""
        seed = self._seed()
        taken, rows, declared, goal, persons = take_source(source, target, schema, owner, seed, run, rules, typed=typed)
        with taken, ExitStack() as opened:
            opened.callback(rows.close)
            size = taken.rows if persons is None else persons.number
            self._check_rows(size)
            paying = self._budget(budget, size)
            intake = intake_of(rows, persons, declared, goal, seed, paying, run, typed=typed)
            if workspace is not None:
                # What a source says of itself tells whether a run is resumed on the same table.
                private = np.frombuffer(taken.identity.encode(), dtype=np.uint8)
                said = _said(taken.rows, declared, goal, owner, rules)
                said["columns of the table"] = [str(name) for name in taken.types.columns]
                files = self._kept_in(workspace, resume, private, said)
                opened.callback(files.close)
                rows.remember, log = remembered(files)
                opened.callback(log.close)
                opened.enter_context(logged(paying, files.prelude))
            return self.fit_intake(intake, book=rows.book)

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
        facts = {**learnt.facts, **sizes, **self._found(rows, learnt)}
        if check is not None:
            synthetic = drawing.draw(CHECK_ROWS, {}, rows.rng(31))
            if self.rules_ is not None:
                synthetic, _ = self.rules_.finisher.finish(synthetic)
            facts["check"] = check(synthetic, schema, self.coordinates_ if book is None else None).to_dict()
        if learnt.unprotected is not None:
            self._certify_unprotected(self.kind, facts, learnt.unprotected)
        else:
            said = [rows.assumed_public]
            said += [] if self.rules_ is None else ["the rules, which the owner stated"]
            said += [] if rows.visits is None else [rows.visits.assumed_public]
            self._certify(
                learnt.budget or rows.budget, self.kind, facts, said, sanitised=learnt.sanitised, unsafe=learnt.unsafe,
                schema=declared, unit="row" if rows.persons is None else PERSON,
            )  # fmt: skip
        return self

    def _found(self, rows: Intake, learnt: Learnt) -> dict[str, Any]:
        """Public: what a certificate says of any method's release."""
        found: dict[str, Any] = {"schema_estimated": rows.estimated}
        if self.rules_ is not None:
            found["rules"] = self.rules_.facts()
        if self.coordinates_ is not None and self.coordinates_.empty:
            found["not_learnt"] = self.coordinates_.empty
        if learnt.verdict is not None:
            found["verdict"] = learnt.verdict.to_dict()
        return found

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
        goal: str | None,
        path: str | Path | None,
        resume: bool,
        rules: Sequence[Rule] = (),
        owner: Person | None = None,
        persons: Persons | None = None,
    ) -> Workspace | None:
        """Touches private data: the rows go into a keyed digest."""
        if path is None:
            return None
        hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
        if (
            declared is not None and not declared.missing()
        ):  # then the same rows may be text in one file and typed in another
            table = Coordinates.declared(declared, len(table)).settled(table, np.random.default_rng(0))
        digest = hashing.hash_pandas_object(table, index=False).to_numpy()
        if persons is not None:  # whose each row is, too
            digest = np.concatenate([digest, persons.person_keys[persons.owner]])
        return self._kept_in(path, resume, digest, _said(len(table), declared, goal, owner, rules))


def _said(
    rows: int, declared: Schema | None, goal: str | None, owner: Person | None, rules: Sequence[Rule]
) -> dict[str, Any]:
    """Public: what must be the same where a run is resumed."""
    said = {"rows": rows, **({} if declared is None else declared.to_dict()), "target": goal}
    said |= {} if owner is None else {"person": owner.to_dict()}
    return said | ({"rules": [str(rule) for rule in rules]} if rules else {})


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
