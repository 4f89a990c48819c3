"""What each ingredient of the moments generator is worth, on a quarter of the training rows that no fit saw.

    UNDERSTUDY_DATA=... python benchmarks/ablate_moments.py --dataset adult --seeds 2 --out benchmarks/results/moments_ablation.json
    UNDERSTUDY_DATA=... python benchmarks/ablate_moments.py --dataset credit --seeds 8 --out benchmarks/results/moments_ablation_credit.json

These are the rows that the settings were chosen on; no test row is touched. Each seed holds out another quarter.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from understudy.benchmarks import moments
from understudy.benchmarks.machine import machine, versions
from understudy.methods.moments import plan

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
        "50,000 rows, balance 0.6": {"draw": moments.Draw(50_000, 0.6)},
        "the same without the look at deviations": {"draw": moments.Draw(50_000, 0.6), "deviations": False},
        "50,000 rows, balance 0.3": {"draw": moments.Draw(50_000, 0.3)},
        "50,000 rows, balance 1": {"draw": moments.Draw(50_000, 1.0)},
        "classes as they are": {},
        "the tables model, balance 0.6": {"model": "tables", "draw": moments.Draw(50_000, 0.6)},
    },
}
JUDGES = ("logistic regression", "adaboost", "mlp", "xgboost")


@contextmanager
def looks(deviations: bool) -> Iterator[None]:
    """With or without the look at deviations, whose share then goes to the others."""
    usual = plan.shares_of
    if not deviations:
        plan.shares_of = lambda trees, width, numbers, rows: usual(
            trees, width, 0, rows
        )  # choices have no deviations to look at
    try:
        yield
    finally:
        plan.shares_of = usual


def held_out(name: str, seed: int) -> moments.Split:
    """The training rows of a table, less a quarter that takes the place of the test rows."""
    from sklearn.model_selection import train_test_split

    whole = moments.split(name)
    rows = whole.train[whole.schema.target]
    train: Any
    held: Any
    train, held = train_test_split(whole.train, test_size=0.25, random_state=1 + seed, stratify=rows)
    return moments.Split(train.reset_index(drop=True), held.reset_index(drop=True), whole.schema, whole.positive)


def run(given: argparse.Namespace) -> None:
    from understudy.methods.moments import MomentsGenerator

    runs: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS[given.dataset]}
    for seed in range(given.seeds):
        data = held_out(given.dataset, seed)
        for name, settings in VARIANTS[given.dataset].items():
            draw: moments.Draw = settings.get("draw", moments.Draw())
            plain = {key: value for key, value in settings.items() if key not in ("draw", "deviations")}
            with looks(settings.get("deviations", True)):
                generator = MomentsGenerator(1.0, moments.DELTA, random_state=seed, **plain)
                generator.fit(data.train, schema=data.schema)
            rows = generator.sample(draw.rows or len(data.train), random_state=seed, balance=draw.balance)
            scores = [moments.judge("five", judge, rows, data.test, data) for judge in JUDGES]
            runs[name].append({k: float(np.mean([s[k] for s in scores])) for k in ("auroc", "auprc")})
            print(seed, name, runs[name][-1], flush=True)
        found = {name: mean(done) | {"runs": done} for name, done in runs.items() if done}
        body = {"command": "python benchmarks/ablate_moments.py " + " ".join(sys.argv[1:]), "machine": machine()}
        body |= {"versions": versions(), "epsilon": 1.0, "judges": list(JUDGES), "validation": found}
        Path(given.out).write_text(json.dumps(body, indent=1) + "\n")


def mean(runs: list[dict[str, float]]) -> dict[str, Any]:
    return {k: round(float(np.mean([r[k] for r in runs])), 4) for k in ("auroc", "auprc")}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="adult", choices=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/results/moments_ablation.json")
    run(parser.parse_args())
