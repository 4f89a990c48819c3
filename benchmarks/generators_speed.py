"""Generators: seconds an iteration against the number of teachers, and ten million rows to disk."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import peak_memory
from benchmarks.methods import build
from benchmarks.splits import split
from understudy.tables import Column, Schema

TEACHERS = (10, 100, 1000)
BATCH = 64


def iteration_seconds(
    frame: Any, schema: Any, teachers: int, hidden: Sequence[int], iterations: int
) -> tuple[Any, np.ndarray]:
    """PATE-GAN as a user runs it: the fitted generator, and seconds of clock and processor of each iteration."""
    how = {"first_steps": 5, "teacher_batch": BATCH, "batch": 5 * BATCH, "aggregator": "votes", "ballot": "gnmax"}
    settings = {"teachers": teachers, "iterations": iterations, "teacher_hidden": tuple(hidden), **how}
    return timed_fit(build("pategan", settings, 100.0, 0), frame, schema)


def timed_fit(generator: Any, frame: Any, schema: Any) -> tuple[Any, np.ndarray]:
    """A fit, and seconds of clock and processor of each iteration."""
    marks: list[tuple[float, float]] = [(time.perf_counter(), time.process_time())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        progress = lambda _: marks.append((time.perf_counter(), time.process_time()))  # noqa: E731
        generator.fit(frame, schema=schema, progress=progress)
    return generator, np.diff(marks, axis=0)


def speed(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One PATE-GAN iteration on adult: n_T = n_S = 5, batch 64, and how far it is from what memory allows."""
    del repeats
    data, teachers, hidden = split("adult"), settings["teachers"], settings["teacher_hidden"]
    generator, seconds = iteration_seconds(data.train, data.schema, teachers, hidden, 12)
    d, real = generator.model_.space.heads.width, BATCH
    weights = sum(a * b for a, b in pairwise([d, *hidden, 1]))
    # Forward and two products backward on real and fake rows in each of 5 steps; a forward pass for 320 votes.
    flops = teachers * weights * 2 * (5 * 3 * (real + 64) + 320)
    # Each step reads the real rows at least once and reads and writes weights and two moments.
    traffic = teachers * 4 * (5 * (real * d + 6 * weights) + weights)
    # The first two compile. Seconds of the processor do not depend on how busy the machine is.
    clock, best = seconds[2:].min(axis=0).tolist()
    return [
        {
            "processor_seconds_an_iteration": best,
            "clock_seconds_an_iteration": clock,
            "microseconds_a_teacher_update": 1e6 * best / (5 * teachers),
            "first_iteration_processor_seconds": float(seconds[0, 1]),
            "floor_flops": flops,
            "floor_bytes": traffic,
            "achieved_gflops": flops / best / 1e9,
            "achieved_gbytes": traffic / best / 1e9,
        }
    ]


def speed_parts(size: Size, repeats: int) -> list[Part]:
    return [
        Part(
            f"{teachers} teachers, {hidden}",
            "benchmarks.generators_speed:speed",
            {"dataset": "adult", "teachers": teachers, "teacher_hidden": hidden},
            repeats,
        )
        for hidden in ([], [64])
        for teachers in (TEACHERS[:1] if size == "quick" else TEACHERS)
    ]


SPEED = Benchmark(
    id="generators-speed",
    title="PATE-GAN: seconds an iteration against the number of teachers",
    datasets=("adult",),
    parts=speed_parts,
    alone=True,
)


def stream(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """So many rows of a small mixed table to disk: rows a second, and by how much the peak of memory grows."""
    columns = (
        Column("age", "integer", (18, 90)),
        Column("weight", "continuous", (40.0, 160.0)),
        Column("town", "categorical", categories=("north", "south", "west")),
        Column("sick", "boolean"),
    )
    random = np.random.default_rng(repeats[0])
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 91, 60),
            "weight": random.uniform(40, 160, 60),
            "town": random.choice(["north", "south", "west"], 60),
            "sick": random.random(60) < 0.4,
        }
    )
    generator, _ = iteration_seconds(frame, Schema(columns, "sick"), 5, (), 2)
    rows = settings["rows"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{settings['file']}"
        generator.sample_to(path, min(rows, 200_000), random_state=0)
        before, began = peak_memory(), time.perf_counter()
        generator.sample_to(path, rows, random_state=0)
        seconds = time.perf_counter() - began
        told = {"columns": len(columns), "seconds": seconds, "rows_a_second": round(rows / seconds)}
        return [
            told | {"megabytes": path.stat().st_size / 1e6, "peak_memory_grew_by_mebibytes": peak_memory() - before}
        ]


def stream_parts(size: Size, repeats: int) -> list[Part]:
    rows = 100_000 if size == "quick" else 10_000_000
    return [
        Part(file, "benchmarks.generators_speed:stream", {"rows": rows, "file": file}, repeats)
        for file in ("parquet", "csv")
    ]


STREAM = Benchmark(
    id="generators-stream",
    title="Ten million synthetic rows to disk",
    parts=stream_parts,
    alone=True,
)
