"""What `understudy demo` reaches and how long it takes. The split is fixed, the noise is drawn anew each time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.result import Row, grouped
from benchmarks.result import summary as mean_and_interval


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Every release of one demo."""
    from understudy.demo import run_demo, summary

    del settings, repeats
    with tempfile.TemporaryDirectory() as folder:
        began, worked = time.perf_counter(), time.process_time()
        plain: Any = summary(run_demo(Path(folder) / "demo"))
        seconds = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - worked}
    keys = ("what", "metric", "epsilon", "delta", "without_privacy", "score")
    return [
        {key: release[key] for key in keys} | {"majority": plain["majority"]} | seconds for release in plain["releases"]
    ]


def parts(size: Size, repeats: int) -> list[Part]:
    del size
    return [Part("demo", "benchmarks.demo:measure", {"table": "breast-cancer"}, repeats)]


def summary(runs: Sequence[Row]) -> list[Row]:
    return [
        {"what": what, **mean_and_interval([run["score"] for run in mine])}
        for (what,), mine in grouped(runs, "what").items()
    ]


BENCHMARK = Benchmark(
    id="demo",
    title="understudy demo: 350 rows of breast-cancer play the sensitive table; scores on 119 real test rows",
    repeats={"quick": 1, "full": 5},
    parts=parts,
    summary=summary,
    alone=True,
    notes=("Settings were not tuned on the test rows.",),
)
