"""The teacher axis on an accelerator: 2100 teachers on credit, seconds a step against what memory traffic allows.

    UNDERSTUDY_DATA=... python benchmarks/gpu_generators.py [--teachers 2100,8400,33600] [--out FILE]

For the discriminators of PATE-GAN and G-PATE (depth 1 and one hidden layer): a training step, 320 votes, and the
histograms of one G-PATE batch; then whole PATE-GAN iterations. The floor is the bytes that a step must move (each
teacher's batch read once; weights and two moments read and written) over the bandwidth that a large copy reaches on the
same device. Without UNDERSTUDY_DATA random rows of its shape serve: no time depends on the values.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path(__file__).parent / "results" / "generators_gpu.json"
STEPS, BATCH, VOTES = 5, 64, 320


def rows_of_credit() -> tuple[np.ndarray, str]:
    from understudy import datasets
    from understudy.tables import Encoder, Schema

    if "UNDERSTUDY_DATA" not in os.environ:
        return np.random.default_rng(0).random((227_845, 30)).astype(np.float32), "random rows of credit's shape"
    data: Any = datasets.load("credit")
    schema = Schema(tuple(c for c in data.schema if c.name != "Time"), data.target)
    cube = Encoder(schema).encode(data.frame[list(schema.names)]).astype(np.float32)
    return cube[: int(0.8 * len(cube))], "credit"


def timed(call: Callable[[], Any], repeats: int = 50) -> dict[str, float]:
    import jax

    jax.block_until_ready(call())
    taken: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        taken.append(time.perf_counter() - began)
    return {"best_seconds": min(taken), "median_seconds": float(np.median(taken))}


def bandwidth() -> float:
    """Bytes a second, read and written, that a copy of a quarter of a gibibyte reaches."""
    import jax
    import jax.numpy as jnp

    # An addition, since a plain copy may be left out.
    big = jnp.ones(1 << 26, jnp.float32)
    add = jax.jit(lambda x: x + 1)
    return 2 * big.nbytes / timed(lambda: add(big))["best_seconds"]


def teachers_alone(cube: np.ndarray, teachers: int, hidden: tuple[int, ...], speed: float) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    from understudy.learn import discriminators as d
    from understudy.learn.networks import weight_count
    from understudy.learn.partition import shards

    width = cube.shape[1]
    dealt = shards(len(cube), teachers, seed=0)
    plan = d.TeacherPlan(teachers, width, hidden, BATCH, 1e-4, dealt.width, d.one_device())
    rows = d.deal_rows(cube, np.ones(len(cube), bool), dealt, plan)
    rng = np.random.default_rng(0)
    fakes = jnp.asarray(rng.random((STEPS, BATCH, width), dtype=np.float32))
    slots = jnp.asarray(d.choose_slots(plan, rng, STEPS))
    asked = jnp.asarray(rng.random((VOTES, width), dtype=np.float32))
    projections = jnp.asarray(rng.normal(size=(32, width, 10)).astype(np.float32))
    held = [d.start_teachers(plan, (0, 0))]

    def step() -> Any:
        held[0] = d.train_teachers(plan, held[0], rows, fakes, slots)
        return held[0]

    learning = timed(step)
    voting = timed(lambda: d.count_votes(plan, held[0], asked))
    moving = timed(lambda: d.count_directions(plan, 10, held[0], asked[:32], projections, jnp.float32(1e-4)))
    weights = weight_count(width, hidden, 1) + sum(hidden) + 1
    real = min(BATCH, dealt.width)
    traffic = teachers * 4 * (real * width + 6 * weights) + 4 * BATCH * width
    each = learning["best_seconds"] / STEPS
    device = jax.devices()[0]
    return {
        "teachers": teachers, "teacher_hidden": list(hidden), "rows_each": dealt.width, "device": device.device_kind,
        "seconds_a_step": each, "floor_bytes_a_step": traffic, "floor_seconds_a_step": traffic / speed,
        "times_the_floor": each * speed / traffic,
        "training": learning, "votes_of_320_records": voting, "directions_of_32_records": moving,
    }  # fmt: skip


def whole_iterations(cube: np.ndarray, teachers: int) -> dict[str, Any]:
    """PATE-GAN as a user runs it: fakes, five teacher steps, votes, noise, student and generator."""
    import pandas as pd

    from understudy import PATEGAN
    from understudy.tables import Column, Schema

    names = [f"v{i}" for i in range(cube.shape[1] - 1)]
    frame = pd.DataFrame(cube[:, :-1].astype(np.float64), columns=names).assign(y=np.arange(len(cube)) % 2 == 0)
    columns = [Column(name, "continuous", bounds=(0, 1)) for name in names]
    marks: list[float] = []
    generator = PATEGAN(epsilon=100.0, teachers=teachers, iterations=40, random_state=0)
    schema = Schema((*columns, Column("y", "boolean")), "y")
    generator.fit(frame, schema=schema, progress=lambda _: marks.append(time.perf_counter()))
    taken = np.diff(marks[2:])
    return {"teachers": teachers, "best_seconds": float(taken.min()), "median_seconds": float(np.median(taken))}


def main(teachers: list[int], out: Path) -> None:
    import jax

    cube, source = rows_of_credit()
    speed = bandwidth()
    body: dict[str, Any] = {
        "command": "python benchmarks/gpu_generators.py",
        "machine": {"processor": platform.machine(), "accelerator": jax.devices()[0].device_kind},
        "jax": jax.__version__, "rows": len(cube), "columns": cube.shape[1], "source": source,
        "copy_bytes_a_second": speed, "teachers": [], "iterations": [],
    }  # fmt: skip
    for number in teachers:
        for hidden in ((), (64,)):
            body["teachers"].append(teachers_alone(cube, number, hidden, speed))
            print(json.dumps(body["teachers"][-1]), flush=True)
            out.write_text(json.dumps(body, indent=1) + "\n")
    for number in teachers[:2]:
        body["iterations"].append(whole_iterations(cube, number))
        print(json.dumps(body["iterations"][-1]), flush=True)
        out.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="The teacher axis on an accelerator.")
    parser.add_argument("--teachers", default="2100,8400,33600")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main([int(n) for n in given.teachers.split(",")], given.out)
