"""One look at images, then distilled sets of several sizes: for kernel ridge regression and for a ConvNet; beside DP-KIP.

    python benchmarks/bench_convnets.py ours --name mnist --epsilon 1 --seeds 5 --out convnets_mnist.json
    python benchmarks/bench_convnets.py ablation --name mnist --out convnets_ablation.json
    python benchmarks/bench_convnets.py table2 --name mnist --seeds 3 --out convnets_table2.json
    python benchmarks/bench_convnets.py start --name mnist --out convnets_start.json

The JSON is rewritten after every figure. `ours` and `table2` learn from all training images and look at the test images;
the others hold 5,000 training images out and look at those. `--small` shrinks everything, to try the script.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from bench_distill import DELTA, Data, Results

from understudy import images
from understudy.benchmarks.dpkip_images import RECIPES, SETTINGS
from understudy.learn.convnet_training import Lessons, train_convnet
from understudy.learn.krr import one_hot
from understudy.methods import DPKIP, ImageMoments, OneLook, OneLookConvNet
from understudy.methods.distillation.matching import Deformation
from understudy.methods.distillation.training import Support

CONVNET_SIZES = (10, 20, 50)
KRR_SIZES = (10, 50)
SMALL: dict[str, Any] = {"steps": 3, "batch": 8, "samples": 60, "teachers": 1, "train_steps": 4, "width": 4}


def ours(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """The recommended recipes: one look for the networks, one for the regression, each at the whole budget."""
    data = Data(name, True, small)
    for seed in seeds:
        distil_and_score(results, data, name, epsilon, seed, small, {}, "ours")


def ablation(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """What each ingredient gives, at 20 a class, on held-out training images."""
    data = Data(name, False, small)
    chosen = RECIPES[name]["convnet"]
    without: dict[str, dict[str, Any]] = {"all": {}, "one-hot labels": {"softness": None}, "not matched": {"steps": 0}}
    without |= {f"without {k}": {k: 0.0} for k in ("edges", "stretch") if chosen.get(k)}
    without |= {"not straightened": {"straight": False}} if chosen.get("straight") else {}
    for seed in seeds:
        for what, change in without.items():
            distil_and_score(results, data, name, epsilon, seed, small, change, what, sizes=(20,), krr=False)


def distil_and_score(
    results: Results, data: Data, name: str, epsilon: float, seed: int, small: bool, change: dict[str, Any], what: str,
    sizes: tuple[int, ...] = CONVNET_SIZES, krr: bool = True,
) -> None:  # fmt: skip
    """One release with noise from a fixed seed, so that the figure can be had again, and what is distilled from it."""
    began = time.perf_counter()
    settings: dict[str, Any] = {**RECIPES[name]["convnet"], **change, **(SMALL if small else {})}
    soft, steps = settings.pop("softness", 1.0), settings.pop("steps", 1000)
    look = {k: v for k, v in settings.items() if k in ("straight", "frequencies", "edges")}
    generator = ImageMoments(epsilon, DELTA, **look, random_state=seed, unsafe_noise_seed=100 + seed).fit(data.train)
    fitted = time.perf_counter() - began
    maker = OneLookConvNet(
        epsilon, DELTA, 1, **settings, steps=max(steps, 1), softness=soft or 1.0, random_state=seed
    )  # fmt: skip
    public = maker.prepare(generator)
    right = [float((one.predict(data.test_rows) == data.test.labels).mean()) for one in public.teachers]
    facts = {"dataset": name, "epsilon": epsilon, "seed": seed}
    results.add(what, **facts, learner="ConvNet on samples", accuracy=float(np.mean(right)), look_s=fitted)
    for per_class in sizes:
        maker.set_params(per_class=min(per_class, 5) if small else per_class)
        began = time.perf_counter()
        support = _distilled(maker, public, seed, soft is None, steps == 0)
        learner = maker.train(support, data.train.shape, seed)
        accuracy = float((learner.predict(data.test_rows) == data.test.labels).mean())
        seconds = time.perf_counter() - began
        results.add(what, **facts, learner="ConvNet", per_class=per_class, accuracy=accuracy, seconds=seconds)
    for per_class in KRR_SIZES if krr else ():
        began = time.perf_counter()
        recipe: dict[str, Any] = RECIPES[name]["krr"] | ({"steps": 3, "batch": 50} if small else {})
        made = OneLook(epsilon, DELTA, per_class, **recipe, random_state=seed, unsafe_noise_seed=100 + seed)
        accuracy = made.fit(data.train).score(data.test)
        seconds = time.perf_counter() - began
        results.add(what, **facts, learner="KRR", per_class=per_class, accuracy=accuracy, seconds=seconds)


def _distilled(maker: OneLookConvNet, public: Any, seed: int, hard: bool, unmoved: bool) -> Support:
    """The distilled set; with one-hot labels, or with samples as they are, for the ablation."""
    if unmoved:
        start = np.moveaxis(public.samples[:, : maker.per_class], 0, 1)
        rows = start.reshape(-1, int(np.prod(start.shape[2:])))
        labels = np.mean([teacher.scores(rows) for teacher in public.teachers], axis=0) / maker.softness
        return Support(jnp.asarray(rows.astype(np.float32) / 255), jnp.asarray(labels))
    support = maker.distil(public, jax.random.key(seed))
    if not hard:
        return support
    classes = np.arange(len(support.points)) % len(public.samples)
    return Support(support.points, jnp.asarray(20 * one_hot(classes, len(public.samples))))


def table2(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """DP-KIP's Table 2 as printed: its ConvNet on DP-KIP's images, with the paper's settings for ten a class."""
    data = Data(name, True, small)
    batch, rate, clip, ridge = SETTINGS[name, 10, epsilon]
    lessons = Lessons(4, width=4) if small else Lessons()
    for per_class in (10, 20):
        for seed in seeds:
            made = DPKIP(
                epsilon, DELTA, per_class, batch=50 if small else batch, epochs=1 if small else 10, learning_rate=rate,
                clip=clip, ridge=ridge, random_state=seed,
            ).fit(data.train)  # fmt: skip
            points, labels = (np.asarray(part) for part in made.support_)
            deform = Deformation(OneLookConvNet(straight=name == "mnist")._affine())  # pyright: ignore[reportPrivateUsage]
            shape = (data.train.shape[0], data.train.shape[1], 1)
            for how, deformation in (("plain", None), ("deformed", deform)):
                learner = train_convnet(points, 20 * labels, shape, lessons, deformation, seed)
                accuracy = float((learner.predict(data.test_rows) == data.test.labels).mean())
                results.add(
                    "table2", dataset=name, epsilon=epsilon, per_class=per_class, seed=seed, images=how, accuracy=accuracy,
                    krr=made.score(data.test),
                )  # fmt: skip


def start(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """DP-KIP from a Gaussian start, from a released start, and one look alone, at one total budget; ten a class."""
    data = Data(name, False, small)
    recipe: dict[str, Any] = RECIPES[name]["krr"] | ({"steps": 3, "batch": 50} if small else {})
    batch, rate, clip, ridge = SETTINGS[name, 10, epsilon]
    for seed in seeds:
        fixed: dict[str, Any] = {"random_state": seed, "unsafe_noise_seed": 100 + seed}
        few: dict[str, Any] = {"batch": 50, "epochs": 1} if small else {"batch": batch}
        runs: dict[str, Callable[[], Any]] = {
            "one look alone": lambda fixed=fixed: OneLook(epsilon, DELTA, 10, **recipe, **fixed),
            "one look, then DP-KIP with half": lambda fixed=fixed: OneLook(
                epsilon, DELTA, 10, **recipe, refine_share=0.5, **fixed
            ),
            "one look, then DP-KIP with a fifth": lambda fixed=fixed: OneLook(
                epsilon, DELTA, 10, **recipe, refine_share=0.2, **fixed
            ),
            "DP-KIP": lambda fixed=fixed, few=few: DPKIP(
                epsilon, DELTA, 10, learning_rate=rate, clip=clip, ridge=ridge, **few, **fixed
            ),
        }
        for what, make in runs.items():
            made = make().fit(data.train)
            results.add(
                "start", dataset=name, epsilon=made.certificate_.epsilon, seed=seed, what=what,
                accuracy=made.score(data.test),
            )  # fmt: skip


PARTS = {"ours": ours, "ablation": ablation, "table2": table2, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=list(PARTS), nargs="+")
    parser.add_argument("--name", choices=["mnist", "fashion"], required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    results = Results(chosen.out, chosen.small, "bench_convnets.py")
    images.load(chosen.name)
    for part in chosen.part:
        seeds = range(chosen.first, chosen.first + chosen.seeds)
        PARTS[part](results, chosen.name, chosen.epsilon, seeds, chosen.small)
    results.add("end")


if __name__ == "__main__":
    main()
