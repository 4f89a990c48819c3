"""Generators measured: seconds an iteration against the number of teachers, and usefulness in setting B.

    UNDERSTUDY_DATA=... python benchmarks/bench_generators.py speed
    UNDERSTUDY_DATA=... python benchmarks/bench_generators.py useful --dataset adult --seeds 3 [--only NAME]

Each writes a file in benchmarks/results/ that says the command and the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
EPSILON, DELTA = 1.0, 1e-5
# Setting B on credit, mean AUROC of the four classifiers, as printed in G-PATE's Table 6.
PAPERS = {"credit": {"pategan": 0.887, "dpgan": 0.874, "gpate": 0.907, "gan": 0.942}}


def machine() -> dict[str, Any]:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": platform.machine(), "cores": os.cpu_count(), "load_average": load, "accelerator": None}


def write(name: str, body: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    body = {"command": "python benchmarks/bench_generators.py " + " ".join(sys.argv[1:]), "machine": machine(), **body}
    (RESULTS / name).write_text(json.dumps(body, indent=1) + "\n")


def split(name: str) -> tuple[pd.DataFrame, pd.DataFrame, Any, Any]:
    """Training and test rows, the public schema, and the positive class. `credit` without Time, as in the papers."""
    from sklearn.model_selection import train_test_split

    from understudy import datasets
    from understudy.tables import Schema

    data: Any = datasets.load(name)
    kept = Schema(tuple(c for c in data.schema if not (name == "credit" and c.name == "Time")), data.target)
    frame = data.frame[list(kept.names)].reset_index(drop=True)
    train: Any
    test: Any
    if data.split is not None:
        train, test = (frame[(data.split == part).to_numpy()] for part in ("train", "test"))
    else:
        train, test = train_test_split(frame, test_size=0.2, random_state=0, stratify=frame[data.target])
    return train.reset_index(drop=True), test.reset_index(drop=True), kept, data.info.positive


# --------------------------------------------------------------------------------------------------------------


def speed() -> None:
    """One PATE-GAN iteration on adult: n_T = n_S = 5, batch 64, and how far it is from what memory allows."""
    import jax

    from understudy.methods import PATEGAN

    train, _, schema, _ = split("adult")
    rows: list[dict[str, Any]] = []
    for hidden in ((), (64,)):
        for teachers in (10, 100, 1000):
            times: list[float] = []
            generator = PATEGAN(epsilon=100.0, teachers=teachers, iterations=12, random_state=0, teacher_hidden=hidden)
            last = [time.perf_counter()]

            def tick(_: Any, times: list[float] = times, last: list[float] = last) -> None:
                now = time.perf_counter()
                times.append(now - last[0])
                last[0] = now

            generator.fit(train, schema=schema, progress=tick)
            d = generator.sampler_.encoder.width
            plan = generator.private_["trainer"].plan
            real = min(plan.batch, plan.width)
            sizes = [d, *hidden, 1]
            weights = sum(a * b for a, b in pairwise(sizes))
            # Forward and two products backward on real and fake rows in each of 5 steps; a forward pass for 320 votes.
            flops = teachers * weights * 2 * (5 * 3 * (real + 64) + 320)
            # Each step reads the real rows at least once and reads and writes weights and two moments.
            traffic = teachers * 4 * (5 * (real * d + 6 * weights) + weights)
            best = min(times[2:])
            rows.append(
                {
                    "teachers": teachers,
                    "teacher_hidden": list(hidden),
                    "seconds_an_iteration": round(best, 5),
                    "median_seconds": round(float(np.median(times[2:])), 5),
                    "microseconds_a_teacher_update": round(1e6 * best / (5 * teachers), 2),
                    "first_iteration_seconds": round(times[0], 2),
                    "floor_flops": flops,
                    "floor_bytes": traffic,
                    "achieved_gflops": round(flops / best / 1e9, 2),
                    "achieved_gbytes": round(traffic / best / 1e9, 3),
                }
            )
            print(rows[-1], flush=True)
    write("generators_speed.json", {"dataset": "adult", "rows": len(train), "jax": jax.__version__, "iterations": rows})


# --------------------------------------------------------------------------------------------------------------


def candidates(seed: int) -> dict[str, Callable[[], Any]]:
    """What is compared: papers' settings, ours, and the steps between."""
    from understudy.methods import DPGAN, GAN, GPATE, PATEGAN

    base: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "random_state": seed}
    ours: dict[str, Any] = {"conditional": True, "queries": 64, "memory": 20, "student_steps": 50, "generator_steps": 5}
    gentle: dict[str, Any] = {"learning_rate": 1e-4, "teacher_learning_rate": 1e-2}
    published: dict[str, Any] = {"mode": "as-published", "iterations": 300}
    return {
        "gan (not private)": lambda: GAN(3000, conditional=True, learning_rate=2e-4, critic_steps=2, random_state=seed),
        "pategan, paper's networks and rates": lambda: PATEGAN(aggregator="lnmax", conditional=True, **base),
        "pategan, gnmax": lambda: PATEGAN(conditional=True, **base),
        "pategan, gnmax, labels remembered": lambda: PATEGAN(**base, **ours, learning_rate=1e-3),
        "pategan, half of epsilon for the start": lambda: PATEGAN(**base, **ours, **gentle, warm_epsilon_share=0.5),
        "pategan, start alone": lambda: PATEGAN(
            **base, conditional=True, iterations=1, queries=1, learning_rate=1e-6, warm_epsilon_share=0.9
        ),
        "gpate": lambda: GPATE(**base),
        "gpate, half of epsilon for the start": lambda: GPATE(**base, warm_epsilon_share=0.5),
        "dpgan": lambda: DPGAN(**base, conditional=True),
        "dpgan, half of epsilon for the start": lambda: DPGAN(
            **base, conditional=True, iterations=100, learning_rate=1e-4, warm_epsilon_share=0.5
        ),
        "pategan as published (unsafe)": lambda: PATEGAN(
            **base, **published, aggregator="lnmax", noise=60.0, conditional=True
        ),
        "gpate as published (unsafe)": lambda: GPATE(**base, **published, noise=600.0, threshold_ratio=2.5),
    }


def classifiers() -> dict[str, Any]:
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    return {
        "logistic regression": LogisticRegression(max_iter=500),
        "adaboost": AdaBoostClassifier(random_state=0),
        "bagging": BaggingClassifier(random_state=0),
        "mlp": MLPClassifier(max_iter=20, random_state=0),
    }


def score(made: pd.DataFrame, test: pd.DataFrame, schema: Any, positive: Any) -> dict[str, Any]:
    """Setting B: train on synthetic rows, test on real ones."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    from understudy.tables import Encoder

    encoder = Encoder(schema.features)
    x, real = encoder.encode(made), encoder.encode(test)
    y, truth = ((frame[schema.target] == positive).to_numpy() for frame in (made, test))
    found: dict[str, Any] = {}
    for name, classifier in classifiers().items():
        if y.all() or not y.any():
            found[name] = {"auroc": 0.5, "auprc": float(truth.mean())}
            continue
        chance = classifier.fit(x, y).predict_proba(real)[:, 1]
        found[name] = {
            "auroc": float(roc_auc_score(truth, chance)),
            "auprc": float(average_precision_score(truth, chance)),
        }
    mean = {k: float(np.mean([v[k] for v in found.values()])) for k in ("auroc", "auprc")}
    return {"mean": mean, "classifiers": found}


def useful(dataset: str, seeds: int, rows: int, only: str | None) -> None:
    train, test, schema, positive = split(dataset)
    name = f"generators_useful_{dataset}.json"
    body: dict[str, Any] = {"dataset": dataset, "epsilon": EPSILON, "delta": DELTA, "synthetic_rows": rows}
    body |= {"papers_auroc": PAPERS.get(dataset), "methods": {}}
    if (RESULTS / name).exists() and only is not None:
        body["methods"] = json.loads((RESULTS / name).read_text())["methods"]
    if only is None or only == "real":
        found = score(train.head(rows), test, schema, positive)
        body["methods"]["real rows (setting A)"] = {**found["mean"], "runs": [found]}
        write(name, body)
    for label in candidates(0):
        if only is not None and only not in label:
            continue
        runs: list[dict[str, Any]] = []
        for seed in range(seeds):
            began = time.perf_counter()
            generator = candidates(seed)[label]().fit(train, schema=schema)
            seconds = time.perf_counter() - began
            found = score(generator.sample(rows, random_state=seed), test, schema, positive)
            facts = {k: generator.certificate_.body["release"].get(k) for k in ("noise", "teachers", "iterations_done")}
            runs.append({"seed": seed, "seconds": round(seconds, 1), **facts, "epsilon": _finite(generator), **found})
        means = {k: float(np.mean([run["mean"][k] for run in runs])) for k in ("auroc", "auprc")}
        body["methods"][label] = {**means, "runs": runs}
        print(label, {k: round(v, 4) for k, v in means.items()}, runs[-1]["seconds"], flush=True)
        write(name, body)


def _finite(generator: Any) -> float | None:
    epsilon = generator.certificate_.epsilon
    return epsilon if np.isfinite(epsilon) else None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["speed", "useful"])
    parser.add_argument("--dataset", default="adult")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only")
    given = parser.parse_args()
    if given.what == "speed":
        speed()
    else:
        useful(given.dataset, given.seeds, given.rows, given.only)
