"""Generators measured: seconds an iteration against the number of teachers, and ten million rows to disk.

    UNDERSTUDY_DATA=... python benchmarks/bench_generators.py speed
    python benchmarks/bench_generators.py stream [--rows 10000000]

Each writes a file in benchmarks/results/ that says the command and the machine. Usefulness: `useful_generators.py`; the
peer beside it: `peers/smartnoise_speed.py`; an accelerator: `gpu_generators.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from useful_generators import split  # pyright: ignore[reportMissingImports]

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": platform.machine(), "cores": os.cpu_count(), "load_average": load, "accelerator": None}


def write(name: str, body: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    body = {"command": "python benchmarks/bench_generators.py " + " ".join(sys.argv[1:]), "machine": machine(), **body}
    (RESULTS / name).write_text(json.dumps(body, indent=1) + "\n")


def speed() -> None:
    """One PATE-GAN iteration on adult: n_T = n_S = 5, batch 64, and how far it is from what memory allows."""
    import jax

    from understudy import PATEGAN

    train, _, schema, _ = split("adult", validation=False)
    rows: list[dict[str, Any]] = []
    for hidden in ((), (64,)):
        for teachers in (10, 100, 1000):
            marks: list[tuple[float, float]] = [(time.perf_counter(), time.process_time())]
            generator = PATEGAN(epsilon=100.0, teachers=teachers, iterations=12, random_state=0, teacher_hidden=hidden)

            def tick(_: Any, marks: list[tuple[float, float]] = marks) -> None:
                marks.append((time.perf_counter(), time.process_time()))

            generator.fit(train, schema=schema, progress=tick)
            clock, processor = np.diff(marks, axis=0).T
            d = generator.sampler_.encoder.width
            plan = generator.private_["trainer"].plan
            real = min(plan.batch, plan.width)
            sizes = [d, *hidden, 1]
            weights = sum(a * b for a, b in pairwise(sizes))
            # Forward and two products backward on real and fake rows in each of 5 steps; a forward pass for 320 votes.
            flops = teachers * weights * 2 * (5 * 3 * (real + 64) + 320)
            # Each step reads the real rows at least once and reads and writes weights and two moments.
            traffic = teachers * 4 * (5 * (real * d + 6 * weights) + weights)
            # Seconds of the processor do not depend on how busy the machine is.
            best = float(processor[2:].min())
            rows.append(
                {
                    "teachers": teachers,
                    "teacher_hidden": list(hidden),
                    "processor_seconds_an_iteration": round(best, 5),
                    "clock_seconds_an_iteration": round(float(clock[2:].min()), 5),
                    "microseconds_a_teacher_update": round(1e6 * best / (5 * teachers), 2),
                    "first_iteration_processor_seconds": round(float(processor[0]), 2),
                    "floor_flops": flops,
                    "floor_bytes": traffic,
                    "achieved_gflops": round(flops / best / 1e9, 2),
                    "achieved_gbytes": round(traffic / best / 1e9, 3),
                }
            )
            print(rows[-1], flush=True)
    write("generators_speed.json", {"dataset": "adult", "rows": len(train), "jax": jax.__version__, "iterations": rows})


def stream(rows: int) -> None:
    """So many rows of a small mixed table to disk: rows a second, and by how much the peak of memory grows."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "methods"))
    from small_generators import SCHEMA, small, table  # pyright: ignore[reportMissingImports]

    generator = small("pategan").fit(table(), schema=SCHEMA)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("parquet", "csv"):
            path = Path(folder) / f"rows.{suffix}"
            generator.sample_to(path, 200_000, random_state=0)
            before = _peak()
            began = time.perf_counter()
            generator.sample_to(path, rows, random_state=0)
            seconds = time.perf_counter() - began
            found[suffix] = {
                "seconds": round(seconds, 1),
                "rows_a_second": round(rows / seconds),
                "megabytes": round(path.stat().st_size / 1e6, 1),
                "peak_memory_grew_by_mebibytes": round(_peak() - before, 1),
            }
            print(suffix, found[suffix], flush=True)
            path.unlink()
    write("generators_stream.json", {"rows": rows, "columns": len(SCHEMA.names), "files": found})


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["speed", "stream"])
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    speed() if given.what == "speed" else stream(given.rows)
