"""The attack of tests/audit at full length: every method and mode, thousands of fits a side, all cores.

    python benchmarks/audit_generators.py [--fits 1000] [--workers 2] [--only TEXT] [--out FILE]

Measures a lower bound on epsilon (95 %, Clopper-Pearson) beside the claim of 1, and the same with the noise forgotten,
which the attack must notice. Runs that stop on the data-dependent epsilon, as published, stand apart: they claim
nothing. The file is written after every case.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audit"))

RESULT = Path(__file__).parent / "results" / "generators_audit.json"
NOISELESS = ("pategan-lnmax", "pategan-gnmax", "gpate", "dpgan")


def fits(case: str, present: bool, number: int, noiseless: bool) -> np.ndarray:
    """One worker's share of the fits of one side."""
    import generator_attack as attack  # pyright: ignore[reportMissingImports]

    warnings.simplefilter("ignore")
    make = (attack.CASES | attack.UNSAFE)[case]
    return attack.scores(make, present, number, attack.forget_the_noise if noiseless else None)


def measure(pool: Any, workers: int, case: str, number: int, noiseless: bool = False) -> dict[str, Any]:
    import generator_attack as attack  # pyright: ignore[reportMissingImports]

    began = time.perf_counter()
    # Two shares a worker and side: the first of a process compiles, and uneven shares would wait for the slowest.
    share = -(-number // workers)
    tasks = [(case, side, share, noiseless) for _ in range(workers) for side in (True, False)]
    found = pool.starmap(fits, tasks, chunksize=1)
    sides = [np.concatenate([f for f, t in zip(found, tasks, strict=True) if t[1] is side]) for side in (True, False)]
    bound = attack.lower_bound(*sides)
    return {"fits_a_side": len(sides[0]), "measured_lower_bound": bound, "seconds": time.perf_counter() - began}


def main(number: int, workers: int, only: str, out: Path) -> None:
    import generator_attack as attack  # pyright: ignore[reportMissingImports]

    body: dict[str, Any] = {
        "command": f"python benchmarks/audit_generators.py --fits {number} --workers {workers}",
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "accelerator": None},
        "note": "A bound of 0 says that this attack found nothing, not that nothing leaks.",
        "claimed": attack.EPSILON, "delta": attack.DELTA, "confidence": 0.95,
        "methods": {}, "without_noise": {}, "as_published_unsafe": {},
    }  # fmt: skip
    plan = [("methods", case, number, False) for case in attack.CASES]
    plan += [("without_noise", case, min(number, 200), True) for case in NOISELESS]
    plan += [("as_published_unsafe", case, number, False) for case in attack.UNSAFE]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for part, case, wanted, noiseless in plan:
            if only in case:
                body[part][case] = measure(pool, workers, case, wanted, noiseless)
                print(part, case, body[part][case], flush=True)
                out.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Attack whole fits of all generators.")
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        # One core a worker; what one has compiled serves the others.
        os.environ |= {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        os.environ |= {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        main(given.fits, given.workers, given.only, given.out)
