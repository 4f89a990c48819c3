"""Pictures in colour, of the size of CIFAR-10 and SVHN: made-up shapes, and what the methods for images make of them.

A picture shows a disc, a square or a triangle in a warm or a cold colour, somewhere before a grey ramp, with noise. Its class is
the shape with the warmth of its colour: shapes alone tell at most half of it, and colours a third.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import build
from benchmarks.result import Row, grouped
from understudy import registry
from understudy.images import ImageDataset

SIDE = 32
SHAPES, WARMTHS = ("disc", "square", "triangle"), ("warm", "cold")
CLASSES = tuple(f"{warmth} {shape}" for warmth in WARMTHS for shape in SHAPES)
EPSILONS = (1.0, 10.0)
# Settings of each method: for all of it, and what makes it quick.
METHODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "image-moments": ({}, {"frequencies": 3}),
    "one-look": ({"label_share": 0.16, "steps": 300, "batch": 300}, {"steps": 3, "batch": 20, "look.frequencies": 3}),
    "neighbours": (
        {"first_steps": 400, "steps": 600},
        {"landmarks": 30, "second_landmarks": 20, "schooling.width": 4, "first_steps": 5, "steps": 5},
    ),
}


def shapes(count: int, seed: int = 0) -> ImageDataset:
    """`count` made-up pictures of 32 x 32 pixels in three colours, of six classes, each as often."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % len(CLASSES))
    warmth, shape = np.divmod(labels, len(SHAPES))
    size, middle = rng.uniform(6, 10, (count, 1, 1)), rng.uniform(12, 20, (2, count, 1, 1))
    down, right = (
        np.arange(SIDE).reshape(axes) - at for axes, at in zip(((1, -1, 1), (1, 1, -1)), middle, strict=True)
    )
    far = np.stack(
        [
            np.hypot(down, right),
            np.maximum(abs(down), abs(right)) * 1.1,
            np.maximum(1.6 * down, 1.8 * abs(right) - 0.9 * down) * 0.8,
        ],
        axis=1,
    )[np.arange(count), shape]
    inside = np.clip(size - far + 0.5, 0, 1)[..., None]
    # A warm colour has more red than blue; how bright it is, and its green, say nothing.
    strong, weak, green = (rng.uniform(*ends, count) for ends in ((0.5, 1.0), (0.0, 0.4), (0.1, 0.7)))
    colour = np.where((warmth == 0)[:, None], np.stack([strong, green, weak], 1), np.stack([weak, green, strong], 1))
    slope = rng.uniform(-0.01, 0.01, (2, count, 1, 1))
    ramp = (rng.uniform(0.2, 0.8, (count, 1, 1)) + slope[0] * down + slope[1] * right)[..., None]
    pixels = inside * colour[:, None, None] + (1 - inside) * ramp + rng.normal(0, 0.05, (count, SIDE, SIDE, 3))
    return ImageDataset(np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8), labels, CLASSES)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release a repeat, and how often it tells the class of other pictures."""
    small, method = settings["small"], settings["method"]
    train, public, test = (shapes(240 if small else n, seed) for n, seed in ((10_000, 1), (2000, 2), (2000, 3)))
    found: list[Measured] = []
    for seed in repeats:
        began = time.process_time()
        given = METHODS[method][0] | (METHODS[method][1] if small else {}) | {"unsafe_noise_seed": 100 + seed}
        made = build(method, given, settings["epsilon"], seed)
        made.fit(train, *([public] if "public rows" in registry.get(method).takes else []))
        if method == "image-moments":  # what the released edges say
            right = float((made.shares(test).argmax(axis=1) == test.labels).mean())
        else:
            right = made.score(test)
        seconds = time.process_time() - began
        found.append({"accuracy": 100 * right, "spent": made.certificate_.epsilon, "processor_seconds": seconds})
    return found


def parts(size: Size, repeats: int) -> list[Part]:
    """All of it; quick: each method once."""
    small = size == "quick"
    return [
        Part(
            f"{method}, epsilon {epsilon:g}",
            "benchmarks.colour:measure",
            {"method": method, "epsilon": epsilon, "small": small},
            repeats,
        )
        for epsilon in (EPSILONS[:1] if small else EPSILONS)
        for method in METHODS
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over seeds, of each method and epsilon."""
    return [
        {
            "method": method,
            "epsilon": epsilon,
            "runs": len(mine),
            "mean": round(float(np.mean([run["accuracy"] for run in mine])), 1),
        }
        for (method, epsilon), mine in grouped(runs, "method", "epsilon").items()
    ]


BENCHMARK = Benchmark(
    id="colour",
    title="Made-up pictures in colour, 32 x 32",
    repeats={"quick": 1, "full": 1},
    parts=parts,
    summary=summary,
    notes=(
        "10,000 made-up pictures of six classes (a shape, and a warm or a cold colour), 2,000 others to judge by: a sixth of them would be "
        "told by chance, half by shapes alone, a third by colours alone. Image moments are judged by the shares that the release sees in a picture, PATE "
        "by neighbours has 2,000 public pictures, and a student with a third of the usual steps. Nothing was chosen on these pictures. Noise has fixed seeds.",
    ),
)
