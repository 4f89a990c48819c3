"""The list of benchmarks. A new one is a module with a `BENCHMARK`, named here."""

from __future__ import annotations

import importlib

from understudy.benchmarks.declare import Benchmark
from understudy.errors import InputError

_HOMES = {
    "pima": "understudy.benchmarks.pima",
    "pate-adult": "understudy.benchmarks.pate_adult",
}


def names() -> tuple[str, ...]:
    return tuple(_HOMES)


def get(name: str) -> Benchmark:
    """The benchmark of that id."""
    if name not in _HOMES:
        raise InputError(f"there is no benchmark {name!r}; `understudy bench list` shows: {', '.join(_HOMES)}.")
    return importlib.import_module(_HOMES[name]).BENCHMARK
