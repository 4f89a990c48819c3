"""`MomentsGenerator`: one private look at a table, then everything for free.

The papers spend their budget on thousands of noisy votes or gradients. Here a few statistics are released once, and a
model is fitted to them at no further cost: any number of rows may be drawn from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.moments import plan as planning
from understudy.methods.moments import tables_model
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.both_models import BothModels, common_classes
from understudy.methods.moments.cell_rows import CellRows
from understudy.methods.moments.evidence import tables_evidence
from understudy.methods.moments.gaussian_model import GaussianModel, look
from understudy.methods.moments.label_model import Triples
from understudy.methods.moments.lags import look_back
from understudy.methods.moments.sampling import MomentsModel
from understudy.methods.moments.space import buy
from understudy.methods.moments.targets import Target, class_ratio, target_of
from understudy.methods.moments.visits import VisitsModel
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.release.settings import Settings, one_of, or_none, positive, setting, share, truth, whole
from understudy.release.verdict import Evidence, judge
from understudy.tables import Schema
from understudy.tables.visits import Visits

# Less than this share of the rows in no class is not worth a word.
_UNNAMED = 0.02


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
      second moments; for few rows or many columns), "both" (rare classes from "gaussian", common ones from "tables"), or
      "auto", which chooses from the public sizes.
    - `bins`: about so many bins for each numeric column; `target_bins` at most for a target that is a number.
    - `anyway`: go on where so few rows would drown in the noise, instead of refusing before anything is spent.
    - `fitting`: what is done with the released tables, for free.
    """

    method: ClassVar[str] = "moments"
    buys_coordinates: ClassVar[bool] = True
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "weighted"
    takes_order: ClassVar[bool] = True
    takes_batches: ClassVar[bool] = True

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    model: Literal["auto", "tables", "gaussian", "both"] = setting("auto", one_of("auto", "tables", "gaussian", "both"))
    bins: int = setting(20, whole(2))
    target_bins: int = setting(planning.TARGET_BINS, whole(2))
    anyway: bool = setting(False, truth())
    fitting: Fitting = field(default_factory=Fitting)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: one look, all of it through the gate."""
        self._refuse_hopeless(rows)
        coordinates = rows.coordinates or buy(rows)
        bins = planning.number_bins(len(rows), rows.budget.epsilon, rows.budget.delta, self.target_bins)
        goal = target_of(coordinates, bins)
        cells, n_classes = CellRows(rows.table, goal), goal.n_classes
        lags = None if rows.visits is None else look_back(rows, coordinates)
        kind = self.model
        if kind == "auto":
            about = n_classes if goal.edges is None else bins
            kind = planning.choose(
                len(rows), goal.features.columns, about, rows.budget.epsilon, rows.budget.delta, listed=goal.listed
            )
        learn = {"tables": self._learn_tables, "gaussian": self._learn_gaussian, "both": self._learn_both}[kind]
        model, facts, evidence = learn(rows, cells, n_classes, goal)
        drowned = _drowned(model.hidden, goal)
        facts = {
            "model": kind,
            "classes": n_classes,
            "columns": len(goal.kept),
            **({} if goal.edges is None else {"target_bins": bins}),
            **facts,
            **drowned,
        }
        _warn_of_unnamed(evidence, goal, len(rows))
        lost = drowned.get("classes_in_the_noise", ())
        evidence = replace(evidence, target=rows.target, lost=lost, number=goal.edges is not None)
        made: MomentsModel | VisitsModel = MomentsModel(model, goal)
        if rows.visits is not None and lags is not None:
            made = VisitsModel.learn(made, rows.visits, lags, rows.seed)
            facts["noise_on_pairs_of_rows"] = lags.sigma
        return Learnt(made, facts, coordinates=coordinates, verdict=judge(evidence))

    def _refuse_hopeless(self, rows: Intake) -> None:
        """Refuse what would drown, from public sizes alone, before anything is spent."""
        if self.anyway:
            return
        declared = rows.declared
        target = (
            None if declared is None or rows.target is None or rows.target not in declared else declared[rows.target]
        )
        classes = 2 if target is None or target.categories is None else len(target.labels)
        columns = max(len(rows.frame.columns) - 1, 1)
        kind: planning.Model = "tables" if self.model == "tables" else "gaussian"
        planning.refuse_hopeless(
            kind, len(rows), columns, classes if rows.target else 1, rows.budget.epsilon, rows.budget.delta
        )

    def _learn_tables(
        self, rows: Intake, cells: CellRows, n_classes: int, goal: Target
    ) -> tuple[tables_model.TablesModel, dict[str, Any], Evidence]:
        """Touches private data: all tables."""
        bins = goal.features.bins(self.bins)
        relabel = self.fitting.relabel
        labelled = relabel and n_classes > 1
        plan = planning.plan_tables(rows.budget, len(bins.sizes), len(rows), labelled=labelled, grid=rows.grid)
        noisy, triples = tables_model.measure(cells, n_classes, bins, plan, rows.budget)
        how = self.fitting
        fitted = tables_model.learn(
            noisy, triples, bins, plan, components=how.components, steps=how.steps, relabel=relabel, seed=rows.seed
        )
        sigmas = plan.pairs.sigmas(len(bins.sizes))
        return fitted, {"noise": _noise(plan, triples, len(bins.sizes))}, tables_evidence(noisy, bins, *sigmas)

    def _learn_gaussian(
        self, rows: Intake, cells: CellRows, n_classes: int, goal: Target
    ) -> tuple[GaussianModel, dict[str, Any], Evidence]:
        """Touches private data: radii, means and second moments."""
        axes = Axes(goal.features.columns, len(rows))
        located = any(axis.curved for axis in axes.axes)
        sizes = len(axes.numbers), len(rows), axes.width
        planned = planning.plan_gaussian(rows.budget, *sizes, located=located, grid=rows.grid)
        fitted, looked, evidence = look(cells, n_classes, axes, planned, rows.budget, rows.grid)
        return fitted, {"axes": axes.width, "noise": asdict(planned), **looked}, evidence

    def _learn_both(
        self, rows: Intake, cells: CellRows, n_classes: int, goal: Target
    ) -> tuple[BothModels, dict[str, Any], Evidence]:
        """Touches private data: the looks of both models."""
        bins, axes = goal.features.bins(self.bins), Axes(goal.features.columns, len(rows))
        relabel, located = self.fitting.relabel, any(axis.curved for axis in axes.axes)
        sizes = len(bins.sizes), len(axes.numbers), len(rows), axes.width
        labelled = relabel and n_classes > 1
        tables, gaussian = planning.plan_both(rows.budget, *sizes, labelled=labelled, located=located, grid=rows.grid)
        noisy, triples = tables_model.measure(cells, n_classes, bins, tables, rows.budget)
        rare, looked, told = look(cells, n_classes, axes, gaussian, rows.budget, rows.grid)
        common, counts = common_classes(noisy, bins, tables)
        how = self.fitting
        often = tables_model.learn(
            noisy[common], triples and triples.of(common), bins, tables,
            components=how.components, steps=how.steps, relabel=relabel, seed=rows.seed,
        )  # fmt: skip
        hidden = np.setdiff1d(np.array(rare.hidden, dtype=np.int64), common)
        fitted = BothModels(often, rare, common, class_ratio(counts, hidden), hidden.tolist())
        noise = {"tables": _noise(tables, triples, len(bins.sizes)), "gaussian": asdict(gaussian)}
        # Columns and pairs are those of the common classes; what tells the rare ones apart are their means.
        evidence = replace(tables_evidence(noisy, bins, *tables.pairs.sigmas(len(bins.sizes))), classes=told.classes)
        return fitted, {"axes": axes.width, "noise": noise, **looked, "classes_from_tables": len(common)}, evidence

    # ---- the release ---------------------------------------------------------------------------------------------

    def _drawing(self, *, balance: float = 0.0, **how: Any) -> MomentsModel | VisitsModel:
        """`balance` draws rare classes more often, for a classifier that is to find them: class c in proportion to
        its share to the power 1 - `balance`. Such rows no longer tell how common a class is.
        """
        model = super()._drawing(**how)
        if isinstance(model, VisitsModel):
            return replace(model, rows=model.rows.balanced(balance))
        assert isinstance(model, MomentsModel)
        return model.balanced(balance)

    def restore(
        self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]
    ) -> MomentsModel | VisitsModel:
        if self.coordinates_ is None:
            raise InputError("the release does not describe its columns: it is damaged, or of an older understudy.")
        bins = facts.get("target_bins")
        if bins is not None and (isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 10_000):
            raise InputError(f"the release cuts its target into {bins!r} bins: it is damaged. Copy it again.")
        visits = facts.get("visits")
        if visits is None:
            return self._restored(arrays, facts, target_of(self.coordinates_, bins))
        rows = self._restored(arrays, facts, target_of(self.coordinates_, bins))
        return VisitsModel.from_arrays(arrays, rows, Visits.from_dict(visits))

    def _restored(self, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], goal: Target) -> MomentsModel:
        classes = goal.n_classes if goal.listed or goal.edges is not None else None
        if facts["model"] == "tables":
            bins = goal.features.bins(self.bins)
            return MomentsModel(tables_model.TablesModel.from_arrays(arrays, bins, classes), goal)
        axes = Axes(goal.features.columns, goal.coordinates.rows)
        if facts["model"] == "both":
            both = BothModels.from_arrays(arrays, goal.features.bins(self.bins), axes, classes)
            return MomentsModel(both, goal)
        return MomentsModel(GaussianModel.from_arrays(arrays, axes, classes), goal)


def _noise(plan: planning.TablesPlan, triples: Triples | None, columns: int) -> dict[str, float]:
    one, two = plan.pairs.sigmas(columns)
    return {"one_way": one, "two_way": two} | ({"parities": triples.sigma} if triples is not None else {})


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


def _warn_of_unnamed(evidence: Evidence, goal: Target, rows: int) -> None:
    """Public: say so where many rows are in none of the classes that were found, by the noisy counts of those."""
    if evidence.classes is None or goal.column is None or not goal.listed or not goal.column.paid:
        return
    left = rows - float(evidence.classes.counts.sum())
    if left > _UNNAMED * rows + 3 * evidence.classes.count_noise * len(goal.labels) ** 0.5:
        warnings.warn(
            f"of the target {goal.column.name!r}, {len(goal.labels)} classes were found; about {left:,.0f} of {rows:,} rows are in none "
            "of them and were left out. Name all classes in a schema, merge rare ones, or raise epsilon.",
            UnderstudyWarning,
            stacklevel=6,
        )
