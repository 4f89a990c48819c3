"""What each ingredient of the moments generator is worth, and how long a fit takes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import cores, in_a_new_process, peak_memory
from benchmarks.methods import build
from benchmarks.moments import Draw, judge
from benchmarks.result import Row, grouped
from benchmarks.splits import held_out, split

_BALANCED = Draw(50_000, 0.6)
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "adult": {
        "as recommended": {},
        "classes from the mixture (relabel=False)": {"relabel": False},
        "40 components": {"components": 40},
        "200 components": {"components": 200},
        "800 steps": {"steps": 800},
        "12 bins": {"bins": 12},
        "30 bins": {"bins": 30},
        "the Gaussian model": {"model": "gaussian"},
    },
    "credit": {
        "50,000 rows, balance 0.6": {"draw": _BALANCED},
        "the same without the look at deviations": {"draw": _BALANCED, "deviations": False},
        "50,000 rows, balance 0.3": {"draw": Draw(50_000, 0.3)},
        "50,000 rows, balance 1": {"draw": Draw(50_000, 1.0)},
        "classes as they are": {},
        "the tables model, balance 0.6": {"model": "tables", "draw": _BALANCED},
    },
}
JUDGES = ("logistic regression", "adaboost", "mlp", "xgboost")


@contextmanager
def looks(deviations: bool) -> Iterator[None]:
    """With or without the look at deviations, whose share then goes to the others."""
    from understudy.methods.moments import plan

    usual = plan.shares_of
    if not deviations:  # choices have no deviations to look at
        plan.shares_of = lambda located, width, numbers, rows: usual(located, width, 0, rows)
    try:
        yield
    finally:
        plan.shares_of = usual


def ablation(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One variant on a quarter of the training rows that its fit did not see; each seed holds out another."""
    (seed,) = repeats
    changes = dict(VARIANTS[settings["dataset"]][settings["variant"]])
    draw, deviations = changes.pop("draw", Draw()), changes.pop("deviations", True)
    data = held_out(split(settings["dataset"]), 0.25, 1 + seed)
    with warnings.catch_warnings(), looks(deviations):
        warnings.simplefilter("ignore")
        generator = build("moments", changes, 1.0, seed).fit(data.train, schema=data.schema)
        rows = draw.of(generator, data, seed)
        scores = [judge("five", name, rows, data) for name in JUDGES]
    return [{k: float(np.mean([score[k] for score in scores])) for k in ("auroc", "auprc")}]


def ablation_parts(size: Size, repeats: int) -> list[Part]:
    every = [(dataset, variant) for dataset, variants in VARIANTS.items() for variant in variants]
    return [
        Part(f"{d}: {v}", "benchmarks.moments_more:ablation", {"dataset": d, "variant": v}, repeats)
        for d, v in (every[:1] if size == "quick" else every)
    ]


def ablation_summary(runs: Sequence[Row]) -> list[Row]:
    return [
        {"dataset": dataset, "variant": variant, "seeds": len(mine)}
        | {k: round(float(np.mean([run[k] for run in mine])), 4) for k in ("auroc", "auprc")}
        for (dataset, variant), mine in grouped(runs, "dataset", "variant").items()
    ]


ABLATION = Benchmark(
    id="moments-ablation",
    title="What each ingredient of the moments generator is worth",
    datasets=tuple(VARIANTS),
    repeats={"quick": 1, "full": 2},
    parts=ablation_parts,
    summary=ablation_summary,
    notes=(
        "Epsilon 1. Means over logistic regression, AdaBoost, perceptron and XGBoost on a quarter of the training rows; these are "
        "the rows that the settings were chosen on, and no test row is touched.",
    ),
)


def speed(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(cores()))
    env = threads | {"JAX_PLATFORMS": "cpu"}
    return [in_a_new_process(fit_and_draw, settings["dataset"], env=env) for _ in repeats]


def fit_and_draw(dataset: str) -> dict[str, Any]:
    """One fit and one draw of as many rows. Imports are not counted, compilation is."""
    from understudy import datasets

    data: Any = datasets.load(dataset)
    generator = build("moments", {}, 1.0, 0)
    marks = [(time.perf_counter(), time.process_time())]
    generator.fit(data.frame, schema=data.schema)
    marks.append((time.perf_counter(), time.process_time()))
    generator.sample(len(data.frame), random_state=0)
    marks.append((time.perf_counter(), time.process_time()))
    fit, draw = np.diff(marks, axis=0).round(2).tolist()
    found = {"fit_seconds": fit[0], "fit_cpu_seconds": fit[1], "sample_seconds": draw[0], "sample_cpu_seconds": draw[1]}
    peak, (rows, columns) = round(peak_memory()), data.frame.shape
    return {**found, "peak_memory_mb": peak, "rows": rows, "columns": columns}


def speed_parts(size: Size, repeats: int) -> list[Part]:
    datasets = ("adult",) if size == "quick" else ("covtype", "credit", "intrusion", "adult")
    return [Part(name, "benchmarks.moments_more:speed", {"dataset": name}, repeats) for name in datasets]


SPEED = Benchmark(
    id="moments-speed",
    title="How long a fit and a draw of the moments generator take",
    datasets=("covtype", "credit", "intrusion", "adult"),
    repeats={"quick": 1, "full": 3},
    parts=speed_parts,
    alone=True,
    notes=(
        "Whole tables, epsilon 1, a new process for each repeat, on the cores that the process may use (`taskset` chooses them). "
        "CPU seconds are what all cores worked; on a machine that others use too the clock says less.",
    ),
)
