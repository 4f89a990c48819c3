"""The checklist of NIST SP 800-226 (March 2025) for one release, filled from its certificate.

The publication evaluates a claim of differential privacy level by level of a pyramid: what is at the top (epsilon, the
unit) means only as much as what carries it (algorithms, and below them who could see the data and how). The wording is
ours; the levels and the hazards are the publication's. What a certificate cannot know is asked, not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.privacy import Certificate
from understudy.privacy.events import Event, GaussianEvent, SmoothReleaseEvent, SubsampledGaussianEvent
from understudy.privacy.units import PERSON
from understudy.report.text import number
from understudy.report.words import event_words


@dataclass(frozen=True)
class Point:
    """One point of the list. `answered` is false where only the holder of the table can say."""

    level: str
    point: str
    answer: str
    answered: bool = True


def checklist(certificate: Certificate) -> list[Point]:
    """All points, from the top of the pyramid to its bottom."""
    body = certificate.body
    names = dict.fromkeys(event_words(event)[0] for event in certificate.events)
    return [
        Point("Top", "Privacy parameters", _parameters(certificate)),
        Point("Top", "Unit of privacy", f"One {body['unit']}: {body['neighbours']}."),
        _several_records(body),
        Point("Middle", "Algorithms", f"{', '.join(names) or 'None'}; listed with their noise under the budget."),
        Point("Middle", "Composition", _composition(body["accounting"]["basis"])),
        Point("Middle", "Hazard: unprotected quantities", f"Taken as public: {'; '.join(body['assumed_public'])}."),
        Point(
            "Middle",
            "Hazard: settings tuned on the data",
            "Were all settings chosen without a look at the records, and no other run thrown away?",
            answered=False,
        ),
        Point("Middle", "Correctness: finite arithmetic", _arithmetic(certificate.events)),
        Point("Middle", "Correctness: where the noise came from", _noise(body.get("noise"))),
        Point(
            "Middle",
            "Utility and bias",
            "Noise hides small groups first. Was the release tried for its purpose, and for the groups that matter?",
            answered=False,
        ),
        Point("Bottom", "Trust model", "Central: whoever ran this held the table as it is."),
        Point(
            "Bottom",
            "Side channels",
            "One release, nothing to query; how long a run took and what it printed was not protected. Who could watch it?",
            answered=False,
        ),
        Point("Bottom", "Access control", "Who can read the table, its backups and its logs?", answered=False),
        Point("Bottom", "Exposure at collection", "Who saw the records before they were a table?", answered=False),
        Point(
            "Bottom",
            "Hazard: other releases",
            "What else was released from the same table, with or without noise? The ledger lists what was counted.",
            answered=False,
        ),
    ]


def _several_records(body: Mapping[str, Any]) -> Point:
    hazard = "Hazard: one person, several records"
    if body["unit"] == PERSON:
        most = body["release"].get("rows_per_person")
        taken = f", of whom at most {most} rows were taken" if type(most) is int else ""
        return Point("Top", hazard, f"The promise is for one person with all of their rows{taken}.")
    said = f"The promise is for one {body['unit']}. Does nobody have more than one in the table?"
    return Point("Top", hazard, said, answered=False)


def _parameters(certificate: Certificate) -> str:
    said = f"ε = {number(certificate.epsilon)}, δ = {number(certificate.delta)}"
    if stated := certificate.body.get("gaussian_dp"):
        said += f"; in Gaussian differential privacy μ = {number(stated['mu'])}"
    return said + "."


def _composition(basis: str) -> str:
    match basis:
        case "filter":
            return (
                "Under a Rényi filter: costs depended on answers, so the limit that was fixed beforehand is promised."
            )
        case "composition":
            return "All events were fixed beforehand and are composed; anybody can recompute it from their list."
        case _:
            return "None: nothing is promised."


def _arithmetic(events: tuple[Event, ...]) -> str:
    kinds = (GaussianEvent, SubsampledGaussianEvent)
    floating = any(
        isinstance(e, SmoothReleaseEvent) or (isinstance(e, kinds) and e.noise == "continuous") for e in events
    )
    if floating:
        return "Part of the noise is drawn in floating point, whose rounding is not in the proof; counts and votes are exact."
    return "All noise is drawn exactly, on whole numbers."


def _noise(source: str | None) -> str:
    if source is None:
        return "Not stated: the certificate was written before this was noted."
    return f"From the {source}." if source == "operating system" else f"From a {source}: it can be taken off again."
