"""The attack of tests/audit at full length: every method and mode, a thousand fits a side.

Measures a lower bound on epsilon (95 %, Clopper-Pearson) beside the claim of 1, and the same with the noise forgotten,
which the attack must notice. Runs that stop on the data-dependent epsilon, as published, stand apart: they claim nothing.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.declare import Benchmark, Measured, Part, Size

NOISELESS = ("pategan-lnmax", "pategan-gnmax", "gpate", "dpgan")


def attack() -> Any:
    """The module of the tests, which holds the pair of tables, the cases and the statistics."""
    folder = str(Path(__file__).parents[1] / "tests" / "audit")
    if folder not in sys.path:
        sys.path.append(folder)
    import generator_attack  # pyright: ignore[reportMissingImports]

    return generator_attack


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    del repeats
    module, fits = attack(), settings["fits"]
    make = (module.CASES | module.UNSAFE)[settings["case"]]
    tamper = module.forget_the_noise if settings["part"] == "without noise" else None
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sides = [module.scores(make, present, fits, tamper) for present in (True, False)]
    return [{"measured_lower_bound": module.lower_bound(*sides), "seconds": time.perf_counter() - began}]


def parts(size: Size, repeats: int) -> list[Part]:
    fits = 20 if size == "quick" else 1000
    module = attack()
    plan = [("methods", case, fits) for case in module.CASES]
    plan += [("without noise", case, min(fits, 200)) for case in NOISELESS]
    plan += [("as published, unsafe", case, fits) for case in module.UNSAFE]
    return [
        Part(f"{part}: {case}", "benchmarks.generators_audit:measure", {"part": part, "case": case, "fits": n}, repeats)
        for part, case, n in (plan[:1] if size == "quick" else plan)
    ]


BENCHMARK = Benchmark(
    id="generators-audit",
    title="The attack on whole fits of the generators, which claim epsilon 1",
    parts=parts,
    notes=("A bound of 0 says that this attack found nothing, not that nothing leaks. `fits` are those of one side.",),
)
