"""Synthetic tables in the papers' settings: the one measurement behind all tables on tabular data.

A part's settings say the dataset, the method, epsilon and the classifiers; repeat r splits the rows, fits and trains with
seed r. Nothing is tuned here: each method has one setting for all datasets (`methods.py`). Classes are drawn in equal numbers
from a generator (any mix is free once it is released) where there are two of them.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Measured, Part, Size
from benchmarks.methods import make
from benchmarks.splits import Split, split, thinned
from understudy.evaluation.classifiers import missing, panel
from understudy.evaluation.features import Featuriser, prepare
from understudy.evaluation.ranking import feature_importance, ranking_agreement
from understudy.evaluation.scores import fit_and_score, place_of
from understudy.tables import Column, Schema

QUICK_CLASSIFIERS = ("logistic regression", "gaussian nb", "lda", "bagging", "xgboost")
QUICK = {"rows": 2_000, "train_rows": 8_000, "test_rows": 10_000, "quick": True}
FULL = {"rows": 10_000, "test_rows": 60_000, "quick": False}
SCORES = ("auroc", "auprc", "f1")


def part(
    dataset: str, method: str, size: Size, repeats: int, *, panel: str = "twelve", epsilon: float = 1.0,
    name: str | None = None, only: Sequence[str] = (), **more: Any,
) -> Part:  # fmt: skip
    """One method on one dataset. Quick parts see fewer rows and classifiers; full ones what the docs quote."""
    settings: dict[str, Any] = {"dataset": dataset, "method": method, "panel": panel, "epsilon": epsilon}
    settings |= QUICK if size == "quick" else FULL
    if only or (size == "quick" and panel == "twelve"):
        settings["only"] = list(only or QUICK_CLASSIFIERS)
    return Part(name or f"{dataset}: {method}", "benchmarks.synthetic:measure", settings | more, repeats)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Setting A for the method "real", else B (and C, and rankings, where asked for), one generator a repeat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_measure(settings, repeat) for repeat in repeats]


def _measure(settings: Mapping[str, Any], repeat: int) -> dict[str, float]:
    data = _tables(settings, repeat)
    if settings.get("leak"):
        data = _with_the_state(data, repeat)
    target = data.schema.target
    features = Featuriser(data.schema, target)
    found: dict[str, float] = {}
    if settings["method"] == "real":
        rows = thinned(data.train, target, settings["rows"], repeat)
    else:
        began = time.process_time()
        generator = generator_of(settings, repeat, len(data.train)).fit(data.train, schema=data.schema)
        if getattr(generator, "interrupted_", False):
            # Ctrl-C ends a fit early and leaves a generator that is worth releasing, but no measurement.
            raise KeyboardInterrupt
        found["fit_seconds"] = time.process_time() - began
        found |= epsilons(generator)
        rows = drawn(generator, settings["rows"], data.schema, repeat)
    made = features.rows(rows)
    found |= summarised(panel_scores(settings, features, data.positive, made, features.rows(data.test), repeat))
    if settings.get("rankings"):
        real = features.rows(thinned(data.train, target, settings["rows"], repeat))
        first, second = prepare(real, made)
        found["features"] = ranking_agreement(*(feature_importance(side.x, side.y) for side in (first, second)))
        order = np.random.default_rng(repeat).permutation(len(made))
        cut = len(made) // 5
        parts = made.take(order[cut:]), made.take(order[:cut])
        inner = panel_scores(settings, features, data.positive, *parts, repeat)
        outer = _setting_a(_frozen(settings), repeat)
        for metric in ("auroc", "auprc"):
            sides = ([side[name][metric] for name in side] for side in (outer, inner))
            found[f"sra_{metric}"] = ranking_agreement(*sides)
    return found


def _tables(settings: Mapping[str, Any], seed: int) -> Split:
    """The split of a part, with the number of rows that it asks for."""
    data = split(settings["dataset"], seed)
    train, test = (
        thinned(frame, data.schema.target, settings.get(most), seed)
        for frame, most in ((data.train, "train_rows"), (data.test, "test_rows"))
    )
    return Split(train, test, data.schema, data.positive)


def generator_of(settings: Mapping[str, Any], seed: int, rows: int) -> Any:
    """The generator of a part, unfitted. `teachers_share` (of PATE-GAN's Table 4) is a share of the rows."""
    share = settings.get("teachers_share")
    more = {} if share is None else {"teachers": max(1, round(rows / share))}
    return make(settings["method"], settings["epsilon"], seed, quick=settings.get("quick", False), **more)


def drawn(generator: Any, rows: int, schema: Any, seed: int) -> Any:
    """Synthetic rows, half of each class where there are two; a distilled set is what it is."""
    if not hasattr(generator, "sample"):
        return generator.distilled_
    labels = schema[schema.target].labels
    if len(labels) != 2:
        return generator.sample(rows, random_state=seed)
    halves = [generator.sample(rows // 2, {schema.target: label}, seed) for label in labels]
    return pd.concat(halves).sample(frac=1, random_state=seed).reset_index(drop=True)


def epsilons(generator: Any) -> dict[str, float]:
    """The certificate's epsilon, which holds for every dataset, and the data-dependent one where it was kept."""
    epsilon = generator.certificate_.epsilon
    if epsilon is None or not math.isfinite(epsilon):
        return {}
    dependent = generator.certificate_.body["release"].get("data_dependent_epsilon")
    return {"epsilon": float(epsilon), "epsilon_data_dependent": math.nan if dependent is None else float(dependent)}


def panel_scores(
    settings: Mapping[str, Any], features: Any, positive: Any, made: Any, judged: Any, seed: int
) -> dict[str, dict[str, Any]]:
    """Every classifier of the part's panel, trained on `made` and scored on `judged`."""
    wanted = panel(settings["panel"])
    absent = missing(wanted)
    names = [name for name in settings.get("only", wanted) if name not in absent]
    train, test = prepare(made, judged)
    place = place_of(positive, features.classes)
    return {
        name: fit_and_score(wanted[name], train, test, len(features.classes), place, seed).to_dict() for name in names
    }


def frame_scores(panel: str, made: Any, data: Split, seed: int = 0) -> dict[str, dict[str, Any]]:
    """The same for frames: synthetic rows, judged on the test rows of a split."""
    features = Featuriser(data.schema, data.schema.target)
    return panel_scores({"panel": panel}, features, data.positive, features.rows(made), features.rows(data.test), seed)


def means(scores: Mapping[str, Mapping[str, Any]], metrics: Sequence[str] = SCORES) -> dict[str, float]:
    return {metric: sum(one[metric] for one in scores.values()) / len(scores) for metric in metrics}


def summarised(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each classifier's scores under its name, and their means."""
    found = {f"{name}/{metric}": float(one[metric]) for name, one in scores.items() for metric in SCORES}
    return found | means(scores) | {"classifiers": float(len(scores))}


def _frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    kept = ("dataset", "panel", "only", "rows", "train_rows", "test_rows")
    return tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in settings.items() if k in kept)


@cache
def _setting_a(frozen: tuple[tuple[str, Any], ...], seed: int) -> dict[str, dict[str, Any]]:
    """Setting A of a part, once a process: every epsilon is compared with it."""
    settings = dict(frozen)
    data = _tables(settings, seed)
    features = Featuriser(data.schema, data.schema.target)
    real = features.rows(thinned(data.train, data.schema.target, settings["rows"], seed))
    return panel_scores(settings, features, data.positive, real, features.rows(data.test), seed)


def _with_the_state(data: Split, seed: int) -> Split:
    """Epileptic with a 179th column as its file has it: the recorded state 1 to 5, of which 1 is the label itself.

    Only which of five states is which matters here, so those without a seizure get one of the four others at random.
    """
    random, target = np.random.default_rng(seed), data.schema.target
    train, test = (
        frame.assign(state=np.where(frame[target] == 1, 1, random.integers(2, 6, len(frame))))
        for frame in (data.train, data.test)
    )
    schema = Schema((Column("state", "integer", (1, 5)), *data.schema.columns), target)
    return Split(train, test, schema, data.positive)
