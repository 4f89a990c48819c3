"""The teacher axis on an accelerator: 2100 teachers and more on credit, seconds a step against what memory traffic allows.

For the discriminators of PATE-GAN and G-PATE (depth 1 and one hidden layer): a training step, 320 votes, and the
histograms of one G-PATE batch; then whole PATE-GAN iterations. The floor is the bytes that a step must move (each
teacher's batch read once; weights and two moments read and written) over the bandwidth that a large copy reaches on the
same device. Without UNDERSTUDY_DATA random rows of credit's shape serve: no time depends on the values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.generators_speed import iteration_seconds, timed_fit
from benchmarks.machine import seconds_of
from benchmarks.methods import build
from understudy import datasets
from understudy.learn import discriminators as d
from understudy.learn.networks import weight_count
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.tables import Column, Encoder, Schema

STEPS, BATCH, VOTES = 5, 64, 320


@cache
def rows_of_credit() -> tuple[np.ndarray, str]:
    if "UNDERSTUDY_DATA" not in os.environ:
        return np.random.default_rng(0).random((227_845, 30)).astype(np.float32), "random rows of credit's shape"
    data: Any = datasets.load("credit")
    schema = Schema(tuple(c for c in data.schema if c.name != "Time"), data.target)
    cube = Encoder(schema).encode(data.frame[list(schema.names)]).astype(np.float32)
    return cube[: int(0.8 * len(cube))], "credit"


def timed(call: Callable[[], Any]) -> dict[str, float]:
    taken = seconds_of(lambda: jax.block_until_ready(call()), 51)[1:]  # the first compiles
    return {"best_seconds": min(taken), "median_seconds": float(np.median(taken))}


@cache
def bandwidth() -> float:
    """Bytes a second, read and written, that a copy of a quarter of a gibibyte reaches."""
    # An addition, since a plain copy may be left out.
    big = jnp.ones(1 << 26, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return 2 * big.nbytes / timed(lambda: add(big))["best_seconds"]


def teachers_alone(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    del repeats
    cube, source = rows_of_credit()
    teachers, hidden, speed = settings["teachers"], tuple(settings["teacher_hidden"]), bandwidth()
    width = cube.shape[1]
    dealt = shards(len(cube), teachers, seed=0)
    axis = TeacherAxis(teachers, one_device())
    plan = d.Discriminators(axis, width, hidden, 1e-4)
    rows = d.deal_rows(cube, np.zeros(len(cube), np.int32), dealt, axis, 1)
    rng = np.random.default_rng(0)
    chances = (jnp.asarray(rng.random((STEPS, BATCH), dtype=np.float32)) for _ in range(2))
    values = jnp.asarray(rng.random((STEPS, BATCH, width), dtype=np.float32))
    fakes = d.Fakes(values, jnp.zeros((STEPS, BATCH), jnp.int32), *chances)
    asked, classes = jnp.asarray(rng.random((VOTES, width), dtype=np.float32)), jnp.zeros(VOTES, jnp.int32)
    form = (None, tuple(range(width)))
    held = [d.start_teachers(plan, (0, 0))]

    def step() -> Any:
        held[0] = d.train_teachers(plan, held[0], rows, fakes)
        return held[0]

    learning = timed(step)
    scoring = timed(lambda: d.sum_scores(plan, False, held[0], rows.counts, asked, classes))
    moving = timed(lambda: d.sum_directions(plan, form, held[0], rows.counts, asked[:BATCH], classes[:BATCH]))
    weights = weight_count(width, hidden, 1) + sum(hidden) + 1
    real = min(BATCH, dealt.width)
    traffic = teachers * 4 * (real * width + 6 * weights) + 4 * BATCH * width
    each = learning["best_seconds"] / STEPS
    floor = {"floor_bytes_a_step": traffic, "floor_seconds_a_step": traffic / speed, "copy_bytes_a_second": speed}
    told = {"source": source, "rows": len(cube), "columns": width, "rows_each": dealt.width, "seconds_a_step": each}
    times = {"training": learning, "scores_of_320_records": scoring, "directions_of_64_records": moving}
    return [{**told, **floor, "times_the_floor": each * speed / traffic, **times}]


def whole_iterations(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """As a user runs it: fakes, five teacher steps, votes or directions, noise, student and generator."""
    del repeats
    cube, _ = rows_of_credit()
    names = [f"v{i}" for i in range(cube.shape[1] - 1)]
    frame = pd.DataFrame(cube[:, :-1].astype(np.float64), columns=names).assign(y=np.arange(len(cube)) % 2 == 0)
    columns = [Column(name, "continuous", bounds=(0, 1)) for name in names]
    schema = Schema((*columns, Column("y", "boolean")), "y")
    teachers, floor = settings["teachers"], {}
    if settings["method"] == "gpate":
        chosen = build("gpate", {"teachers": teachers, "iterations": 40}, 1.0, 0)
        generator, seconds = timed_fit(chosen, frame, schema)
        width, how = generator.model_.space.heads.width, generator.training
        weights = weight_count(width, tuple(how.teacher_hidden), 1) + sum(how.teacher_hidden) + 1
        # Five steps read real rows, weights and two moments, and write the last three; the directions read the weights.
        traffic = teachers * 4 * (how.teacher_steps * (how.teacher_batch * width + 6 * weights) + weights)
        floor = {"floor_bytes": traffic, "floor_seconds": traffic / bandwidth()}
    else:
        _, seconds = iteration_seconds(frame, schema, teachers, (), 40)
    taken = seconds[3:, 0]
    return [{"best_seconds": float(taken.min()), "median_seconds": float(np.median(taken)), **floor}]


def parts(size: Size, repeats: int) -> list[Part]:
    counts = (2100,) if size == "quick" else (2100, 8400, 33600)
    made = [
        Part(
            f"{number} teachers alone, {hidden}",
            "benchmarks.generators_gpu:teachers_alone",
            {"part": "teachers alone", "teachers": number, "teacher_hidden": hidden},
            repeats,
        )
        for number in counts
        for hidden in ([], [64])
    ]
    return made + [
        Part(
            f"iterations of {number} teachers, {method}",
            "benchmarks.generators_gpu:whole_iterations",
            {"part": "iterations", "teachers": number, "method": method},
            repeats,
        )
        for method in ("pategan", "gpate")
        for number in counts[:2]
    ]


BENCHMARK = Benchmark(
    id="generators-gpu",
    title="The teacher axis on an accelerator",
    parts=parts,
    alone=True,
)
