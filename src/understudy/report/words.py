"""Methods, releases and events in words for people who are no engineers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy import registry
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    NonPrivateEvent,
    SmoothReleaseEvent,
    SubsampledGaussianEvent,
    ZCDPEvent,
)
from understudy.report.facts import Share
from understudy.report.text import number, percent, shown

_FEW = 3  # more noisy statistics than this are told as one
_MOST = 40  # rows for what left the table

# Releases that no method of the registry makes: what is released, a name, and a sentence.
_OTHERS: dict[str, tuple[str, str, str]] = {
    "noisy-metrics": (
        "scores of models on real test rows",
        "noisy counts",
        "Models trained on synthetic rows are tried on real ones; only how many they got right, and how their scores "
        "spread, leaves, each count with noise.",
    ),
}
_KINDS = {**registry.RELEASES, "images": "a distilled set of images", "histogram": "a histogram"}


def release_words(kind: str, method: str = "") -> tuple[str, str, str]:
    """What was released, the name of the method and a sentence on it, for people who are no engineers."""
    entry = registry.find(method)
    if entry is not None:
        return entry.released if kind == entry.kind else _KINDS.get(kind, entry.released), entry.title, entry.sentence
    if method in _OTHERS:
        return _OTHERS[method]
    return _KINDS.get(kind, f"a release of kind “{shown(kind, 40)}”"), shown(method, 40), ""


def event_words(event: Event, record: str = "row") -> tuple[str, str]:
    """A short name and a sentence for one event of a certificate whose promise is for one such record."""
    match event:
        case LaplaceEvent():
            return "Noisy counts", f"{_times(event.count)} with Laplace noise, ε = {number(event.epsilon)} each."
        case GaussianEvent():
            return (
                "Noisy statistics",
                f"{_times(event.count)} with Gaussian noise {number(event.noise_multiplier)} times as large as the most "
                f"that one {record} can change.",
            )
        case LNMaxEvent():
            return (
                "Teachers’ votes",
                f"{event.count:,} answers; Laplace noise on every count (γ = {number(event.gamma)}).",
            )
        case GNMaxEvent():
            return (
                "Teachers’ votes",
                f"{event.count:,} answers; Gaussian noise of {number(event.sigma)} votes on every count.",
            )
        case ConfidentGNMaxEvent():
            return (
                "Teachers’ votes",
                f"{event.count:,} questions, of which at most {event.answered:,} are answered, where the teachers agree; noise of "
                f"{number(event.sigma_threshold)} votes on the check and {number(event.sigma)} on the answer.",
            )
        case SubsampledGaussianEvent():
            return (
                "Learning steps",
                f"{event.steps:,} steps, each on a random {event.sampling_rate:.3%} of the {record}s, with Gaussian noise "
                f"{number(event.noise_multiplier)} times as large as one {record}’s clipped share.",
            )
        case SmoothReleaseEvent():
            return "The data-dependent ε itself", f"Released once with noise (β = {number(event.beta)})."
        case ZCDPEvent():
            return (
                "Tables, chosen one after the other",
                f"Noisy choices of what to count and noisy counts, which cost ρ = {number(event.rho)} together at most.",
            )
        case DeltaEvent():
            return "A chance of failure", f"δ = {number(event.delta)}: {shown(event.reason, 200)}."
        case NonPrivateEvent():
            return "Not private", f"{shown(event.reason, 200)}."


def spending_words(spent: Sequence[Share], record: str = "row") -> list[tuple[str, str, float]]:
    """Name, sentence and share of each event; where a method has many noisy statistics they are told as one."""
    statistics = [one for one in spent if isinstance(one.event, GaussianEvent)]
    if len(statistics) <= _FEW:
        return _longest([(*event_words(one.event, record), one.share) for one in spent])
    noise = [one.event.noise_multiplier for one in statistics if isinstance(one.event, GaussianEvent)]
    sentence = (
        f"{len(statistics)} kinds of statistics, each released once, with Gaussian noise {number(min(noise))} to "
        f"{number(max(noise))} times as large as the most that one {record} can change."
    )
    told = ("Noisy statistics", sentence, round(sum(one.share for one in statistics), 12))
    others = [one for one in spent if not isinstance(one.event, GaussianEvent)]
    return _longest([told, *((*event_words(one.event, record), one.share) for one in others)])


def _longest(told: list[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """At most as many rows as a page can bear; the costliest are kept."""
    if len(told) <= _MOST:
        return told
    ordered = sorted(told, key=lambda row: -row[2])
    rest = ordered[_MOST - 1 :]
    return [
        *ordered[: _MOST - 1],
        (f"{len(rest):,} others", "Each costs less than those above.", sum(r[2] for r in rest)),
    ]


def _times(count: int) -> str:
    return "One release" if count == 1 else f"{count:,} releases"


def size_words(kind: str, release: Mapping[str, Any]) -> str:
    """What is worth saying about this release's size, from the certificate's public facts."""
    facts = [
        (f"{release[key]:,} {words}")
        for key, words in (
            ("teachers", "teachers"),
            ("labels", "labels answered"),
            ("records", "records"),
            ("per_class", "records a class"),
            ("iterations_done", "learning steps"),
        )
        if isinstance(release.get(key), int) and not isinstance(release.get(key), bool)
    ]
    match release.get("rules"):
        case {"said": [_, *_] as said, "drawn_again": int() | float() as again}:
            facts.append(
                f"{len(said)} {'rule' if len(said) == 1 else 'rules'} kept in every row ({percent(float(again))} of the draws broke one and were redrawn)"
            )
        case _:
            pass
    return ", ".join(facts)
