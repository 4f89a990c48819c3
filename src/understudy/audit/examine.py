"""The whole audit of one method on one table: replay, ratio, canaries; what they found, beside what was claimed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from understudy.audit.bounds import CONFIDENCE
from understudy.audit.canaries import Attack, canaries
from understudy.audit.claims import Claim
from understudy.audit.one_run import OneRun, one_run
from understudy.audit.planting import blanked, blanked_person, plant, plant_person, random_rows, with_some, worst
from understudy.audit.ratio import Ratio, ratio
from understudy.audit.replay import Fit, replay
from understudy.audit.statistics import closeness
from understudy.errors import InputError
from understudy.release.intake import without_person
from understudy.tables import Schema
from understudy.tables.persons import Person, id_column, refuse_person
from understudy.tables.rows_per_person import most_rows

Trial = Literal["replay", "ratio", "canaries"]
TRIALS: tuple[Trial, ...] = ("replay", "ratio", "canaries")
Tell = Callable[[int, int, str], None]

NOTE = (
    "The figures of an audit come from the exact numbers behind the gate and are not covered by the promise: they are "
    "private. A bound of 0 says that nothing was found, not that nothing is there."
)


@dataclass(frozen=True)
class Audit:
    """Private. `leaks` is what differed although the gate had said the same, and empty where nothing leaks."""

    method: str
    claim: Claim
    fits: int
    confidence: float
    leaks: tuple[str, ...] | None = None
    ratio: Ratio | None = None
    attacks: tuple[Attack, ...] = field(default_factory=tuple)
    one_run: OneRun | None = None

    @property
    def measured(self) -> float | None:
        """The largest epsilon that was proved, if canaries were tried."""
        bounds = [attack.bound.epsilon for attack in self.attacks]
        bounds += [] if self.one_run is None else [self.one_run.epsilon]
        return max(bounds) if bounds else None

    @property
    def holds(self) -> bool:
        """Whether nothing that was tried contradicts the claim."""
        return (
            not self.leaks
            and (self.ratio is None or self.ratio.holds)
            and all(attack.holds for attack in self.attacks)
            and (self.one_run is None or self.one_run.epsilon <= self.claim.epsilon)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `understudy report --audit` reads them."""
        return {
            "claimed": self.claim.epsilon,
            "claimed_mu": self.claim.mu,
            "delta": self.claim.delta,
            "measured_lower_bound": self.measured,
            "holds": self.holds,
            "fits_a_side": self.fits,
            "replay": None if self.leaks is None else {"holds": not self.leaks, "differences": list(self.leaks)},
            "ratio": None if self.ratio is None else {**asdict(self.ratio), "worst": _finite(self.ratio.worst)},
            "attackers": {attack.attacker: asdict(attack.bound) for attack in self.attacks},
            "one_run": None if self.one_run is None else asdict(self.one_run),
        }


def _finite(value: float) -> float | None:
    """JSON has no infinity: null says that something moved for which nothing was charged."""
    return value if math.isfinite(value) else None


def document(audits: Sequence[Audit], *, command: str | None = None) -> dict[str, Any]:
    """The file of one or more audits. Private."""
    return {
        "private": True,
        "note": NOTE,
        "command": command,
        "confidence": audits[0].confidence if audits else CONFIDENCE,
        "fits_a_side": max((audit.fits for audit in audits), default=0),
        "methods": {audit.method: audit.to_dict() for audit in audits},
    }


def pair(frame: pd.DataFrame, schema: Schema, record: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Private. A table with a canary and its neighbour without: the worst record as the first row, or a chosen row.

    Where the schema says whose a row is, the canary is a person: the first, with as many of the worst rows as are taken, or whose
    the chosen row is.
    """
    if schema.person is not None:
        return _persons(frame, schema, schema.person, record)
    known: Any = frame[list(schema.names)]
    here = plant(known, worst(schema), 0) if record is None else known
    return here, blanked(here, 0 if record is None else record)


def _persons(
    frame: pd.DataFrame, schema: Schema, person: Person, record: int | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    who = id_column(frame, person).iloc[record or 0]
    columns = _columns(schema, person)
    known: Any = frame[[*columns.names, person.column]]
    if record is None:
        known = plant_person(known, [worst(columns)] * most_rows(person), person.column, who)
    return known, blanked_person(known, person.column, who)


def _columns(schema: Schema, person: Person) -> Schema:
    """What is learnt of: all but whose a row is."""
    columns = without_person(schema, person)
    if columns is None:
        raise InputError(f"the schema has no column beside {person.column!r}: there is nothing to audit.")
    return columns


def examine(
    method: str,
    fit: Fit,
    here: Any,
    there: Any,
    other: Any,
    epsilon: float,
    delta: float,
    *,
    trials: Sequence[Trial] = TRIALS,
    fits: int = 100,
    confidence: float = CONFIDENCE,
    tell: Tell | None = None,
) -> Audit:
    """Touches private data. `here` has the canary, `there` lacks it, `other` is any other table of the same size."""
    if unknown := [trial for trial in trials if trial not in TRIALS]:
        raise InputError(f"unknown attack {unknown[0]!r}; known are {', '.join(TRIALS)}.")
    say = tell or (lambda done, total, words: None)
    total = 2 * fits + 4 if "canaries" in trials else 4
    say(0, total, "replay")
    neighbours = replay(fit, here, there, epsilon, delta)
    leaks, found = None, None
    say(2, total, "replay")
    if "replay" in trials:
        leaks = (*neighbours.differences, *replay(fit, here, other, epsilon, delta).differences)
    if "ratio" in trials:
        found = ratio(neighbours)
    attacks: Sequence[Attack] = ()
    if "canaries" in trials:
        attacks = canaries(
            fit, here, there, epsilon, delta, fits,
            confidence=confidence, tell=lambda done, _: say(4 + done, total, "canaries"),
        )  # fmt: skip
    return Audit(method, neighbours.claim, fits if attacks else 0, confidence, leaks, found, tuple(attacks))


def another(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Public: a table as long as this one that has nothing else in common with it but the schema."""
    if schema.person is None:
        return random_rows(schema, len(frame), seed=1)
    made = random_rows(_columns(schema, schema.person), len(frame), seed=1)
    return made.assign(**{schema.person.column: frame[schema.person.column].to_numpy()[::-1]})


def single(
    method: str,
    fit: Fit,
    here: pd.DataFrame,
    there: pd.DataFrame,
    schema: Schema,
    epsilon: float,
    delta: float,
    *,
    trials: Sequence[Trial] = TRIALS,
    confidence: float = CONFIDENCE,
    tell: Tell | None = None,
) -> Audit:
    """Touches private data: as `examine`, but the canaries are many, a tenth of the rows, in one fit."""
    refuse_person(schema.person, "an audit of a single fit")
    number = max(10, min(1000, len(here) // 10))
    records = random_rows(schema, number, seed=2, corners=True)
    run, promised = one_run(
        fit,
        lambda present: with_some(here, records, present),
        lambda fitted: closeness(fitted, records, schema),
        number,
        epsilon,
        delta,
        confidence=confidence,
    )
    rest: Any = [trial for trial in trials if trial != "canaries"]
    if not rest:
        return Audit(method, promised, 1, confidence, one_run=run)
    other = another(here, schema)
    tried = examine(method, fit, here, there, other, epsilon, delta, trials=rest, confidence=confidence, tell=tell)
    return replace(tried, fits=1, one_run=run)
