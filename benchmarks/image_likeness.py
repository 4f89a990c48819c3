"""How like real images synthetic ones are: Fréchet distance, precision and recall on public random features.

Beside accuracy, which says what a network learns from them. 5,000 samples against 5,000 test images; "real images" are
training images, the best that can be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.images import GENERATOR
from benchmarks.methods import DELTA
from benchmarks.result import Row, grouped
from benchmarks.splits import split_images
from understudy.evaluation.image_fidelity import frechet_distance, precision_recall
from understudy.methods.image_moments import ImageMoments

EPSILONS = (None, 1.0, 10.0)
COUNT = 5000


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    (seed,) = repeats
    name, epsilon, small = settings["dataset"], settings["epsilon"], settings["small"]
    train, test = split_images(name, final=True, small=small)
    chances, count = np.random.default_rng(seed), min(COUNT, len(test))
    real = test.images[chances.permutation(len(test))[:count]]
    if epsilon is None:
        made = train.images[chances.permutation(len(train))[:count]]
    else:
        how: dict[str, Any] = GENERATOR[name] | ({"edges": 0.0} if small else {})
        fitted = ImageMoments(epsilon, DELTA, random_state=seed, unsafe_noise_seed=seed, **how).fit(train)
        made = fitted.sample(count, seed).images
    precision, recall = precision_recall(real, made)
    return [{"frechet": frechet_distance(real, made), "precision": precision, "recall": recall}]


def parts(size: Size, repeats: int) -> list[Part]:
    small = size == "quick"
    return [
        Part(
            f"{name}, {'real images' if epsilon is None else f'epsilon {epsilon:g}'}",
            "benchmarks.image_likeness:measure",
            {"dataset": name, "epsilon": epsilon, "small": small},
            repeats,
        )
        for name in ("mnist", "fashion")
        for epsilon in EPSILONS
        if not small or (name, epsilon) == ("mnist", 1.0)
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    for (name, epsilon), mine in grouped(runs, "dataset", "epsilon").items():
        means = {key: float(f"{np.mean([run[key] for run in mine]):.3f}") for key in ("frechet", "precision", "recall")}
        found.append({"dataset": name, "epsilon": epsilon, "runs": len(mine), **means})
    return found


BENCHMARK = Benchmark(
    id="image-likeness",
    title="How like real images those of image moments are",
    datasets=("mnist", "fashion"),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "The features are those of a network with random weights: figures of others, who use a trained one, cannot be set beside these.",
    ),
)
