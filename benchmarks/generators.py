"""Setting B of the generators: train on synthetic rows, test on real ones, at epsilon 1 and delta 1e-5.

`generators-choose` fits all candidates on four fifths of adult's training rows and scores them on the last fifth; no test row
is touched. `generators-report` fits the best of each group there on the training rows of a dataset and scores it on its test
rows, once. So no setting here was chosen on credit (the moments release that some start from has settings of its own: see
`plan.py` there). The GAN, which is not private, was changed after a first look at the test rows; the result says how. Scores
are the means over G-PATE's four classifiers. Generators are given the class, and half of the synthetic rows are of each: any
mix is free.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import build, label
from benchmarks.result import RESULTS, Row, grouped, read, result_path
from benchmarks.splits import held_out, split
from benchmarks.synthetic import drawn, frame_scores, means
from understudy import registry

ROWS = 10_000
Setting = tuple[str, dict[str, Any]]
START = {"start.kind": "moments", "start.epsilon_share": 0.5}
PUBLISHED = {"aggregator": "votes", "mode": "as-published", "iterations": 300}
# Candidates by what is compared. The best of each group in `choose` is what `report` takes.
GROUPS: dict[str, list[Setting]] = {
    "moments": [("moments", {})],
    "pategan": [("pategan", {})],
    "pategan, comparisons": [("pategan", {"aggregator": "comparisons"})],
    "pategan, votes": [
        ("pategan", {"aggregator": "votes", "ballot": ballot, "batch": 320, "iterations": n})
        for ballot in ("lnmax", "gnmax") for n in (5, 20)
    ],
    "pategan, 0.5 for a start": [("pategan", START)],
    "gpate": [("gpate", {})],
    "gpate, signs": [("gpate", {"aggregator": "signs", "kept_share": share}) for share in (0.03, 0.1, 0.3)],
    "gpate, votes": [("gpate", {"aggregator": "votes", "iterations": 10})],
    "gpate, 0.5 for a start": [("gpate", START)],
    "dpgan": [("dpgan", {})],
    "dpgan, 0.5 for a start": [("dpgan", START)],
    "gan (not private)": [("gan", {})],
    # PATE-GAN prints no noise and stops when an iteration (320 votes) has brought epsilon to the budget or past it.
    "pategan as published (unsafe)": [
        ("pategan", {**PUBLISHED, "noise": noise, "batch": 320, "memory": 0.0}) for noise in (800.0, 200.0)
    ],
    "gpate as published (unsafe)": [
        ("gpate", {**PUBLISHED, "noise": noise, "threshold_ratio": 2.5}) for noise in (200.0, 600.0)
    ],
}  # fmt: skip
SETTINGS = {f"{group} #{n}": given for group, listed in GROUPS.items() for n, given in enumerate(listed, 1)}
REAL = label("real")
CHOSEN = result_path(RESULTS, "generators-choose", "full")
# Steps between the papers' settings and ours: they come last, so that what is cut off is of these.
ABLATION = ("pategan, comparisons", "pategan, votes", "gpate, signs", "gpate, votes")


def chosen(path: Path = CHOSEN) -> list[str]:
    """The best candidate of each group; where nothing was compared, the first."""
    found = {row["setting"]: row["auroc"] for row in read(path).table("summary")} if path.exists() else {}
    return [
        max((f"{group} #{n}" for n in range(1, len(listed) + 1)), key=lambda name: found.get(name, 0.0))
        for group, listed in GROUPS.items()
    ]


def generator(name: str, seed: int) -> Any:
    method, given = SETTINGS.get(name) or (name, {})
    return build(method, given, 1.0, seed)


def others() -> list[str]:
    """Generators of tables that no group names: they are reported with their defaults."""
    named = {method for method, _ in SETTINGS.values()}
    return [name for name in registry.names("generator", "table") if name not in named]


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One fit and its scores: `validation` on a fifth of the training rows, else on the test rows."""
    (seed,) = repeats
    data = split(settings["dataset"])
    data = held_out(data, 0.2, 1) if settings["validation"] else data
    target = data.schema.target
    began, line = time.perf_counter(), dict[str, Any]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if settings["setting"] == REAL:
            classes = (data.train[data.train[target] == c] for c in data.train[target].unique())
            made: Any = pd.concat([one.sample(ROWS // 2, replace=True, random_state=seed) for one in classes])
        else:
            fitted = generator(settings["setting"], seed).fit(data.train, schema=data.schema)
            release = fitted.certificate_.body["release"]
            told = ("noise", "teachers", "iterations_done", "data_dependent_epsilon")
            line = {k: release[k] for k in told if k in release} | {"epsilon": fitted.certificate_.epsilon}
            made = drawn(fitted, ROWS, data.schema, seed)
        line["seconds"] = time.perf_counter() - began
        scores = frame_scores("four", made.reset_index(drop=True), data)
    each = {metric: [one[metric] for one in scores.values()] for metric in ("auroc", "auprc")}
    return [{**line, **means(scores, ("auroc", "auprc")), "each_auroc": each["auroc"], "each_auprc": each["auprc"]}]


def _parts(names: Sequence[str], datasets: Sequence[str], repeats: int, validation: bool) -> list[Part]:
    return [
        Part(
            f"{dataset}: {name}",
            "benchmarks.generators:measure",
            {"dataset": dataset, "setting": name, "validation": validation},
            repeats,
        )
        for name in sorted(names, key=lambda name: name.startswith(ABLATION))
        for dataset in datasets
    ]


def choose_parts(size: Size, repeats: int) -> list[Part]:
    names = [name for name in SETTINGS if len(GROUPS[name.rpartition(" #")[0]]) > 1]
    return _parts(["pategan, gnmax #1"] if size == "quick" else names, ("adult",), repeats, True)


def report_parts(size: Size, repeats: int) -> list[Part]:
    if size == "quick":
        return _parts([REAL, "moments #1"], ("adult",), repeats, False)
    return _parts([REAL, *chosen(), *others()], ("adult", "credit"), repeats, False)


def summary(runs: Sequence[Row]) -> list[Row]:
    """The best first."""
    found: list[Row] = []
    for (dataset, name), mine in grouped(runs, "dataset", "setting").items():
        row: Row = {k: round(float(np.mean([run[k] for run in mine])), 4) for k in ("auroc", "auprc")}
        row |= {"auroc_deviation": round(float(np.std([run["auroc"] for run in mine])), 4), "seeds": len(mine)}
        found.append({"dataset": dataset, "setting": name, **row})
    return sorted(found, key=lambda row: (row["dataset"], -row["auroc"]))


_NOTE = "Epsilon 1, delta 1e-5, 10,000 synthetic rows, half of each class. `each_*`: logistic regression, AdaBoost, bagging, perceptron."
CHOOSE = Benchmark(
    id="generators-choose",
    title="Generators: candidates on a fifth of adult's training rows",
    datasets=("adult",),
    repeats={"quick": 1, "full": 2},
    parts=choose_parts,
    summary=summary,
    notes=(_NOTE, "Scored on a fifth of the training rows."),
)
REPORT = Benchmark(
    id="generators-report",
    title="Generators: the chosen settings on test rows",
    datasets=("adult", "credit"),
    repeats={"quick": 1, "full": 3},
    parts=report_parts,
    summary=summary,
    notes=(
        _NOTE,
        "Scored on the test rows. G-PATE's Table 6 prints on credit, mean AUROC of the same four: PATE-GAN 0.887, DP-GAN 0.874, "
        "G-PATE 0.907, GAN 0.942.",
    ),
)
