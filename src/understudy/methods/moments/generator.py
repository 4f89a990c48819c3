"""`MomentsGenerator`: one private look at a table, then everything for free.

The papers spend their budget on thousands of noisy votes or gradients. Here a few statistics are released once, and a
model is fitted to them at no further cost: any number of rows may be drawn from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from understudy._private import KeepsPrivate
from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.bundle import Bundle, check_target, write_bundle
from understudy.methods.moments import plan as planning
from understudy.methods.moments import tables_model
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.codebook import Bins, Codebook
from understudy.methods.moments.gaussian_model import GaussianModel, look
from understudy.methods.moments.marginals import Marginal, grow
from understudy.methods.moments.sampling import Model, Sampler
from understudy.methods.moments.targets import Target, number_classes, target_of
from understudy.methods.sampling import write_samples
from understudy.privacy import Budget, Certificate
from understudy.tables import Schema, estimate_schema, settle_target, validate_frame
from understudy.tables.io import Table, as_frame

_COUNTS = ("bins", "components", "steps", "target_bins")


class MomentsGenerator(KeepsPrivate, BaseEstimator):
    """Synthetic tables from one look. Fitted: `certificate_` and `schema_` are public, and so is everything else.

    - `model`: "tables" (all two-way tables of binned columns, class by class; for many rows), "gaussian" (means and
      second moments; for few rows or many columns), or "auto", which chooses from the public sizes.
    - `bins`: about so many bins for each numeric column; `target_bins` for a target that is a number.
    - `components`, `steps`: the mixture that is fitted to the tables, and how long; neither costs privacy.
    - `relabel`: draw the class of a synthetic row from an additive model of its columns.
    - `schema_epsilon_share`: the share of epsilon for what the schema does not say.
    """

    method: ClassVar[str] = "moments"
    private: ClassVar[bool] = True
    resumable: ClassVar[bool] = False

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        model: Literal["auto", "tables", "gaussian"] = "auto",
        bins: int = 20,
        components: int = 100,
        steps: int = 400,
        relabel: bool = True,
        target_bins: int = 8,
        schema_epsilon_share: float = 0.1,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.bins = bins
        self.components = components
        self.steps = steps
        self.relabel = relabel
        self.target_bins = target_bins
        self.schema_epsilon_share = schema_epsilon_share
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    # ---- learning ------------------------------------------------------------------------------------------

    def fit(
        self,
        frame: Table,
        target: str | None = None,
        schema: Schema | None = None,
        *,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Any], None] | None = None,
    ) -> Self:
        """Touches private data (`frame`). What the schema does not say is estimated at `schema_epsilon_share`.

        The last three are there for the sake of the other generators: a fit takes seconds, so there is nothing to keep
        in a workspace, to resume, or to report on.
        """
        del workspace, progress
        if resume:
            raise InputError(
                "method 'moments' keeps no checkpoints, its fit takes seconds: run it again without resume."
            )
        self._check_parameters()
        table = as_frame(frame)
        given = Schema.draft(table, target) if schema is None else schema
        given = given if target is None else given.with_target(target)
        validate_frame(table, given)
        if len(table) < 2:
            raise InputError("one row is not a table to learn from.")
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 1)
        budget = Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        try:
            complete = self._complete(table, given, budget)
            table = settle_target(table, given, complete, seed)
            goal = target_of(complete)
            book = Codebook(goal.features)
            cells, classes = book.read(table), goal.read(table)
            self._learn(cells, classes, book, goal, seed, budget)
        finally:
            self.drawn_ = bool(budget.events)  # a ledger may take back only what was never drawn
        self._certify(budget, given.missing())
        return self

    def _learn(
        self, cells: np.ndarray, classes: np.ndarray, book: Codebook, goal: Target, seed: int, budget: Budget
    ) -> None:
        """Touches private data: everything after encoding. All of it leaves through the gate."""
        n_classes = len(goal.labels) if goal.listed else self.target_bins if goal.column is not None else 1
        kind: planning.Model = "tables" if self.model == "tables" else "gaussian"
        if self.model == "auto":
            kind = planning.choose(len(cells), goal.features, n_classes, self.epsilon, self.delta)
        width = len(book.slots) if kind == "tables" else Axes(book, None).width
        planning.refuse_hopeless(kind, len(cells), width, n_classes, self.epsilon, self.delta)
        if kind == "tables":
            self._learn_tables(cells, classes, n_classes, book, goal, seed, budget)
        else:
            self._learn_gaussian(cells, classes, n_classes, book, goal, budget)

    def _learn_tables(
        self, cells: np.ndarray, classes: np.ndarray, n_classes: int, book: Codebook, goal: Target, seed: int,
        budget: Budget,
    ) -> None:  # fmt: skip
        """Touches private data: marginals, then all tables."""
        planned = planning.plan_tables(budget, book.cells, len(book.slots), planning.Shares())
        marginals = grow(cells[:, book.binned], book.cells, planned.sigma, len(cells), budget)
        classes, n_classes = self._classes(cells, classes, n_classes, book, goal, marginals)
        bins = Bins(book, marginals, self.bins)
        noisy = tables_model.measure(cells, classes, n_classes, bins, planned.mechanism, budget)
        found = tables_model.learn(
            noisy, bins, planned.mechanism,
            components=self.components, steps=self.steps, relabel=self.relabel and goal.listed, seed=seed,
        )  # fmt: skip
        one, two = planned.mechanism.sigmas(len(book.slots))
        noise = {"marginals": planned.sigma, "one_way": one, "two_way": two}
        self.facts_ = {"model": "tables", "classes": n_classes, "columns": len(book.slots), "noise": noise}
        self._ready(found, book, goal, marginals)
        self._note_classes(found.hidden, goal)

    def _learn_gaussian(
        self, cells: np.ndarray, classes: np.ndarray, n_classes: int, book: Codebook, goal: Target, budget: Budget
    ) -> None:
        """Touches private data: marginals where the rows suffice, then radii, means and second moments."""
        planned, moved = planning.plan_gaussian(budget, book.cells, len(cells), Axes(book, None).width)
        marginals: list[Marginal] = []
        if moved:
            marginals = grow(cells[:, book.binned], book.cells, planned.trees, len(cells), budget)
        classes, n_classes = self._classes(cells, classes, n_classes, book, goal, marginals)
        axes = Axes(book, marginals or None)
        found, looked = look(cells, classes, n_classes, axes, planned, budget)
        self.facts_ = {
            "model": "gaussian",
            "classes": n_classes,
            "axes": axes.width,
            "noise": asdict(planned),
            **looked,
        }
        self._ready(found, book, goal, marginals)
        self._note_classes(found.hidden, goal)

    def _classes(
        self, cells: np.ndarray, classes: np.ndarray, n_classes: int, book: Codebook, goal: Target,
        marginals: list[Marginal],
    ) -> tuple[np.ndarray, int]:  # fmt: skip
        """Touches private data: a numeric target's classes are bins of its marginal, or of its range without one."""
        if goal.column is None or goal.listed:
            return classes, n_classes
        place = book.encoder.schema.names.index(goal.column.name)
        at = book.binned.index(place)
        marginal = marginals[at] if marginals else Marginal.even(book.cells[at])
        return number_classes(cells[:, place], marginal, self.target_bins)

    def _note_classes(self, hidden: list[int], goal: Target) -> None:
        """Say which classes did not stand out; their rows are like those of all classes together."""
        if not hidden:
            return
        names = [repr(goal.labels[c]) if goal.listed else f"bin {c + 1}" for c in hidden]
        self.facts_["classes_in_the_noise"] = names
        warnings.warn(
            f"of the target {goal.column.name if goal.column else ''!r}, {', '.join(names)} did not stand out of the "
            "noise: fewer rows than it takes. They are drawn only where a condition asks for them (unless no two classes "
            "stand out), and such rows are like those of all classes together. Merge them with others, or raise epsilon.",
            UnderstudyWarning,
            stacklevel=4,
        )

    def _ready(self, model: Model, book: Codebook, goal: Target, marginals: list[Marginal]) -> None:
        self.schema_ = goal.encoder.schema
        self.marginals_ = marginals
        self.sampler_ = Sampler(model, book, goal, self.schema_.names)
        self.interrupted_ = False

    def _complete(self, table: pd.DataFrame, given: Schema, budget: Budget) -> Schema:
        """Touches private data: pay for what the schema does not say, or refuse."""
        if not given.missing():
            return given
        if self.schema_epsilon_share <= 0:
            given.require_complete()
        epsilon, delta = self.schema_epsilon_share * self.epsilon, self.schema_epsilon_share * self.delta
        complete = estimate_schema(table, given, budget, epsilon, delta)
        if gaps := complete.missing():
            raise InputError(
                f"epsilon {epsilon:g} was spent on the gaps of the schema, and {', '.join(gaps)} did not stand out "
                "from the noise. Write what is public about them into a schema, or raise `schema_epsilon_share`."
            )
        return complete

    def _certify(self, budget: Budget, estimated: list[str]) -> None:
        public = ["all settings of the method, chosen without a look at the rows"]
        if estimated:
            public += ["names and types of the columns, and what the schema said before it was estimated"]
        else:
            public += ["the schema: kinds, bounds and categories of all columns"]
        release = {"kind": "generator", "method": self.method, **self.facts_, "schema_estimated": estimated}
        self.certificate_ = Certificate.from_budget(budget, release=release, assumed_public=public)

    def _check_parameters(self) -> None:
        if self.model not in ("auto", "tables", "gaussian"):
            raise InputError(f'`model` (={self.model!r}) must be "auto", "tables" or "gaussian".')
        if not 0 <= self.schema_epsilon_share < 1:
            raise InputError(
                f"`schema_epsilon_share` (={self.schema_epsilon_share}) is a share: at least 0 and below 1."
            )
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"`{name}` (={value!r}) must be a whole number, at least 1.")
        if self.bins < 2 or self.target_bins < 2:
            raise InputError(f"`bins` (={self.bins}) and `target_bins` (={self.target_bins}) must be at least 2.")
        planning.check_delta(self.delta)

    # ---- the release ---------------------------------------------------------------------------------------

    def sample(
        self,
        n: int,
        conditions: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        *,
        balance: float = 0.0,
    ) -> pd.DataFrame:
        """`n` synthetic rows, all of which fit the schema; with `conditions` such that fulfil them. Free.

        `balance` draws rare classes more often, for a classifier that is to find them: class c in proportion to
        its share to the power 1 - `balance`. Such rows no longer tell how common a class is.
        """
        return self._fitted().balanced(balance).sample(n, conditions, random_state)

    def sample_to(
        self,
        path: str | Path,
        n: int,
        conditions: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        *,
        balance: float = 0.0,
    ) -> None:
        """Write `n` synthetic rows to a table file, however many they are. `balance` as for `sample`."""
        sampler: Any = self._fitted().balanced(balance)
        write_samples(sampler, path, n, conditions, random_state)

    def save(self, path: str | Path) -> None:
        """Write the release: a new folder with the model, the schema and the certificate, and nothing private."""
        sampler = self._fitted()
        arrays = dict(sampler.model.arrays())
        arrays["edges"] = np.concatenate([np.zeros(0, np.int64), *(m.edges for m in self.marginals_)])
        arrays["mass"] = np.concatenate([np.zeros(0), *(m.mass for m in self.marginals_)])
        arrays["intervals"] = np.array([len(m.mass) for m in self.marginals_], dtype=np.int64)
        parameters = {"settings": self.get_params(deep=False), "facts": self.facts_}
        bundle = Bundle("generator", self.method, parameters, arrays, self.certificate_, self.schema_)
        write_bundle(bundle, check_target(path))

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The generator of a release."""
        try:
            generator = cls(**bundle.parameters["settings"])
        except TypeError as error:
            raise InputError(f"the release has settings unknown here ({error}): update understudy.") from None
        if bundle.schema is None:
            raise InputError("the release has no schema: it is damaged. Copy it again.")
        goal = target_of(bundle.schema)
        book = Codebook(goal.features)
        marginals: list[Marginal] = []
        start = edge = 0
        for count, cells in zip(bundle.arrays["intervals"].tolist(), book.cells, strict=False):
            edges = bundle.arrays["edges"][edge : edge + count + 1]
            marginals.append(Marginal(edges, bundle.arrays["mass"][start : start + count], cells))
            start, edge = start + count, edge + count + 1
        generator.facts_ = dict(bundle.parameters["facts"])
        model: Model
        if generator.facts_["model"] == "tables":
            model = tables_model.TablesModel.from_arrays(bundle.arrays, book, marginals, generator.bins)
        else:
            model = GaussianModel.from_arrays(bundle.arrays, Axes(book, marginals or None))
        generator._ready(model, book, goal, marginals)
        generator.certificate_ = bundle.certificate
        return generator

    def _fitted(self) -> Sampler:
        if not hasattr(self, "sampler_"):
            raise InputError("this generator has learnt nothing yet. Call `fit` first.")
        return self.sampler_
