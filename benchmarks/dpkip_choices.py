"""How DP-KIP's settings were chosen, with and without a moments start: on training records that are held out of the fit.

`images`: 5,000 training images of each set, kernel ridge regression; batch and ridge as in the paper. `tables`: a fifth of
adult's training rows, mean over the twelve classifiers. No test record is looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.dpkip_images import SETTINGS
from benchmarks.methods import build
from benchmarks.splits import held_out, split, split_images
from benchmarks.synthetic import frame_scores, means

# The share of epsilon for the start (None: a Gaussian start), the learning rate (None: the paper's), the clip.
IMAGES: list[tuple[float | None, float | None, float]] = [
    (None, None, 1e-6), (None, 1e-2, 1e-2), (None, 0.1, 1e-2), (0.5, 1e-2, 1e-6), (0.5, 3e-3, 1e-6), (0.5, 1e-3, 1e-6),
    (0.5, 3e-4, 1e-6), (0.5, 1e-2, 1e-2), (0.5, 3e-3, 1e-2), (0.5, 1e-3, 1e-2), (0.5, 1e-3, 0.1), (0.8, 1e-3, 1e-6),
    (0.2, 1e-3, 1e-6),
]  # fmt: skip
TABLES: list[dict[str, Any]] = [
    *({"learning_rate": rate, "clip": clip} for clip in (1e-6, 1e-3, 1e-2, 0.1, 1.0) for rate in (0.03, 0.1, 0.3)),
    *({"learning_rate": rate, "clip": 1.0} for rate in (0.01, 0.05)),
    *({"learning_rate": rate, "clip": 10.0} for rate in (0.01, 0.03, 0.05)),
    {"learning_rate": 1e-2, "clip": 1e-6}, {"learning_rate": 1e-3, "clip": 1e-6}, {"learning_rate": 0.03, "clip": 0.3},
    {"learning_rate": 0.1, "clip": 1e-6, "batch": 200}, {"learning_rate": 0.1, "clip": 1e-6, "batch": 2000},
    {"learning_rate": 0.1, "clip": 1e-6, "epochs": 3}, {"learning_rate": 0.1, "clip": 1e-6, "epochs": 30},
    *(
        {"warm_epsilon_share": share, "learning_rate": rate, "clip": clip}
        for share in (0.5, 0.8)
        for rate in (1e-3, 3e-3, 1e-2)
        for clip in (1e-6, 1e-2, 1.0)
    ),
]  # fmt: skip
_OURS = ("learning_rate", "clip", "batch", "epochs", "ridge", "warm_epsilon_share")


def _dpkip(settings: Mapping[str, Any], seed: int, **more: Any) -> Any:
    known = {name: settings[name] for name in _OURS if settings.get(name) is not None}
    known |= {"warm_start": "moments"} if "warm_epsilon_share" in known else {}
    few = {"epochs": 1, "batch": 100} if settings.get("small") else {}
    return build("dpkip", {"per_class": 10, **known, **more, **few, "unsafe_noise_seed": seed}, 1.0, seed)


def choose_images(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Touches the training images: fits on most of them, and scores on the others."""
    train, test = split_images(settings["dataset"], final=False, small=settings.get("small", False))
    batch = SETTINGS[settings["dataset"], 10, 1.0][0]
    return [{"accuracy": _dpkip(settings, seed, batch=batch).fit(train).score(test)} for seed in repeats]


def choose_tables(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Touches adult's training rows: fits on most of them, and scores on the others."""
    (seed,) = repeats
    data = held_out(split("adult"), 0.2, 0)
    train = data.train[: 2000 if settings.get("small") else None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = _dpkip(settings, seed).fit(train, schema=data.schema)
        scores = means(frame_scores("twelve", made.distilled_, data, seed), ("auroc", "auprc"))
    return [{**scores, "kernel_regression": made.score(data.test)}]


def parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    more = {"small": True} if quick else {}
    made: list[Part] = []
    for name in ("mnist", "fashion"):
        _, rate, _, ridge = SETTINGS[name, 10, 1.0]
        for share, given, clip in IMAGES[:1] if quick else IMAGES:
            settings = {"part": "images", "dataset": name, "warm_epsilon_share": share}
            settings |= {"learning_rate": given or rate, "clip": clip, "ridge": ridge, **more}
            made.append(_part("choose_images", settings, repeats))
    for chosen in TABLES[:1] if quick else TABLES:
        made.append(_part("choose_tables", {"part": "tables", "dataset": "adult", **chosen, **more}, repeats))
    return made


def _part(function: str, settings: dict[str, Any], repeats: int) -> Part:
    told = ", ".join(f"{name} {value}" for name, value in settings.items() if name not in ("part", "dataset", "small"))
    name = f"{settings['part']}, {settings['dataset']}: {told}"
    return Part(name, f"benchmarks.dpkip_choices:{function}", settings, repeats)


BENCHMARK = Benchmark(
    id="dpkip-choices",
    title="DP-KIP: how its settings were chosen",
    datasets=("mnist", "fashion", "adult"),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    alone=True,
    notes=(
        "Epsilon 1, delta 1e-5, ten records a class. `images`: accuracy of kernel ridge regression on 5,000 training images that "
        "were held out of the fit. `tables`: adult, a fifth of the training rows held out; AUROC and AUPRC are means over the "
        "twelve classifiers. Noise has fixed seeds.",
    ),
)
