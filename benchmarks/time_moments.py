"""How long a fit and a draw of the moments generator take, and how much memory, on so many cores.

    UNDERSTUDY_DATA=... python benchmarks/time_moments.py --cores 2 --out benchmarks/results/moments_speed.json

Whole tables, epsilon 1, a new process for each repeat. `cpu_seconds` is what all cores worked; on a machine that others
use too the wall clock says less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from understudy.benchmarks.machine import machine, versions

DATASETS = ("credit", "covtype", "intrusion", "adult")


def once(dataset: str) -> dict[str, Any]:
    """One fit and one draw of as many rows, in this process. Imports are not counted, compilation is."""
    import resource
    import time

    from understudy import MomentsGenerator, datasets

    data: Any = datasets.load(dataset)
    generator = MomentsGenerator(1.0, random_state=0)
    wall, cpu = time.perf_counter(), time.process_time()
    generator.fit(data.frame, schema=data.schema)
    found = {"fit_seconds": time.perf_counter() - wall, "fit_cpu_seconds": time.process_time() - cpu}
    wall, cpu = time.perf_counter(), time.process_time()
    generator.sample(len(data.frame), random_state=0)
    found |= {"sample_seconds": time.perf_counter() - wall, "sample_cpu_seconds": time.process_time() - cpu}
    rounded: dict[str, Any] = {name: round(value, 2) for name, value in found.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {**rounded, "peak_memory_mb": peak, "rows": len(data.frame), "columns": data.frame.shape[1]}


def run(given: argparse.Namespace) -> None:
    cores = sorted(os.sched_getaffinity(0))[-given.cores :]
    os.sched_setaffinity(0, cores)
    threads = str(len(cores))
    env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
    env |= {"JAX_PLATFORMS": "cpu"}
    results: dict[str, list[dict[str, Any]]] = {}
    for repeat in range(given.repeats):
        for dataset in given.datasets:
            command = [sys.executable, __file__, "--once", dataset]
            answer = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
            results.setdefault(dataset, []).append(json.loads(answer.splitlines()[-1]))
            print(repeat, dataset, results[dataset][-1], flush=True)
            body = {
                "command": "python benchmarks/time_moments.py " + " ".join(sys.argv[1:]),
                "machine": machine(),
                "versions": versions(),
                "cores": len(cores),
                "results": results,
            }
            Path(given.out).write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--once", choices=DATASETS, help="one repeat in this process, printed as JSON")
    parser.add_argument("--out", default="benchmarks/results/moments_speed.json")
    chosen = parser.parse_args()
    if chosen.once:
        print(json.dumps(once(chosen.once)))
    else:
        run(chosen)
