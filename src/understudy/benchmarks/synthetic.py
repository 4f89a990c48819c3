"""Synthetic tables in the papers' settings: the one measurement behind all tables on tabular data.

A part's settings say the dataset, the method, epsilon and the classifiers; repeat r splits the rows, fits and trains with
seed r. Nothing is tuned here: each method has one setting for all datasets (`METHODS`), its defaults or what was chosen on
validation rows before any of these tables ran.

Classes are drawn in equal numbers from a generator (any mix is free once it is released) where there are two of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from understudy.benchmarks.declare import Measured, Part, Size

DELTA = 1e-5
WHERE = "understudy.benchmarks.synthetic:measure"

# What is fitted, by the name that a part gives: what `benchmarks/useful_generators.py choose` chose on a fifth of adult's
# training rows (a test holds the two together), where it compared. "as published" stops at a data-dependent epsilon, as
# the papers do; that is no guarantee, and its rows are marked. `quick` shrinks what only costs time.
_LABELS_KEPT: Mapping[str, Any] = {
    "queries": 64, "memory": 50, "student_steps": 50, "generator_steps": 5, "teacher_learning_rate": 1e-2,
}  # fmt: skip
METHODS: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "moments": ("MomentsGenerator", {}, {"components": 20, "steps": 100}),
    "pategan": ("PATEGAN", {"conditional": True, "iterations": 20}, {"teachers": 50, "iterations": 5}),
    "pategan, moments start": (
        "PATEGAN",
        {
            **_LABELS_KEPT,
            "conditional": True,
            "warm_start": "moments",
            "warm_epsilon_share": 0.5,
            "learning_rate": 1e-5,
            "iterations": 10,
        },
        {"teachers": 50, "iterations": 2, "warm_steps": 200},
    ),
    "pategan as published": (
        "PATEGAN",
        {
            "conditional": True,
            "mode": "as-published",
            "aggregator": "lnmax",
            "iterations": 300,
            "noise": 800.0,
            "teacher_learning_rate": 1e-2,
        },
        {"teachers": 50, "iterations": 20},
    ),
    "dpgan": ("DPGAN", {"conditional": True, "iterations": 300, "learning_rate": 1e-3}, {"iterations": 50}),
    "gpate": (
        "GPATE",
        {"conditional": True, "iterations": 10, "learning_rate": 1e-3},
        {"teachers": 50, "iterations": 5},
    ),
    "gpate as published": (
        "GPATE",
        {"conditional": True, "mode": "as-published", "noise": 600.0, "threshold_ratio": 2.5, "iterations": 300},
        {"teachers": 50, "iterations": 20},
    ),
    # Ten teachers and noise that is next to nothing: what G-PATE's Table 6 calls non-private.
    "gpate without noise": (
        "GPATE",
        {"epsilon": 1e7, "teachers": 10, "dimensions": 5, "iterations": 1000, "noise": 0.5, "threshold_ratio": 1.0},
        {"iterations": 50},
    ),
    "gan": (
        "GAN",
        {"iterations": 4000, "learning_rate": 2e-4, "critic_steps": 2, "conditional": True},
        {"iterations": 300},
    ),
    "dpkip": ("DPKIP", {}, {"epochs": 1}),
    "dpkip, moments start": ("DPKIP", {"warm_start": "moments", "warm_epsilon_share": 0.8}, {"epochs": 1}),
}
UNSAFE: Mapping[str, str] = {
    "pategan as published": "As published: stops at a data-dependent epsilon, which is itself private.",
    "gpate as published": "As published: stops at a data-dependent epsilon, which is itself private.",
    "gpate without noise": "Without privacy: noise that is next to nothing.",
    "gan": "Without privacy.",
}
LABELS: Mapping[str, str] = {
    "real": "real rows (setting A)",
    "moments": "moments (ours)",
    "pategan": "PATE-GAN",
    "pategan, moments start": "PATE-GAN from a moments start (ours)",
    "pategan as published": "PATE-GAN as published",
    "dpgan": "DP-GAN",
    "gpate": "G-PATE",
    "gpate as published": "G-PATE as published",
    "gpate without noise": "G-PATE without noise, 10 teachers",
    "gan": "GAN",
    "dpkip": "DP-KIP, 10 a class",
    "dpkip, moments start": "DP-KIP from a moments start (ours), 10 a class",
}
QUICK_CLASSIFIERS = ("logistic regression", "gaussian nb", "lda", "bagging", "xgboost")
QUICK = {"rows": 2_000, "train_rows": 8_000, "test_rows": 10_000, "quick": True}
FULL = {"rows": 10_000, "test_rows": 60_000, "quick": False}


def part(
    dataset: str, method: str, size: Size, repeats: int, *, panel: str = "twelve", epsilon: float = 1.0,
    name: str | None = None, only: Sequence[str] = (), **more: Any,
) -> Part:  # fmt: skip
    """One method on one dataset. Quick parts see fewer rows and classifiers; full ones what the docs quote."""
    settings: dict[str, Any] = {"dataset": dataset, "method": method, "panel": panel, "epsilon": epsilon}
    settings |= QUICK if size == "quick" else FULL
    if only or (size == "quick" and panel == "twelve"):
        settings["only"] = list(only or QUICK_CLASSIFIERS)
    return Part(name or f"{dataset}: {method}", WHERE, settings | more, repeats)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Setting A for the method "real", else B (and C, and rankings, where asked for), one generator a repeat."""
    import warnings

    results: list[Measured] = []
    for repeat in repeats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(_measure(settings, repeat))
    return results


def _measure(settings: Mapping[str, Any], repeat: int) -> dict[str, float]:
    import time

    from understudy.evaluation.features import Featuriser, prepare
    from understudy.evaluation.ranking import feature_importance, ranking_agreement

    train, test, schema, positive = _tables(settings, repeat)
    if settings.get("leak"):
        train, test, schema = _with_the_state(train, test, schema, repeat)
    features = Featuriser(schema, schema.target)
    found: dict[str, float] = {}
    if settings["method"] == "real":
        rows = thinned(train, schema.target, settings["rows"], repeat)
    else:
        began = time.process_time()
        generator = make(settings, repeat, len(train)).fit(train, schema=schema)
        if getattr(generator, "interrupted_", False):
            # Ctrl-C ends a fit early and leaves a generator that is worth releasing, but no measurement.
            raise KeyboardInterrupt
        found["fit_seconds"] = time.process_time() - began
        found |= epsilons(generator)
        rows = drawn(generator, settings["rows"], schema, repeat)
    made = features.rows(rows)
    if settings.get("rankings") != "features":
        found |= summarised(panel_scores(settings, features, positive, made, features.rows(test), repeat))
    if settings.get("rankings"):
        real = features.rows(thinned(train, schema.target, settings["rows"], repeat))
        first, second = prepare(real, made)
        found["features"] = ranking_agreement(*(feature_importance(side.x, side.y) for side in (first, second)))
        if settings["rankings"] == "classifiers":
            order = _permutation(len(made), repeat)
            cut = len(made) // 5
            inner = panel_scores(settings, features, positive, made.take(order[cut:]), made.take(order[:cut]), repeat)
            outer = _setting_a(_frozen(settings), repeat)
            for metric in ("auroc", "auprc"):
                sides = ([side[name][metric] for name in side] for side in (outer, inner))
                found[f"sra_{metric}"] = ranking_agreement(*sides)
    return found


def _tables(settings: Mapping[str, Any], seed: int) -> tuple[Any, Any, Any, Any]:
    """The split of a part, with the number of rows that it asks for."""
    train, test, schema, positive = split(settings["dataset"], seed)
    train = thinned(train, schema.target, settings.get("train_rows"), seed)
    return train, thinned(test, schema.target, settings.get("test_rows"), seed), schema, positive


def split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows, schema and positive class: UCI's own split for adult, else a fifth by the seed.

    A share of each class goes to the test, and for isolet and epileptic rows are split as the papers do, by row.
    """
    from sklearn.model_selection import train_test_split

    from understudy import datasets

    data: Any = datasets.load_table(name)
    frame: Any = data.frame.reset_index(drop=True)
    train: Any
    test: Any
    if name == "adult":
        train, test = (frame[(data.split == which).to_numpy()] for which in ("train", "test"))
    else:
        train, test = train_test_split(frame, test_size=0.2, random_state=seed, stratify=frame[data.target])
    positive = data.info.positive if len(data.schema[data.target].labels) == 2 else None
    return train.reset_index(drop=True), test.reset_index(drop=True), data.schema, positive


def thinned(frame: Any, target: str, most: int | None, seed: int) -> Any:
    """At most so many rows; of two classes the rarer is kept whole, up to half."""
    import pandas as pd

    if most is None or len(frame) <= most:
        return frame
    sizes = frame[target].value_counts()
    if len(sizes) != 2:
        return frame.sample(most, random_state=seed).reset_index(drop=True)
    rare = frame[frame[target] == sizes.index[1]]
    rare = rare.sample(min(len(rare), most // 2), random_state=seed)
    often = frame[frame[target] == sizes.index[0]].sample(most - len(rare), random_state=seed)
    return pd.concat([rare, often]).sample(frac=1, random_state=seed).reset_index(drop=True)


def make(settings: Mapping[str, Any], seed: int, rows: int) -> Any:
    """The generator of a part, unfitted. `teachers_share` (of PATE-GAN's Table 4) is a share of the rows."""
    import inspect

    from understudy import methods

    kind_name, given, quick = METHODS[settings["method"]]
    kind = getattr(methods, kind_name)
    chosen: dict[str, Any] = dict(given) | (dict(quick) if settings.get("quick") else {})
    if "teachers_share" in settings:
        chosen["teachers"] = max(1, round(rows / settings["teachers_share"]))
    known = inspect.signature(kind).parameters
    if "epsilon" in known:
        chosen = {"epsilon": settings["epsilon"], "delta": DELTA} | chosen
    return kind(**chosen, random_state=seed)


def drawn(generator: Any, rows: int, schema: Any, seed: int) -> Any:
    """Synthetic rows, half of each class where there are two; a distilled set is what it is."""
    import pandas as pd

    if not hasattr(generator, "sample"):
        return generator.distilled_
    labels = schema[schema.target].labels
    if len(labels) != 2:
        return generator.sample(rows, random_state=seed)
    halves = [generator.sample(rows // 2, {schema.target: label}, seed) for label in labels]
    return pd.concat(halves).sample(frac=1, random_state=seed).reset_index(drop=True)


def epsilons(generator: Any) -> dict[str, float]:
    """The certificate's epsilon, which holds for every dataset, and the data-dependent one where it was kept."""
    found: dict[str, float] = {}
    epsilon = generator.certificate_.epsilon
    if epsilon is not None and math.isfinite(epsilon):
        dependent = generator.certificate_.body["release"].get("data_dependent_epsilon")
        found |= {
            "epsilon": float(epsilon),
            "epsilon_data_dependent": math.nan if dependent is None else float(dependent),
        }
    return found


def panel_scores(
    settings: Mapping[str, Any], features: Any, positive: Any, made: Any, judged: Any, seed: int
) -> dict[str, dict[str, Any]]:
    """Every classifier of the part's panel, trained on `made` and scored on `judged`."""
    from understudy.evaluation.classifiers import missing, panel
    from understudy.evaluation.features import prepare
    from understudy.evaluation.scores import fit_and_score, place_of

    wanted = panel(settings["panel"])
    absent = missing(wanted)
    names = [name for name in settings.get("only", wanted) if name not in absent]
    train, test = prepare(made, judged)
    place = place_of(positive, features.classes)
    return {
        name: fit_and_score(wanted[name], train, test, len(features.classes), place, seed).to_dict() for name in names
    }


def summarised(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each classifier's scores under its name, and their means."""
    found = {
        f"{name}/{metric}": float(one[metric]) for name, one in scores.items() for metric in ("auroc", "auprc", "f1")
    }
    for metric in ("auroc", "auprc", "f1"):
        found[metric] = sum(one[metric] for one in scores.values()) / len(scores)
    return found | {"classifiers": float(len(scores))}


def _frozen(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    kept = ("dataset", "panel", "only", "rows", "train_rows", "test_rows")
    return tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in settings.items() if k in kept)


@cache
def _setting_a(frozen: tuple[tuple[str, Any], ...], seed: int) -> dict[str, dict[str, Any]]:
    """Setting A of a part, once a process: every epsilon is compared with it."""
    from understudy.evaluation.features import Featuriser

    settings = dict(frozen)
    train, test, schema, positive = _tables(settings, seed)
    features = Featuriser(schema, schema.target)
    real = features.rows(thinned(train, schema.target, settings["rows"], seed))
    return panel_scores(settings, features, positive, real, features.rows(test), seed)


def _with_the_state(train: Any, test: Any, schema: Any, seed: int) -> tuple[Any, Any, Any]:
    """Epileptic with a 179th column as its file has it: the recorded state 1 to 5, of which 1 is the label itself.

    Only which of five states is which matters here, so those without a seizure get one of the four others at random.
    """
    import numpy as np

    from understudy.tables import Column, Schema

    random = np.random.default_rng(seed)
    wider = [
        frame.assign(state=np.where(frame[schema.target] == 1, 1, random.integers(2, 6, len(frame))))
        for frame in (train, test)
    ]
    return wider[0], wider[1], Schema((Column("state", "integer", (1, 5)), *schema.columns), schema.target)


def _permutation(rows: int, seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed).permutation(rows)
