"""`MomentsGenerator`: one private look at a table, then everything for free.

The papers spend their budget on thousands of noisy votes or gradients. Here a few statistics are released once, and a
model is fitted to them at no further cost: any number of rows may be drawn from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from understudy.errors import UnderstudyWarning
from understudy.methods.moments import plan as planning
from understudy.methods.moments import tables_model
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.codebook import Bins, Codebook
from understudy.methods.moments.gaussian_model import GaussianModel, look
from understudy.methods.moments.marginals import Marginal, from_arrays, grow
from understudy.methods.moments.sampling import MomentsModel
from understudy.methods.moments.targets import Target, number_classes, target_of
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.release.settings import Settings, one_of, or_none, positive, setting, share, truth, whole
from understudy.tables import Schema


@dataclass
class Fitting(Settings):
    """How a model is fitted to the released tables; free.

    `components` and `steps` of the mixture; `relabel` draws the class of a row from an additive model of its columns.
    """

    components: int = setting(100, whole())
    steps: int = setting(400, whole())
    relabel: bool = setting(True, truth())


@dataclass(eq=False, repr=False)
class MomentsGenerator(TableGenerator):
    """Synthetic tables from one look. Fitted: `certificate_` and `schema_` are public, and so is everything else.

    - `model`: "tables" (all two-way tables of binned columns, class by class; for many rows), "gaussian" (means and
      second moments; for few rows or many columns), or "auto", which chooses from the public sizes.
    - `bins`: about so many bins for each numeric column; `target_bins` for a target that is a number.
    - `schema_epsilon_share`: the share of epsilon for what the schema does not say.
    - `fitting`: what is done with the released tables, for free.
    """

    method: ClassVar[str] = "moments"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    model: Literal["auto", "tables", "gaussian"] = setting("auto", one_of("auto", "tables", "gaussian"))
    bins: int = setting(20, whole(2))
    target_bins: int = setting(8, whole(2))
    schema_epsilon_share: float = setting(0.1, share())
    fitting: Fitting = field(default_factory=Fitting)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: one look, all of it through the gate."""
        goal = target_of(rows.schema)
        book = Codebook(goal.features)
        cells, classes = book.read(rows.frame), goal.read(rows.frame)
        n_classes = len(goal.labels) if goal.listed else self.target_bins if goal.column is not None else 1
        epsilon, delta = rows.budget.epsilon, rows.budget.delta
        kind: planning.Model = "tables" if self.model == "tables" else "gaussian"
        if self.model == "auto":
            kind = planning.choose(len(rows), goal.features, n_classes, epsilon, delta)
        width = len(book.slots) if kind == "tables" else Axes(book, None).width
        planning.refuse_hopeless(kind, len(rows), width, n_classes, epsilon, delta)
        learn = self._learn_tables if kind == "tables" else self._learn_gaussian
        return learn(rows, cells, classes, n_classes, book, goal)

    def _learn_tables(
        self, rows: Intake, cells: np.ndarray, classes: np.ndarray, n_classes: int, book: Codebook, goal: Target
    ) -> Learnt:
        """Touches private data: marginals, then all tables."""
        planned = planning.plan_tables(rows.budget, book.cells, len(book.slots), planning.Shares())
        marginals = grow(cells[:, book.binned], book.cells, planned.sigma, len(rows), rows.budget)
        classes, n_classes = self._classes(cells, classes, n_classes, book, goal, marginals)
        bins = Bins(book, marginals, self.bins)
        noisy = tables_model.measure(cells, classes, n_classes, bins, planned.mechanism, rows.budget)
        how = self.fitting
        fitted = tables_model.learn(
            noisy, bins, planned.mechanism,
            components=how.components, steps=how.steps, relabel=how.relabel and goal.listed, seed=rows.seed,
        )  # fmt: skip
        one, two = planned.mechanism.sigmas(len(book.slots))
        noise = {"marginals": planned.sigma, "one_way": one, "two_way": two}
        facts = {"model": "tables", "classes": n_classes, "columns": len(book.slots), "noise": noise}
        facts |= _drowned(fitted.hidden, goal)
        return Learnt(MomentsModel(fitted, book, goal, marginals), facts)

    def _learn_gaussian(
        self, rows: Intake, cells: np.ndarray, classes: np.ndarray, n_classes: int, book: Codebook, goal: Target
    ) -> Learnt:
        """Touches private data: marginals where the rows suffice, then radii, means and second moments."""
        planned, moved = planning.plan_gaussian(rows.budget, book.cells, len(rows), Axes(book, None).width)
        marginals: list[Marginal] = []
        if moved:
            marginals = grow(cells[:, book.binned], book.cells, planned.trees, len(rows), rows.budget)
        classes, n_classes = self._classes(cells, classes, n_classes, book, goal, marginals)
        axes = Axes(book, marginals or None)
        fitted, looked = look(cells, classes, n_classes, axes, planned, rows.budget)
        facts = {"model": "gaussian", "classes": n_classes, "axes": axes.width, "noise": asdict(planned), **looked}
        facts |= _drowned(fitted.hidden, goal)
        return Learnt(MomentsModel(fitted, book, goal, marginals), facts)

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

    # ---- the release ---------------------------------------------------------------------------------------------

    def _drawing(self, *, balance: float = 0.0, **how: Any) -> MomentsModel:
        """`balance` draws rare classes more often, for a classifier that is to find them: class c in proportion to
        its share to the power 1 - `balance`. Such rows no longer tell how common a class is.
        """
        model = super()._drawing(**how)
        assert isinstance(model, MomentsModel)
        return model.balanced(balance)

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> MomentsModel:
        goal = target_of(schema)
        book = Codebook(goal.features)
        marginals = from_arrays(arrays, book.cells)
        if facts["model"] == "tables":
            fitted = tables_model.TablesModel.from_arrays(arrays, book, marginals, self.bins)
            return MomentsModel(fitted, book, goal, marginals)
        return MomentsModel(GaussianModel.from_arrays(arrays, Axes(book, marginals or None)), book, goal, marginals)


def _drowned(hidden: list[int], goal: Target) -> dict[str, Any]:
    """Say which classes did not stand out; their rows are like those of all classes together."""
    if not hidden:
        return {}
    names = [repr(goal.labels[c]) if goal.listed else f"bin {c + 1}" for c in hidden]
    warnings.warn(
        f"of the target {goal.column.name if goal.column else ''!r}, {', '.join(names)} did not stand out of the "
        "noise: fewer rows than it takes. They are drawn only where a condition asks for them (unless no two classes "
        "stand out), and such rows are like those of all classes together. Merge them with others, or raise epsilon.",
        UnderstudyWarning,
        stacklevel=6,
    )
    return {"classes_in_the_noise": names}
