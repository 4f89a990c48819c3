"""The image generator, measured: a convolutional network learns from samples alone and is scored on real images.

`final` looks at the test images, once a run; every setting was chosen on 5,000 training images that all other parts hold out.
`ablation` changes one thing, `look` shows what the released shares alone say, `before edges` is what a plain mixture gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.image_learner import Lesson, convnet_accuracy
from benchmarks.methods import DELTA
from benchmarks.result import Row, grouped, select
from benchmarks.splits import split_images
from understudy import images
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.methods.image_moments import ImageMoments, edge_look
from understudy.methods.image_moments.edge_look import EdgeMoments, EdgePlan
from understudy.methods.image_moments.sampler import ImageMixture
from understudy.privacy import Budget

# Recipes, chosen on held-out training images.
GENERATOR: dict[str, dict[str, Any]] = {
    "mnist": {"straight": True, "edges": 0.6},
    "fashion": {"frequencies": 18, "edges": 0.6},
}
# Labels: the class a sample was drawn for ("drawn"), the shares that the release sees in it as it is shown to the network,
# deformed ("shares"), or their mean ("both"); or the shares of the sample before it is deformed ("fixed").
TRUST = {"drawn": 1.0, "shares": 0.0, "both": 0.5, "fixed": 1.0}
TRAINING: dict[str, dict[str, Any]] = {
    "mnist": {"labels": "drawn", "affine": Affine(), "contrast": True},
    "fashion": {"labels": "shares", "affine": Affine(0.05, 0.05, 0.05, 1.0), "contrast": False},
}
RECOMMENDED = "as recommended"
# What is left out or changed: settings of the generator (`edit`: see EDITS), of the training, constants of the look at edges.
Changed = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
BOTH: dict[str, Changed] = {
    RECOMMENDED: ({}, {}, {}),
    "labels: as drawn": ({}, {"labels": "drawn"}, {}),
    "labels: shares": ({}, {"labels": "shares"}, {}),
    "labels: the mean of both": ({}, {"labels": "both"}, {}),
    "labels: shares before deforming": ({}, {"labels": "fixed"}, {}),
    "not deformed": ({}, {"affine": None}, {}),
    "deformed more": ({}, {"affine": Affine(0.15, 0.1, 0.15, 2.0)}, {}),
    "samples not moved, labels: as drawn": ({}, {"labels": "drawn", "moved": False}, {}),
    "samples not moved, labels: shares": ({}, {"labels": "shares", "moved": False}, {}),
    "high frequencies left at zero": ({"edit": "no tail"}, {}, {}),
    "one covariance for all classes": ({"edit": "pooled"}, {}, {}),
    "four Gaussians a class": ({"components": 4}, {}, {}),
    "axes not stretched": ({}, {}, {"_FLOOR": 1e3}),
    "edges: 0.4 of the precision": ({"edges": 0.4}, {}, {}),
    "edges: 0.8 of the precision": ({"edges": 0.8}, {}, {}),
    "20,000 samples": ({}, {"count": 20_000}, {}),
    "no look at edges": ({"edges": 0.0}, {"labels": "drawn"}, {}),
}
ABLATION: dict[str, dict[str, Changed]] = {
    "mnist": {
        **{name: changed for name, changed in BOTH.items() if name != "labels: as drawn"},
        "brought to one size as well": ({"sized": True}, {}, {}),
        "not straightened": ({"straight": False}, {}, {}),
        "contrast as it is": ({}, {"contrast": False}, {}),
    },
    "fashion": {
        **{name: changed for name, changed in BOTH.items() if name != "labels: shares"},
        "14 x 14 frequencies": ({"frequencies": 14}, {}, {}),
        "contrast stretched": ({}, {"contrast": True}, {}),
    },
}
_PLAIN: dict[str, Any] = {"edges": 0.0, "straight": False, "frequencies": 14}
_SHORT: dict[str, Any] = {"labels": "drawn", "count": 50_000, "steps": 1500, "contrast": False}
BEFORE: dict[str, dict[str, Changed]] = {
    "mnist": {
        "straightened": ({**_PLAIN, "straight": True}, _SHORT, {}),
        "straightened, not deformed": ({**_PLAIN, "straight": True}, {**_SHORT, "affine": None}, {}),
        "plain": (_PLAIN, _SHORT, {}),
        "straightened, four Gaussians a class": ({**_PLAIN, "straight": True, "components": 4}, _SHORT, {}),
    },
    "fashion": {
        "plain": (_PLAIN, _SHORT, {}),
        "18 x 18 frequencies": ({**_PLAIN, "frequencies": 18}, _SHORT, {}),
        "four Gaussians a class": ({**_PLAIN, "components": 4}, _SHORT, {}),
    },
}


def _pooled(mixture: ImageMixture) -> ImageMixture:
    """Every class' covariance becomes their mean."""
    mean = jnp.einsum("cij,ckj->ik", mixture.factors, mixture.factors) / len(mixture.factors)
    factors = jnp.broadcast_to(jnp.linalg.cholesky(mean), mixture.factors.shape)
    return eqx.tree_at(lambda m: m.factors, mixture, factors)


# What is taken away from a release, for free, before its samples show how to look at edges.
EDITS: dict[str, Callable[[ImageMixture], ImageMixture]] = {
    "pooled": _pooled,
    "no tail": lambda mixture: eqx.tree_at(lambda m: m.tail, mixture, jnp.zeros_like(mixture.tail)),
}


class Edited(ImageMoments):
    """A generator whose first look is edited; what it pays for stays the same."""

    edit: Callable[[ImageMixture], ImageMixture]

    def _look_at_edges(self, data: ImageDataset, plan: EdgePlan, budget: Budget) -> EdgeMoments:
        self.mixture_ = self.edit(self.mixture_)
        return super()._look_at_edges(data, plan, budget)


@contextmanager
def _constants(changed: Mapping[str, Any]) -> Iterator[None]:
    usual = {name: getattr(edge_look, name) for name in changed}
    for name, value in changed.items():
        setattr(edge_look, name, value)
    try:
        yield
    finally:
        for name, value in usual.items():
            setattr(edge_look, name, value)


# The latest release, for those that differ from it only in what is made of it.
_KEPT: dict[str, tuple[ImageMoments, float]] = {}


def _fitted(facts: Mapping[str, Any], changed: Changed, train: ImageDataset, seed: int) -> tuple[ImageMoments, float]:
    """Touches private data (`train`): a release, and the seconds it took."""
    settings = {**GENERATOR[facts["data"]], **changed[0], **({"frequencies": 6} if facts.get("small") else {})}
    name = repr((facts["part"] == "final", facts["epsilon"], seed, facts["data"], settings, changed[2]))
    if name not in _KEPT:
        began = time.perf_counter()
        edit = settings.pop("edit", None)
        seeds: dict[str, Any] = {"random_state": seed, "unsafe_noise_seed": seed}
        generator = (Edited if edit else ImageMoments)(facts["epsilon"], DELTA, **settings, **seeds)
        if isinstance(generator, Edited):
            generator.edit = EDITS[edit or ""]
        with _constants(changed[2]):
            generator.fit(train)
        _KEPT.clear()
        _KEPT[name] = (generator, time.perf_counter() - began)
    return _KEPT[name]


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release; what its shares say, and but for `look`, what a network learns from its samples."""
    (seed,), small, part = repeats, settings.get("small", False), settings["part"]
    variants = {"final": BOTH, "before edges": BEFORE[settings["data"]]}.get(part, ABLATION[settings["data"]])
    changed = variants[settings["variant"]]
    train, test = split_images(settings["data"], final=part == "final", small=small)
    generator, fitting = _fitted(settings, changed, train, seed)
    told: dict[str, Any] = {"epsilon_spent": generator.certificate_.epsilon}
    if generator.refiner_ is not None:
        told["accuracy_of_shares"] = float((generator.shares(test).argmax(axis=1) == test.labels).mean())
    if part == "look":
        return [told]
    training = {**TRAINING[settings["data"]], **changed[1]}
    began = time.perf_counter()
    lesson = _lesson(generator, training, 500 if small else training.get("count", 60_000), seed)
    sampling, began = time.perf_counter() - began, time.perf_counter()
    steps = 4 if small else training.get("steps", 4000)
    told["accuracy"] = convnet_accuracy(
        lesson, test, steps=steps, kernels=8 if small else 128, affine=training["affine"], contrast=training["contrast"],
        seed=seed,
    )  # fmt: skip
    seconds = {"fit": fitting, "sample": sampling, "train": time.perf_counter() - began}
    return [told | {"samples": len(lesson.images), "steps": steps, "seconds": seconds}]


def _lesson(generator: ImageMoments, training: Mapping[str, Any], count: int, seed: int) -> Lesson:
    """Samples of a release, with their labels."""
    mover = copy(generator)
    if not training.get("moved", True):
        mover.refiner_ = None
    samples = mover.sample(count, seed)
    trust = TRUST[training["labels"]]
    targets = (
        generator.shares(samples) if training["labels"] == "fixed" else np.eye(len(samples.classes))[samples.labels]
    )
    return Lesson(samples, targets, None if trust == 1 else generator.refiner_, trust)


def speed(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Touches private data: how long a fit and a sample take here, and a picture of samples in the current folder."""
    name, small = settings["data"], settings.get("small", False)
    train, _ = split_images(name, final=True, small=small)
    began = time.perf_counter()
    generator = ImageMoments(1.0, DELTA, **GENERATOR[name], unsafe_noise_seed=repeats[0]).fit(train)
    fitting = time.perf_counter() - began
    count = 100 if small else 2000
    images.write_grid(generator.sample(count, 0).take(slice(0, 400)), f"images-{name}.png")  # compiles, too
    began = time.perf_counter()
    generator.sample(count, 1)
    each = (time.perf_counter() - began) / count
    return [{"images": len(train), "seconds": {"fit": fitting, "sample_each": each}}]


def parts(size: Size, repeats: int) -> list[Part]:
    """The final figures first. Ablations have one repeat, and at epsilon 10 only what the labels give."""
    tasks: list[tuple[str, str, float, str, int]] = []
    for data in GENERATOR:
        tasks += [("final", data, epsilon, RECOMMENDED, repeats) for epsilon in (1.0, 10.0)]
        tasks += [("ablation", data, 1.0, variant, 1) for variant in ABLATION[data]]
        tasks += [
            ("look", data, 1.0, variant, min(2, repeats))
            for variant, changed in ABLATION[data].items()
            if variant == RECOMMENDED or ((changed[0] or changed[2]) and changed[0].get("edges") != 0.0)
        ]
        tasks += [("before edges", data, 1.0, variant, 1) for variant in BEFORE[data]]
    tasks += [("ablation", "fashion", 10.0, variant, 1) for variant in (RECOMMENDED, "labels: as drawn")]
    quick: dict[str, Any] = {"small": True} if size == "quick" else {}
    made = [
        Part(
            f"{part}, {data}, epsilon {epsilon:g}: {variant}",
            "benchmarks.images:measure",
            {"part": part, "data": data, "epsilon": epsilon, "variant": variant, **quick},
            times,
        )
        for part, data, epsilon, variant, times in sorted(tasks, key=lambda task: task[0] != "final")
    ]
    times = [
        Part(f"speed, {d}", "benchmarks.images:speed", {"part": "speed", "data": d, **quick}, 1) for d in GENERATOR
    ]
    return made[:1] if quick else [*made, *times]


def summary(runs: Sequence[Row]) -> list[Row]:
    """Of the final runs: the mean over seeds of each set and epsilon."""
    found: list[Row] = []
    for (data, epsilon), final in grouped(select(runs, part="final"), "data", "epsilon").items():
        mine = [run["accuracy"] for run in final]
        mean = round(float(np.mean(mine)), 4)
        found.append(
            {"data": data, "epsilon": epsilon, "runs": len(mine), "mean": mean, "range": [min(mine), max(mine)]}
        )
    return found


BENCHMARK = Benchmark(
    id="images",
    title="The image generator: a ConvNet on samples alone",
    datasets=("mnist", "fashion"),
    repeats={"quick": 1, "full": 5},
    parts=parts,
    summary=summary,
    alone=True,
    notes=("Noise has fixed seeds, for repeatability.",),
)
