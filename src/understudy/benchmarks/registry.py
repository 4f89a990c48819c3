"""The list of benchmarks. A new one is a module with a `BENCHMARK`, named here."""

from __future__ import annotations

import importlib

from understudy.benchmarks.declare import Benchmark
from understudy.errors import InputError
from understudy.wording import did_you_mean

_HOMES = {
    "pima": "understudy.benchmarks.pima",
    "pate-adult": "understudy.benchmarks.pate_adult",
    "pategan-1": "understudy.benchmarks.pategan_1",
    "pategan-2": "understudy.benchmarks.pategan_2",
    "pategan-3": "understudy.benchmarks.pategan_3",
    "pategan-4": "understudy.benchmarks.pategan_4",
    "pategan-5": "understudy.benchmarks.pategan_5",
    "pategan-6": "understudy.benchmarks.pategan_6",
    "pategan-eps": "understudy.benchmarks.pategan_eps",
    "gpate-1": "understudy.benchmarks.gpate_1",
    "gpate-4": "understudy.benchmarks.gpate_4",
    "gpate-6": "understudy.benchmarks.gpate_6",
    "dpkip-images": "understudy.benchmarks.dpkip_images",
    "dpkip-2": "understudy.benchmarks.dpkip_convnets",
    "dpkip-3": "understudy.benchmarks.dpkip_tables",
}


def names() -> tuple[str, ...]:
    return tuple(_HOMES)


def get(name: str) -> Benchmark:
    """The benchmark of that id."""
    if name not in _HOMES:
        raise InputError(
            f"there is no benchmark {name!r}.{did_you_mean(name, _HOMES)} `understudy bench list` shows: {', '.join(_HOMES)}."
        )
    return importlib.import_module(_HOMES[name]).BENCHMARK
