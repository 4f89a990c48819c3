"""A distilled release in other hands: what the example programs for PyTorch and JAX, given the released file alone, reach beside `predict`.

One release a repeat, for the papers' ConvNet, with the settings of `one-look`; all three are scored on the same test images.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.dpkip_images import RECIPES
from benchmarks.methods import DELTA
from benchmarks.one_look import SMALL
from benchmarks.result import Row, grouped
from benchmarks.splits import split_images
from understudy import OneLookConvNet
from understudy.images.files import write_arrays

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
PROGRAMS = {"PyTorch": "train_torch.py", "JAX": "train_jax.py"}
EPSILON = 1.0
PER_CLASS = {"mnist": 20, "fashion": 50}
OURS = "the library's own"


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """A row for each trainer. A program that does not run, for want of PyTorch for instance, has what it said instead."""
    (seed,), small, name = repeats, settings["size"] == "quick", settings["dataset"]
    train, test = split_images(name, final=True, small=small)
    recipe = {**RECIPES[name]["convnet"], **(SMALL if small else {})}
    asked: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "per_class": settings["per_class"]}
    # Noise from a fixed seed, so that figures can be had again.
    made = OneLookConvNet.from_settings(**asked, **recipe, random_state=seed, unsafe_noise_seed=100 + seed).fit(train)
    began = time.perf_counter()
    rows: list[Measured] = [
        {"trainer": OURS, "accuracy": 100 * made.score(test), "seconds": time.perf_counter() - began}
    ]
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        write_arrays(made.training_set(), folder / "training.npz")
        np.savez(folder / "test.npz", images=test.images, labels=test.labels)
        rows += [_run(program, folder) for program in PROGRAMS]
    return rows


def _run(program: str, folder: Path) -> Measured:
    began = time.perf_counter()
    command = [sys.executable, EXAMPLES / PROGRAMS[program], folder / "training.npz", folder / "test.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"trainer": program, "error": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
    accuracy = 100 * float(done.stdout.split()[-1])
    return {"trainer": program, "accuracy": accuracy, "seconds": time.perf_counter() - began}


def parts(size: Size, repeats: int) -> list[Part]:
    """Quick: MNIST, two images a class, a few steps."""
    return [
        Part(
            name,
            "benchmarks.train_recipes:measure",
            {"dataset": name, "per_class": 2 if size == "quick" else number, "size": size},
            repeats,
        )
        for name, number in PER_CLASS.items()
        if size == "full" or name == "mnist"
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """Means over repeats."""
    found: list[Row] = []
    for (name, trainer), mine in grouped(runs, "dataset", "trainer").items():
        told = [run["accuracy"] for run in mine if run.get("accuracy") is not None]
        row: Row = {"dataset": name, "trainer": trainer, "runs": len(told)}
        found.append(
            row | ({"mean": round(float(np.mean(told)), 2), "low": min(told), "high": max(told)} if told else {})
        )
    return found


BENCHMARK = Benchmark(
    id="train-recipes",
    title="Distilled releases trained by the example programs for PyTorch and JAX",
    datasets=tuple(PER_CLASS),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    alone=True,
    notes=(
        f"Epsilon {EPSILON:g}, delta 1e-5. The programs run in this environment: the one for PyTorch needs PyTorch.",
    ),
)
