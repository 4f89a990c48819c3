"""Distillation and the image generator, measured: speed, choices on held-out training rows, and final figures.

    python benchmarks/bench_distill.py --part speed --part explore --out distill.json

Parts run in the order given; the JSON is rewritten after every figure. `--small` shrinks everything, to try the script.
Choices (part `explore*`) are made on 5,000 training images that are held out there; only the parts `final*` look at the
test images.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from understudy import datasets
from understudy.benchmarks.dpkip_images import SETTINGS
from understudy.benchmarks.machine import machine, versions
from understudy.evaluation.image_networks import ConvNet
from understudy.images.deform import Affine
from understudy.learn.kernels import ReLUKernel, gram, own_gram
from understudy.learn.krr import KernelRidge, one_hot
from understudy.methods.distillation.training import Rows, Schedule, Support, clipped_sum, distil, distil_privately
from understudy.methods.image_moments import ImageMoments
from understudy.methods.image_moments.sampler import Samples
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps
from understudy.privacy.calibration import dpsgd_noise_multiplier
from understudy.privacy.prepaid import batch_slots

DELTA = 1e-5


class Results:
    """Figures as they come, on disk after each."""

    def __init__(self, path: Path, small: bool, script: str = "bench_distill.py") -> None:
        self.path = path
        self.began = time.time()
        device = jax.devices()[0]
        self.body: dict[str, Any] = {
            "command": f"python benchmarks/{script} " + " ".join(sys.argv[1:]),
            "machine": {**machine(), "accelerator": getattr(device, "device_kind", str(device))},
            "versions": versions(),
            "small": small,
            "rows": [],
        }

    def add(self, part: str, **figures: Any) -> None:
        row = {"part": part, "at": round(time.time() - self.began, 1), **figures}
        self.body["rows"].append(row)
        print(json.dumps(row), flush=True)
        self.path.write_text(json.dumps(self.body, indent=1) + "\n", "utf-8")


class Data:
    """A named set, split: the last 5,000 of a fixed shuffle of the training rows are held out for choices."""

    def __init__(self, name: str, final: bool, small: bool) -> None:
        self.name = name
        whole = datasets.load_images(name)
        order = np.random.default_rng(0).permutation(len(whole))
        if small:
            order = order[:3000]
        held = len(order) // 12
        self.train = whole.take(order) if final else whole.take(order[:-held])
        self.test = datasets.load_images(name, "test") if final else whole.take(order[-held:])
        if small:
            self.test = self.test.take(slice(0, 500))
        self.test_rows = self.test.flat()

    def krr(self, support: Support, ridge: float, depth: int = 1) -> float:
        kernel = ReLUKernel(self.test_rows.shape[1], depth)
        with jax.default_matmul_precision("highest"):
            model = KernelRidge(kernel, np.asarray(support.points), np.asarray(support.labels), ridge)
            return float((model.predict(self.test_rows) == self.test.labels).mean())


# ---- a convolutional network on fixed images, everything on the device -------------------------------------------


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _train_chunk(
    static: Any, affine: Affine | None, contrast: bool, batch: int, carried: Any, data: Any, keys: Any, rates: Any
) -> Any:
    pixels, targets = data

    def loss(weights: Any, x: Any, y: Any) -> Any:
        found = jax.vmap(eqx.combine(weights, static))(x)
        return optax.softmax_cross_entropy(found, y).mean()

    def step(carried: Any, now: Any) -> Any:
        weights, state, average = carried
        key, rate = now
        choosing, moving = jax.random.split(key)
        places = jax.random.randint(choosing, (batch,), 0, len(pixels))
        x = pixels[places].astype(jnp.float32) / 255
        if affine is not None:
            x = affine.apply(moving, x)
        if contrast:  # samples of Gaussians are greyer than pictures: a random stretch of their range, chosen publicly
            floor, ceiling = jax.random.uniform(jax.random.fold_in(moving, 1), (2, batch, 1, 1, 1))
            x = jnp.clip((x - 0.25 * floor) / (1 - 0.25 * floor - 0.35 * ceiling), 0, 1)
        x = jnp.moveaxis((x - 0.2) / 0.35, 3, 1)
        slope = jax.grad(loss)(weights, x, targets[places])
        updates, state = optax.scale_by_adam().update(slope, state)
        weights = jax.tree.map(lambda w, u: w - rate * (u + 1e-4 * w), weights, updates)
        average = jax.tree.map(lambda a, w: 0.99 * a + 0.01 * w, average, weights)
        return (weights, state, average), None

    return jax.lax.scan(step, carried, (keys, rates))[0]


@partial(jax.jit, static_argnums=0)
def _logits(static: Any, weights: Any, x: Any) -> Any:
    return jax.vmap(eqx.combine(weights, static))(jnp.moveaxis((x - 0.2) / 0.35, 3, 1))


def convnet(pixels: np.ndarray, targets: np.ndarray, data: Data, *, steps: int, batch: int = 256, affine: Affine | None, contrast: bool = False, seed: int) -> float:  # fmt: skip
    """Accuracy of DP-KIP's ConvNet trained on bytes `pixels` (n x h x w x c) with (soft) targets."""
    shape = pixels.shape[1:]
    model = ConvNet((shape[2], *shape[:2]), targets.shape[1], key=jax.random.key(seed))
    weights, static = eqx.partition(model, eqx.is_inexact_array)
    carried = (weights, optax.scale_by_adam().init(weights), weights)
    rates = (1e-3 * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2).astype(np.float32)
    on_device = (jnp.asarray(pixels), jnp.asarray(targets, jnp.float32))
    for begun in range(0, steps, 100):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed + 1), begun), len(rates[begun : begun + 100]))
        carried = _train_chunk(
            static, affine, contrast, batch, carried, on_device, keys, jnp.asarray(rates[begun : begun + 100])
        )
    x = data.test_rows.reshape(-1, *shape)
    size = min(500, len(x))
    found = [
        np.asarray(_logits(static, carried[2], jnp.asarray(x[i : i + size]))) for i in range(0, len(x) - size + 1, size)
    ]
    return float((np.concatenate(found).argmax(1) == data.test.labels[: len(found) * size]).mean())


def on_samples(generator: ImageMoments, data: Data, *, count: int, steps: int, affine: Affine | None, contrast: bool = False, seed: int = 0) -> float:  # fmt: skip
    made = generator.sample(count, seed)
    pixels = made.images if made.images.ndim == 4 else made.images[..., None]
    targets = np.eye(len(made.classes))[made.labels]
    return convnet(
        pixels, targets, data, steps=steps, batch=min(256, count // 50), affine=affine, contrast=contrast, seed=seed
    )


# ---- parts -----------------------------------------------------------------------------------------------------


def speed(results: Results, small: bool) -> None:
    """DP-KIP at 50 per class, 10 epochs of MNIST: the whole private run with noise from the operating system."""
    data = Data("mnist", True, small)
    m, batch, steps = (50, 50, 20) if small else (500, 500, 1200)
    rows = len(data.train)
    slots = batch_slots(rows, batch / rows, steps, 1.0, DELTA)
    kernel = ReLUKernel(784)
    labels = one_hot(np.arange(m) % 10, 10)
    start = Support(jax.random.normal(jax.random.key(0), (m, 784)), jnp.asarray(labels))
    points, targets = data.train.flat(), one_hot(data.train.labels, 10)
    present = np.ones(rows, dtype=bool)

    def run(count: int) -> float:
        mechanism = PoissonGaussianStep(1e-6, 1.5, batch / rows)
        paid = PrepaidSteps(mechanism, count, rows, slots, Budget(1.0, DELTA), ahead=12)
        began = time.perf_counter()
        distil_privately(kernel, 1e-7, points, targets, present, start, paid, 1e-2)
        return time.perf_counter() - began

    compiling = run(3)
    seconds = run(steps)
    with jax.enable_x64(True):
        args = [jnp.asarray(a, jnp.float64) for a in (start.points, start.labels)]
        extra = (jnp.asarray(points), jnp.asarray(targets), jnp.arange(slots), jnp.ones(slots, bool))
        jax.block_until_ready(clipped_sum(kernel, 1e-7, *args, *extra, 1e-6))
        began = time.perf_counter()
        jax.block_until_ready([clipped_sum(kernel, 1e-7, *args, *extra, 1e-6) for _ in range(20)])
        alone = (time.perf_counter() - began) / 20
    # 55 quadratic forms of m x m matrices, each m³ to make and m² a record to take, are nearly all of the work.
    flops = 55 * 2 * (m**3 + m * m * slots) + 20 * 2 * (m**3 + m * m * slots)
    results.add(
        "speed", m=m, batch=batch, slots=slots, steps=steps, first_run_s=compiling, run_s=seconds, clipped_sum_s=alone,
        gflop_a_step=flops / 1e9, tflops_float64=flops / alone / 1e12,
    )  # fmt: skip


def speed_naive(results: Results, small: bool) -> None:
    """The same step by vmapped gradients, and on one's own processor the memory of both."""
    m, batch = (50, 50) if small else (500, 500)
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(batch, 784)).astype(np.float32)
    targets = one_hot(np.arange(batch) % 10, 10)
    start = Support(jax.random.normal(jax.random.key(0), (m, 784)), jnp.asarray(one_hot(np.arange(m) % 10, 10)))
    kernel = ReLUKernel(784)
    with jax.enable_x64(True):
        args = [jnp.asarray(a, jnp.float64) for a in start]
        extra = (jnp.asarray(points), jnp.asarray(targets), jnp.arange(batch), jnp.ones(batch, bool))
        ours = jax.block_until_ready(clipped_sum(kernel, 1e-6, *args, *extra, 1e-6))
        began = time.perf_counter()
        for _ in range(3):
            jax.block_until_ready(clipped_sum(kernel, 1e-6, *args, *extra, 1e-6))
        seconds = (time.perf_counter() - began) / 3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    results.add("speed-ours", m=m, batch=batch, features=784, seconds_a_step=seconds, peak_gib=peak)
    naive, theirs = _naive_step(kernel, start, points, targets)
    results.add(
        "speed-naive", m=m, batch=batch, features=784, seconds_a_step=naive, times_ours=naive / seconds,
        peak_gib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        largest_difference=float(np.abs(np.asarray(ours) - np.asarray(theirs)).max() / np.abs(np.asarray(ours)).max()),
    )  # fmt: skip


def _naive_step(kernel: ReLUKernel, start: Support, points: np.ndarray, targets: np.ndarray) -> tuple[float, Any]:
    """Vmapped gradients in float32, as the paper's code has them."""

    def loss(support: Any, x: Any, y: Any) -> Any:
        k = own_gram(kernel, support)
        factor = jax.scipy.linalg.cho_factor(k + 1e-6 * jnp.trace(k) / len(k) * jnp.eye(len(k)), lower=True)
        alpha = jax.scipy.linalg.cho_solve(factor, start.labels)
        return jnp.sum((y - gram(kernel, x[None], support)[0] @ alpha) ** 2) / 2

    @jax.jit
    def step(support: Any, x: Any, y: Any) -> Any:
        each = jax.vmap(jax.grad(loss), (None, 0, 0))(support, x, y)
        length = jnp.sqrt(jnp.sum(each**2, axis=(1, 2)))
        return jnp.tensordot(jnp.minimum(1, 1e-6 / length), each, 1)

    args = (start.points, jnp.asarray(points), jnp.asarray(targets))
    found = jax.block_until_ready(step(*args))
    began = time.perf_counter()
    jax.block_until_ready(step(*args))
    return time.perf_counter() - began, found


VARIANTS: dict[str, list[dict[str, Any]]] = {
    "mnist": [
        {"straight": True},
        {},
        {"straight": True, "frequencies": 10, "spread_clip": 5.5},
        {"straight": True, "spread_clip": 5.0},
        {"straight": True, "components": 4},
        {"straight": True, "epsilon": 100.0},
        {"straight": True, "epsilon": 100.0, "components": 16},
    ],
    "fashion": [
        {},
        {"frequencies": 18},
        {"components": 4},
        {"spread_clip": 5.0},
        {"epsilon": 100.0},
        {"epsilon": 100.0, "components": 16},
    ],
}


def explore_generator(results: Results, small: bool, name: str) -> None:
    data = Data(name, False, small)
    steps, count = (20, 500) if small else (1500, 50_000)
    affine = Affine() if name == "mnist" else Affine(0.05, 0.05, 0.05, 1.0)

    def fit(number: int) -> tuple[ImageMoments, float]:
        began = time.perf_counter()
        settings = {"epsilon": 1.0, "edges": 0.0, **VARIANTS[name][number]}
        generator = ImageMoments(**settings, random_state=0, unsafe_noise_seed=number).fit(data.train)
        return generator, time.perf_counter() - began

    with ThreadPoolExecutor(2) as pool:  # the next one is fitted while this one trains a network
        for variant, future in zip(VARIANTS[name], pool.map(fit, range(len(VARIANTS[name]))), strict=True):
            (generator, seconds), began = future, time.perf_counter()
            accuracy = on_samples(generator, data, count=count, steps=steps, affine=affine)
            training = time.perf_counter() - began
            results.add(f"explore-{name}", **variant, accuracy=accuracy, fit_s=seconds, train_s=training)
            if variant is VARIANTS[name][0]:
                bare = on_samples(generator, data, count=count, steps=steps, affine=None)
                results.add(f"explore-{name}", **variant, affine="none", accuracy=bare)


def explore_kip(results: Results, small: bool, name: str) -> None:
    """Free distillation of a release: steps, rates, ridge, deformations, labels."""
    data = Data(name, False, small)
    generator = ImageMoments(1.0, edges=0.0, straight=name == "mnist", random_state=0, unsafe_noise_seed=0).fit(
        data.train
    )
    gentle, usual = Affine(0.05, 0.05, 0.05, 0.5), Affine()
    long = 100 if small else 3000
    for per_class, ridge, rate, label_rate, affine, steps in (
        (10, 1e-4, 5e-3, 5e-3, gentle, long),
        (50, 1e-4, 5e-3, 5e-3, gentle, long),
        (10, 1e-4, 2e-2, 2e-2, gentle, long),
        (50, 1e-4, 2e-2, 2e-2, gentle, long),
        (10, 1e-6, 5e-3, 5e-3, gentle, long),
        (50, 1e-2, 5e-3, 5e-3, gentle, long),
        (10, 1e-4, 5e-3, 0.0, gentle, long),
        (50, 1e-4, 5e-3, 5e-3, usual, long),
        (50, 1e-4, 5e-3, 5e-3, None, long),
        (10, 1e-4, 5e-3, 5e-3, gentle, 4 * long),
    )[: 10 if name == "mnist" else 6]:
        began = time.perf_counter()
        schedule = Schedule(steps, 100 if small else 1000, rate, label_rate)
        support = free_kip(generator, per_class, ridge, schedule, affine)
        results.add(
            f"explore-kip-{name}", per_class=per_class, ridge=ridge, rate=rate, label_rate=label_rate, affine=str(affine),
            steps=steps, accuracy=data.krr(support, ridge), seconds=time.perf_counter() - began,
        )  # fmt: skip


def free_kip(generator: ImageMoments, per_class: int, ridge: float, schedule: Schedule, affine: Affine | None, *, seed: int = 0, depth: int = 1) -> Support:  # fmt: skip
    """A support of samples, then KIP on endless samples with learned labels."""
    classes = len(generator.classes_)
    first = generator.sample(per_class * classes, seed, labels=np.arange(per_class * classes) % classes)
    start = Support(jnp.asarray(first.flat()), jnp.asarray(one_hot(first.labels, classes)))
    source = Samples(generator.mixture_, affine)
    return distil(ReLUKernel(start.points.shape[1], depth), ridge, source, start, schedule, jax.random.key(seed))


def dp_kip(data: Data, per_class: int, epsilon: float, *, batch: int, rate: float, clip: float, ridge: float, scale: float, seed: int, epochs: int = 10) -> float:  # fmt: skip
    """DP-KIP from a public Gaussian start; `scale` is what pixels from 0 to 1 are multiplied by."""
    rows = len(data.train)
    batch = min(batch, rows // 4)
    steps = epochs * rows // batch
    slots = batch_slots(rows, batch / rows, steps, epsilon, DELTA)
    noise = dpsgd_noise_multiplier(epsilon, DELTA * 0.998, batch / rows, steps, accounting="rdp")
    paid = PrepaidSteps(
        PoissonGaussianStep(clip, noise, batch / rows), steps, rows, slots, Budget(epsilon, DELTA), ahead=12
    )
    m = 10 * per_class
    start = Support(
        jax.random.normal(jax.random.key(seed), (m, data.test_rows.shape[1])),
        jnp.asarray(one_hot(np.arange(m) % 10, 10)),
    )
    kernel = ReLUKernel(start.points.shape[1])
    present = np.ones(rows, dtype=bool)
    found = distil_privately(
        kernel, ridge, scale * data.train.flat(), one_hot(data.train.labels, 10), present, start, paid, rate
    )
    model = KernelRidge(kernel, np.asarray(found.points), np.asarray(found.labels), ridge)
    with jax.default_matmul_precision("highest"):
        return float((model.predict(scale * data.test_rows) == data.test.labels).mean())


def explore_dpkip(results: Results, small: bool) -> None:
    data = Data("mnist", False, small)
    for scale in (1.0, 3.2):
        began = time.perf_counter()
        accuracy = dp_kip(
            data, 10, 1.0, batch=500, rate=1e-2, clip=1e-6, ridge=1e-6, scale=scale, seed=0, epochs=1 if small else 10
        )
        results.add("explore-dpkip", per_class=10, scale=scale, accuracy=accuracy, seconds=time.perf_counter() - began)


# ---- final figures: choices on held-out training images, then one look at the test images -----------------------

GENERATORS: dict[str, dict[str, Any]] = {
    "mnist": {"straight": True, "edges": 0.0},
    "fashion": {"frequencies": 18, "edges": 0.0},
}
AFFINE = {"mnist": Affine(), "fashion": Affine(0.05, 0.05, 0.05, 1.0)}
CHOSEN = {"mnist": True, "fashion": False}  # as chosen when the published figures were made


def _generator(name: str, data: Data, epsilon: float, seed: int) -> ImageMoments:
    return ImageMoments(epsilon, DELTA, **GENERATORS[name], random_state=seed, unsafe_noise_seed=100 + seed).fit(
        data.train
    )


def choose(results: Results, small: bool, name: str) -> None:
    """On held-out training images: does a random stretch of the contrast help a network that learns from samples?"""
    data = Data(name, False, small)
    steps, count = (10, 500) if small else (1500, 50_000)
    generator = _generator(name, data, 1.0, 0)
    found: dict[bool, float] = {}
    for contrast in (False, True):
        found[contrast] = on_samples(generator, data, count=count, steps=steps, affine=AFFINE[name], contrast=contrast)
        results.add(f"choose-{name}", contrast=contrast, accuracy=found[contrast])
    CHOSEN[name] = found[True] > found[False]
    results.add(f"chosen-{name}", contrast=CHOSEN[name])


def final(results: Results, small: bool, name: str, runs: tuple[tuple[float, int], ...]) -> None:
    """The recommended recipe on the test images: a CNN on samples, KRR and a ConvNet on distilled sets."""
    data = Data(name, True, small)
    steps, count, kip_steps = (10, 500, 20) if small else (4000, 60_000, 3000)
    batch = 100 if small else 1000

    def fit(run: tuple[float, int]) -> tuple[ImageMoments, float]:
        began = time.perf_counter()
        return _generator(name, data, *run), time.perf_counter() - began

    with ThreadPoolExecutor(2) as pool:
        for (epsilon, seed), (generator, seconds) in zip(runs, pool.map(fit, runs), strict=True):
            add = partial(results.add, f"final-{name}", epsilon=epsilon, seed=seed)
            accuracy = on_samples(
                generator, data, count=count, steps=steps, affine=AFFINE[name], contrast=CHOSEN[name], seed=seed
            )
            add(what="cnn on samples", accuracy=accuracy, fit_s=seconds)
            for per_class in (10, 50):
                schedule = Schedule(kip_steps, batch, 5e-3, 5e-3)
                support = free_kip(generator, per_class, 1e-4, schedule, AFFINE[name], seed=seed)
                add(what="krr", per_class=per_class, accuracy=data.krr(support, 1e-4))
            if seed == 0 and epsilon == 1.0:
                shares = jax.nn.softmax(6 * support.labels, axis=1)
                pixels = np.rint(np.clip(np.asarray(support.points), 0, 1) * 255).astype(np.uint8)
                accuracy = convnet(
                    pixels.reshape(-1, 28, 28, 1), np.asarray(shares), data,
                    steps=steps // 4, batch=min(128, len(pixels)), affine=AFFINE[name], seed=seed,
                )  # fmt: skip
                add(what="convnet on the distilled set", per_class=50, accuracy=accuracy)


def table1(results: Results, small: bool, per_class: tuple[int, ...], seeds: int) -> None:
    """DP-KIP with the paper's settings from a public Gaussian start, and KIP without privacy."""
    for name in ("mnist", "fashion"):
        data = Data(name, True, small)
        rows = Rows(jnp.asarray(data.train.flat()), jnp.asarray(one_hot(data.train.labels, 10)))
        for count in per_class:
            for seed in range(seeds):
                m = 10 * count
                start = Support(
                    jax.random.normal(jax.random.key(seed), (m, 784)), jnp.asarray(one_hot(np.arange(m) % 10, 10))
                )
                schedule = Schedule(20 if small else 3000, 100 if small else 1000, 1e-2, 0.0)
                support = distil(ReLUKernel(784), 1e-6, rows, start, schedule, jax.random.key(seed))
                results.add(
                    "table1", dataset=name, method="kip", per_class=count, seed=seed, accuracy=data.krr(support, 1e-6)
                )
                for epsilon in (1.0, 10.0):
                    batch, rate, clip, ridge = SETTINGS[name, count, epsilon]
                    began = time.perf_counter()
                    accuracy = dp_kip(data, count, epsilon, batch=batch, rate=rate, clip=clip, ridge=ridge, scale=1.0, seed=seed, epochs=1 if small else 10)  # fmt: skip
                    results.add("table1", dataset=name, method="dp-kip", per_class=count, epsilon=epsilon, seed=seed, accuracy=accuracy, seconds=time.perf_counter() - began)  # fmt: skip


PARTS = {
    "choose-mnist": partial(choose, name="mnist"),
    "choose-fashion": partial(choose, name="fashion"),
    "final-mnist": partial(final, name="mnist", runs=((1.0, 0), (1.0, 1), (10.0, 0))),
    "final-fashion": partial(final, name="fashion", runs=((1.0, 0), (1.0, 1), (10.0, 0))),
    "more-mnist": partial(final, name="mnist", runs=((1.0, 2), (1.0, 3), (1.0, 4))),
    "more-fashion": partial(final, name="fashion", runs=((1.0, 2), (1.0, 3), (1.0, 4))),
    "table1": partial(table1, per_class=(10, 1), seeds=1),
    "table1-50": partial(table1, per_class=(50,), seeds=1),
    "speed": speed,
    "speed-naive": speed_naive,
    "explore-mnist": partial(explore_generator, name="mnist"),
    "explore-fashion": partial(explore_generator, name="fashion"),
    "explore-kip-mnist": partial(explore_kip, name="mnist"),
    "explore-kip-fashion": partial(explore_kip, name="fashion"),
    "explore-dpkip": explore_dpkip,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    results = Results(chosen.out, chosen.small)
    for part in chosen.part:
        try:
            PARTS[part](results, chosen.small)
        except Exception as error:  # one part that fails must not cost the others their time on the machine
            results.add(part, failed=f"{type(error).__name__}: {error}"[:500])
    results.add("end")


if __name__ == "__main__":
    main()
