"""The audit with persons as canaries: every method that takes persons, and the same method where it takes rows for persons.

The canary is a person with four rows at one end of every column; all others are at the other end (`worlds.with_person_alone`).
`person`: the promise is for persons, and must hold. `rows`: the same two tables go into a run that promises for one row; an audit that
is worth anything catches it. A method gets as many fits as a quarter of a minute of one core holds, at least 24 a side. Nothing here is private: the
world is made up.
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

EPSILON, PERSONS = 4.0, 60
PATIENCE, _MOST, _FEWEST = 14.0, 100, 24
_MORE: dict[str, dict[str, Any]] = {"moments": {"model": "gaussian"}}


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One method in one of the two ways."""
    from understudy.audit import worlds
    from understudy.audit.canaries import canaries
    from understudy.audit.ratio import ratio
    from understudy.audit.replay import replay

    del repeats
    entry, more = registry.get(settings["method"]), _MORE.get(settings["method"], {})
    here = worlds.with_person_alone(PERSONS)
    if settings["way"] == "person":
        there, fit = worlds.without_person(here), worlds.fit_persons(entry, PERSONS, **more)
    else:
        here, there = worlds.as_rows(here)
        fit = worlds.fit_persons(entry, len(here), worlds.SCHEMA, **more)
    moved = ratio(replay(fit, here, there, EPSILON, DELTA)).worst
    compiled = time.process_time()
    replay(fit, here, there, EPSILON, DELTA)
    each = (time.process_time() - compiled) / 2
    fits = settings["fits"] or max(_FEWEST, min(_MOST, int(PATIENCE / (4 * each))))
    attacks = canaries(fit, here, there, EPSILON, DELTA, fits)
    joint = 1 - 0.05 / (2 * len(_methods()))
    return [
        {
            "claimed": attacks[0].claim.epsilon,
            "claimed_mu": attacks[0].claim.mu,
            "measured_epsilon": max(attack.bound.epsilon for attack in attacks),
            "measured_mu": max(attack.bound.mu for attack in attacks),
            "ratio": moved,
            "ratio_holds": moved <= 1.0001,
            "canaries_hold": all(attack.at(joint).holds for attack in attacks),
            "fits_a_side": fits,
            "attackers": {attack.attacker: asdict(attack.bound) for attack in attacks},
        }
    ]


def _methods() -> list[str]:
    return [entry.name for entry in registry.entries() if entry.load().takes_persons]


def parts(size: Size, repeats: int) -> list[Part]:
    wanted = [(name, way) for name in _methods() for way in ("person", "rows")]
    fits = 8 if size == "quick" else None
    return [
        Part(f"{name}: {way}", "benchmarks.persons_audit:measure", {"method": name, "way": way, "fits": fits}, repeats)
        for name, way in (wanted[:2] if size == "quick" else wanted)
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """A line for each method and way."""
    names = ("method", "way", "claimed", "claimed_mu", "measured_epsilon", "measured_mu", "ratio", "ratio_holds", "canaries_hold", "fits_a_side")  # fmt: skip
    return [{name: run[name] for name in names} for run in runs]


BENCHMARK = Benchmark(
    id="persons-audit",
    title="The audit with persons as canaries, at epsilon 4, and of runs that take rows for persons",
    parts=parts,
    summary=summary,
    notes=(
        "Delta 1e-5. `ratio` is what a person moved at the gate over what was paid for. The bounds of a row hold with 95 % "
        "confidence; `canaries_hold` judges the rows of the methods together at 95 %. A bound of 0 says that this attack found nothing, not "
        "that nothing leaks.",
    ),
)
