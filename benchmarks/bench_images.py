"""The image generator, measured: a convolutional network learns from samples alone and is scored on real images.

    python benchmarks/bench_images.py --data fashion --epsilon 1 10 --seeds 0 1 2 3 4 --out images.json
    python benchmarks/bench_images.py --data fashion --part ablation --out images.json

Part `final` looks at the test images, once a run; every setting was chosen on 5,000 training images that part `ablation`
holds out. The JSON is rewritten after each figure; rows that a file has already are kept, and not run again.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from understudy import datasets, images
from understudy.benchmarks.machine import machine, versions
from understudy.evaluation.image_networks import ConvNet
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.methods.image_moments import ImageMoments, edge_look
from understudy.methods.image_moments.edge_look import EdgeMoments, EdgePlan
from understudy.methods.image_moments.refiner import Refiner
from understudy.methods.image_moments.sampler import Mixture
from understudy.privacy import Budget

DELTA = 1e-5

# ---- recipes: chosen on held-out training images ----------------------------------------------------------------

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
# What is left out or changed: settings of the generator (`edit`: see EDITS), of the training, constants of the look at edges.
Changed = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
NOTHING: Changed = ({}, {}, {})
BARE: dict[str, Changed] = {
    "as recommended": NOTHING,
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
        "as recommended": NOTHING,
        "brought to one size as well": ({"sized": True}, {}, {}),
        **{name: changed for name, changed in BARE.items() if name != "labels: as drawn"},
        "not straightened": ({"straight": False}, {}, {}),
        "contrast as it is": ({}, {"contrast": False}, {}),
    },
    "fashion": {
        **{name: changed for name, changed in BARE.items() if name != "labels: shares"},
        "14 x 14 frequencies": ({"frequencies": 14}, {}, {}),
        "contrast stretched": ({}, {"contrast": True}, {}),
    },
}


def data(name: str, final: bool, small: bool) -> tuple[ImageDataset, ImageDataset]:
    """What the generator sees, and what the network is scored on."""
    whole = datasets.load_images(name)
    order = np.random.default_rng(0).permutation(len(whole))[: 3000 if small else None]
    held = len(order) // 12
    train, test = (
        (whole, datasets.load_images(name, "test")) if final else (whole.take(order[:-held]), whole.take(order[-held:]))
    )
    return (train.take(order), test.take(slice(0, 250))) if small and final else (train, test)


class Made(NamedTuple):
    """A release's samples with their labels, and what it took."""

    samples: ImageDataset
    targets: np.ndarray
    labeller: Refiner | None
    trust: float
    judge: float | None
    epsilon: float
    fit: float
    sample: float


# ---- a convolutional network, everything on the device ------------------------------------------------------------


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run(static: Any, affine: Affine | None, contrast: bool, batch: int, carried: Any, made: Any, key: Any, steps: Any) -> Any:  # fmt: skip
    pixels, targets, judge, trust = made

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy(jax.vmap(eqx.combine(weights, static))(x), y).mean()

    def step(number: Any, carried: Any) -> Any:
        weights, state, average = carried
        choosing, moving, stretching = jax.random.split(jax.random.fold_in(key, number), 3)
        places = jax.random.randint(choosing, (batch,), 0, len(pixels))
        x = pixels[places].astype(jnp.float32) / 255
        if affine is not None:
            x = affine.apply(moving, x)
        if contrast:  # samples are greyer than writing: a random stretch of their range, chosen publicly
            floor, ceiling = jax.random.uniform(stretching, (2, batch, 1, 1, 1))
            x = jnp.clip((x - 0.25 * floor) / (1 - 0.25 * floor - 0.35 * ceiling), 0, 1)
        wanted = targets[places]
        if judge is not None:  # the release's view of the image as it is seen here, deformed
            wanted = trust * wanted + (1 - trust) * judge.shares(x)
        slope = jax.grad(loss)(weights, _standard(x), wanted)
        updates, state = optax.scale_by_adam().update(slope, state)
        rate = 5e-4 * (1 + jnp.cos(jnp.pi * number / steps))
        weights = jax.tree.map(lambda w, u: w - rate * (u + 1e-4 * w), weights, updates)
        return weights, state, jax.tree.map(lambda a, w: 0.99 * a + 0.01 * w, average, weights)

    return jax.lax.fori_loop(0, steps, step, carried)


def _standard(x: Any) -> Any:
    """By public numbers, channels first."""
    return jnp.moveaxis((x - 0.3) / 0.35, 3, 1)


@partial(jax.jit, static_argnums=0)
def _scores(static: Any, weights: Any, x: Any) -> Any:
    return jax.vmap(eqx.combine(weights, static))(_standard(x.astype(jnp.float32) / 255))


def convnet(made: Made, test: ImageDataset, *, steps: int, kernels: int, affine: Affine | None, contrast: bool, seed: int) -> float:  # fmt: skip
    """Accuracy on real images of the ConvNet of the distillation papers (3 blocks, 128 kernels), averaged over its last steps."""
    pixels, seen = (one.images.reshape(len(one), *one.shape[:2], -1) for one in (made.samples, test))
    shape = pixels.shape[1:]
    model = ConvNet((shape[2], *shape[:2]), made.targets.shape[1], key=jax.random.key(seed), kernels=kernels)
    weights, static = eqx.partition(model, eqx.is_inexact_array)
    start = (weights, optax.scale_by_adam().init(weights), weights)
    on_device = (jnp.asarray(pixels), jnp.asarray(made.targets, jnp.float32), made.labeller, jnp.float32(made.trust))
    batch = min(256, len(pixels))
    _, _, average = _run(static, affine, contrast, batch, start, on_device, jax.random.key(seed + 1), steps)
    size = 250
    found = [np.asarray(_scores(static, average, jnp.asarray(seen[i : i + size]))) for i in range(0, len(seen), size)]
    return float((np.concatenate(found).argmax(axis=1) == test.labels).mean())


# ---- runs -------------------------------------------------------------------------------------------------------


class Results:
    """Rows as they come, on disk after each; a row that is there already is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self.rows: list[dict[str, Any]] = known.get("rows", [])
        self.commands: list[str] = known.get("commands", [])
        # Folders are nobody's business.
        self.commands.append(
            shlex.join(["python", "benchmarks/bench_images.py", *(a.split("/")[-1] for a in sys.argv[1:])])
        )

    def has(self, **facts: Any) -> bool:
        return any(all(row.get(name) == value for name, value in facts.items()) for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        print(json.dumps(row), flush=True)
        device = jax.devices()[0]
        body = {
            "commands": self.commands,
            "machine": {**machine(), "accelerator": getattr(device, "device_kind", str(device))},
            "versions": versions(),
            "note": "Noise has fixed seeds, for repeatability. Seconds were measured on a machine that did other work as well.",
            "rows": self.rows,
        }
        self.path.write_text(json.dumps(body, indent=1) + "\n", "utf-8")


def _pooled(mixture: Mixture) -> Mixture:
    """Every class' covariance becomes their mean."""
    mean = jnp.einsum("cij,ckj->ik", mixture.factors, mixture.factors) / len(mixture.factors)
    factors = jnp.broadcast_to(jnp.linalg.cholesky(mean), mixture.factors.shape)
    return eqx.tree_at(lambda m: m.factors, mixture, factors)


# What is taken away from a release, for free, before its samples show how to look at edges.
EDITS: dict[str, Callable[[Mixture], Mixture]] = {
    "pooled": _pooled,
    "no tail": lambda mixture: eqx.tree_at(lambda m: m.tail, mixture, jnp.zeros_like(mixture.tail)),
}


class Edited(ImageMoments):
    """A generator whose first look is edited; what it pays for stays the same."""

    edit: Callable[[Mixture], Mixture]

    def _look_at_edges(self, data: ImageDataset, plan: EdgePlan, budget: Budget) -> EdgeMoments:
        self.mixture_ = self.edit(self.mixture_)
        return super()._look_at_edges(data, plan, budget)


# One fit at a time: some of the ablation change constants of a module.
_FITTING = Lock()
# The latest release, for those that differ from it only in what is made of it.
_KEPT: dict[str, tuple[ImageMoments, float]] = {}


def _set(constants: dict[str, Any]) -> None:
    for name, value in constants.items():
        setattr(edge_look, name, value)


def fit(facts: dict[str, Any], changed: Changed, train: ImageDataset, settings: dict[str, Any]) -> tuple[ImageMoments, float]:  # fmt: skip
    """Touches private data (`train`): a release, and the seconds it took."""
    name = repr((facts["part"], facts["epsilon"], facts["seed"], settings, changed[2]))
    with _FITTING:
        if name not in _KEPT:
            began = time.perf_counter()
            usual = {constant: getattr(edge_look, constant) for constant in changed[2]}
            _set(changed[2])
            seeds = {"random_state": facts["seed"], "unsafe_noise_seed": facts["seed"]}
            known = {name: value for name, value in settings.items() if name != "edit"}
            generator = (Edited if "edit" in settings else ImageMoments)(facts["epsilon"], DELTA, **known, **seeds)
            if isinstance(generator, Edited):
                generator.edit = EDITS[settings["edit"]]
            try:
                fitted = generator.fit(train)
            finally:
                _set(usual)
            _KEPT.clear()
            _KEPT[name] = (fitted, time.perf_counter() - began)
        return _KEPT[name]


def make(facts: dict[str, Any], changed: Changed, sets: tuple[ImageDataset, ImageDataset], small: bool) -> Made:
    """Touches the real images that `sets` holds: one release, its samples and their labels."""
    train, test = sets
    training = {**TRAINING[facts["data"]], **changed[1]}
    settings = {**GENERATOR[facts["data"]], **changed[0], **({"frequencies": 6} if small else {})}
    generator, fitting = fit(facts, changed, train, settings)
    kept, began = generator.refiner_, time.perf_counter()
    generator = copy(generator)
    if not training.get("moved", True):
        generator.refiner_ = None
    samples = generator.sample(500 if small else training.get("count", 60_000), facts["seed"])
    sampling = time.perf_counter() - began
    generator.refiner_ = kept
    trust = TRUST[training["labels"]]
    targets = np.eye(len(test.classes))[samples.labels]
    if training["labels"] == "fixed":
        targets = generator.shares(samples)
    judge = None if kept is None else float((generator.shares(test).argmax(axis=1) == test.labels).mean())
    labeller = None if trust == 1 else kept
    return Made(samples, targets, labeller, trust, judge, generator.certificate_.epsilon, fitting, sampling)


Task = tuple[dict[str, Any], Changed]


def tasks(chosen: argparse.Namespace, results: Results) -> list[Task]:
    """What is to be run and has not been: the final figures at every epsilon first."""
    found: list[Task] = []
    for part in chosen.part:
        variants = {"as recommended": NOTHING} if part == "final" else ABLATION[chosen.data]
        for epsilon in chosen.epsilon if part == "final" else chosen.epsilon[:1]:
            for seed in chosen.seeds:
                for name in variants if part == "final" else chosen.only or variants:
                    facts = {"part": part, "data": chosen.data, "epsilon": epsilon, "seed": seed, "variant": name}
                    if name in variants and not results.has(**facts):
                        found.append((facts, variants[name]))
    return found


def run(results: Results, chosen: argparse.Namespace) -> None:
    """One network after the other; the next releases are made while a network trains."""
    small, todo = chosen.small, tasks(chosen, results)
    sets = {part: data(chosen.data, part == "final", small) for part in chosen.part}
    with ThreadPoolExecutor(chosen.ahead) as pool:
        made: list[Future[Made]] = []
        for place, (facts, changed) in enumerate(todo):
            while len(made) < min(len(todo), place + 1 + chosen.ahead):
                next_facts, next_changed = todo[len(made)]
                made.append(pool.submit(make, next_facts, next_changed, sets[next_facts["part"]], small))
            release = made[place].result()
            began = time.perf_counter()
            options = {**TRAINING[facts["data"]], **changed[1]}
            accuracy = convnet(
                release, sets[facts["part"]][1], steps=4 if small else chosen.steps, kernels=8 if small else 128,
                affine=options["affine"], contrast=options["contrast"], seed=facts["seed"],
            )  # fmt: skip
            seconds = {"fit": release.fit, "sample": release.sample, "train": time.perf_counter() - began}
            results.add(
                {
                    **facts,
                    "accuracy": round(accuracy, 4),
                    "accuracy_of_shares": release.judge,
                    "epsilon_spent": release.epsilon,
                    "samples": len(release.samples),
                    "steps": chosen.steps,
                    "seconds": {name: round(value, 1) for name, value in seconds.items()},
                }
            )
            if chosen.pictures and facts["part"] == "final" and facts["seed"] == 0:
                chosen.pictures.mkdir(parents=True, exist_ok=True)
                name = f"{facts['data']}-{facts['epsilon']:g}.png"
                images.write_grid(release.samples.take(slice(0, 400)), chosen.pictures / name)
            made[place] = Future()  # its images are not needed any more


def look(results: Results, chosen: argparse.Namespace) -> None:
    """Touches private data: what changes of the look do to the released shares, on held-out images; no network is trained."""
    train, held = data(chosen.data, False, chosen.small)
    for seed in chosen.seeds:
        for name, changed in ABLATION[chosen.data].items():
            facts = {"part": "look", "data": chosen.data, "epsilon": chosen.epsilon[0], "seed": seed, "variant": name}
            settings = {**GENERATOR[chosen.data], **changed[0], **({"frequencies": 6} if chosen.small else {})}
            of_the_look = name == "as recommended" or changed[0] or changed[2]
            if of_the_look and settings["edges"] and not results.has(**facts):
                generator, _ = fit(facts, changed, train, settings)
                right = float((generator.shares(held).argmax(axis=1) == held.labels).mean())
                results.add({**facts, "accuracy_of_shares": right})


def speed(results: Results, name: str, small: bool) -> None:
    """Touches private data: how long a fit and a thousand samples take here."""
    train, _ = data(name, True, small)
    began = time.perf_counter()
    generator = ImageMoments(1.0, DELTA, **GENERATOR[name], unsafe_noise_seed=0).fit(train)
    fitting = time.perf_counter() - began
    generator.sample(2000, 0)  # compiles
    began = time.perf_counter()
    generator.sample(2000, 1)
    each = (time.perf_counter() - began) / 2000
    here = {"accelerator": jax.devices()[0].device_kind, **machine()}
    facts = {"part": "speed", "data": name, "images": len(train), "machine": here}
    results.add({**facts, "seconds": {"fit": round(fitting, 1), "sample_each": round(each, 4)}})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", choices=list(GENERATOR), required=True)
    parser.add_argument("--part", choices=["final", "ablation", "look", "speed"], nargs="+", default=["final"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0], help="The ablation takes the first.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--only", nargs="+", help="Of the ablation, these variants, in this order.")
    parser.add_argument("--ahead", type=int, default=1, help="How many releases are made while a network trains.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pictures", type=Path, help="Folder for pictures of the final releases with the seed 0.")
    parser.add_argument("--small", action="store_true", help="Everything tiny, to try the script.")
    chosen = parser.parse_args()
    results = Results(chosen.out)
    if "speed" in chosen.part:
        speed(results, chosen.data, chosen.small)
    if "look" in chosen.part:
        look(results, chosen)
    chosen.part = [part for part in chosen.part if part in ("final", "ablation")]
    run(results, chosen)


if __name__ == "__main__":
    main()
