"""The audit of every method at full length, and whether it has the power to find anything.

`methods`: each registered method at epsilon 1 and 4, on the small public worlds of `understudy.audit.worlds`: replay and
ratio on two pairs of neighbours, and canaries with so many fits a side. A method whose fit takes longer than a second gets
as many fits as two minutes of one core hold. `power`: the same attack on one noisy sum. Nothing here is private: the worlds
are made up.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA
from benchmarks.result import Row
from understudy import registry

EPSILONS = (1.0, 4.0)
PATIENCE = 120.0
_NEIGHBOURS = ("extreme", "alone")


def audit(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One method, one kind of data, one epsilon."""
    from understudy.audit import worlds
    from understudy.audit.canaries import canaries
    from understudy.audit.fitting import fitting
    from understudy.audit.ratio import ratio
    from understudy.audit.replay import replay

    del repeats
    entry, epsilon, fits = registry.get(settings["method"]), settings["epsilon"], settings["fits"]
    world = worlds.TABLES if settings["takes"] == "table" else worlds.PICTURES
    fit = fitting(entry, worlds.SCHEMA, public=worlds.table(60, seed=99), **dict(entry.quick))
    began = time.perf_counter()
    differences = list(replay(fit, world.ordinary(0), world.ordinary(1), epsilon, DELTA).differences)
    ratios: dict[str, float] = {}
    for neighbours in _NEIGHBOURS:
        here = getattr(world, neighbours)()
        run = replay(fit, here, world.blanked(here, -1), epsilon, DELTA)
        differences += run.differences
        ratios[neighbours] = ratio(run).worst
    here = world.alone()
    there = world.blanked(here, -1)
    compiled = time.process_time()
    replay(fit, here, there, epsilon, DELTA)
    each = (time.process_time() - compiled) / 2
    number = fits if each < 1 else max(20, min(fits, int(PATIENCE / (4 * each))))
    attacks = canaries(fit, here, there, epsilon, DELTA, number)
    claim = attacks[0].claim
    return [
        {
            "claimed": claim.epsilon,
            "claimed_mu": claim.mu,
            "measured_lower_bound": max(attack.bound.epsilon for attack in attacks),
            "holds": not differences
            and max(ratios.values()) <= 1.0001
            and all(attack.at(_joint(len(attacks))).holds for attack in attacks),
            "holds_by_itself": all(attack.holds for attack in attacks),
            "fits_a_side": number,
            "differences": differences,
            "ratio": ratios,
            "attackers": {attack.attacker: asdict(attack.bound) for attack in attacks},
            "seconds_a_fit": each,
            "seconds": time.perf_counter() - began,
        }
    ]


def _joint(attacks: int) -> float:
    """So sure must each attack be for all in the result to hold together at 95 %."""
    return 1 - 0.05 / (attacks * sum(part.settings["part"] == "methods" for part in parts("full", 1)))


def power(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One look at one sum: what so many runs prove of a claim that is known to be exact."""
    import numpy as np

    from understudy.audit.canaries import canaries
    from understudy.privacy import ClippedSum, GaussianEvent
    from understudy.privacy.calibration import smallest_noise

    del repeats
    epsilon, runs = settings["epsilon"], settings["fits"]
    sigma = smallest_noise(lambda noise: [GaussianEvent(noise)], epsilon, DELTA)
    there = np.zeros((4, 3))
    here = np.vstack([there[:3], np.ones(3)])
    began = time.perf_counter()
    (attack,) = canaries(ClippedSum(1.0, sigma).release, here, there, epsilon, DELTA, runs, attackers=("transcript",))
    assert attack.claim.mu is not None
    return [
        {
            "claimed": attack.claim.epsilon,
            "claimed_mu": attack.claim.mu,
            "measured_lower_bound": attack.bound.epsilon,
            "holds": attack.holds,
            "fits_a_side": runs,
            "measured_mu": attack.bound.mu,
            "mu_over_claim": attack.bound.mu / attack.claim.mu,
            "seconds": time.perf_counter() - began,
        }
    ]


def parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    made = [
        Part(
            f"power: one sum, epsilon {epsilon:g}",
            "benchmarks.audit:power",
            {"part": "power", "method": "one sum", "takes": "vectors", "epsilon": epsilon, "fits": 500 if quick else 20_000},
            repeats,
        )
        for epsilon in EPSILONS
    ]  # fmt: skip
    for entry in registry.entries():
        for takes in entry.takes if entry.attacks else ():
            if takes in ("table", "images"):
                made += [
                    Part(
                        f"methods: {entry.name}, {takes}, epsilon {epsilon:g}",
                        "benchmarks.audit:audit",
                        {"part": "methods", "method": entry.name, "takes": takes, "epsilon": epsilon, "fits": 300},
                        repeats,
                    )
                    for epsilon in EPSILONS
                ]
    return made[:1] if quick else made


def summary(runs: Sequence[Row]) -> list[Row]:
    """A line for each method and epsilon: claims, what the best attacker proved, and the worst ratio."""
    return [
        {
            **{name: run[name] for name in ("method", "takes", "epsilon", "fits_a_side", "holds")},
            "claimed_mu": run["claimed_mu"],
            "measured_epsilon": run["measured_lower_bound"],
            "measured_mu": run["measured_mu"]
            if run["part"] == "power"
            else max(b["mu"] for b in run["attackers"].values()),
            "worst_ratio": None if run["part"] == "power" else max(run["ratio"].values()),
        }
        for run in runs
    ]


BENCHMARK = Benchmark(
    id="audit",
    title="The audit of every registered method at epsilon 1 and 4, and the power of the attack",
    parts=parts,
    summary=summary,
    notes=(
        "A bound of 0 says that this attack found nothing, not that nothing leaks. The bounds of a row hold together with "
        "95 % confidence, at delta 1e-5, so one row in twenty may accuse an honest method by chance (`holds_by_itself`); "
        "`holds` judges all rows together at 95 %. `ratio` is what a neighbour moved at the gate over what was paid for, for two pairs of neighbours.",
    ),
)
