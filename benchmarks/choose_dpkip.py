"""How DP-KIP's settings were chosen, with and without a moments start: on training records that are held out of the fit.

    python benchmarks/choose_dpkip.py images tables --out benchmarks/results/dpkip_choices.json

`images`: 5,000 training images of each set, kernel ridge regression; batch and ridge as in the paper. `tables`: a fifth of adult's
training rows, mean over the twelve classifiers. The JSON is rewritten after every figure. No test record is looked at.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn.model_selection import train_test_split

from understudy import DPKIP, datasets
from understudy.benchmarks import synthetic
from understudy.benchmarks.dpkip_images import SETTINGS
from understudy.benchmarks.machine import machine, versions
from understudy.evaluation.features import Featuriser

DELTA = 1e-5
NOTE = (
    "epsilon 1, delta 1e-5, ten records a class. `images`: accuracy on 5,000 training images that were held out of the fit. `tables`: "
    "adult, a fifth of the training rows held out; AUROC and AUPRC are means over the twelve classifiers. Noise has fixed seeds."
)
# The share of epsilon for the start (None: a Gaussian start), the learning rate (None: the paper's), the clip.
IMAGES: list[tuple[float | None, float | None, float]] = [
    (None, None, 1e-6), (None, 1e-2, 1e-2), (None, 0.1, 1e-2), (0.5, 1e-2, 1e-6), (0.5, 3e-3, 1e-6), (0.5, 1e-3, 1e-6),
    (0.5, 3e-4, 1e-6), (0.5, 1e-2, 1e-2), (0.5, 3e-3, 1e-2), (0.5, 1e-3, 1e-2), (0.5, 1e-3, 0.1), (0.8, 1e-3, 1e-6),
    (0.2, 1e-3, 1e-6),
]  # fmt: skip
TABLES: list[dict[str, Any]] = [
    *({"learning_rate": rate, "clip": clip} for clip in (1e-6, 1e-3, 1e-2, 0.1, 1.0) for rate in (0.03, 0.1, 0.3)),
    *({"learning_rate": rate, "clip": clip} for clip in (1.0, 10.0) for rate in (0.01, 0.03, 0.05)),
    {"learning_rate": 1e-2, "clip": 1e-6}, {"learning_rate": 1e-3, "clip": 1e-6}, {"learning_rate": 0.03, "clip": 0.3},
    {"learning_rate": 0.1, "clip": 1e-6, "batch": 200}, {"learning_rate": 0.1, "clip": 1e-6, "batch": 2000},
    {"learning_rate": 0.1, "clip": 1e-6, "epochs": 3}, {"learning_rate": 0.1, "clip": 1e-6, "epochs": 30},
    *(
        {"warm_start": "moments", "warm_epsilon_share": share, "learning_rate": rate, "clip": clip}
        for share in (0.5, 0.8)
        for rate in (1e-3, 3e-3, 1e-2)
        for clip in (1e-6, 1e-2, 1.0)
    ),
]  # fmt: skip
Add = Callable[[str, dict[str, Any]], None]


def choose_images(add: Add, seeds: range, small: bool) -> None:
    """Touches the training images: fits on most of them, and scores on the others."""
    for name in ("mnist", "fashion"):
        whole = datasets.load_images(name)
        order = np.random.default_rng(0).permutation(len(whole))[: 3000 if small else None]
        held = len(order) // 12
        train, test = whole.take(order[:-held]), whole.take(order[-held:])
        batch, rate, _, ridge = SETTINGS[name, 10, 1.0]
        for seed in seeds:
            for share, given, clip in IMAGES[:: len(IMAGES) // 2 if small else 1]:
                settings = {"learning_rate": given or rate, "clip": clip, "ridge": ridge}
                warm = {} if share is None else {"warm_start": "moments", "warm_epsilon_share": share}
                made = _dpkip(seed, small, batch=batch, **settings, **warm).fit(train)
                facts = {"dataset": name, "per_class": 10, "warm_epsilon_share": share, **settings, "seed": seed}
                add("images", {**facts, "accuracy": made.score(test)})


def choose_tables(add: Add, seeds: range, small: bool) -> None:
    """Touches adult's training rows: fits on most of them, and scores on the others."""
    rows, _, schema, positive = synthetic.split("adult", 0)
    parts: Any = train_test_split(rows, test_size=0.2, random_state=0, stratify=rows[schema.target])
    train, test = (part.reset_index(drop=True)[: 2000 if small else None] for part in parts)
    features = Featuriser(schema, schema.target)
    for seed in seeds:
        for settings in TABLES[:: len(TABLES) // 2 if small else 1]:
            made = _dpkip(seed, small, **settings).fit(train, schema=schema)
            scores = synthetic.panel_scores(
                {"panel": "twelve"}, features, positive, features.rows(made.distilled_), features.rows(test), seed
            )
            found = synthetic.summarised(scores)
            facts = {"dataset": "adult", "per_class": 10, "start": settings.get("warm_start", "Gaussian"), "seed": seed}
            kept = {name: round(found[name], 4) for name in ("auroc", "auprc")}
            add("tables", {**facts, **settings, **kept, "kernel_regression": round(made.score(test), 4)})


def _dpkip(seed: int, small: bool, **settings: Any) -> DPKIP:
    few = {"epochs": 1, "batch": 100} if small else {}
    return DPKIP(1.0, DELTA, 10, random_state=seed, unsafe_noise_seed=seed, **{**settings, **few})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["images", "tables"], nargs="+")
    parser.add_argument("--seeds", type=int, default=1, help="How many noise seeds.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true", help="Everything tiny, to try the script.")
    chosen = parser.parse_args()
    here = {**machine(), "accelerator": jax.devices()[0].device_kind}
    command = (
        f"python benchmarks/choose_dpkip.py {' '.join(chosen.part)} --seeds {chosen.seeds} --out {chosen.out.name}"
    )
    found: dict[str, list[dict[str, Any]]] = {part: [] for part in chosen.part}

    def add(part: str, row: dict[str, Any]) -> None:
        found[part].append(row)
        print(json.dumps(row), flush=True)
        head = json.dumps({"command": command, "note": NOTE, "machine": here, "versions": versions()}, indent=1)[:-2]
        parts = (
            f' "{name}": [\n' + ",\n".join(f"  {json.dumps(r)}" for r in rows) + "\n ]" for name, rows in found.items()
        )
        chosen.out.write_text(f"{head},\n" + ",\n".join(parts) + "\n}\n", "utf-8")

    warnings.simplefilter("ignore")
    for part in chosen.part:
        {"images": choose_images, "tables": choose_tables}[part](add, range(chosen.seeds), chosen.small)


if __name__ == "__main__":
    main()
