"""Synthetic tables judged beside the real one, all at once: `evaluate`.

Setting A trains and tests on real rows, B trains on synthetic and tests on real, C does both on synthetic rows (PATE-GAN,
section 5). A needs doing once, however many tables there are.

Evaluating is a use of the real rows. Nothing here is noised, and the result says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import InputError
from understudy.evaluation import numbers
from understudy.evaluation import result as shape
from understudy.evaluation.classifiers import TUNED, Factory, missing, panel
from understudy.evaluation.features import QUANTITY, Featuriser, Rows, prepare
from understudy.evaluation.fidelity import fidelity
from understudy.evaluation.ranking import feature_importance, ranking_agreement
from understudy.evaluation.scores import Scores, fit_and_score, place_of
from understudy.evaluation.signals import signals
from understudy.evaluation.tasks import Task, content, run_tasks
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 2
_MOST_CATEGORIES = 1000


def evaluate(
    train: Table,
    test: Table,
    synthetic: Mapping[str, Table],
    target: str | None,
    schema: Schema | None = None,
    *,
    classifiers: str | Mapping[str, Factory] = "five",
    seeds: int = 1,
    positive: object = None,
    with_c: bool = True,
    with_fidelity: bool = True,
    with_signals: bool = True,
    jobs: int = -1,
    cache: str | Path | None = None,
) -> shape.Evaluation:
    """Touches private data (`train`, `test`): the scores of every synthetic table, without noise.

    `train` are the rows that the tables were made from, `test` rows that no generator saw. `classifiers` is a panel's
    name (five, four, twelve) or one of your own; boosting that is tuned on its training rows is scored beside them. A target
    that is a number is estimated by three models instead, or by yours, and scored by R² and error. With None
    for a `target` nothing is predicted, and tables are judged by likeness and signals alone. Without a `schema` the columns
    are described from the real rows, which is no leak here, since the result is private anyway.

    A table that cannot be read has an `error` and the others are judged all the same; if none can be read, or a real
    table cannot, that is an `InputError`. `cache` names a folder in which every finished score is kept by the content it
    was computed from: a run that was interrupted goes on from there, and a further table costs only itself.
    """
    if seeds < 1:
        raise InputError(f"`seeds` (={seeds}) must be at least 1.")
    if jobs == 0 or jobs < -1:
        raise InputError(f"`jobs` (={jobs}) must be a number of processes, or -1 for one a core.")
    if not synthetic:
        raise InputError("no synthetic table was given.")
    _panel(classifiers)
    real, held = _frame(train, "train"), _frame(test, "test")
    described = describe(real, held, target) if schema is None else _aimed(schema, target)
    described.require_complete()
    features = Featuriser(described, target, numbers=True)
    chosen, notes = _panel(_estimators(classifiers, positive, str(target)) if features.number else classifiers)
    positive_code = place_of(positive, features.classes) if features.classes else 0
    learnt, judged = (_rows(features, frame, name) for frame, name in ((real, "train"), (held, "test")))
    frames, tables, errors = _read(synthetic, features)
    beside = {} if features.number else TUNED
    work, tuned = (_Work(one, len(features.classes), positive_code, seeds) for one in (chosen, beside))
    if target is not None:
        for every in (work, tuned):
            every.add_setting("A", learnt, judged)
    for name, rows in tables.items():
        if target is not None:
            for every in (work, tuned):
                every.add_setting(f"B {name}", rows, judged)
            if with_c:
                work.add_splits(f"C {name}", rows, len(judged) / (len(judged) + len(learnt)))
        if with_fidelity:
            work.add(_likeness(f"fidelity {name}", described, (real, learnt), (frames[name], rows)))
        if with_signals:
            digest = content("signals", learnt, judged, rows)
            work.add(Task(f"signals {name}", digest, _signals, (learnt, judged, rows)))
    if with_fidelity:
        work.add(_likeness("fidelity", described, (real, learnt), (held, judged)))
    results = run_tasks([*work.tasks.values(), *tuned.tasks.values()], jobs, cache, content(learnt, judged))
    real_setting = work.setting("A", results)
    return shape.Evaluation(
        target,
        tuple(str(label) for label in features.classes),
        str(features.classes[positive_code]) if len(features.classes) == 2 else None,
        () if target is None else tuple(chosen),
        seeds,
        {"train": len(learnt), "test": len(judged)},
        real_setting,
        tuple(
            shape.TableEvaluation(name, 0, error=errors[name])
            if name in errors
            else _table(name, tables[name], learnt, work, tuned, results, real_setting)
            for name in synthetic
        ),
        (*notes, shape.AS_PRIVATE_AS_THE_ROWS, *((shape.SIGNALS_ARE_NO_PROOF,) if with_signals else ())),
        tuned=tuned.only("A", results),
        held_out=shape.Fidelity.from_dict(results["fidelity"]) if with_fidelity else None,
    )


def _estimators(classifiers: str | Mapping[str, Factory], positive: object, target: str) -> str | Mapping[str, Factory]:
    """The models for a target that is a number."""
    if positive is not None:
        raise InputError(f"the target {target!r} is a number: it has no positive class. Leave `positive` out.")
    if isinstance(classifiers, str) and classifiers != "five":
        raise InputError(
            f"the target {target!r} is a number, and {classifiers!r} are classifiers: leave them out, or make it categorical in the schema."
        )
    return numbers.THREE if isinstance(classifiers, str) else classifiers


def _aimed(schema: Schema, target: str | None) -> Schema:
    return Schema(schema.columns) if target is None else schema.with_target(target)


def _likeness(label: str, schema: Schema, real: tuple[pd.DataFrame, Rows], other: tuple[pd.DataFrame, Rows]) -> Task:
    """All rows of another table beside the training rows."""
    digest = content(schema.to_json(), real[1], other[1])
    return Task(label, digest, _fidelity, (real[0], other[0], schema, real[1], other[1]))


def describe(real: pd.DataFrame, held: pd.DataFrame, target: str | None) -> Schema:
    """Touches private data: a schema from the real rows, for the data holder's own evaluation and never for a release."""
    import pandas as pd

    from understudy.tables.column import Column
    from understudy.tables.public import schema_from_public
    from understudy.tables.values import distinct
    from understudy.wording import did_you_mean

    for frame, name in ((real, "train"), (held, "test")):
        if target is not None and target not in frame.columns:
            raise InputError(f"{name}: there is no column {target!r}.{did_you_mean(target, frame.columns)}")
    for name in real.columns:
        if name != target and (count := _categories(column_of(real, name))) > _MOST_CATEGORIES:
            raise InputError(
                f"train: column {name!r} holds {count} different texts; is it a name or an identifier? Drop it, or describe "
                "the columns in a schema."
            )
    if target is None:
        return schema_from_public(real)
    both = pd.concat([column_of(real, target), column_of(held, target)])
    _, labels = distinct(both)
    if len(labels) > QUANTITY and pd.api.types.is_numeric_dtype(both):
        ends = float(both.min()), float(both.max())
        number = Column(target, "continuous", ends)
        return Schema((*schema_from_public(real, target).columns, number), target)
    if len(labels) > 100:
        raise InputError(
            f"the target {target!r} has {len(labels)} different values: evaluation needs a class to predict, or a number."
        )
    if len(labels) < _FEWEST:
        raise InputError(f"the target {target!r} has one class only in the real rows: there is nothing to predict.")
    truths = all(isinstance(label, bool | np.bool_) for label in labels)
    column = (
        Column(target, "boolean")
        if truths
        else Column(target, "categorical", categories=tuple(sorted(labels, key=lambda v: (isinstance(v, str), v))))
    )
    return Schema((*schema_from_public(real, target).columns, column), target)


def _categories(series: pd.Series) -> int:
    """Touches private data: how many texts a column holds; 0 for numbers, truth values and dates."""
    from pandas.api import types

    if types.is_numeric_dtype(series.dtype) or types.is_datetime64_any_dtype(series.dtype):
        return 0
    return series.nunique()


def _panel(classifiers: str | Mapping[str, Factory]) -> tuple[dict[str, Factory], tuple[str, ...]]:
    asked = panel(classifiers)
    absent = missing(asked)
    chosen = {name: factory for name, factory in asked.items() if name not in absent}
    if not chosen:
        raise InputError(next(iter(absent.values())))
    return chosen, tuple(f"{name} left out: {why}" for name, why in absent.items())


def _frame(table: Table, name: str) -> pd.DataFrame:
    try:
        return as_frame(table)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _rows(features: Featuriser, frame: pd.DataFrame, name: str) -> Rows:
    try:
        rows = features.rows(frame)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if (features.classes or features.number) and len(np.unique(rows.y)) < _FEWEST:
        what = "value" if features.number else "class"
        raise InputError(f"{name}: the target has one {what} only; there is nothing to predict.")
    return rows


def _read(
    synthetic: Mapping[str, Table], features: Featuriser
) -> tuple[dict[str, pd.DataFrame], dict[str, Rows], dict[str, str]]:
    frames: dict[str, Any] = {}
    tables: dict[str, Rows] = {}
    errors: dict[str, str] = {}
    for name, table in synthetic.items():
        try:
            frames[name] = as_frame(table)
            tables[name] = features.rows(frames[name])
        except InputError as error:
            errors[name] = str(error)
    if not tables:
        said = " ".join(f"{name}: {error}" for name, error in errors.items())
        raise InputError(f"no synthetic table can be evaluated. {said}")
    return frames, tables, errors


class _Work:
    """What is to be computed, and how it is put together again."""

    def __init__(self, chosen: Mapping[str, Factory], classes: int, positive: int, seeds: int) -> None:
        self.chosen, self.classes, self.positive, self.seeds = chosen, classes, positive, seeds
        self.tasks: dict[str, Task] = {}
        self._runs: dict[str, dict[str, list[str]]] = {}

    def add(self, task: Task) -> None:
        self.tasks[task.label] = task

    def add_setting(self, setting: str, train: Rows, test: Rows) -> None:
        """Every classifier with every seed on the same two sets; a classifier that ignores its seed runs once."""
        ready = prepare(train, test)
        digest = content(*ready)
        for name, factory in self.chosen.items():
            for seed in range(self.seeds):
                same = seed > 0 and repr(factory(seed)) == repr(factory(0))
                self._add(setting, name, 0 if same else seed, ready, digest)

    def add_splits(self, setting: str, rows: Rows, share: float) -> None:
        """Setting C: each seed holds back another part of the synthetic rows, as large a share as `test` is of the real ones."""
        for seed in range(self.seeds):
            order = np.random.default_rng(seed).permutation(len(rows))
            held = max(1, round(share * len(rows)))
            ready = prepare(rows.take(order[held:]), rows.take(order[:held]))
            digest = content(*ready)
            for name in self.chosen:
                self._add(setting, name, seed, ready, digest)

    def _add(self, setting: str, name: str, seed: int, ready: tuple[Rows, ...], digest: str) -> None:
        label = f"{setting} | {name} | {seed}"
        self._runs.setdefault(setting, {}).setdefault(name, []).append(label)
        factory = self.chosen[name]
        key = content(digest, name, repr(factory(seed)), self.classes, self.positive, seed)
        self.add(Task(label, key, _fit, (factory, *ready, self.classes, self.positive, seed), _cost(name)))

    def settings(self, table: str, results: Mapping[str, Any]) -> dict[str, shape.Setting]:
        """B and C of one synthetic table, as far as they were asked for."""
        found = {letter: self.setting(f"{letter} {table}", results) for letter in "BC"}
        return {letter: setting for letter, setting in found.items() if setting is not None}

    def setting(self, name: str, results: Mapping[str, Any]) -> shape.Setting | None:
        """None where there is nothing to predict."""
        if name not in self._runs:
            return None
        return shape.Setting.of(
            {
                classifier: [_scores(results[label]) for label in labels]
                for classifier, labels in self._runs[name].items()
            }
        )

    def only(self, name: str, results: Mapping[str, Any]) -> shape.ClassifierScores | None:
        """The scores of a panel of one."""
        found = self.setting(name, results)
        return None if found is None else next(iter(found.classifiers.values()))


# Long ones first, so that no core waits for the last of them: AdaBoost's thousand stumps take most of the time.
_SLOW = ("adaboost", "mlp", "linear svm", "random forest", "bagging")


def _cost(name: str) -> int:
    return len(_SLOW) - _SLOW.index(name) if name in _SLOW else 0


def _scores(plain: Mapping[str, Any]) -> Scores | numbers.NumberScores:
    return numbers.NumberScores(**plain) if "r2" in plain else Scores.from_dict(plain)


def _fit(factory: Factory, train: Rows, test: Rows, classes: int, positive: int, seed: int) -> dict[str, Any]:
    """Without classes the target is a number."""
    if classes == 0:
        return numbers.fit_and_score(factory, train, test, seed).to_dict()
    return fit_and_score(factory, train, test, classes, positive, seed).to_dict()


def _fidelity(*given: Any) -> dict[str, Any]:
    return asdict(fidelity(*given))


def _signals(*given: Any) -> dict[str, Any]:
    leakage = signals(*given)
    return {} if leakage is None else asdict(leakage)


def _table(
    name: str,
    rows: Rows,
    learnt: Rows,
    work: _Work,
    tuned: _Work,
    results: Mapping[str, Any],
    real: shape.Setting | None,
) -> shape.TableEvaluation:
    settings = work.settings(name, results)
    ranking: dict[str, float] = {}
    # Columns that are constant in the real rows have no importance to be ranked by.
    real_rows, synthetic_rows = prepare(learnt, rows)
    if real is not None and real_rows.x.shape[1] > 1:
        ranking["features"] = ranking_agreement(
            *(feature_importance(side.x, side.y) for side in (real_rows, synthetic_rows))
        )
    if real is not None and "C" in settings and len(work.chosen) > 1:
        for metric in ("auroc", "auprc") if "auroc" in real.mean else ("r2",):
            sides = ([s.metrics[metric].mean for s in side.classifiers.values()] for side in (real, settings["C"]))
            ranking[metric] = ranking_agreement(*sides)
    leakage = results.get(f"signals {name}")
    return shape.TableEvaluation(
        name,
        len(rows),
        settings=settings,
        ranking=ranking,
        fidelity=shape.Fidelity.from_dict(results[f"fidelity {name}"]) if f"fidelity {name}" in results else None,
        signals=shape.Signals(**leakage) if leakage else None,
        notes=(rows.note,) if rows.note else (),
        tuned=tuned.only(f"B {name}", results),
    )
