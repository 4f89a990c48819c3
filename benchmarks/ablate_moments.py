"""What each ingredient of the moments generator is worth, on a quarter of the training rows that no fit saw.

    UNDERSTUDY_DATA=... python benchmarks/ablate_moments.py --dataset adult --seeds 2 --out benchmarks/results/moments_ablation.json
    UNDERSTUDY_DATA=... python benchmarks/ablate_moments.py --dataset credit --seeds 2 --out benchmarks/results/moments_ablation_credit.json

These are the rows that the settings were chosen on; no test row is touched.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from understudy.benchmarks import moments
from understudy.benchmarks.machine import machine, versions

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
        "classes as they are": {},
        "50,000 rows, balance 0.3": {"draw": moments.Draw(50_000, 0.3)},
        "50,000 rows, balance 0.6": {"draw": moments.Draw(50_000, 0.6)},
        "50,000 rows, balance 1": {"draw": moments.Draw(50_000, 1.0)},
        "the tables model, balance 0.6": {"model": "tables", "draw": moments.Draw(50_000, 0.6)},
    },
}
JUDGES = ("logistic regression", "adaboost", "mlp", "xgboost")


def run(given: argparse.Namespace) -> None:
    from sklearn.model_selection import train_test_split

    from understudy.methods.moments import MomentsGenerator

    whole = moments.split(given.dataset)
    target = whole.schema.target
    train: Any
    held: Any
    train, held = train_test_split(whole.train, test_size=0.25, random_state=1, stratify=whole.train[target])
    data = moments.Split(train.reset_index(drop=True), held.reset_index(drop=True), whole.schema, whole.positive)
    found: dict[str, Any] = {}
    for name, settings in VARIANTS[given.dataset].items():
        runs: list[dict[str, float]] = []
        for seed in range(given.seeds):
            draw: moments.Draw = settings.get("draw", moments.Draw())
            plain = {name: value for name, value in settings.items() if name != "draw"}
            generator = MomentsGenerator(1.0, moments.DELTA, random_state=seed, **plain)
            generator.fit(data.train, schema=data.schema)
            rows = generator.sample(draw.rows or len(data.train), random_state=seed, balance=draw.balance)
            scores = [moments.judge("five", judge, rows, data.test, data) for judge in JUDGES]
            runs.append({k: float(np.mean([s[k] for s in scores])) for k in ("auroc", "auprc")})
        found[name] = {k: round(float(np.mean([r[k] for r in runs])), 4) for k in ("auroc", "auprc")} | {"runs": runs}
        print(name, found[name], flush=True)
        body = {"command": "python benchmarks/ablate_moments.py " + " ".join(sys.argv[1:]), "machine": machine()}
        body |= {"versions": versions(), "epsilon": 1.0, "judges": list(JUDGES), "validation": found}
        Path(given.out).write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", default="adult", choices=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/results/moments_ablation.json")
    run(parser.parse_args())
