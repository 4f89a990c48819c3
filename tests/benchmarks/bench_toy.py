"""A benchmark that measures nothing and takes no time, with a diary of which repeats really ran."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.declare import Benchmark, Measured, Part, Quote, Size


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    found: list[Measured] = []
    if "fails" in settings:
        raise ValueError(settings["fails"])
    for repeat in repeats:
        if repeat == settings.get("interrupted_at") and os.environ.get("TOY_INTERRUPTED"):
            raise KeyboardInterrupt
        if repeat >= settings.get("waits_from", math.inf):
            time.sleep(1500)  # until it is interrupted
        with Path(os.environ["TOY_DIARY"]).open("a", encoding="utf-8") as diary:
            diary.write(f"{repeat}\n")
        found.append({"accuracy": 0.5 + repeat / 100, "curve": [float(repeat), 1.0], "epsilon": 2.0, "seen": 1.5})
    return found[: settings.get("at_most", len(found))]


def benchmark(**settings: Any) -> Benchmark:
    def parts(size: Size, repeats: int) -> list[Part]:
        return [Part("toy", "bench_toy:measure", {"size": size, **settings}, repeats, together=2)]

    return Benchmark(
        id="toy",
        title="A toy",
        paper="nobody",
        datasets=(),
        repeats={"quick": 5, "full": 50},
        parts=parts,
        quotes=(
            Quote("Table 1", "a row", "accuracy", "toy", "accuracy", 0.6, 1.0, "epsilon", "seen", unsafe="on purpose"),
            Quote("Table 1", "left out by this size", "accuracy", "toy", "nothing measured this"),
            Quote("Table 2", "another", "accuracy", "no such part", "accuracy"),
        ),
        notes=("a note",),
    )


BENCHMARK = benchmark(interrupted_at=3)
ENDLESS = benchmark(waits_from=4)
