"""The papers' tables as code: each with the paper's own figures, run again and printed beside what was measured.

    from understudy import benchmarks
    result = benchmarks.run(benchmarks.get("pima"), size="quick", out="results")

A benchmark is a declaration (`declare.py`): parts that measure, and quotes that say which number of the paper each
measurement stands beside. One runner serves them all.
"""

from __future__ import annotations

from understudy._lazy import attach

_HOMES: dict[str, str] = {
    "Benchmark": "understudy.benchmarks.declare",
    "Part": "understudy.benchmarks.declare",
    "Quote": "understudy.benchmarks.declare",
    "Result": "understudy.benchmarks.result",
    "get": "understudy.benchmarks.registry",
    "names": "understudy.benchmarks.registry",
    "read": "understudy.benchmarks.result",
    "run": "understudy.benchmarks.runner",
    "run_several": "understudy.benchmarks.runner",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
