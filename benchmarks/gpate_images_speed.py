"""Thousands of convolutional teachers on one accelerator: seconds a step, what must be moved for it, and the memory it takes.

The floor is the bytes of weights and of Adam's two moments, read and written once, over the bandwidth that a large copy reaches
on the same device. Random pictures of MNIST's shape serve: no time depends on the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.generators_gpu import bandwidth, timed
from understudy.learn import discriminators as d
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device

SHAPE, CLASSES = (28, 28, 1), 10


def step(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One training step of all teachers, and their votes on one batch of fakes."""
    del repeats
    teachers, batch = settings["teachers"], settings["batch"]
    rng = np.random.default_rng(0)
    size, count = int(np.prod(SHAPE)), 15 * teachers
    classes = np.arange(count) % CLASSES
    records = np.concatenate([rng.random((count, size)), np.eye(CLASSES)[classes]], axis=1).astype(np.float32)
    picture = d.Picture(SHAPE, settings["kernels"], settings["light"])
    axis = TeacherAxis(teachers, one_device())
    plan = d.Discriminators(axis, size + CLASSES, (settings["units"],), 1e-3, published=True, picture=picture)
    rows = d.deal_rows(records, classes.astype(np.int32), shards(count, teachers, seed=0), axis, CLASSES)
    chances = (jnp.asarray(rng.random((1, batch), dtype=np.float32)) for _ in range(2))
    fakes = d.Fakes(jnp.asarray(records[None, :batch]), jnp.asarray(classes[None, :batch], jnp.int32), *chances)
    projections = jnp.asarray(rng.standard_normal((batch, size + CLASSES, 10)), jnp.float32)
    speed, held = bandwidth(), [d.start_teachers(plan, (0, 0))]
    kept = sum(leaf.nbytes for leaf in jax.tree.leaves(held[0]))
    weights = sum(leaf.size for leaf in jax.tree.leaves(held[0].networks))

    def train() -> Any:
        held[0] = d.train_teachers(plan, held[0], rows, fakes)
        return held[0]

    training = timed(train)
    ask = (held[0], rows.counts, fakes.values[0], fakes.classes[0], projections, jnp.float32(1e-4))
    voting = timed(lambda: d.count_directions(plan, 10, *ask))
    stats: Any = jax.local_devices()[0].memory_stats() or {}
    return [
        {
            "weights": weights,
            "bytes_kept": kept,
            "copy_bytes_a_second": speed,
            "floor_seconds": 2 * kept / speed,
            "training": training,
            "voting": voting,
            "times_the_floor": training["best_seconds"] * speed / (2 * kept),
            "peak_bytes": stats.get("peak_bytes_in_use"),
        }
    ]


def parts(size: Size, repeats: int) -> list[Part]:
    whole = {"kernels": 32, "units": 256}
    few = {"kernels": 2, "units": 4}
    counts = (20,) if size == "quick" else (1000, 2000, 4000)
    return [
        Part(
            f"{number} teachers" + (", moments in bfloat16" if light else ""),
            "benchmarks.gpate_images_speed:step",
            {
                "teachers": number,
                "batch": 4 if size == "quick" else 15,
                "light": light,
                **(few if size == "quick" else whole),
            },
            repeats,
        )
        for number in counts
        for light in (False, True)
    ]


BENCHMARK = Benchmark(
    id="gpate-images-speed",
    title="G-PATE's convolutional teachers on an accelerator",
    parts=parts,
    alone=True,
)
