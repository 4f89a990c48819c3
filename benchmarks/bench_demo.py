"""What `understudy demo` reaches and how long it takes: `python benchmarks/bench_demo.py --out benchmarks/results/demo.json`.

The split is fixed, the noise is drawn anew each time. Settings were not tuned on the test rows.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import stats

from understudy.benchmarks.machine import machine, versions
from understudy.demo import run_demo, summary


def interval(values: list[float]) -> dict[str, object]:
    """The mean with Student's 95 % interval over the repeats."""
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    mean = float(np.mean(values))
    return {"mean": round(mean, 4), "low": round(mean - half, 4), "high": round(mean + half, 4), "values": values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    seconds: list[float] = []
    found: dict[str, dict[str, object]] = {}
    scores: dict[str, list[float]] = {}
    for repeat in range(given.repeats):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            plain = summary(run_demo(Path(folder) / "demo"))
            seconds.append(round(time.perf_counter() - began, 1))
        for release in plain["releases"]:  # type: ignore[attr-defined]
            found[release["what"]] = {k: release[k] for k in ("metric", "epsilon", "delta", "without_privacy")}
            scores.setdefault(release["what"], []).append(round(release["score"], 4))
        print(f"{repeat + 1}/{given.repeats}: {seconds[-1]} s", flush=True)
        result = {
            "benchmark": "demo",
            "what": "understudy demo: 350 rows of breast-cancer play the sensitive table; scores on 119 real test rows",
            "command": f"python benchmarks/bench_demo.py --repeats {given.repeats} --out benchmarks/results/demo.json",
            "machine": machine() | {"load_average": round(os.getloadavg()[0], 1)},
            "versions": versions(),
            "repeats": repeat + 1,
            "seconds": seconds,
            "processor_seconds": round(time.process_time() / (repeat + 1), 1),
            "majority": plain["majority"],
            "releases": {
                what: {**facts, "score": interval(scores[what]) if repeat else scores[what]}
                for what, facts in found.items()
            },
        }
        given.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
