"""What the page says about each release: read from its folder, and checked again on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.privacy import Certificate
from understudy.privacy.accountant import compose, delta_left, total_rdp
from understudy.privacy.events import Event, LaplaceEvent, LNMaxEvent, NonPrivateEvent
from understudy.privacy.rdp import DEFAULT_ORDERS, rdp_to_epsilon
from understudy.privacy.tradeoff import TradeOff, trade_off
from understudy.privacy.units import require_same_unit
from understudy.release.bundle import read_bundle
from understudy.tables import Schema


@dataclass(frozen=True)
class Release:
    """One release as the page shows it. `problem` says why its promise does not hold; empty if it does."""

    path: Path
    kind: str
    method: str
    certificate: Certificate
    schema: Schema | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    recomputed: float | None = None
    problem: str = ""

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.certificate.body["release"]


@dataclass(frozen=True)
class Share:
    """One event and its share of what all cost together."""

    event: Event
    share: float


def read_release(path: str | Path) -> Release:
    """A release folder, or a lone certificate; its epsilon is recomputed from the events."""
    source = Path(path)
    if source.is_file():
        certificate = Certificate.load(source)
        said = certificate.body["release"]
        release = Release(source, str(said.get("kind", "release")), str(said.get("method", "")), certificate)
    else:
        bundle = read_bundle(source)
        release = Release(
            source, bundle.kind, bundle.method, bundle.certificate, bundle.schema, bundle.parameters, bundle.arrays
        )
    try:
        recomputed, problem = release.certificate.verify(), ""
    except InputError as error:
        recomputed, problem = None, str(error)
    return Release(**{**release.__dict__, "recomputed": recomputed, "problem": problem})


def free(releases: Sequence[Release]) -> list[bool]:
    """Which releases only work on the output of an earlier one in the list, and so cost nothing more.

    Such a release says so and carries the other's certificate: the same events, written at the same moment. Two looks
    at one table with the same settings have the same events too, but not the same moment, and both are paid for.
    """
    seen: list[dict[str, Any]] = []
    found: list[bool] = []
    for release in releases:
        promise = {key: value for key, value in release.certificate.body.items() if key != "release"}
        found.append("post_processing_of" in release.facts and promise in seen)
        seen.append(promise)
    return found


@dataclass(frozen=True)
class Total:
    """What several releases promise together, if all come from one table. `added` is the plain sum of their epsilons."""

    epsilon: float
    delta: float
    added: float
    curve: TradeOff


def total(releases: Sequence[Release]) -> Total:
    """All events composed, not the epsilons of the certificates added up; releases that cost nothing more left out."""
    for release in releases[1:]:
        units = str(releases[0].certificate.body["unit"]), str(release.certificate.body["unit"])
        require_same_unit(*units, f"that of {release.path.name} is")
    paid = _once([r.certificate for r, nothing in zip(releases, free(releases), strict=True) if not nothing])
    delta = min(1.0, math.fsum(c.delta for c in paid))
    added = math.fsum(c.epsilon for c in paid) if all(math.isfinite(c.epsilon) for c in paid) else math.inf
    if len(paid) == 1 or math.isinf(added) or delta >= 1:
        curve = paid[0].curve() if len(paid) == 1 else trade_off([NonPrivateEvent("not every release has a promise")])
        return Total(added, delta, added, curve)
    events = [event for certificate in paid for event in certificate.promised()]
    epsilon = min(added, compose(events, delta, cache=False).epsilon)
    return Total(epsilon, delta, added, trade_off(events, (epsilon, delta)))


def _once(certificates: Sequence[Certificate]) -> list[Certificate]:
    """The certificates, and what they build on: a schema that several releases use was paid for once."""
    every = [*certificates, *(earlier for certificate in certificates for earlier in certificate.earlier())]
    found: dict[str, Certificate] = {}
    for place, certificate in enumerate(every):
        known = place >= len(certificates)  # releases of the list are told apart by `free`
        found.setdefault(str(certificate.body.get("run", place)) if known else f"release {place}", certificate)
    runs = {str(certificate.body.get("run")) for certificate in certificates}
    return [certificate for name, certificate in found.items() if name not in runs]


def shares(certificate: Certificate) -> list[Share]:
    """Each event's part of the whole.

    Costs of events do not add up as epsilons, but as Rényi costs they do: the share is that of the Rényi cost at the
    order that gives the smallest epsilon; where the whole is pure (delta = 0), the share of epsilon itself.
    """
    events = certificate.events
    costs = _costs(certificate, events)
    whole = math.fsum(c for c in costs if math.isfinite(c))
    return [
        Share(event, cost / whole if whole and math.isfinite(cost) else 0.0)
        for event, cost in zip(events, costs, strict=True)
    ]


def _costs(certificate: Certificate, events: Sequence[Event]) -> list[float]:
    if certificate.body["accounting"]["method"] == "pure":
        return [_pure(event) for event in events]
    order = certificate.body["accounting"]["order"]
    if order is None:
        left = delta_left(events, certificate.delta)
        if left <= 0:
            return [0.0 for _ in events]
        order = rdp_to_epsilon(DEFAULT_ORDERS, total_rdp(events, DEFAULT_ORDERS), left)[1]
    return [float(total_rdp([event], [order])[0]) for event in events]


def _pure(event: Event) -> float:
    match event:
        case LaplaceEvent():
            return event.epsilon * event.count
        case LNMaxEvent():
            return 2 * event.gamma * event.count
        case _:
            return 0.0
