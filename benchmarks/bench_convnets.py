"""Looks at images, then distilled sets of several sizes: for kernel ridge regression and for a ConvNet.

    python benchmarks/bench_convnets.py ours --name mnist --epsilon 1 --seeds 5 --out convnets_mnist.json
    python benchmarks/bench_convnets.py krr --name mnist --epsilon 1 --seeds 5 --out convnets_krr.json
    python benchmarks/bench_convnets.py choose --name mnist --out convnets_choose.json
    python benchmarks/bench_convnets.py ablation --name mnist --out convnets_ablation.json
    python benchmarks/bench_convnets.py merge --files convnets_*.json --out benchmarks/results/distill_convnets.json

The JSON is rewritten after every figure. `ours` and `krr` learn from all training images and look at the test images;
`ablation` and `choose` hold 5,000 training images out and look at those. `--small` shrinks everything, to try the script.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from bench_distill import DELTA, Data, Results

from understudy import ImageMoments, OneLook, OneLookConvNet
from understudy.benchmarks.dpkip_images import RECIPES
from understudy.learn.krr import one_hot
from understudy.methods.distillation.convlook import Public
from understudy.methods.distillation.matching import folded
from understudy.methods.distillation.training import Support
from understudy.privacy import Budget

SIZES = {"ours": [10, 20, 50], "krr": [10, 50], "choose": [10, 50]}
OFF: dict[str, Any] = {"edges": 0.0, "stretch": 0.0, "sized": False}
ONLY: set[str] = set()
NOTE = (
    "Accuracies: `ours` on the test images; `ablation` and `choose` on 5,000 training images that were held out. In the summary "
    "they are in per cent, with the least and the greatest of the runs. Noise has fixed seeds, so that figures can be had again. `before`: "
    "the recipe before it had a second look. Rows that name a machine were made there, the others on the one below."
)
SMALL: dict[str, Any] = {
    "steps": 3,
    "batch": 8,
    "samples": 60,
    "teachers": 1,
    "teacher_steps": 4,
    "train_steps": 4,
    "width": 4,
}


def ours(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """The recommended recipe for a ConvNet, in several sizes from the same looks."""
    data = Data(name, True, small)
    with ThreadPoolExecutor(1) as pool:  # the next release is made while this one is distilled
        looks = [pool.submit(_look, data, name, epsilon, seed, {}, small) for seed in seeds]
        for seed, look in zip(seeds, looks, strict=True):
            maker, public = _prepare(results, data, look.result(), seed, "ours")
            for per_class in SIZES["ours"]:
                _score(results, data, maker, public, per_class, seed, small, "ours")


def regression(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """The recommended recipe for kernel ridge regression."""
    data = Data(name, True, small)
    recipe: dict[str, Any] = RECIPES[name]["krr"] | ({"steps": 3, "batch": 50} if small else {})
    for seed in seeds:
        for per_class in SIZES["krr"]:
            began = time.perf_counter()
            made = OneLook(epsilon, DELTA, per_class, **recipe, random_state=seed, unsafe_noise_seed=100 + seed)
            results.add(
                "ours", dataset=name, epsilon=epsilon, seed=seed, learner="KRR", per_class=per_class,
                accuracy=made.fit(data.train).score(data.test), seconds=time.perf_counter() - began,
            )  # fmt: skip


def choose(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """Recipes for kernel ridge regression, on held-out training images."""
    data = Data(name, False, small)
    base: dict[str, Any] = {"straight": True} if name == "mnist" else {"frequencies": 18}
    fitted = {"label_share": 0.16}
    recipes = {"labels fitted": fitted, "one look": {}}
    if name == "mnist":
        recipes |= {"of one size, labels fitted": {"sized": True, **fitted}}
    few = {"steps": 3, "batch": 50} if small else {}
    for seed in seeds:
        for per_class in SIZES["choose"]:
            for what, change in recipes.items():
                if not _wanted(what):
                    continue
                settings: dict[str, Any] = {**base, **change, **few}
                made = OneLook(epsilon, DELTA, per_class, **settings, random_state=seed, unsafe_noise_seed=100 + seed)
                began = time.perf_counter()
                results.add(
                    "choose", dataset=name, epsilon=epsilon, seed=seed, learner="KRR", per_class=per_class, what=what,
                    accuracy=made.fit(data.train).score(data.test), seconds=time.perf_counter() - began,
                )  # fmt: skip


def ablation(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """What each ingredient gives, at 20 a class, on held-out training images."""
    data = Data(name, False, small)
    chosen = OneLookConvNet(**RECIPES[name]["convnet"])
    free: dict[str, dict[str, Any]] = {
        "one picture an image": {"parts": 1},
        "labels twice as soft": {"softness": 2 * chosen.softness},
        "labels half as soft": {"softness": chosen.softness / 2},
        "not mixed" if chosen.mixed else "mixed": {"mixed": not chosen.mixed},
        "three times as many steps of matching": {"steps": 3 * chosen.steps},
    }
    looks: dict[str, dict[str, Any]] = {"not corrected": {"correct_share": 0.0}}
    looks |= {f"without {key}": {key: off} for key, off in OFF.items() if getattr(chosen, key)}
    if chosen.straight:
        looks["neither straightened nor of one size"] = {"straight": False, "sized": False}

    for seed in seeds:

        def look(what: str, change: dict[str, Any], seed: int = seed) -> tuple[OneLookConvNet, Public]:
            taken = _look(data, name, epsilon, seed, change, small)
            return _prepare(results, data, taken, seed, "ablation", what)

        def score(what: str, maker: OneLookConvNet, public: Public, seed: int = seed, **how: Any) -> None:
            _score(results, data, maker, public, 20, seed, small, "ablation", what=what, **how)

        if _wanted("all", "one-hot labels", "samples as they are", *free):
            maker, public = look("all", {})
            score("all", maker, public)
            if _wanted("one-hot labels"):
                score("one-hot labels", maker, public, hard=True)
            if _wanted("samples as they are"):
                score("samples as they are", maker, public, moved=False)
            for what, change in free.items():
                if _wanted(what):
                    score(what, OneLookConvNet(**{**maker.get_params(), **change}), public)
        for what, change in looks.items():
            if _wanted(what):
                score(what, *look(what, change))


def _wanted(*names: str) -> bool:
    return not ONLY or any(name in ONLY for name in names)


class Look:
    """The first look, with noise from a fixed seed, so that figures can be had again; and what is left of its budget."""

    def __init__(self, data: Data, epsilon: float, seed: int, settings: dict[str, Any]) -> None:
        began = time.perf_counter()
        self.maker = OneLookConvNet(epsilon, DELTA, **settings, random_state=seed)
        self.budget = Budget(epsilon, DELTA, unsafe_noise_seed=100 + seed)
        self.generator: ImageMoments = self.maker.generator().fit(data.train, self.budget)
        self.seconds = time.perf_counter() - began


def _look(data: Data, name: str, epsilon: float, seed: int, change: dict[str, Any], small: bool) -> Look:
    return Look(data, epsilon, seed, {**RECIPES[name]["convnet"], **change, **(SMALL if small else {})})


def _prepare(
    results: Results, data: Data, look: Look, seed: int, part: str, what: str | None = None
) -> tuple[OneLookConvNet, Public]:
    """Samples of a release, and their teachers: before and after the correction."""
    maker = look.maker
    told = {} if what is None else {"what": what}

    def tell(learner: str, public: Public, began: float) -> None:
        right = [float((one.predict(data.test_rows) == data.test.labels).mean()) for one in public.teachers[0].learners]
        results.add(
            part, dataset=data.name, epsilon=maker.epsilon, seed=seed, learner=learner, **told,
            accuracy=float(np.mean(right)), look_s=look.seconds, seconds=time.perf_counter() - began,
        )  # fmt: skip

    began = time.perf_counter()
    public = maker.prepare(look.generator)
    tell("ConvNet on samples", public, began)
    if maker.correct_share:
        began = time.perf_counter()
        public = maker.correct(public, data.train, look.budget)
        if maker.labels_by != "teachers":
            tell("ConvNet on samples, corrected labels", public, began)
    return maker, public


def _score(
    results: Results, data: Data, maker: OneLookConvNet, public: Public, per_class: int, seed: int, small: bool, part: str,
    *, what: str | None = None, hard: bool = False, moved: bool = True,
) -> None:  # fmt: skip
    """A distilled set, and the accuracy of a network trained on it."""
    began = time.perf_counter()
    maker.set_params(per_class=min(per_class, 5) if small else per_class)
    support = maker.distil(public, jax.random.key(seed)) if moved else _as_they_are(maker, public)
    if hard:
        classes = np.arange(len(support.points)) % len(public.samples)
        labels = np.tile(20 * one_hot(classes, len(public.samples)), maker.parts**2)
        support = Support(support.points, jnp.asarray(labels))
    learner = maker.train(support, data.train.shape, seed)
    accuracy = float((learner.predict(data.test_rows) == data.test.labels).mean())
    told = {} if what is None else {"what": what}
    results.add(
        part, dataset=data.name, epsilon=maker.epsilon, seed=seed, learner="ConvNet", per_class=per_class,
        labels_by=maker.labels_by, **told, accuracy=accuracy, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _as_they_are(maker: OneLookConvNet, public: Public) -> Support:
    """The samples that distillation would start from, with the teachers' labels."""
    pictures = np.moveaxis(public.samples[:, : maker.per_class * maker.parts**2], 0, 1).astype(np.float32) / 255
    start = np.stack([folded(pictures[:, c], maker.parts) for c in range(pictures.shape[1])], axis=1)
    return maker.labelled(start.reshape(-1, *start.shape[2:]), public)


def merge(files: list[Path], out: Path) -> None:
    """One result of several runs: their commands and machines, all rows, and the mean and spread over seeds.

    A figure that a later file has again counts once, as it is there.
    """
    bodies = [json.loads(file.read_text("utf-8")) for file in files]
    keys = (
        "part",
        "dataset",
        "epsilon",
        "learner",
        "what",
        "per_class",
        "labels_by",
        "softness",
        "mixed",
        "train_steps",
    )
    known = {
        tuple(row.get(key) for key in (*keys, "seed")): row
        for body in bodies
        for row in body["rows"]
        if "accuracy" in row
    }
    rows = list(known.values())
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(100 * row["accuracy"])
    summary = [
        {
            **{key: value for key, value in zip(keys, group, strict=True) if value is not None},
            "runs": len(found),
            "mean": round(float(np.mean(found)), 2),
            "low": round(min(found), 2),
            "high": round(max(found), 2),
        }
        for group, found in groups.items()
    ]
    facts = {"machine": bodies[0]["machine"], "versions": bodies[0]["versions"]}
    lines = {
        name: ",\n".join("  " + json.dumps(row) for row in part)
        for name, part in (("summary", summary), ("rows", rows))
    }
    names = " ".join(file.name for file in files)
    command = f"python benchmarks/bench_convnets.py merge --files {names} --out {out.name}"
    commands = [re.sub(r"--out \S*/", "--out ", body["command"]) for body in bodies]
    told = {"command": command, "of": commands, "note": NOTE, **facts}
    head = json.dumps(told, indent=1)[:-2]
    text = "".join(f',\n "{name}": [\n{part}\n ]' for name, part in lines.items())
    out.write_text(f"{head}{text}\n}}\n", "utf-8")


PARTS: dict[str, Callable[..., None]] = {"ours": ours, "krr": regression, "choose": choose, "ablation": ablation}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "merge"], nargs="+")
    parser.add_argument("--name", choices=["mnist", "fashion"], default="mnist")
    parser.add_argument("--files", type=Path, nargs="*", help="what `merge` makes one result of")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="which lines of `ablation`; all where none is named")
    parser.add_argument("--sizes", type=int, nargs="*", help="images a class, where not the usual ones")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    if chosen.part == ["merge"]:
        merge(chosen.files, chosen.out)
        return
    results = Results(chosen.out, chosen.small, "bench_convnets.py")
    ONLY.update(chosen.only or [])
    for part in chosen.part:
        SIZES[part] = chosen.sizes or SIZES.get(part, [])
    for part in chosen.part:
        seeds = range(chosen.first, chosen.first + chosen.seeds)
        PARTS[part](results, chosen.name, chosen.epsilon, seeds, chosen.small)
    results.add("end")


if __name__ == "__main__":
    main()
