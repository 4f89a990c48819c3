"""One look at images, then distilled sets of several sizes: for kernel ridge regression and for a ConvNet; beside DP-KIP.

    python benchmarks/bench_convnets.py ours --name mnist --epsilon 1 --seeds 5 --out convnets_mnist.json
    python benchmarks/bench_convnets.py krr --name mnist --epsilon 1 --seeds 5 --out convnets_krr.json
    python benchmarks/bench_convnets.py ablation --name mnist --out convnets_ablation.json
    python benchmarks/bench_convnets.py table2 --name mnist --seeds 3 --out convnets_table2.json
    python benchmarks/bench_convnets.py start --name mnist --out convnets_start.json
    python benchmarks/bench_convnets.py merge --files convnets_*.json --out benchmarks/results/distill_convnets.json

The JSON is rewritten after every figure. `ours`, `krr` and `table2` learn from all training images and look at the test images;
the others hold 5,000 training images out and look at those. `--small` shrinks everything, to try the script.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from bench_distill import DELTA, Data, Results

from understudy.benchmarks.dpkip_images import RECIPES, SETTINGS
from understudy.learn.convnet_training import Lessons, train_convnet
from understudy.learn.krr import one_hot
from understudy.methods import DPKIP, ImageMoments, OneLook, OneLookConvNet
from understudy.methods.distillation.convlook import Public
from understudy.methods.distillation.training import Support

SIZES = {"ours": [10, 20, 50], "krr": [10, 50], "table2": [10, 20]}
KEPT: dict[str, Path | None] = {"supports": None}
FREE: dict[str, Any] = {}  # settings of the free descent for kernel ridge regression, where not the usual ones
NOTE = (
    "Accuracies: `ours` and `table2` on the test images; `ablation` and `start` on 5,000 training images that were held out. In "
    "the summary they are in per cent, with the least and the greatest of the runs. Generators' noise has fixed seeds, so that "
    "figures can be had again; DP-KIP's in `table2` has none. `--supports` names a folder with DP-KIP's images of the runs in "
    "dpkip-images-full.json; without it they are made anew."
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
    """The recommended recipe for a ConvNet, in several sizes from one release."""
    data = Data(name, True, small)
    with ThreadPoolExecutor(1) as pool:  # the next release is made while this one is distilled
        looks = [pool.submit(_look, data, name, epsilon, seed, {}, small) for seed in seeds]
        for seed, look in zip(seeds, looks, strict=True):
            maker, public = _prepare(results, data, look.result(), epsilon, seed, "ours")
            for per_class in SIZES["ours"]:
                _score(results, data, maker, public, per_class, seed, small, "ours")


def regression(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """The recommended recipe for kernel ridge regression."""
    data = Data(name, True, small)
    recipe: dict[str, Any] = RECIPES[name]["krr"] | FREE | ({"steps": 3, "batch": 50} if small else {})
    for seed in seeds:
        for per_class in SIZES["krr"]:
            began = time.perf_counter()
            made = OneLook(epsilon, DELTA, per_class, **recipe, random_state=seed, unsafe_noise_seed=100 + seed)
            results.add(
                "ours", dataset=name, epsilon=epsilon, seed=seed, learner="KRR", per_class=per_class,
                accuracy=made.fit(data.train).score(data.test), seconds=time.perf_counter() - began,
            )  # fmt: skip


def ablation(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """What each ingredient gives, at 20 a class, on held-out training images."""
    data = Data(name, False, small)
    chosen = RECIPES[name]["convnet"]
    for seed in seeds:
        maker, public = _release(results, data, name, epsilon, seed, {}, small, "all")
        _score(results, data, maker, public, 20, seed, small, "ablation", what="all")
        _score(results, data, maker, public, 20, seed, small, "ablation", what="one-hot labels", hard=True)
        _score(results, data, maker, public, 20, seed, small, "ablation", what="samples as they are", moved=False)
        if chosen.get("mixed"):
            maker.set_params(mixed=False)
            _score(results, data, maker, public, 20, seed, small, "ablation", what="not mixed")
        for key, off in (("edges", 0.0), ("stretch", 0.0), ("straight", False)):
            if chosen.get(key):
                what = f"without {key}"
                maker, public = _release(results, data, name, epsilon, seed, {key: off}, small, what)
                _score(results, data, maker, public, 20, seed, small, "ablation", what=what)


def _release(
    results: Results, data: Data, name: str, epsilon: float, seed: int, change: dict[str, Any], small: bool, what: str
) -> tuple[OneLookConvNet, Public]:
    return _prepare(results, data, _look(data, name, epsilon, seed, change, small), epsilon, seed, "ablation", what)


def _look(
    data: Data, name: str, epsilon: float, seed: int, change: dict[str, Any], small: bool
) -> tuple[ImageMoments, dict[str, Any], float]:
    """A release with noise from a fixed seed, so that the figure can be had again; the settings, and its seconds."""
    began = time.perf_counter()
    settings: dict[str, Any] = {**RECIPES[name]["convnet"], **change, **(SMALL if small else {})}
    known = {k: v for k, v in settings.items() if k in ("straight", "frequencies", "edges")}
    made = ImageMoments(epsilon, DELTA, **known, random_state=seed, unsafe_noise_seed=100 + seed).fit(data.train)
    return made, settings, time.perf_counter() - began


def _prepare(
    results: Results, data: Data, look: tuple[ImageMoments, dict[str, Any], float], epsilon: float, seed: int, part: str,
    what: str | None = None,
) -> tuple[OneLookConvNet, Public]:  # fmt: skip
    """Samples of a release, and their teachers."""
    generator, settings, seconds = look
    began = time.perf_counter()
    maker = OneLookConvNet(epsilon, DELTA, **settings, random_state=seed)
    public = maker.prepare(generator)
    right = [float((one.predict(data.test_rows) == data.test.labels).mean()) for one in public.teachers]
    told = {} if what is None else {"what": what}
    results.add(
        part, dataset=data.name, epsilon=epsilon, seed=seed, learner="ConvNet on samples", **told,
        accuracy=float(np.mean(right)), look_s=seconds, samples_and_teachers_s=time.perf_counter() - began,
    )  # fmt: skip
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
        support = Support(support.points, jnp.asarray(20 * one_hot(classes, len(public.samples))))
    learner = maker.train(support, data.train.shape, seed)
    accuracy = float((learner.predict(data.test_rows) == data.test.labels).mean())
    told = {} if what is None else {"what": what}
    results.add(
        part, dataset=data.name, epsilon=maker.epsilon, seed=seed, learner="ConvNet", per_class=per_class, **told,
        accuracy=accuracy, seconds=time.perf_counter() - began,
    )  # fmt: skip


def _as_they_are(maker: OneLookConvNet, public: Public) -> Support:
    """The samples that distillation would start from, with the teachers' labels."""
    start = np.moveaxis(public.samples[:, : maker.per_class], 0, 1)
    rows = start.reshape(-1, int(np.prod(start.shape[2:])))
    labels = np.mean([teacher.scores(rows) for teacher in public.teachers], axis=0) / maker.softness
    return Support(jnp.asarray(rows.astype(np.float32) / 255), jnp.asarray(labels))


def table2(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """DP-KIP's Table 2 as printed: its ConvNet on DP-KIP's images, with the paper's settings for ten a class."""
    data = Data(name, True, small)
    lessons = Lessons(4, width=4) if small else Lessons()
    shape = (data.train.shape[0], data.train.shape[1], 1)
    for per_class in SIZES["table2"]:
        for seed in seeds:
            points, labels = _dpkip(data, per_class, epsilon, seed, small)
            learner = train_convnet(points, 20 * labels, shape, lessons, None, seed)
            accuracy = float((learner.predict(data.test_rows) == data.test.labels).mean())
            results.add("table2", dataset=name, epsilon=epsilon, per_class=per_class, seed=seed, accuracy=accuracy)


def _dpkip(data: Data, per_class: int, epsilon: float, seed: int, small: bool) -> tuple[np.ndarray, np.ndarray]:
    """Touches private data: DP-KIP's images and labels; those of an earlier run where `--supports` has them."""
    if folder := KEPT["supports"]:
        with np.load(folder / f"support_{data.name}_{per_class}_{epsilon:g}_{seed}.npz") as file:
            return file["points"].astype(np.float32), file["labels"]
    batch, rate, clip, ridge = SETTINGS[data.name, 10, epsilon]
    made = DPKIP(
        epsilon, DELTA, per_class, batch=50 if small else batch, epochs=1 if small else 10, learning_rate=rate, clip=clip,
        ridge=ridge, random_state=seed,
    ).fit(data.train)  # fmt: skip
    return np.asarray(made.support_.points), np.asarray(made.support_.labels)


def start(results: Results, name: str, epsilon: float, seeds: range, small: bool) -> None:
    """DP-KIP from a Gaussian start, from a released start, and one look alone, at one total budget; ten a class."""
    data = Data(name, False, small)
    recipe: dict[str, Any] = RECIPES[name]["krr"] | FREE | ({"steps": 3, "batch": 50} if small else {})
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


def merge(files: list[Path], out: Path) -> None:
    """One result of several runs: their commands and machines, all rows, and the mean and spread over seeds."""
    bodies = [json.loads(file.read_text("utf-8")) for file in files]
    rows = [row for body in bodies for row in body["rows"] if "accuracy" in row]
    groups: dict[tuple[Any, ...], list[float]] = {}
    keys = ("part", "dataset", "epsilon", "learner", "what", "per_class")
    for row in rows:
        told = {**row, "epsilon": round(row["epsilon"], 1)}
        groups.setdefault(tuple(told.get(key) for key in keys), []).append(100 * row["accuracy"])
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
    told = {"command": command, "of": [body["command"] for body in bodies], "note": NOTE, **facts}
    head = json.dumps(told, indent=1)[:-2]
    text = "".join(f',\n "{name}": [\n{part}\n ]' for name, part in lines.items())
    out.write_text(f"{head}{text}\n}}\n", "utf-8")


PARTS = {"ours": ours, "krr": regression, "ablation": ablation, "table2": table2, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=[*PARTS, "merge"], nargs="+")
    parser.add_argument("--name", choices=["mnist", "fashion"], default="mnist")
    parser.add_argument("--files", type=Path, nargs="*", help="what `merge` makes one result of")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="*", help="images a class, where not the usual ones")
    parser.add_argument("--free-steps", type=int, help="steps of half the batch in `krr` and `start`, without a GPU")
    parser.add_argument("--supports", type=Path, help="folder with DP-KIP's images of an earlier run, for `table2`")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    if chosen.part == ["merge"]:
        merge(chosen.files, chosen.out)
        return
    results = Results(chosen.out, chosen.small, "bench_convnets.py")
    KEPT["supports"] = chosen.supports
    FREE.update({"steps": chosen.free_steps, "batch": 500} if chosen.free_steps else {})
    for part in chosen.part:
        SIZES[part] = chosen.sizes or SIZES.get(part, [])
    for part in chosen.part:
        seeds = range(chosen.first, chosen.first + chosen.seeds)
        PARTS[part](results, chosen.name, chosen.epsilon, seeds, chosen.small)
    results.add("end")


if __name__ == "__main__":
    main()
