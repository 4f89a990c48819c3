"""The audit of every method at full length, and whether it has the power to find anything.

    python benchmarks/audit.py [--fits 300] [--runs 20000] [--workers 2] [--only NAME,NAME] [--out FILE]

For each registered method at epsilon 1 and 4, on the small public worlds of `understudy.audit.worlds`: replay and ratio on
two pairs of neighbours, and canaries with `--fits` fits a side. A method whose fit takes longer than a second gets as
many fits as two minutes hold. Power: the same attack on one noisy sum, `--runs` runs a side. The file is written
after every case; `--only` measures some methods again and keeps the rest. Nothing in it is private: the worlds are made up.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "audit.json"
EPSILONS = (1.0, 4.0)
DELTA = 1e-5
PATIENCE = 120.0


def audit(name: str, takes: str, epsilon: float, fits: int) -> tuple[str, dict[str, Any]]:
    """One method, one kind of data, one epsilon."""
    from understudy import registry
    from understudy.audit import worlds
    from understudy.audit.canaries import canaries
    from understudy.audit.fitting import fitting
    from understudy.audit.ratio import ratio
    from understudy.audit.replay import replay

    entry = registry.get(name)
    world = worlds.TABLES if takes == "table" else worlds.PICTURES
    fit = fitting(entry, worlds.SCHEMA, public=worlds.table(60, seed=99), **dict(entry.quick))
    began = time.perf_counter()
    differences = list(replay(fit, world.ordinary(0), world.ordinary(1), epsilon, DELTA).differences)
    ratios: dict[str, float] = {}
    for place in ("extreme", "alone"):
        here = getattr(world, place)()
        run = replay(fit, here, world.blanked(here), epsilon, DELTA)
        differences += run.differences
        ratios[place] = ratio(run).worst
    here = world.alone()
    there = world.blanked(here)
    compiled = time.perf_counter()
    replay(fit, here, there, epsilon, DELTA)
    each = (time.perf_counter() - compiled) / 2
    number = fits if each < 1 else max(20, min(fits, int(PATIENCE / (4 * each))))
    attacks = canaries(fit, here, there, epsilon, DELTA, number)
    claim = attacks[0].claim
    return f"{name}, {takes}, epsilon {epsilon:g}", {
        "claimed": claim.epsilon,
        "claimed_mu": claim.mu,
        "delta": DELTA,
        "measured_lower_bound": max(attack.bound.epsilon for attack in attacks),
        "holds": not differences and max(ratios.values()) <= 1.0001 and all(attack.holds for attack in attacks),
        "fits_a_side": number,
        "seconds_a_fit": round(each, 3),
        "replay": {"holds": not differences, "differences": differences},
        "ratio": {**ratios, "worst": max(ratios.values())},
        "attackers": {attack.attacker: asdict(attack.bound) for attack in attacks},
        "seconds": round(time.perf_counter() - began, 1),
    }


def power(epsilon: float, runs: int) -> tuple[str, dict[str, Any]]:
    """One look at one sum: what so many runs prove of a claim that is known to be exact."""
    import numpy as np

    from understudy.audit.canaries import canaries
    from understudy.privacy import ClippedSum, GaussianEvent
    from understudy.privacy.calibration import smallest_noise

    sigma = smallest_noise(lambda noise: [GaussianEvent(noise)], epsilon, DELTA)
    there = np.zeros((4, 3))
    here = np.vstack([there[:3], np.ones(3)])
    began = time.perf_counter()
    (attack,) = canaries(ClippedSum(1.0, sigma).release, here, there, epsilon, DELTA, runs, attackers=("transcript",))
    assert attack.claim.mu is not None
    return f"one sum, epsilon {epsilon:g}", {
        "claimed": attack.claim.epsilon,
        "claimed_mu": attack.claim.mu,
        "runs_a_side": runs,
        "measured_lower_bound": attack.bound.epsilon,
        "measured_mu": attack.bound.mu,
        "mu_over_claim": attack.bound.mu / attack.claim.mu,
        "seconds": round(time.perf_counter() - began, 1),
    }


def main(fits: int, runs: int, workers: int, only: str, out: Path) -> None:
    from understudy import registry

    body: dict[str, Any] = {
        "command": f"python benchmarks/audit.py --fits {fits} --runs {runs} --workers {workers}",
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "accelerator": None},
        "note": "A bound of 0 says that this attack found nothing, not that nothing leaks.",
        "confidence": 0.95,
        "fits_a_side": fits,
        "power": {},
        "methods": {},
    }
    if only and out.exists():
        kept = json.loads(out.read_text("utf-8"))
        body |= {part: kept[part] for part in ("power", "methods")}
    tasks: list[tuple[Any, ...]] = [("power", power, epsilon, runs) for epsilon in EPSILONS]
    for entry in registry.entries():
        kinds = [takes for takes in entry.takes if takes in ("table", "images")] if entry.attacks else []
        tasks += [("methods", audit, entry.name, takes, epsilon, fits) for takes in kinds for epsilon in EPSILONS]
    tasks = [task for task in tasks if not only or str(task[2]) in only.split(",")]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for part, name, found in pool.imap(_run, tasks):
            body[part][name] = found
            print(name, json.dumps(found), flush=True)
            out.write_text(json.dumps(body, indent=1) + "\n")


def _run(task: tuple[Any, ...]) -> tuple[str, str, dict[str, Any]]:
    name, found = task[1](*task[2:])
    return task[0], name, found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Attack every method, and show that the attacks have power.")
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        # One core a worker; what one has compiled serves the others.
        os.environ |= {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        os.environ |= {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
        main(given.fits, given.runs, given.workers, given.only, given.out)
