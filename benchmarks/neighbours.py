"""PATE by neighbours beside Private-kNN's printed figures, on MNIST and Fashion-MNIST.

All training images are private. 9,000 test images are public, without their labels; the other 1,000 are scored once. Which those are
differs with the repeat. Settings were chosen on training images alone: 45,000 private (with noise smaller by the same share), 9,000
public, 6,000 scored.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Quote, Size
from benchmarks.methods import build
from benchmarks.splits import split_images

EPSILON = 0.5
# Private-kNN: accuracy in per cent, and the epsilon beside it.
PRINTED: dict[str, tuple[float | None, float | None]] = {"mnist": (98.8, 0.47), "fashion": (None, None)}
_QUICK = {"landmarks": 100, "second_landmarks": 100, "schooling.width": 4, "first_steps": 30, "steps": 30}


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release a repeat, with another part of the test images held out."""
    small = settings["size"] == "quick"
    train, test = split_images(settings["dataset"], final=True, small=small)
    order = np.random.default_rng(1).permutation(len(test))
    held = len(test) // 10
    found: list[Measured] = []
    for seed in repeats:
        began = time.process_time()
        scored = np.roll(order, -held * seed)[:held]
        given = {"upright": settings["dataset"] == "mnist", **(_QUICK if small else {})}
        # Noise from a fixed seed, so that figures can be had again.
        model = build("neighbours", {**given, "unsafe_noise_seed": 100 + seed}, EPSILON, seed)
        public = test.take(np.setdiff1d(order, scored))
        model.fit(train, public)
        found.append(
            {
                "accuracy": 100 * model.score(test.take(scored)),
                "public_accuracy": 100 * model.score(public),
                "epsilon": model.certificate_.epsilon,
                "processor_seconds": time.process_time() - began,
            }
        )
    return found


def parts(size: Size, repeats: int) -> list[Part]:
    sets = ("mnist",) if size == "quick" else tuple(PRINTED)
    return [Part(name, "benchmarks.neighbours:measure", {"dataset": name, "size": size}, repeats) for name in sets]


def _quotes() -> list[Quote]:
    return [
        Quote(
            table="MNIST and Fashion-MNIST",
            row=f"{dataset}: {said}",
            metric="accuracy",
            part=dataset,
            key=key,
            paper=printed[0] if key == "accuracy" else None,
            paper_epsilon=printed[1] if key == "accuracy" else None,
            epsilon="epsilon",
        )
        for dataset, printed in PRINTED.items()
        for key, said in (("accuracy", "1,000 held-out test images"), ("public_accuracy", "the 9,000 public images"))
    ]


BENCHMARK = Benchmark(
    id="neighbours",
    title="PATE by neighbours",
    paper="Private-kNN (2020)",
    datasets=("mnist", "fashion"),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=tuple(_quotes()),
    alone=True,
    notes=(
        "Unconditional epsilon, delta 1e-5. 60,000 private training images; 9,000 test images are public without their labels, 1,000 others are "
        "scored; each repeat holds out others, and draws other noise.",
        "Private-kNN prints 98.8 at epsilon 0.47 for MNIST, by its own accounting.",
    ),
)
