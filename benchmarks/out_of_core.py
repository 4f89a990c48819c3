"""Tables that do not fit into memory: rows a second, memory, and the same fit of rows that were read through pandas.

python -m benchmarks run out-of-core --size full
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import in_a_new_process, peak_memory

GROUP = 1 << 18
KEPT = "OUT_OF_CORE_ROWS"
"""The environment variable that names a folder in which made-up rows are kept for the next time."""
FILE = 16 * GROUP


def some_rows(seed: int, rows: int) -> pa.Table:
    """Public: made-up rows of fifteen columns of all kinds, which hang together."""
    rng = np.random.default_rng([7, seed])
    one, two = rng.normal(size=(2, rows)).astype(np.float32)
    made: dict[str, Any] = {}
    for at in range(5):
        made[f"number{at}"] = np.exp(one / 2).astype(np.float64) * (at + 1) + rng.standard_normal(rows, np.float32)
    made["age"] = np.clip(np.rint(45 + 15 * one), 0, 100).astype(np.int16)
    made["visits"] = rng.poisson(np.exp(two / 2) * 3).astype(np.int16)
    made["score"] = np.round(50 + 20 * two).astype(np.int32)
    made["income"] = (np.exp(one / 3 + 10) / 100).astype(np.int64) * 100
    for at, levels in enumerate((3, 12, 40, 200)):
        code = np.abs(np.rint(two * levels / 6 + rng.integers(0, 3, rows))).astype(np.int32) % levels
        names = pa.array([f"level {level}" for level in range(levels)])
        made[f"group{at}"] = pa.DictionaryArray.from_arrays(pa.array(code), names).cast(pa.string())
    days = np.datetime64("2015-01-01") + rng.integers(0, 3000, rows).astype("timedelta64[D]")
    made["day"] = pa.array(days, pa.date32())
    made["sick"] = one + two + rng.standard_normal(rows, np.float32) > 1
    return pa.table(made)


def write_rows(folder: Path, rows: int) -> int:
    """So many rows as Parquet files, if they are not there; says how many bytes they take."""
    folder.mkdir(parents=True, exist_ok=True)
    there = sum(parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
    for number, start in enumerate(range(0, rows if there != rows else 0, FILE)):
        schema = some_rows(0, 1).schema
        path = folder / f"{number:04d}.parquet"
        half = path.with_suffix(".half")
        with parquet.ParquetWriter(half, schema, compression="zstd") as file:
            for group in range(start, min(start + FILE, rows), GROUP):
                file.write_table(some_rows(group // GROUP, min(GROUP, rows - group)))
        half.rename(path)
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def fit_on_dask(folder: str, how: str) -> dict[str, Any]:
    """One fit of the folder by the workers that `how` counts; of `killed` one dies in the second pass. The cluster's start is not counted."""
    from distributed import Client, LocalCluster

    from benchmarks.methods import build
    from understudy.engines import open_source
    from understudy.engines.on_dask import OnDask

    generator: Any = build("moments", {}, 1.0, 0)
    generator.delta = 1e-9
    words = how.split()
    settings: Any = {"n_workers": int(words[1]), "threads_per_worker": 1, "dashboard_address": None}
    killed: list[int] = []
    with LocalCluster(**settings) as workers, Client(workers) as client:

        def told(at: Any) -> None:
            if "killed" in words and at.words.startswith("pass 2") and not killed:
                pids: Any = client.run(os.getpid)
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        client.run(importlib.import_module, "understudy.methods.moments")
        before = time.perf_counter()
        generator.fit(open_source(folder, OnDask(client)), "sick", progress=told)
        seconds = time.perf_counter() - before
    return {
        "model": generator.facts_["model"],
        "fit_seconds": round(seconds, 1),
        "workers_killed": len(killed),
        "peak_memory_mb": round(peak_memory()),
    }


def fit_folder(folder: str, how: str) -> dict[str, Any]:
    """One fit, of the folder, or of a frame that pandas read from it. Imports are not counted."""
    from benchmarks.methods import build

    if how.startswith("dask"):
        return fit_on_dask(folder, how)

    generator: Any = build("moments", {}, 1.0, 0)
    generator.delta = 1e-9
    passes: set[str] = set()
    before = time.perf_counter(), time.process_time()
    if how == "pandas":
        generator.fit(pd.read_parquet(folder), "sick")
    else:
        generator.fit(folder, "sick", progress=lambda at: passes.add(at.words))
    seconds, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    rows = generator.facts_.get("rows", generator.coordinates_.rows)
    return {
        "model": generator.facts_["model"],
        "fit_seconds": round(seconds, 1),
        "fit_cpu_seconds": round(cpu, 1),
        "rows_a_cpu_second": round(rows / cpu),
        "peak_memory_mb": round(peak_memory()),
        "passes": len([words for words in passes if words.startswith("pass")]),
    }


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    kept = os.environ.get(KEPT)
    folder = Path(kept or tempfile.mkdtemp(prefix="out-of-core-")) / str(settings["rows"])
    env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    try:
        size = write_rows(folder, settings["rows"])
        return [
            {"gigabytes": round(size / 1e9, 2), **in_a_new_process(fit_folder, str(folder), settings["how"], env=env)}
            for _ in repeats
        ]
    finally:
        if kept is None:
            shutil.rmtree(folder.parent, ignore_errors=True)


def parts(size: Size, repeats: int) -> list[Part]:
    sizes = {"quick": [("parts", 300_000), ("pandas", 300_000)]}.get(
        size,
        [
            *[(how, rows) for rows in (5_000_000, 20_000_000) for how in ("pandas", "parts")],
            *[(f"dask {workers}", 5_000_000) for workers in ("1", "2", "4", "4 killed")],
            ("parts", 100_000_000),
        ],
    )
    return [
        Part(f"{how}-{rows}", "benchmarks.out_of_core:measure", {"how": how, "rows": rows}, repeats)
        for how, rows in sizes
    ]


BENCHMARK = Benchmark(
    id="out-of-core",
    title="Tables that do not fit into memory: rows a second, and memory",
    datasets=(),
    repeats={"quick": 1, "full": 1},
    parts=parts,
    alone=True,
    notes=(
        "Made-up rows of 15 columns: five numbers without a grid, four whole numbers, four categories of 3 to 200 values, a day and a "
        "class; epsilon 1, no schema. `parts`: `fit` of a folder of Parquet files. `pandas`: `fit` of the frame that pandas read from "
        "the same folder. Memory is the peak of the whole process.",
        "`dask N`: `fit` of the folder by N worker processes of one thread each, which read the rows for each pass; with `killed` one of them is "
        "killed in the second pass. Memory is that of the process which draws the noise.",
    ),
)
