"""PATE: a private classifier from an ensemble of teachers (Papernot et al. 2017 and 2018; the Pima thesis).

The sensitive rows are dealt to teachers, one shard each, fixed before training. The teachers vote on *public* rows;
only noisy winners leave, through the gate. A student learns from the public rows with those labels, and is the
release.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_array, validate_data

from understudy.errors import InputError, UnderstudyWarning, UnsafeWarning
from understudy.learn.partition import Shards, shards, shards_by_key
from understudy.methods.released_student import ReleasedStudent, class_array
from understudy.methods.students import make_student, train_student
from understudy.methods.together import Together
from understudy.methods.voting import AGGREGATORS, Aggregator, Ballot, Round, observed, plan_round
from understudy.privacy import (
    NOT_ANSWERED,
    Budget,
    ConfidentGNMaxEvent,
    Event,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    NoisyCounts,
    Observed,
    SmoothRelease,
    data_dependent_epsilon,
)
from understudy.privacy.accountant import without
from understudy.privacy.smooth import require_conditions
from understudy.privacy.units import PERSON
from understudy.release.intake import without_person
from understudy.release.seats import Seats
from understudy.release.settings import Limit, one_of, or_none, positive, setting, share, truth, whole
from understudy.tables import Coordinates, Encoder, Schema, validate_frame
from understudy.tables.io import as_frame
from understudy.tables.persons import AUTO, Person, Persons, count_persons, id_column
from understudy.tables.rows_per_person import with_rows
from understudy.tables.validate import check_names

UNSAFE_PUBLIC = "the student's rows were taken from the sensitive table: those rows are not protected"


@dataclass(frozen=True)
class SeatedRows:
    """Private: encoded rows, the number of each one's class, which of them are not blank, and whose they are."""

    rows: np.ndarray
    labels: np.ndarray
    present: np.ndarray
    persons: Persons | None

    @classmethod
    def at(cls, taken: Seats, rows: np.ndarray, labels: np.ndarray) -> SeatedRows:
        """Those that are taken, at their seats."""
        return cls(taken.seated(rows), taken.seated(labels), taken.present, taken.persons)

    @property
    def records(self) -> int:
        """Public: how many rows there are, or persons."""
        return len(self.rows) if self.persons is None else self.persons.number


@dataclass(eq=False, repr=False)
class PATEClassifier(ReleasedStudent):
    """A classifier whose labels come from teachers that never see each other's rows.

    - `teachers`: number of teachers; public, chosen without a look at the data.
    - `aggregator`: "confident-gnmax", "gnmax" or "lnmax".
    - `epsilon`, `delta`: the budget. All of it is used.
    - `estimator`: what a teacher is: any scikit-learn classifier (default: scaled logistic regression), "network"
      for all teachers as one vmapped network, or "experts": one scaled logistic regression for each class, which knows it from all
      others. A teacher of experts votes for the class whose expert is surest, so that it still has one vote.
    - `student`: a name ("logistic", "forest", "boosting", "mlp") or a scikit-learn classifier. Only named ones can be
      saved.
    - `queries`: how many labels to ask for; by default what the budget affords at a readable noise.
    - `threshold`: Confident-GNMax answers where this share of the teachers, plus noise, agrees.
    - `selection`: "random", or "uncertainty": half of the queries at random, the rest where a first student is least
      sure (it is public, so this is free).
    - `semi_supervised`: let the student learn from the unlabelled public rows too.
    - `agreement_epsilon`: pay this much of epsilon for publishing how far the teachers agree (`agreement_`).
    - `sanitise`: a `SmoothRelease` to publish the data-dependent epsilon with, at its own cost.
    - `classes`: the public list of labels. Left out, the labels in `y` are taken and stated as assumed public.
    - `schema`: what is public about the columns of a table; then `X` and `public` are tables, encoded by it.
    - `unsafe_public_from_private`: take the student's rows from `X` when no `public` rows are given, as the thesis does.
      The guarantee does not cover those rows; the certificate says so and does not verify.
    - `unsafe_noise_seed`: repeatable noise, for tests; the certificate says so and does not verify.
    - `random_state`: initialisation, shards, selection and student; never the noise.
    """

    method: ClassVar[str] = "pate"
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "dealt"

    teachers: int = setting(50, whole())
    aggregator: Aggregator = setting("confident-gnmax", one_of(*AGGREGATORS))  # noqa: RUF009
    epsilon: float = setting(2.0, positive())
    delta: float = setting(1e-5, share("probability"))
    estimator: Any = None
    student: Any = None
    queries: int | None = setting(None, or_none(whole()))
    _: KW_ONLY
    threshold: float = setting(0.6, share("the teachers", ends="[]"))
    selection: Literal["random", "uncertainty"] = setting("random", one_of("random", "uncertainty"))
    semi_supervised: bool = setting(False, truth())
    agreement_epsilon: float = setting(
        0.0, Limit("must be 0 or a positive number", lambda v: v == 0 or positive().holds(v))
    )
    sanitise: SmoothRelease | None = None
    classes: Sequence[Any] | None = None
    schema: Schema | None = None
    unsafe_public_from_private: bool = setting(False, truth())
    unsafe_noise_seed: int | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def fit(
        self,
        X: Any,
        y: Any,
        public: Any = None,
        *,
        budget: Budget | None = None,
        strict: bool = False,
        person: str | None = None,
        rows_per_person: int | str | None = None,
        together: Together | None = None,
    ) -> Self:
        """Touches private data (`X`, `y`). `public` rows are the student's, unlabelled, and must really be public.

        `budget` may hold earlier charges for the same data; the labels then use what is left of it. With a schema no table
        is refused for what its rows say: cells that do not fit are missing, "other" or clipped, and a row without a label,
        or with one that is none of `classes`, is blank. `strict` refuses instead, which tells something about the rows.
        `person` names the column of the table `X` that says whose a row is, where a person has several: all of a person's rows, at
        most `rows_per_person`, are one teacher's, so that a person moves one vote, as a row does. A schema may say both.
        `together`: the processes that share the teachers. The first of them ends with the classifier; the others have voted,
        hold nothing that may leave, and stay unfitted.
        """
        self._check_settings()
        if public is not None:
            _refuse_pipeline()
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        owner = self.whose(self.schema, person, rows_per_person)
        if together is not None:
            self._check_together(owner, budget)
        self.described_ = self.schema if owner is None else without_person(self.schema, owner)
        if owner is not None:
            if public is None:
                raise InputError(
                    "`public` is missing: rows of the sensitive table itself are not protected, and a promise for persons is not made then."
                )
            if owner.rows == AUTO:
                budget = self._budget(budget, count_persons(as_frame(X), owner))
                owner = with_rows(as_frame(X), owner, budget)
        held = self._private(X, y, seed, strict, owner)
        shared = self._public(public, held.rows)
        budget = self._budget(budget, held.records)
        dealt = self._dealt(held, seed)
        ballot = Ballot(self.aggregator, self.teachers, self.threshold)
        voting = plan_round(ballot, budget, available=len(shared), queries=self.queries, also=self._extra_events())
        # What can be refused is refused before anything is trained or spent.
        make_student(self.student, seed)
        if self.sanitise is not None:
            require_conditions(voting.noise, self._columns, self.sanitise.order)

        if together is None:
            teachers = self._train_teachers(held, dealt, seed)
            asked, votes, answers = self._ask(teachers, shared, voting, budget, random, seed)
        else:
            asked = random.permutation(len(shared))[: voting.asked]
            votes, answers = self._ask_together(held, dealt, shared[asked], voting, budget, seed, together)
            if not together.processes.first:
                return self
        self._diagnose(votes, answers, voting, budget)
        self._learn(shared, asked, answers, seed)
        self._warn_of_one_class(shared)
        self.voting_ = voting
        self._certify_votes(voting, budget, held.persons)
        return self

    def _certify_votes(self, voting: Round, budget: Budget, persons: Persons | None) -> None:
        facts = {
            "aggregator": self.aggregator,
            "teachers": self.teachers,
            "queries": voting.asked,
            "labels": len(self.labels_),
            "agreement": self.agreement_,
        }
        said = ["the public rows", "the class labels" + ("" if self.classes is not None else ", taken from the data")]
        said += [] if self.schema is None else ["what the schema says"]
        if persons is not None:
            facts |= {"persons": persons.number, "rows_per_person": persons.most}
        unit = "row" if persons is None else PERSON
        self._certify(
            budget, "classifier", facts, said, unit=unit,
            sanitised=self.sanitised_, unsafe=self.unsafe_, schema=self.schema,
        )  # fmt: skip

    def _dealt(self, held: SeatedRows, seed: int) -> Shards:
        """Which teacher has which rows: by their positions alone, or all of a person's by a keyed hash of the id."""
        if (persons := held.persons) is None:
            return shards(len(held.rows), self.teachers, seed=seed)
        shards(persons.number, self.teachers, seed=seed)  # refuses more teachers than there are persons
        return shards_by_key(persons.person_keys, persons.most, self.teachers)

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.estimator, str) and self.estimator not in ("network", "experts"):
            raise InputError(
                f'`estimator` (={self.estimator!r}) must be a scikit-learn classifier, "network" or "experts".'
            )
        if self.sanitise is not None and self.aggregator == "lnmax":
            raise InputError("`sanitise` works on GNMax votes; with lnmax only the unconditional epsilon is published.")

    def _private(self, X: Any, y: Any, seed: int, strict: bool, owner: Person | None) -> SeatedRows:
        """Looks at private rows, and encodes them.

        By a schema, a row whose label is none of the classes is blank: it counts, and nobody learns from it. Rows of persons
        stand at their persons' seats, of which those that are not taken are blank.
        """
        ids = None
        if owner is not None:
            table = as_frame(X)
            ids, X = id_column(table, owner), table.drop(columns=[owner.column])
        if self.described_ is None:
            rows, codes = self._plain(X, y)
            taken = Seats.of(np.ones(len(rows), dtype=bool), ids, owner, seed)
            return SeatedRows.at(taken, rows[taken.places], codes[taken.places])
        features, frame, labels = self.described_.features, as_frame(X), np.asarray(y, dtype=object)
        if len(labels) != len(frame):
            raise InputError(f"{len(frame)} rows, but {len(labels)} labels.")
        check_names(frame, features)
        if strict:
            validate_frame(frame, features)
        self.classes_ = class_array(
            sorted(set(labels[~pd.isna(labels)].tolist())) if self.classes is None else self.classes
        )
        numbers = {label: number for number, label in enumerate(self.classes_.tolist())}
        codes = np.array([numbers.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        if strict and np.any(codes < 0):
            wrong = int(np.argmax(codes < 0))
            raise InputError(f"row {wrong}: label {labels[wrong]!r} is not among `classes` {list(numbers)}.")
        taken = Seats.of(codes >= 0, ids, owner, seed)
        settled = Coordinates.declared(features, len(frame)).settled(frame.iloc[taken.places], taken.chances)
        self.encoder_, self.n_features_in_ = Encoder(features), frame.shape[1]
        return SeatedRows.at(taken, self.encoder_.encode(settled), codes[taken.places])

    def _plain(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Looks at private rows that are an array, and refuses what does not fit, as scikit-learn's classifiers do."""
        checked: Any = validate_data(self, X, y, dtype="numeric", ensure_min_samples=2)
        rows, y = checked
        check_classification_targets(y)
        self.classes_ = unique_labels(y) if self.classes is None else class_array(self.classes)
        if len(self.classes_) < 2:
            raise InputError(f"the target has one class only ({self.classes_[0]!r}); there is nothing to learn.")
        numbers = {label: i for i, label in enumerate(self.classes_.tolist())}
        codes = np.array([numbers.get(label, -1) for label in np.asarray(y).tolist()])
        if np.any(codes < 0):
            wrong = int(np.argmax(codes < 0))
            raise InputError(f"row {wrong}: label {y[wrong]!r} is not among `classes` {list(numbers)}.")
        return rows, codes

    def _public(self, public: Any, rows: np.ndarray) -> np.ndarray:
        self.unsafe_ = []
        if public is None:
            if not self.unsafe_public_from_private:
                raise InputError(
                    "`public` is missing: the student needs unlabelled rows that are public, synthetic, or made private "
                    "before. Rows of the sensitive table are not protected when the student learns from them; "
                    "`unsafe_public_from_private=True` does that all the same, and the certificate says so."
                )
            self.unsafe_.append(UNSAFE_PUBLIC)
            warnings.warn(UNSAFE_PUBLIC, UnsafeWarning, stacklevel=3)
            return rows
        if self.described_ is not None:
            frame = as_frame(public)
            absent = [name for name in self.encoder_.schema.names if name not in frame.columns]
            if absent:
                raise InputError(
                    f"the public rows lack column {absent[0]!r}; they need the features of the sensitive table."
                )
            return self.encoder_.encode(frame)
        shared = check_array(public, dtype="numeric", input_name="public")
        if shared.shape[1] != rows.shape[1]:
            raise InputError(f"`public` has {shared.shape[1]} columns, the sensitive rows have {rows.shape[1]}.")
        return shared

    @property
    def _columns(self) -> int:
        """How many counts a vote has: at least two, also where there is one class only and the vote tells nothing."""
        return max(2, len(self.classes_))

    def _extra_events(self) -> tuple[Event, ...]:
        return (*self._agreement_event(), *(() if self.sanitise is None else self.sanitise.events))

    def _agreement_event(self) -> tuple[Event, ...]:
        return (LaplaceEvent(self.agreement_epsilon),) if self.agreement_epsilon else ()

    def _train_teachers(self, held: SeatedRows, dealt: Shards, seed: int, first: int = 0) -> Any:
        """Touches private data: everything that it returns is private. Those of these shards, of which `first` is the first's number."""
        if self.estimator == "network":
            import jax

            from understudy.learn.ensemble import Ensemble

            ensemble = Ensemble(dealt.teachers, classes=self._columns)
            return ensemble.fit(held.rows, held.labels, dealt, jax.random.key(seed), present=held.present, first=first)
        from understudy.learn.sklearn_teachers import SklearnTeachers, make_teacher

        return SklearnTeachers(make_teacher(self.estimator), range(self._columns), jobs=self.n_jobs).fit(
            held.rows, held.labels, dealt, seed=seed, present=held.present, first=first
        )

    def _check_together(self, owner: Person | None, budget: Budget | None) -> None:
        if self.selection != "random" or self.agreement_epsilon or self.sanitise is not None:
            raise InputError(
                "`together` asks all teachers once and draws their labels alone: leave `selection`, `agreement_epsilon` and `sanitise` "
                "as they are."
            )
        if isinstance(self.random_state, np.random.RandomState) or self.random_state is None:
            raise InputError("`together` needs a whole number as `random_state`: all processes must deal alike.")
        if (owner is not None and owner.rows == AUTO) or (budget is not None and budget.events):
            raise InputError(
                "`together` pays for the labels alone. Say how many rows a person has, and give a `budget` of which nothing is spent."
            )

    def _ask_together(
        self,
        held: SeatedRows,
        dealt: Shards,
        queries: np.ndarray,
        voting: Round,
        budget: Budget,
        seed: int,
        together: Together,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Touches private data: the votes, and the answers, which the first process alone draws, once, and which are safe to publish."""

        def ask(first: int, some: Shards) -> np.ndarray:
            return self._train_teachers(held, some, seed, first).votes(queries)

        identity = {"teachers": self.teachers, "aggregator": self.aggregator, "threshold": self.threshold}
        identity |= {
            "with queries": voting.asked,
            "with noise": voting.noise,
            "seed": seed,
            "estimator": repr(self.estimator),
        }
        private = (held.rows, held.labels, held.present, dealt.index, queries)
        return together.asked(identity, private, dealt, ask, lambda votes: voting.answer(votes, budget), budget)

    def _ask(
        self, teachers: Any, shared: np.ndarray, voting: Round, budget: Budget, random: Any, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that were asked, their votes (private) and the noisy answers (safe to publish)."""
        order = random.permutation(len(shared))
        if self.selection == "random" or voting.asked == len(shared):
            asked = order[: voting.asked]
            votes = teachers.votes(shared[asked])
            return asked, votes, voting.answer(votes, budget)
        first, second = voting.halves()
        asked = order[: first.asked]
        votes = teachers.votes(shared[asked])
        answers = first.answer(votes, budget)
        rest = order[first.asked :]
        known = answers != NOT_ANSWERED
        if known.any():
            scout = train_student(make_student(self.student, seed), shared[asked[known]], answers[known], None)
            rest = rest[np.argsort(scout.predict_proba(shared[rest]).max(axis=1), kind="stable")]
        more = rest[: second.asked]
        more_votes = teachers.votes(shared[more])
        more_answers = second.answer(more_votes, budget)
        return (
            np.concatenate([asked, more]),
            np.concatenate([votes, more_votes]),
            np.concatenate([answers, more_answers]),
        )

    def _diagnose(self, votes: np.ndarray, answers: np.ndarray, voting: Round, budget: Budget) -> None:
        """What the data holder may see, named private; and what was paid for and may be published."""
        ranked = np.sort(votes, axis=1)
        gaps = ranked[:, -1] - ranked[:, -2]
        self.private_agreement_ = float(gaps.mean() / self.teachers)
        seen = self._data_dependent(observed(voting.mechanism, votes, answers), voting, budget)
        # The unconditional one holds for this dataset too, and its accounting may be the tighter.
        self.private_epsilon_data_dependent_ = min(seen, budget.spent().epsilon)
        self.agreement_ = None
        if self.agreement_epsilon:
            # One teacher's vote moves the gap of each row by two at most.
            mechanism = NoisyCounts(self.agreement_epsilon, sensitivity=2 * len(votes))
            noisy = int(mechanism.release([int(gaps.sum())], budget)[0])
            self.agreement_ = float(np.clip(noisy / (len(votes) * self.teachers), 0, 1))
        self.sanitised_ = None
        if self.sanitise is not None:
            (charged,) = voting.events()
            assert isinstance(charged, GNMaxEvent | ConfidentGNMaxEvent)
            self.sanitised_ = self.sanitise.release(votes[answers != NOT_ANSWERED], charged, budget)

    def _data_dependent(self, came: Observed, voting: Round, budget: Budget) -> float:
        """Private. The data-dependent epsilon of the run and of whatever the budget held before it."""
        (charged,) = voting.events()
        assert isinstance(charged, LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent)
        others = [*without(budget.events, charged), *self._extra_events()]
        return data_dependent_epsilon([came], others, budget.delta).epsilon

    def _learn(self, shared: np.ndarray, asked: np.ndarray, answers: np.ndarray, seed: int) -> None:
        known = answers != NOT_ANSWERED
        if not known.any():
            raise InputError(
                "the teachers were not confident about any public row: lower `threshold`, use fewer teachers, or give "
                "more budget. The budget of this run is spent."
            )
        unlabelled = np.delete(shared, asked[known], axis=0) if self.semi_supervised else None
        named = np.minimum(answers[known], len(self.classes_) - 1)
        self._teach(shared[asked[known]], named, unlabelled, seed)

    def _warn_of_one_class(self, shared: np.ndarray) -> None:
        """Say so where the student, which is public, gives every public row the same class."""
        said = np.unique(np.asarray(self.student_.predict(shared), dtype=int))
        if len(said) == 1 and len(self.classes_) > 1:
            warnings.warn(
                f"the student says {str(self.classes_[said[0]])!r} of every public row: the other classes are too rare, or the votes too "
                "noisy, for a classifier. Raise epsilon, give more public rows, take fewer teachers, or merge classes; to find a "
                "rare class, draw balanced rows from `understudy synthesize` and train on those.",
                UnderstudyWarning,
                stacklevel=3,
            )


def _refuse_pipeline() -> None:
    """A pipeline hands on rows that its other steps have changed, having learnt from them, and `public` as it was."""
    frame = inspect.currentframe()
    while (frame := None if frame is None else frame.f_back) is not None:
        if type(frame.f_locals.get("self")).__module__ == "sklearn.pipeline":
            raise InputError(
                "a pipeline's other steps would learn from the sensitive rows, which nobody pays for, and leave the public rows as "
                "they are. Put them where they are safe: `estimator=make_pipeline(..., classifier)` for the teachers, and "
                "`student=` likewise; or say what is public in a `schema`, and the columns are scaled by that."
            )
