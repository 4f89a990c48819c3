"""What all distillers share: from records to a handful of them, to a predictor, to a release and back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.images import BLANK, ImageDataset
from understudy.learn.checkpoints import Workspace
from understudy.learn.krr import KernelRidge, one_hot
from understudy.methods.distillation.domain import Domain, ImageDomain, TableDomain, restore
from understudy.methods.distillation.training import Regression, Support
from understudy.methods.image_moments.generator import PUBLIC
from understudy.privacy import Budget, Certificate
from understudy.privacy.units import PERSON
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.driver import Run, closed_after
from understudy.release.estimator import Estimator
from understudy.release.intake import Intake, check_persons, check_table, take_in, with_classes
from understudy.release.person_rows import without_rows
from understudy.release.replay import logged
from understudy.tables import Schema
from understudy.tables.io import as_frame
from understudy.tables.persons import Person, count_persons
from understudy.tables.rows_per_person import with_rows
from understudy.tables.schema import SchemaLike

Tell = Callable[[int, int], None]


@runtime_checkable
class Predictor(Protocol):
    """What a distilled set trains: a class for each point."""

    def predict(self, points: np.ndarray, /) -> np.ndarray: ...
    def predict_proba(self, points: np.ndarray, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Records:
    """Private: records as a distiller takes them in, a table (then `rows` is its intake) or an `ImageDataset`.

    A blank record contributes nothing and is not `present`; how many records there are with it is public. Where a record is a
    person with several rows, `present` says which of the persons' seats are taken. `key` is for
    public randomness, never for the noise; `tell` is told of steps done, of how many.
    """

    data: Any
    present: np.ndarray
    domain: Domain
    budget: Budget
    key: jax.Array
    tell: Tell | None
    public: str
    rows: Intake | None = None

    def __len__(self) -> int:
        return len(self.present) if self.rows is None else len(self.rows)

    @property
    def each(self) -> int:
        """The most rows of one record: of a person, as many as are taken. They stand together, at `present`'s seats."""
        return 1 if self.rows is None else self.rows.each

    def points(self, domain: Domain | None = None) -> np.ndarray:
        """A point for each row (zero where it is blank), by another domain if one is given."""
        return self._at_their_places((domain or self.domain).points(self.data))

    def targets(self) -> np.ndarray:
        """Centred labels (rows x classes), zero where one is blank."""
        numbers = np.maximum(self.domain.numbers(self.data), 0)
        return self._at_their_places(one_hot(numbers, len(self.domain.classes)))

    def _at_their_places(self, values: np.ndarray) -> np.ndarray:
        if self.rows is not None:
            return self.rows.at_their_places(values)
        return values if self.present.all() else values * self.present[:, None].astype(values.dtype)


@dataclass(frozen=True)
class DistilledSet:
    """Public: the form of the records, a few of them, and facts for the certificate.

    `made_from` is the certificate of a release that can be published beside it, where it was made from that alone.
    """

    domain: Domain
    support: Support
    facts: dict[str, Any]
    made_from: Certificate | None = None


class Distiller(Estimator):
    """Base of the distillers. Fitted: `distilled_` (a frame or an `ImageDataset`), `support_`, `certificate_`, `classes_`.

    The predictor works on `support_`, which is what was learnt; `distilled_` is the same, rounded to what the schema or a
    byte can hold, for people and for other models. A method is a dataclass of settings with `learn`.
    """

    unprotected: ClassVar[str] = ""
    """Why nothing protects the records, for a method that is not private."""

    per_class: int
    descent: Any
    """A `Regression`, for all that distil for one."""

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: the method. Everything that leaves is charged to `records.budget` before it is drawn."""
        raise NotImplementedError

    def _check_records(self, data: Any) -> None:
        """Refuse records that do not go with the settings, before anything is spent."""

    # ---- learning ------------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Any,
        target: str | None = None,
        schema: SchemaLike = None,
        *,
        budget: Budget | None = None,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Tell | None = None,
        typed: bool = True,
        strict: bool = False,
        person: str | None = None,
        rows_per_person: int | str | None = None,
    ) -> Self:
        """Touches private data (`data`): a table with the name of its `target`, or an `ImageDataset`.

        What a table's schema does not say is paid for at a share of epsilon. `budget` may hold earlier charges for the
        same data. No table is refused for what its rows say: cells that do not fit are missing, "other" or clipped, and a
        row without a class is blank; `strict` refuses instead, which tells something about the rows.

        In `workspace`, a folder named `*.private`, all noisy answers are logged; with `resume` a run that was killed is
        repeated with those, and draws and pays for what is left.

        `person` names the column that says whose a row is, where a person has several: then the promise is for one person with
        all of their rows, of which at most `rows_per_person` are taken ("auto": chosen from a paid look). A schema may say both.
        """
        self._check_settings()
        public = Schema.of(schema)
        owner = self.whose(public, person, rows_per_person)
        if owner is not None and isinstance(data, ImageDataset):
            raise InputError(
                "an image set does not say whose an image is, so a promise for one person cannot be kept: leave `person` out, and put "
                "no more than one image of a person into the set."
            )
        paying = self._budget(budget, len(data) if owner is None else count_persons(as_frame(data), owner))
        files = None if workspace is None else self._workspace(data, target, public, owner, workspace, resume)
        with closed_after(files), nullcontext() if files is None else logged(paying, files.prelude):
            return self._fit(data, target, public, owner, paying, progress, typed, strict)

    def _workspace(
        self, data: Any, target: str | None, schema: Schema | None, owner: Person | None, path: str | Path, resume: bool
    ) -> Workspace:
        """Touches private data: the records go into a keyed digest."""
        if isinstance(data, ImageDataset):
            digest = data.digest()
        else:
            hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
            rows = hashing.hash_pandas_object(as_frame(data), index=False).to_numpy().tobytes()
            digest = np.frombuffer(hashlib.sha256(rows).digest(), dtype=np.uint8)
        said = {} if schema is None else schema.to_dict()
        said |= {} if owner is None else {"person": owner.to_dict()}
        return self._kept_in(path, resume, digest, {"records": len(data), "target": target, **said})

    def _fit(
        self,
        data: Any,
        target: str | None,
        schema: Schema | None,
        owner: Person | None,
        paying: Budget,
        progress: Tell | None,
        typed: bool,
        strict: bool,
    ) -> Self:
        """Touches private data: take the records in, learn, and certify what the budget was charged."""
        if owner is not None:
            owner = with_rows(as_frame(data), owner, paying)
        records = self._take_in(data, target, schema, owner, paying, progress, typed, strict)
        learnt = self.learn(records)
        self._ready(learnt.domain, learnt.support)
        images = isinstance(data, ImageDataset)
        kind, facts = "images" if images else "distilled", {"per_class": self.per_class, **learnt.facts}
        if owner is not None:
            facts |= {"persons": len(records), "rows_per_person": owner.rows}
        if learnt.made_from is not None:
            # The same promise, written at the same moment: a report then sees that both were paid for once.
            release = {"kind": kind, "method": self.method, **facts}
            self.certificate_ = Certificate({**learnt.made_from.body, "release": release})
        elif self.private:
            said = None if records.rows is None else records.rows.declared
            unit = "image" if images else "row" if owner is None else PERSON
            self._certify(paying, kind, facts, [records.public], unit=unit, schema=said)
        else:
            self._certify_unprotected(kind, facts, self.unprotected)
        return self

    def _take_in(
        self,
        data: Any,
        target: str | None,
        schema: Schema | None,
        owner: Person | None,
        budget: Budget,
        tell: Tell | None,
        typed: bool,
        strict: bool,
    ) -> Records:
        """Touches private data: checked, and the gaps of a table's schema paid for."""
        key = jax.random.key(self._seed())
        if isinstance(data, ImageDataset):
            if target is not None or schema is not None:
                raise InputError("images carry their labels and classes: leave `target` and `schema` out.")
            domain = self._fits(ImageDomain(data.shape, data.classes, data.value_range), len(data))
            self._check_records(data)
            return Records(data, data.labels != BLANK, domain, budget, key, tell, PUBLIC)
        persons, seed = None, self._seed()
        if owner is None:
            table, present, declared, goal = check_table(data, target, schema, strict=strict)
        else:
            table, declared, goal, persons = check_persons(
                data, target, schema, owner, seed, numbered=self.takes_persons == "weighted", strict=strict
            )
            present = persons.present
        if goal is None:
            raise InputError("a table needs a `target`: the column with the classes.")
        declared = with_classes(table, declared, goal)
        # As many as there are records, blank ones included: that number is public.
        size = len(present) if persons is None else persons.number
        self._check_records(range(size))
        if declared is not None and not declared.missing():
            self._fits(TableDomain(without_rows(declared)), size)
        rows = Intake(table, present, declared, goal, seed, budget, Run(), typed=typed, persons=persons)
        rows = self._complete(rows)
        domain = TableDomain(without_rows(rows.schema))
        return Records(rows.frame, present, domain, budget, key, tell, rows.assumed_public, rows)

    def _complete(self, rows: Intake) -> Intake:
        """Touches private data: the table with its schema complete, what that lacked paid for."""
        return take_in(rows, getattr(self, "schema_epsilon_share", 0.0) if self.private else 0.0)

    def _fits(self, domain: Domain, rows: int) -> Domain:
        wanted = self.per_class * len(domain.classes)
        if wanted > rows:
            raise InputError(
                f"`per_class` (={self.per_class}) asks for {wanted} records of {len(domain.classes)} classes, and there are "
                f"{rows} rows. Use at most {rows // len(domain.classes)}."
            )
        return domain

    def _gaussian_start(self, domain: Domain, key: jax.Array) -> Support:
        """Points of a standard Gaussian, which is public, with balanced labels: no record is in the start."""
        classes = np.arange(self.per_class * len(domain.classes)) % len(domain.classes)
        points = jax.random.normal(key, (len(classes), domain.features))
        return Support(points, jnp.asarray(one_hot(classes, len(domain.classes))))

    # ---- the release ---------------------------------------------------------------------------------------------

    def predict(self, data: Any) -> np.ndarray:
        """The class of each record, by the model that the set was distilled for: kernel ridge regression, or a network."""
        numbers = self._predictor().predict(self.domain_.points(data))
        return np.asarray(self.classes_, dtype=object)[numbers]

    def predict_proba(self, data: Any) -> np.ndarray:
        """Shares of the classes in the order of `classes_` (records x classes)."""
        return self._predictor().predict_proba(self.domain_.points(data))

    def score(self, data: Any) -> float:
        """Touches private data where `data` is: the share of records whose class is predicted right."""
        return float(np.mean(self._predictor().predict(self.domain_.points(data)) == self.domain_.numbers(data)))

    def _contents(self) -> Bundle:
        points, soft = (np.asarray(part, np.float32) for part in self.support_)
        classes = self._classes_of(soft, len(self.classes_))
        arrays = {"points": points, "soft_labels": soft, **self.domain_.arrays(points, classes)}
        facts = self.domain_.facts()
        parameters = {"settings": self._settings(), "domain": facts}
        kind = "images" if facts["form"] == "images" else "distilled"
        schema = getattr(self.domain_, "schema", None)
        return Bundle(kind, self.method, parameters, arrays, self.certificate_, schema)

    def _restore(self, bundle: Bundle) -> None:
        domain = restore(bundle.parameters["domain"], bundle.arrays, bundle.schema)
        points = fitting(bundle.arrays, "points", None, domain.features)
        labels = fitting(bundle.arrays, "soft_labels", len(points), self._labels_a_point(len(domain.classes)))
        self._ready(domain, Support(jnp.asarray(points), jnp.asarray(labels)))

    def _ready(self, domain: Domain, support: Support) -> None:
        if not bool(jnp.all(jnp.isfinite(support.points))):
            raise InputError(
                "the distilled points are not finite: the ridge is too small for so many of them. Raise `ridge`; what was "
                "spent is spent."
            )
        self.domain_, self.support_, self.classes_ = domain, support, domain.classes
        classes = self._classes_of(np.asarray(support.labels), len(domain.classes))
        self.distilled_ = domain.decode(np.asarray(support.points), classes)

    def _labels_a_point(self, classes: int) -> int:
        """How many numbers the label of one point has."""
        return classes

    def _classes_of(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """The class of each point, from its labels."""
        del classes
        return labels.argmax(axis=1)

    def _predictor(self) -> Predictor:
        self._check_fitted()
        points, labels = (np.asarray(part) for part in self.support_)
        regression: Regression = self.descent
        return KernelRidge(regression.kernel(points.shape[1]), points, labels, regression.ridge)
