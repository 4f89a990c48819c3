"""The methods that benchmarks compare. Names, titles and classes come from `understudy.registry`: a method that is
registered there is here with its defaults, under its own name.

What stands here differs from that: a setting that was chosen on validation rows (`generators.py`; a test holds the two
together), a variant with a label of its own, and what a row does that no guarantee covers. "as published" stops at a
data-dependent epsilon, as the papers do; that is no guarantee, and its rows are marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from understudy import registry
from understudy.methods.gpate import PUBLISHED_IMAGES

DELTA = 1e-5
REAL = "real"
"""The name of the real rows, which stand in the tables as if they were a method."""
_DEPENDENT = "As published: stops at a data-dependent epsilon, which is itself private."


@dataclass(frozen=True)
class Method:
    """A registered method as benchmarks run it. `said` goes behind its title; `quick` shrinks what only costs time."""

    method: str
    said: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    unsafe: str | None = None

    @property
    def label(self) -> str:
        return registry.get(self.method).title + self.said


_START = {"start.kind": "moments", "start.epsilon_share": 0.5}
_FEW = {"teachers": 50, "iterations": 5, "first_steps": 10}
_DIFFERENT: Mapping[str, Method] = {
    "moments": Method("moments", " (ours)", {}, {"components": 20, "steps": 100}),
    "pategan": Method("pategan", "", {}, _FEW),
    "pategan, moments start": Method(
        "pategan", " from a moments start (ours)", _START, {**_FEW, "start.steps": 200}
    ),
    "pategan as published": Method(
        "pategan",
        " as published",
        {"aggregator": "votes", "mode": "as-published", "iterations": 300, "noise": 800.0, "batch": 320, "memory": 0.0},
        {"teachers": 50, "iterations": 20},
        _DEPENDENT,
    ),
    "dpgan": Method("dpgan", "", {}, {"iterations": 50}),
    "gpate": Method("gpate", "", {}, _FEW),
    "gpate, moments start": Method(
        "gpate", " from a moments start (ours)", _START, {**_FEW, "start.steps": 200}
    ),
    "gpate as published": Method(
        "gpate",
        " as published",
        {"aggregator": "votes", "mode": "as-published", "noise": 600.0, "threshold_ratio": 2.5, "iterations": 300},
        {"teachers": 50, "iterations": 20},
        _DEPENDENT,
    ),
    # Ten teachers and noise that is next to nothing: what G-PATE's Table 6 calls non-private.
    "gpate without noise": Method(
        "gpate",
        " without noise, 10 teachers",
        {"epsilon": 1e5, "teachers": 10},
        {"iterations": 50},
        "Without privacy: noise that is next to nothing.",
    ),
    "gan": Method("gan", "", {}, {"iterations": 100}, "Without privacy."),
    "dpkip": Method("dpkip", ", 10 a class", {}, {"epochs": 1}),
    "dpkip, moments start": Method(
        "dpkip",
        " from a moments start (ours), 10 a class",
        {"warm_start": "moments", "warm_epsilon_share": 0.8},
        {"epochs": 1},
    ),
}  # fmt: skip
# What distillers of images are called. KIP learns from the records without noise.
DISTILLERS: Mapping[str, str] = {
    "kip": Method("kip", ", not private").label,
    "dpkip": Method("dpkip").label,
    "dpkip-warm": Method("dpkip", " from a moments start (ours)").label,
    "one-look": Method("one-look", " (ours)").label,
}

# What generators of images are called, and how they are set; `PUBLISHED_IMAGES` is what G-PATE's appendix says of its own.
_PUBLISHED = {
    **PUBLISHED_IMAGES,
    "teacher_batch": 15,
    "batch": 15,
    "noise": 1000.0,
    "threshold_ratio": 3.0,
    "teachers": 4000,
}
_AT_TEN = {"teachers": 2000, "batch": 30, "teacher_batch": 30, "noise": 100.0, "threshold_ratio": 6.0}
_SMALL: Mapping[str, Any] = {
    **{"teachers": 10, "iterations": 2, "first_steps": 2, "teacher_steps": 1, "teacher_batch": 4},
    **{"teacher_kernels": 2, "teacher_hidden": (4,)},
}
IMAGES: Mapping[str, Method] = {
    "gan": Method("image-gan", "", {}, {"iterations": 2, "batch": 8, "critic_steps": 1}, "Without privacy."),
    "gpate without noise": Method(
        "image-gpate",
        " without noise, 20 teachers",
        {
            **{"aggregator": "vector", "epsilon": 1e12, "noise": 1e-3, "teachers": 20, "iterations": 4000, "batch": 128},
            **{"start.networks": "published", "released_frequencies": 28, "learning_rate": 5e-4, "first_steps": 5},
            **{"teacher_learning_rate": 5e-4, "teacher_kernels": 32, "teacher_hidden": (256,), "teacher_batch": 32},
        },
        _SMALL,
        "Without privacy: noise that is next to nothing.",
    ),
    "gpate": Method("image-gpate", " (ours)", {"iterations": 100}, _SMALL),
    "gpate without a start": Method(
        "image-gpate",
        " (ours) without a start",
        {"start.networks": "published", "iterations": 1000, "learning_rate": 5e-4, "teacher_learning_rate": 5e-4},
        _SMALL,
    ),
    "start alone": Method("image-moments", " without edges: the start alone", {"edges": 0.0}),
    "gpate as published": Method(
        "image-gpate", " as published", {**_PUBLISHED, "mode": "as-published", "iterations": 1000}, _SMALL, _DEPENDENT
    ),
    "gpate votes": Method("image-gpate", " as published, within an unconditional epsilon", _PUBLISHED, _SMALL),
    "dpgan": Method(
        "image-dpgan",
        " with the networks of the paper",
        {"start.networks": "published", "weight_clip": 0.1, "critic_steps": 5},
        {"iterations": 2, "critic_steps": 1, "fakes": 8},
    ),
    "dpgan from a start": Method(
        "image-dpgan", " from an image-moments start (ours)", {}, {"iterations": 2, "critic_steps": 1, "fakes": 8}
    ),
}  # fmt: skip
# What the start of a set is, as it was chosen for `ImageMoments` on held-out training images.
_SETS = {"mnist": {"straight": True}, "fashion": {"frequencies": 18}}


def make_for_images(name: str, dataset: str, epsilon: float, seed: int, *, quick: bool = False, **more: Any) -> Any:
    """A generator of images, unfitted, as it is set here. Its noise has a fixed seed, for repeatability."""
    chosen = IMAGES[name]
    given = {**chosen.settings, **(_AT_TEN if chosen.settings.get("noise") and epsilon > 1 else {})}
    if chosen.method == "image-moments":
        given |= _SETS[dataset]
    elif chosen.method != "image-gan" and given.get("start.networks") != "published":
        given |= {f"start.{name}": value for name, value in _SETS[dataset].items()}
    given |= {} if chosen.method == "image-gan" else {"unsafe_noise_seed": seed}
    return build(chosen.method, {**given, **(chosen.quick if quick else {}), **more}, epsilon, seed)


def names() -> list[str]:
    """All that can be asked for: what is registered for tables, and the variants of it."""
    tables = [*registry.names("generator", "table"), *registry.names("distilled", "table")]
    return list(dict.fromkeys([REAL, *tables, *_DIFFERENT]))


def get(name: str) -> Method:
    """A method as it is set here, or with its defaults."""
    return _DIFFERENT.get(name) or Method(name, quick=dict(registry.get(name).quick))


def label(name: str) -> str:
    return "real rows (setting A)" if name == REAL else get(name).label


def unsafe(name: str) -> str | None:
    """What a row does that no guarantee covers."""
    return None if name == REAL else get(name).unsafe


def is_private(name: str) -> bool:
    """Whether there is an epsilon to speak of; a very large one is none."""
    return name not in (REAL, "gpate without noise") and registry.get(get(name).method).load().private


def make(name: str, epsilon: float, seed: int, *, quick: bool = False, **more: Any) -> Any:
    """A method, unfitted, as it is set here."""
    chosen = get(name)
    return build(chosen.method, {**chosen.settings, **(chosen.quick if quick else {}), **more}, epsilon, seed)


def build(method: str, settings: Mapping[str, Any], epsilon: float, seed: int) -> Any:
    """A registered method with these settings; epsilon and delta where it takes them."""
    kind = registry.get(method).load()
    takes = "epsilon" in {one.name for one in fields(kind)}
    budget = {"epsilon": epsilon, "delta": DELTA} if takes else {}
    return kind.from_settings(**{**budget, **settings}, random_state=seed)
