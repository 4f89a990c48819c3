"""The methods that benchmarks compare: what each is called, how it is set, and what it does that no guarantee covers.

The one place that names them. A setting here was chosen on validation rows (`generators.py`; a test holds the two together)
or is a default. "as published" stops at a data-dependent epsilon, as the papers do; that is no guarantee, and its rows are
marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DELTA = 1e-5
_DEPENDENT = "As published: stops at a data-dependent epsilon, which is itself private."


@dataclass(frozen=True)
class Method:
    """`kind` is a class of `understudy`; `quick` shrinks what only costs time."""

    label: str
    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    unsafe: str | None = None


_START = {"warm_start": "moments", "warm_epsilon_share": 0.5}
_LABELS_KEPT: Mapping[str, Any] = {
    "queries": 64, "memory": 50, "student_steps": 50, "generator_steps": 5, "teacher_learning_rate": 1e-2,
}  # fmt: skip
METHODS: Mapping[str, Method] = {
    "real": Method("real rows (setting A)"),
    "moments": Method("moments (ours)", "MomentsGenerator", {}, {"components": 20, "steps": 100}),
    "pategan": Method(
        "PATE-GAN", "PATEGAN", {"conditional": True, "iterations": 20}, {"teachers": 50, "iterations": 5}
    ),
    "pategan, moments start": Method(
        "PATE-GAN from a moments start (ours)",
        "PATEGAN",
        {**_LABELS_KEPT, **_START, "conditional": True, "learning_rate": 1e-5, "iterations": 10},
        {"teachers": 50, "iterations": 2, "warm_steps": 200},
    ),
    "pategan as published": Method(
        "PATE-GAN as published",
        "PATEGAN",
        {"conditional": True, "mode": "as-published", "aggregator": "lnmax", "iterations": 300, "noise": 800.0,
         "teacher_learning_rate": 1e-2},
        {"teachers": 50, "iterations": 20},
        _DEPENDENT,
    ),
    "dpgan": Method(
        "DP-GAN", "DPGAN", {"conditional": True, "iterations": 300, "learning_rate": 1e-3}, {"iterations": 50}
    ),
    "gpate": Method(
        "G-PATE", "GPATE", {"conditional": True, "iterations": 10, "learning_rate": 1e-3}, {"teachers": 50, "iterations": 5}
    ),
    "gpate as published": Method(
        "G-PATE as published",
        "GPATE",
        {"conditional": True, "mode": "as-published", "noise": 600.0, "threshold_ratio": 2.5, "iterations": 300},
        {"teachers": 50, "iterations": 20},
        _DEPENDENT,
    ),
    # Ten teachers and noise that is next to nothing: what G-PATE's Table 6 calls non-private.
    "gpate without noise": Method(
        "G-PATE without noise, 10 teachers",
        "GPATE",
        {"epsilon": 1e7, "teachers": 10, "dimensions": 5, "iterations": 1000, "noise": 0.5, "threshold_ratio": 1.0},
        {"iterations": 50},
        "Without privacy: noise that is next to nothing.",
    ),
    "gan": Method(
        "GAN",
        "GAN",
        {"iterations": 4000, "learning_rate": 2e-4, "critic_steps": 2, "conditional": True},
        {"iterations": 300},
        "Without privacy.",
    ),
    "dpkip": Method("DP-KIP, 10 a class", "DPKIP", {}, {"epochs": 1}),
    "dpkip, moments start": Method(
        "DP-KIP from a moments start (ours), 10 a class", "DPKIP", {**_START, "warm_epsilon_share": 0.8}, {"epochs": 1}
    ),
}  # fmt: skip
NOT_PRIVATE = ("real", "gan", "gpate without noise")
# What distillers of images are called. KIP learns from the records without noise.
DISTILLERS: Mapping[str, str] = {
    "kip": "KIP, not private",
    "dpkip": "DP-KIP",
    "dpkip-warm": "DP-KIP from a moments start (ours)",
    "one-look": "one look (ours)",
}


def label(method: str) -> str:
    return METHODS[method].label


def make(method: str, epsilon: float, seed: int, *, quick: bool = False, **more: Any) -> Any:
    """A method, unfitted, as it is set here."""
    entry = METHODS[method]
    return build(entry.kind, {**entry.settings, **(entry.quick if quick else {}), **more}, epsilon, seed)


def build(kind: str, settings: Mapping[str, Any], epsilon: float, seed: int) -> Any:
    """A class of `understudy` with these settings; epsilon and delta where it takes them."""
    import inspect

    import understudy

    made = getattr(understudy, kind)
    budget = {"epsilon": epsilon, "delta": DELTA} if "epsilon" in inspect.signature(made).parameters else {}
    return made(**{**budget, **settings}, random_state=seed)
