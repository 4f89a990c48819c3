"""A table of thousands of numbers: what one fit takes, and what its rows still teach.

python -m benchmarks run wide-table --size full
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import in_a_new_process, peak_memory
from benchmarks.methods import build
from understudy.tables import Column, Schema

ROWS = 5_000
BOUND = 40.0


def some_rows(columns: int, rows: int, seed: int) -> pd.DataFrame:
    """Public: made-up numbers that hang together by five hidden ones; the class moves one in ten, by 1.5 of its spread."""
    shape, rng = np.random.default_rng(7), np.random.default_rng([8, seed])
    loads, width = shape.normal(size=(5, columns)), shape.uniform(0.5, 3.0, columns)
    moved = 1.5 * (shape.random(columns) < 0.1) * shape.choice([-1, 1], columns)
    ill = rng.random(rows) < 0.4
    made = rng.normal(size=(rows, 5)) @ loads / 3 + rng.normal(size=(rows, columns)) + ill[:, None] * moved
    names = [f"number{at}" for at in range(columns)]
    return pd.DataFrame(np.clip(made * width, -BOUND, BOUND), columns=names).assign(ill=ill)


def declared(frame: pd.DataFrame) -> Schema:
    numbers = [Column(name, "continuous", (-BOUND, BOUND)) for name in frame.columns if name != "ill"]
    return Schema((*numbers, Column("ill", "boolean")), "ill")


def fit_and_judge(columns: int, schema: bool, seed: int) -> dict[str, Any]:
    """One fit and one draw of as many rows. Imports are not counted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    frame, test = some_rows(columns, ROWS, seed), some_rows(columns, ROWS, 1000 + seed)
    generator: Any = build("moments", {}, 1.0, seed)
    given = {"schema": declared(frame)} if schema else {"target": "ill"}
    marks = [(time.perf_counter(), time.process_time())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        generator.fit(frame, **given)
    marks.append((time.perf_counter(), time.process_time()))
    rows: Any = generator.sample(ROWS, random_state=seed)
    marks.append((time.perf_counter(), time.process_time()))
    peak = round(peak_memory())
    (fit, fit_cpu), (draw, draw_cpu) = np.diff(marks, axis=0).round(1).tolist()

    def auroc(taught: Any) -> float:
        kept = [name for name in frame.columns if name != "ill" and taught[name].notna().all()]
        middle, spread = taught[kept].mean(), taught[kept].std().clip(lower=1e-9)
        model = LogisticRegression(C=1e-3).fit((taught[kept] - middle) / spread, taught["ill"].astype(bool))
        return round(float(roc_auc_score(test["ill"], model.decision_function((test[kept] - middle) / spread))), 3)

    return {
        "model": generator.facts_["model"],
        "columns_learnt": generator.facts_["columns"],
        "fit_seconds": fit,
        "fit_cpu_seconds": fit_cpu,
        "sample_seconds": draw,
        "sample_cpu_seconds": draw_cpu,
        "peak_memory_mb": peak,
        "auroc": auroc(rows),
        "auroc_real": auroc(frame),
    }


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    env = {"JAX_PLATFORMS": "cpu"}
    given = settings["columns"], settings["schema"]
    return [in_a_new_process(fit_and_judge, *given, seed, env=env) for seed in repeats]


def parts(size: Size, repeats: int) -> list[Part]:
    sizes = [(500, False)] if size == "quick" else [(n, schema) for n in (1000, 2000, 4000) for schema in (False, True)]
    return [
        Part(
            f"{columns}{' declared' if schema else ''}",
            "benchmarks.wide_table:measure",
            {"rows": ROWS, "columns": columns, "schema": schema},
            repeats,
        )
        for columns, schema in sizes
    ]


BENCHMARK = Benchmark(
    id="wide-table",
    title="A table of thousands of numbers: what a fit takes, and what its rows teach",
    repeats={"quick": 1, "full": 2},
    parts=parts,
    alone=True,
    notes=(
        "Made-up rows of that many numbers and a class, which moves one number in ten by 1.5 of its spread; epsilon 1, a new process for "
        "each repeat, all cores. `schema`: kinds, bounds and classes are declared. CPU seconds are what all cores worked; memory is the peak "
        "of the whole process. `auroc`: logistic regression that learnt from 5,000 drawn rows, on 5,000 others; `auroc_real`: from the real "
        "ones.",
    ),
)
