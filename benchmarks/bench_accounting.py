"""How fast the accountants are: `make bench-quick`, or

python benchmarks/bench_accounting.py      which also writes benchmarks/results/accounting.json
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from understudy.privacy.argmax import gnmax_logq
from understudy.privacy.rdp import total_gnmax_rdp

QUERIES, CLASSES, TEACHERS, SIGMA = 100_000, 10, 250, 40.0
ORDERS = np.linspace(2, 100, 50)


def histograms() -> np.ndarray:
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(CLASSES, 0.3), size=QUERIES)
    return random.multinomial(TEACHERS, shares)


def data_dependent_cost(votes: np.ndarray) -> np.ndarray:
    return total_gnmax_rdp(gnmax_logq(votes, SIGMA), SIGMA, ORDERS)


def test_data_dependent_cost_of_many_histograms(benchmark: Any) -> None:
    votes = histograms()
    cost = benchmark(data_dependent_cost, votes)
    assert np.all(np.isfinite(cost))


def measure() -> dict[str, Any]:
    votes = histograms()
    together = data_dependent_cost(votes)
    best = min(_time(lambda: data_dependent_cost(votes)) for _ in range(7))
    sample = votes[:2000]
    single = min(_time(lambda: [data_dependent_cost(row[None]) for row in sample]) for _ in range(3))
    single *= QUERIES / len(sample)
    apart = np.sum([data_dependent_cost(row[None]) for row in sample], axis=0)
    np.testing.assert_allclose(data_dependent_cost(sample), apart, rtol=1e-12)
    memory = subprocess.run(
        [sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True
    ).stdout.strip()
    pairs = QUERIES * len(ORDERS)
    return {
        "what": f"data-dependent cost of {QUERIES} histograms, {CLASSES} classes, {TEACHERS} teachers, {len(ORDERS)} orders",
        "command": "python benchmarks/bench_accounting.py",
        "seconds_together": round(best, 4),
        "seconds_one_at_a_time": round(single, 2),
        "one_at_a_time_measured_on": len(sample),
        "times_faster": round(single / best, 1),
        "peak_memory_mb_of_the_process": int(memory),
        "nanoseconds_per_histogram_and_order": round(best / pairs * 1e9, 1),
        "floor": "one exp and one log1p for each histogram and order, about 10 ns a pair on one core",
        "order_cost_first_last": [float(together[0]), float(together[-1])],
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }


def _time(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


if __name__ == "__main__":
    if "--memory" in sys.argv:
        data_dependent_cost(histograms())
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    else:
        result = measure()
        target = Path(__file__).parent / "results" / "accounting.json"
        target.write_text(json.dumps(result, indent=2) + "\n")
        print(json.dumps(result, indent=2))
