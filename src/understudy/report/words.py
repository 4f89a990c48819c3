"""Methods, releases and events in words for people who are no engineers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
)
from understudy.report.facts import Share
from understudy.report.text import number, shown

_FEW = 3  # more noisy statistics than this are told as one
_MOST = 40  # rows for what left the table

KINDS: dict[str, str] = {
    "classifier": "a classifier",
    "generator": "a generator of synthetic rows",
    "distilled": "a distilled set of records",
    "images": "a distilled set of images",
    "histogram": "a histogram",
    "metrics": "scores of models on real test rows",
}

# What each method is, in one sentence; the paper is on its page of the documentation.
METHODS: dict[str, tuple[str, str]] = {
    "pate": (
        "PATE",
        "Many teachers, each trained on its own part of the rows, vote on labels for public rows. Only the noisy "
        "winner of each vote leaves, and a student learns from those labels.",
    ),
    "moments": (
        "moments",
        "A few statistics of the whole table (counts, means, how columns vary together) are released once, with noise. "
        "Everything else is computed from those noisy statistics.",
    ),
    "pategan": (
        "PATE-GAN",
        "A generator learns to fool a student that saw only noisy votes of many teachers, each trained on its own part "
        "of the rows.",
    ),
    "gpate": (
        "G-PATE",
        "Teachers, each with its own part of the rows, tell a generator in which direction to improve; only a noisy "
        "vote on the direction leaves.",
    ),
    "dpgan": (
        "DP-GAN",
        "A generator plays against a critic whose every learning step is clipped for each row and blurred with noise.",
    ),
    "noisy-metrics": (
        "noisy counts",
        "Models trained on synthetic rows are tried on real ones; only how many they got right, and how their scores spread, leaves, "
        "each count with noise.",
    ),
    "gan": ("GAN", "A generator without any protection, as a ceiling to compare with."),
    "kip": (
        "KIP",
        "A few records are shaped until a model trained on them does as well as one trained on all. Run on a private "
        "release it costs nothing more; run on real rows it protects nobody.",
    ),
    "one-look": (
        "one look",
        "A few statistics of the whole table are released once, with noise. A few records are then shaped until a model "
        "trained on them does as well as one trained on endless samples from those statistics.",
    ),
    "one-look-convnet": (
        "one look, for networks",
        "A few statistics of all images are released once, with noise; what networks learn from them is then corrected by a "
        "second noisy look. A few images are shaped until a network trained on them does as well as those.",
    ),
    "image-moments": (
        "image moments",
        "Counts, means and how pixels (and edges, unless left out) vary together are released once, with noise. Everything "
        "else is computed from those noisy statistics.",
    ),
    "dpkip": (
        "DP-KIP",
        "A few records are shaped until a model trained on them does well on the real rows; each step is clipped for "
        "each row and blurred with noise.",
    ),
}


def kind_words(kind: str, method: str = "") -> str:
    if (kind, method) == ("generator", "image-moments"):
        return "a generator of synthetic images"
    return KINDS.get(kind, f"a release of kind “{shown(kind, 40)}”")


def method_words(method: str) -> tuple[str, str]:
    return METHODS.get(method, (shown(method, 40), ""))


def event_words(event: Event) -> tuple[str, str]:
    """A short name and a sentence for one event of a certificate."""
    match event:
        case LaplaceEvent():
            return "Noisy counts", f"{_times(event.count)} with Laplace noise, ε = {number(event.epsilon)} each."
        case GaussianEvent():
            return (
                "Noisy statistics",
                f"{_times(event.count)} with Gaussian noise {number(event.noise_multiplier)} times as large as the most "
                "that one row can change.",
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
                f"{event.steps:,} steps, each on a random {event.sampling_rate:.3%} of the rows, with Gaussian noise "
                f"{number(event.noise_multiplier)} times as large as one row’s clipped share.",
            )
        case SmoothReleaseEvent():
            return "The data-dependent ε itself", f"Released once with noise (β = {number(event.beta)})."
        case DeltaEvent():
            return "A chance of failure", f"δ = {number(event.delta)}: {shown(event.reason, 200)}."
        case NonPrivateEvent():
            return "Not private", f"{shown(event.reason, 200)}."


def spending_words(spent: Sequence[Share]) -> list[tuple[str, str, float]]:
    """Name, sentence and share of each event; where a method has many noisy statistics they are told as one."""
    statistics = [one for one in spent if isinstance(one.event, GaussianEvent)]
    if len(statistics) <= _FEW:
        return _longest([(*event_words(one.event), one.share) for one in spent])
    noise = [one.event.noise_multiplier for one in statistics if isinstance(one.event, GaussianEvent)]
    sentence = (
        f"{len(statistics)} kinds of statistics, each released once, with Gaussian noise {number(min(noise))} to "
        f"{number(max(noise))} times as large as the most that one row can change."
    )
    told = ("Noisy statistics", sentence, round(sum(one.share for one in statistics), 12))
    others = [one for one in spent if not isinstance(one.event, GaussianEvent)]
    return _longest([told, *((*event_words(one.event), one.share) for one in others)])


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
    return ", ".join(facts)
