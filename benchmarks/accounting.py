"""How fast the accountants are: PATE's data-dependent cost of many histograms together, and one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import in_a_new_process, peak_memory, seconds_of
from understudy.privacy.argmax import gnmax_logq
from understudy.privacy.rdp import total_gnmax_rdp

CLASSES, TEACHERS, SIGMA = 10, 250, 40.0
ORDERS = np.linspace(2, 100, 50)


def histograms(queries: int) -> np.ndarray:
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(CLASSES, 0.3), size=queries)
    return random.multinomial(TEACHERS, shares)


def cost(votes: np.ndarray) -> np.ndarray:
    return total_gnmax_rdp(gnmax_logq(votes, SIGMA), SIGMA, ORDERS)


def memory(queries: int) -> float:
    cost(histograms(queries))
    return peak_memory()


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    del repeats
    queries = settings["queries"]
    votes = histograms(queries)
    together = cost(votes)
    best = min(seconds_of(lambda: cost(votes), 7))
    sample = votes[:2000]
    single = min(seconds_of(lambda: [cost(row[None]) for row in sample], 3)) * queries / len(sample)
    np.testing.assert_allclose(cost(sample), np.sum([cost(row[None]) for row in sample], axis=0), rtol=1e-12)
    return [
        {
            "seconds_together": best,
            "seconds_one_at_a_time": single,
            "one_at_a_time_measured_on": len(sample),
            "times_faster": single / best,
            "peak_memory_mb_of_the_process": round(in_a_new_process(memory, queries)),
            "nanoseconds_per_histogram_and_order": best / (queries * len(ORDERS)) * 1e9,
            "order_cost_first_last": [float(together[0]), float(together[-1])],
        }
    ]


def parts(size: Size, repeats: int) -> list[Part]:
    queries = 10_000 if size == "quick" else 100_000
    return [Part("data-dependent cost", "benchmarks.accounting:measure", {"queries": queries}, repeats)]


BENCHMARK = Benchmark(
    id="accounting",
    title="Data-dependent cost of many histograms: 10 classes, 250 teachers, 50 orders",
    parts=parts,
    alone=True,
    notes=("The floor is one exp and one log1p for each histogram and order, about 10 ns a pair on one core.",),
)
