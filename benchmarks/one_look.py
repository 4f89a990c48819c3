"""Looks at images, then distilled sets of several sizes: for kernel ridge regression and for a ConvNet.

`ours` and `before` learn from all training images and look at the test images; `ablation` and `choose` hold 5,000 training
images out and look at those. `before` is the recipe without its second look.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.dpkip_images import RECIPES
from benchmarks.methods import DELTA
from benchmarks.result import Row, grouped
from benchmarks.splits import split_images
from understudy import OneLook, OneLookConvNet
from understudy.learn.krr import one_hot
from understudy.methods.distillation.convlook import Public
from understudy.methods.distillation.matching import folded
from understudy.methods.distillation.training import Support
from understudy.privacy import Budget
from understudy.privacy.share import BudgetShare

SMALL: dict[str, Any] = {
    "steps": 3, "batch": 8, "samples": 60, "teachers": 1, "teacher_steps": 4, "train_steps": 4, "width": 4,
}  # fmt: skip
# Recipes for kernel ridge regression that were compared.
REGRESSION: dict[str, dict[str, Any]] = {
    "labels fitted": {"label_share": 0.16},
    "one look": {},
    "of one size, labels fitted": {"label_share": 0.16, "sized": True},
}
# What was compared for a ConvNet on Fashion-MNIST.
LABELS: dict[str, dict[str, Any]] = {
    "labels by teachers, softness 2": {"labels_by": "teachers", "softness": 2.0},
    "labels by pupils, softness 2": {"labels_by": "pupils", "softness": 2.0},
    "labels by both, softness 2": {"labels_by": "both", "softness": 2.0},
    "labels by teachers, softness 4": {"labels_by": "teachers", "softness": 4.0},
}


def ingredients(name: str) -> dict[str, dict[str, Any]]:
    """The recipe for a ConvNet with one change; "hard" and "moved" are changes of this benchmark's own."""
    chosen = OneLookConvNet.from_settings(**RECIPES[name]["convnet"])
    found: dict[str, dict[str, Any]] = {
        "all": {},
        "one-hot labels": {"hard": True},
        "samples as they are": {"moved": False},
        "one picture an image": {"parts": 1},
        "labels twice as soft": {"softness": 2 * chosen.teaching.softness},
        "labels half as soft": {"softness": chosen.teaching.softness / 2},
        "not mixed" if chosen.network.mixed else "mixed": {"mixed": not chosen.network.mixed},
        "three times as many steps of matching": {"steps": 3 * chosen.matching.steps},
        "not corrected": {"correct_share": 0.0},
    }
    look = chosen.look
    off = {"edges": (look.edges, 0.0), "stretch": (chosen.matching.stretch, 0.0), "sized": (look.sized, False)}
    found |= {f"without {key}": {key: value} for key, (used, value) in off.items() if used}
    if look.straight:
        found["neither straightened nor of one size"] = {"straight": False, "sized": False}
    return found


def regression(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """A distilled set for kernel ridge regression."""
    (seed,), small, name = repeats, settings.get("small", False), settings["dataset"]
    train, test = split_images(name, final=settings["part"] != "choose", small=small)
    recipe = {key: value for key, value in RECIPES[name]["krr"].items() if key != "label_share"}
    what = settings.get("what") or ("one look" if settings["part"] == "before" else "labels fitted")
    recipe |= REGRESSION[what] | ({"steps": 3, "batch": 50} if small else {})
    began = time.perf_counter()
    asked = {"epsilon": settings["epsilon"], "delta": DELTA, "per_class": settings["per_class"]}
    seeds: dict[str, Any] = {"random_state": seed, "unsafe_noise_seed": 100 + seed}
    made = OneLook.from_settings(**asked, **recipe, **seeds).fit(train)
    return [{"accuracy": made.score(test), "seconds": time.perf_counter() - began}]


def convnets(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """A look, networks on its samples before and after the correction, and distilled sets of several sizes."""
    (seed,), small, part = repeats, settings.get("small", False), settings["part"]
    train, test = split_images(settings["dataset"], final=part in ("ours", "before"), small=small)
    what = settings.get("what", "all")
    change = dict(LABELS[what] if part == "choose" else ingredients(settings["dataset"])[what])
    change |= {"correct_share": 0.0} if part == "before" else {}
    hard, moved = change.pop("hard", False), change.pop("moved", True)
    recipe = {**RECIPES[settings["dataset"]]["convnet"], **change, **(SMALL if small else {})}
    began = time.perf_counter()
    epsilon = settings["epsilon"]
    maker = OneLookConvNet.from_settings(epsilon=epsilon, delta=DELTA, **recipe, random_state=seed)
    # Noise from a fixed seed, so that figures can be had again.
    budget = Budget(epsilon, DELTA, unsafe_noise_seed=100 + seed)
    generator = maker.generator().fit(train, budget=BudgetShare(budget, (1 - maker.correct_share) * epsilon))
    looked = time.perf_counter() - began
    rows: list[Measured] = []

    def told(learner: str, right: Sequence[float], **more: Any) -> None:
        rows.append({"learner": learner, **more, "accuracy": float(np.mean(right)), "look_s": looked})

    def tell(learner: str, learners: Sequence[Any], **more: Any) -> None:
        told(learner, [float((one.predict(test.flat()) == test.labels).mean()) for one in learners], **more)

    public = maker.prepare(generator)
    tell("ConvNet on samples", public.teachers[0].learners)
    if maker.correct_share:
        public = maker.correct(public, train, budget)
        if maker.teaching.labels_by == "teachers":  # the networks together, and what corrects them
            right = (public.scores(test.flat()).argmax(axis=1) == test.labels).mean()
            told("corrected networks themselves", [float(right)])
        else:
            tell("ConvNet on samples, corrected labels", public.teachers[0].learners)
    for per_class in settings["sizes"]:
        maker.set_params(per_class=min(per_class, 5) if small else per_class)
        support = maker.distil(public, jax.random.key(seed)) if moved else _as_they_are(maker, public)
        if hard:
            classes = np.arange(len(support.points)) % len(public.samples)
            labels = np.tile(20 * one_hot(classes, len(public.samples)), maker.matching.parts**2)
            support = Support(support.points, jnp.asarray(labels))
        facts = {
            "per_class": per_class,
            "labels_by": maker.teaching.labels_by,
            "softness": maker.teaching.softness,
            "mixed": maker.network.mixed,
        }
        tell("ConvNet", [maker.train(support, train.shape, seed)], **facts)
    return rows


def _as_they_are(maker: OneLookConvNet, public: Public) -> Support:
    """The samples that distillation would start from, with the teachers' labels."""
    pictures = (
        np.moveaxis(public.samples[:, : maker.per_class * maker.matching.parts**2], 0, 1).astype(np.float32) / 255
    )
    start = np.stack([folded(pictures[:, c], maker.matching.parts) for c in range(pictures.shape[1])], axis=1)
    return maker.labelled(start.reshape(-1, *start.shape[2:]), public)


def parts(size: Size, repeats: int) -> list[Part]:
    return list(_parts(repeats))[:1] if size == "quick" else list(_parts(repeats, small=False))


def _parts(repeats: int, *, small: bool = True) -> Iterator[Part]:
    quick = {"small": True} if small else {}

    def part(function: str, kind: str, name: str, epsilon: float, times: int, **more: Any) -> Part:
        told = "".join(f", {value}" for key, value in more.items() if key != "sizes")
        settings = {"part": kind, "dataset": name, "epsilon": epsilon, **more, **quick}
        return Part(f"{kind}, {name}, epsilon {epsilon:g}{told}", f"benchmarks.one_look:{function}", settings, times)

    for name in RECIPES:
        for kind in ("ours", "before"):
            for epsilon in (1.0, 10.0) if kind == "ours" else (1.0,):
                yield part("convnets", kind, name, epsilon, repeats, sizes=[10, 20, 50] if epsilon == 1 else [20, 50])
                for per_class in (10, 50):
                    yield part("regression", kind, name, epsilon, repeats, learner="KRR", per_class=per_class)
        for what in REGRESSION if name == "mnist" else list(REGRESSION)[:2]:
            for per_class in (10, 50):
                yield part("regression", "choose", name, 1.0, 1, learner="KRR", per_class=per_class, what=what)
        for what in ingredients(name):
            yield part("convnets", "ablation", name, 1.0, 1, what=what, sizes=[20])
    for what in LABELS:
        yield part("convnets", "choose", "fashion", 1.0, 1, what=what, sizes=[50])


KEYS = ("part", "dataset", "epsilon", "learner", "what", "per_class", "labels_by", "softness", "mixed", "train_steps")


def summary(runs: Sequence[Row]) -> list[Row]:
    """In per cent: the mean over seeds, with the least and the greatest."""
    found: list[Row] = []
    for group, mine in grouped(runs, *KEYS).items():
        scores = [100 * run["accuracy"] for run in mine]
        told = {"mean": float(np.mean(scores)), "low": min(scores), "high": max(scores)}
        told = {name: round(value, 2) for name, value in told.items()}
        found.append({**dict(zip(KEYS, group, strict=True)), "runs": len(mine), **told})
    return found


BENCHMARK = Benchmark(
    id="one-look",
    title="One look: distilled images for kernel ridge regression and for a ConvNet",
    datasets=("mnist", "fashion"),
    repeats={"quick": 1, "full": 5},
    parts=parts,
    summary=summary,
    alone=True,
    notes=(
        "Accuracies: `ours` and `before`, the recipe before it had a second look, on the test images; `ablation` and `choose` on "
        "5,000 training images that were held out. Noise has fixed seeds, so that figures can be had again.",
    ),
)
