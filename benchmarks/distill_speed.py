"""How fast DP-KIP's step is: the whole private run on the device, and a step beside vmapped gradients."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import peak_memory
from benchmarks.methods import DELTA
from benchmarks.splits import split_images
from understudy.learn.kernels import ReLUKernel, gram, own_gram
from understudy.learn.krr import one_hot
from understudy.methods.distillation.training import Support, clipped_sum, distil_privately
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps
from understudy.privacy.prepaid import batch_slots

CLIP = 1e-6


def _start(m: int) -> Support:
    points = jax.random.normal(jax.random.key(0), (m, 784))
    return Support(points, jnp.asarray(one_hot(np.arange(m) % 10, 10)))


def _timed_sum(start: Support, ridge: float, points: Any, targets: Any, slots: int, times: int) -> tuple[Any, float]:
    """The clipped sum in float64, and the seconds that one takes."""
    with jax.enable_x64(True):
        args = [jnp.asarray(a, jnp.float64) for a in (start.points, start.labels)]
        extra = (jnp.asarray(points), jnp.asarray(targets), jnp.arange(slots), jnp.ones(slots, bool), CLIP)
        found = jax.block_until_ready(clipped_sum(ReLUKernel(784), ridge, *args, *extra))
        began = time.perf_counter()
        jax.block_until_ready([clipped_sum(ReLUKernel(784), ridge, *args, *extra) for _ in range(times)])
        return np.asarray(found), (time.perf_counter() - began) / times


def whole_run(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """DP-KIP at 50 per class, 10 epochs of MNIST, with noise from the operating system. Touches the training images."""
    del repeats
    small = settings.get("small", False)
    train, _ = split_images("mnist", final=True, small=small)
    m, batch, steps = (50, 50, 20) if small else (500, 500, 1200)
    rows = len(train)
    slots = batch_slots(rows, batch / rows, steps, 1.0, DELTA)
    start, points, targets = _start(m), train.flat(), one_hot(train.labels, 10)

    def run(count: int) -> float:
        mechanism = PoissonGaussianStep(CLIP, 1.5, batch / rows)
        paid = PrepaidSteps(mechanism, count, rows, slots, Budget(1.0, DELTA), ahead=12)
        began = time.perf_counter()
        distil_privately(ReLUKernel(784), 1e-7, points, targets, np.ones(rows, dtype=bool), start, paid, 1e-2)
        return time.perf_counter() - began

    first, seconds = run(3), run(steps)
    _, alone = _timed_sum(start, 1e-7, points, targets, slots, 20)
    # 55 quadratic forms of m x m matrices, each m³ to make and m² a record to take, are nearly all of the work.
    flops = (55 + 20) * 2 * (m**3 + m * m * slots)
    told = {"m": m, "batch": batch, "slots": slots, "steps": steps, "first_run_s": first, "run_s": seconds}
    return [told | {"clipped_sum_s": alone, "gflop_a_step": flops / 1e9, "tflops_float64": flops / alone / 1e12}]


def beside_naive(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One step ours and by vmapped gradients, and the memory of both."""
    del repeats
    m = batch = 50 if settings.get("small") else 500
    points = np.random.default_rng(0).uniform(size=(batch, 784)).astype(np.float32)
    start, targets = _start(m), one_hot(np.arange(batch) % 10, 10)
    ours, seconds = _timed_sum(start, 1e-6, points, targets, batch, 3)
    told = {"m": m, "batch": batch, "features": 784, "seconds_a_step": seconds, "peak_gib": peak_memory() / 1024}
    theirs, naive = _naive_step(start, points, targets)
    told |= {"naive_seconds_a_step": naive, "times_ours": naive / seconds, "naive_peak_gib": peak_memory() / 1024}
    return [told | {"largest_difference": float(np.abs(ours - theirs).max() / np.abs(ours).max())}]


def _naive_step(start: Support, points: np.ndarray, targets: np.ndarray) -> tuple[Any, float]:
    """Vmapped gradients in float32, as the paper's code has them."""
    kernel = ReLUKernel(784)

    def loss(support: Any, x: Any, y: Any) -> Any:
        k = own_gram(kernel, support)
        factor = jax.scipy.linalg.cho_factor(k + 1e-6 * jnp.trace(k) / len(k) * jnp.eye(len(k)), lower=True)
        alpha = jax.scipy.linalg.cho_solve(factor, start.labels)
        return jnp.sum((y - gram(kernel, x[None], support)[0] @ alpha) ** 2) / 2

    @jax.jit
    def step(support: Any, x: Any, y: Any) -> Any:
        each = jax.vmap(jax.grad(loss), (None, 0, 0))(support, x, y)
        length = jnp.sqrt(jnp.sum(each**2, axis=(1, 2)))
        return jnp.tensordot(jnp.minimum(1, CLIP / length), each, 1)

    args = (start.points, jnp.asarray(points), jnp.asarray(targets))
    found = jax.block_until_ready(step(*args))
    began = time.perf_counter()
    jax.block_until_ready(step(*args))
    return np.asarray(found), time.perf_counter() - began


def parts(size: Size, repeats: int) -> list[Part]:
    quick = {"small": True} if size == "quick" else {}
    return [
        Part(name, f"benchmarks.distill_speed:{function}", {"part": name, **quick}, repeats)
        for name, function in (("whole run", "whole_run"), ("beside naive", "beside_naive"))
    ]


BENCHMARK = Benchmark(
    id="distill-speed",
    title="DP-KIP: seconds of a private run, and of a step beside vmapped gradients",
    datasets=("mnist",),
    parts=parts,
    alone=True,
    notes=("`whole run` wants a GPU; `beside naive` is for a processor, where memory is this process' own.",),
)
