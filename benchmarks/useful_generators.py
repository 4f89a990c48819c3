"""Setting B of the generators: train on synthetic rows, test on real ones, at epsilon 1 and delta 1e-5.

    UNDERSTUDY_DATA=... python benchmarks/useful_generators.py choose [--workers 2]
    UNDERSTUDY_DATA=... python benchmarks/useful_generators.py report --dataset credit [--workers 2] [--seeds 3]

`choose` fits all candidates on four fifths of adult's training rows and scores them on the last fifth; no test row is
touched. `report` fits what was chosen there (`REPORTED`) on the training rows of a dataset and scores it on its test rows,
once. So nothing was chosen on any row of credit, and the settings are public knowledge for it. Scores are the means over
G-PATE's four classifiers. Generators are given the class, and half of the synthetic rows are of each: any mix is free.
The file is written after every fit.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
ROWS = 10_000
# AUROC in setting B on credit, mean of the same four classifiers, as G-PATE's Table 6 prints it.
PAPERS = {"credit": {"pategan": 0.887, "dpgan": 0.874, "gpate": 0.907, "gan": 0.942}}

Setting = tuple[str, dict[str, Any]]
VOTES = {"queries": 64, "memory": 50, "student_steps": 50, "generator_steps": 5}
WARM = {"warm_start": "moments", "warm_steps": 2000}
PUBLISHED = {"mode": "as-published", "iterations": 300}


def _grid() -> dict[str, Setting]:
    found: dict[str, Setting] = {"moments": ("moments", {})}
    found["pategan paper"] = ("pategan", {"aggregator": "lnmax"})
    found["pategan paper, gnmax"] = ("pategan", {})
    for rounds in (10, 40):
        for rate in (3e-4, 1e-3):
            found[f"pategan votes kept, {rounds} rounds, rate {rate:g}"] = (
                "pategan", {**VOTES, "iterations": rounds, "learning_rate": rate, "teacher_learning_rate": 1e-2},
            )  # fmt: skip
    for share in (0.5, 0.9):
        for rate in (1e-5, 1e-4):
            warm = {**WARM, "warm_epsilon_share": share, "learning_rate": rate}
            kept = {**VOTES, "iterations": 10, "teacher_learning_rate": 1e-2}
            found[f"pategan start {share}, rate {rate:g}"] = ("pategan", {**warm, **kept})
            found[f"gpate start {share}, rate {rate:g}"] = ("gpate", {**warm, "iterations": 10})
            found[f"dpgan start {share}, rate {rate:g}"] = ("dpgan", {**warm, "iterations": 50})
    found["start alone"] = (
        "pategan",
        {**WARM, "warm_epsilon_share": 0.99, "iterations": 1, "queries": 1, "learning_rate": 1e-9},
    )
    for rounds in (10, 40):
        for rate in (1e-3, 1e-2):
            found[f"gpate {rounds} rounds, rate {rate:g}"] = ("gpate", {"iterations": rounds, "learning_rate": rate})
    for rounds in (50, 300, 1500):
        for rate in (3e-4, 2e-3):
            found[f"dpgan {rounds} rounds, rate {rate:g}"] = ("dpgan", {"iterations": rounds, "learning_rate": rate})
    for rounds, rate, steps in ((4000, 2e-4, 2), (4000, 1e-3, 2), (12000, 2e-4, 5)):
        found[f"gan {rounds} rounds, rate {rate:g}"] = (
            "gan", {"iterations": rounds, "learning_rate": rate, "critic_steps": steps},
        )  # fmt: skip
    for noise in (20.0, 60.0):
        found[f"pategan published, noise {noise:g} (unsafe)"] = (
            "pategan", {**PUBLISHED, "aggregator": "lnmax", "noise": noise, "learning_rate": 1e-3},
        )  # fmt: skip
        found[f"gpate published, noise {10 * noise:g} (unsafe)"] = (
            "gpate", {**PUBLISHED, "noise": 10 * noise, "threshold_ratio": 2.5},
        )  # fmt: skip
    return found


SETTINGS = _grid()
REPORTED: tuple[str, ...] = tuple(SETTINGS)


def split(name: str, validation: bool) -> tuple[pd.DataFrame, pd.DataFrame, Any, Any]:
    """Rows to learn from and rows to score on, the public schema, the positive class. Credit without Time, as published."""
    from sklearn.model_selection import train_test_split

    from understudy import datasets
    from understudy.tables import Schema

    data: Any = datasets.load(name)
    schema = Schema(tuple(c for c in data.schema if not (name == "credit" and c.name == "Time")), data.target)
    frame = data.frame[list(schema.names)].reset_index(drop=True)
    train: Any
    test: Any
    if data.split is not None:
        train, test = (frame[(data.split == part).to_numpy()] for part in ("train", "test"))
    else:
        train, test = train_test_split(frame, test_size=0.2, random_state=0, stratify=frame[data.target])
    if validation:
        train, test = train_test_split(train, test_size=0.2, random_state=1, stratify=train[data.target])
    return train.reset_index(drop=True), test.reset_index(drop=True), schema, data.info.positive


def make(name: str, seed: int) -> Any:
    from understudy import methods
    from understudy.methods.moments import MomentsGenerator

    method, given = SETTINGS[name]
    if method == "moments":
        return MomentsGenerator(1.0, 1e-5, random_state=seed)
    budget = {} if method == "gan" else {"epsilon": 1.0, "delta": 1e-5}
    kind = getattr(methods, method.upper())
    return kind(**{**budget, "conditional": True, "random_state": seed, **given})


def score(made: pd.DataFrame, real: pd.DataFrame, schema: Any, positive: Any) -> dict[str, Any]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    from understudy.evaluation.classifiers import FOUR
    from understudy.tables import Encoder

    encoder = Encoder(schema.features)
    x, shown = (encoder.encode(frame).astype(np.float32) for frame in (made, real))
    y, truth = ((frame[schema.target] == positive).to_numpy().astype(int) for frame in (made, real))
    found: dict[str, Any] = {}
    for name, classifier in FOUR.items():
        chance = np.full(len(real), 0.5)
        if 0 < y.sum() < len(y):
            chance = classifier(0).fit(x, y).predict_proba(shown)[:, 1]
        auroc, auprc = float(roc_auc_score(truth, chance)), float(average_precision_score(truth, chance))
        found[name] = {"auroc": auroc, "auprc": auprc}
    mean = {k: float(np.mean([v[k] for v in found.values()])) for k in ("auroc", "auprc")}
    return {**mean, "classifiers": found}


def run(task: tuple[str, str, int, bool]) -> dict[str, Any]:
    """One fit and its scores; what fails is written down and stops nothing else."""
    warnings.simplefilter("ignore")
    try:
        return _run(task)
    except Exception as error:
        return {"setting": task[1], "seed": task[2], "failed": repr(error)}


def _run(task: tuple[str, str, int, bool]) -> dict[str, Any]:
    dataset, name, seed, validation = task
    train, real, schema, positive = split(dataset, validation)
    labels = schema[schema.target].labels if schema[schema.target].kind != "boolean" else (False, True)
    began = time.perf_counter()
    line: dict[str, Any] = {"setting": name, "seed": seed}
    if name == "real rows (setting A)":
        parts = [train[train[schema.target] == c].sample(ROWS // 2, replace=True, random_state=seed) for c in labels]
    else:
        generator = make(name, seed).fit(train, schema=schema)
        release = generator.certificate_.body["release"]
        line |= {
            k: release[k] for k in ("noise", "teachers", "iterations_done", "data_dependent_epsilon") if k in release
        }
        epsilon = generator.certificate_.epsilon
        line["epsilon"] = epsilon if np.isfinite(epsilon) else None
        parts = [generator.sample(ROWS // len(labels), {schema.target: c}, seed) for c in labels]
    line["seconds"] = round(time.perf_counter() - began, 1)
    made: Any = pd.concat(parts, ignore_index=True)
    return line | score(made, real, schema, positive)


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(line["setting"] for line in lines):
        runs = [line for line in lines if line["setting"] == name]
        found[name] = {k: round(float(np.mean([r[k] for r in runs])), 4) for k in ("auroc", "auprc")}
        found[name] |= {"auroc_deviation": round(float(np.std([r["auroc"] for r in runs])), 4), "seeds": len(runs)}
    return dict(sorted(found.items(), key=lambda item: -item[1]["auroc"]))


def main(what: str, dataset: str, seeds: int, workers: int, only: str, out: Path) -> None:
    validation = what == "choose"
    names = [name for name in (SETTINGS if validation else ("real rows (setting A)", *REPORTED)) if only in name]
    tasks = [(dataset, name, seed, validation) for seed in range(seeds) for name in names]
    body: dict[str, Any] = {
        "command": f"python benchmarks/useful_generators.py {what} --dataset {dataset} --seeds {seeds}",
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "workers": workers},
        "dataset": dataset, "epsilon": 1.0, "delta": 1e-5, "synthetic_rows": ROWS,
        "scored_on": "a fifth of the training rows" if validation else "the test rows",
        "settings": {name: SETTINGS[name] for name in names if name in SETTINGS},
        "papers_auroc": PAPERS.get(dataset), "summary": {}, "runs": [],
    }  # fmt: skip
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for line in pool.imap_unordered(run, tasks, chunksize=1):
            body["runs"].append(line)
            body["summary"] = summary([line for line in body["runs"] if "failed" not in line])
            print({k: v for k, v in line.items() if k != "classifiers"}, flush=True)
            out.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Setting B of the generators.")
    parser.add_argument("what", choices=["choose", "report"])
    parser.add_argument("--dataset", default="adult")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    os.environ |= {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    place = given.out or RESULTS / f"generators_{given.what}_{given.dataset}.json"
    main(given.what, given.dataset, given.seeds, given.workers, given.only, place)
