"""Releases for the page, made without any learning: the certificate's events are what counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from html_page import NASTY

from understudy import MomentsGenerator
from understudy.privacy import Budget, Certificate
from understudy.privacy.events import Event, GaussianEvent, LaplaceEvent
from understudy.release.bundle import Bundle, write_bundle
from understudy.tables import Column, Schema

MakeRelease = Callable[..., Path]


@pytest.fixture
def make_release(tmp_path: Path) -> MakeRelease:
    """A release folder with these events and facts."""

    def make(
        name: str = "release",
        events: tuple[Event, ...] = (LaplaceEvent(0.25), GaussianEvent(10.0)),
        *,
        epsilon: float = 5.0,
        delta: float = 1e-5,
        kind: str = "classifier",
        method: str = "pate",
        facts: dict[str, Any] | None = None,
        public: tuple[str, ...] = (),
        arrays: dict[str, np.ndarray] | None = None,
        unsafe: tuple[str, ...] = (),
        unit: str = "row",
    ) -> Path:
        budget = Budget(epsilon, delta)
        budget.charge(*events)
        certificate = Certificate.from_budget(
            budget, release={"kind": kind, **(facts or {})}, assumed_public=public, unsafe=unsafe, unit=unit
        )
        target = tmp_path / name
        write_bundle(Bundle(kind, method, {}, arrays or {"weights": np.zeros(3)}, certificate), target)
        return target

    return make


@pytest.fixture
def evaluation(tmp_path: Path) -> Callable[..., Path]:
    """A file as `understudy evaluate --json` writes it."""

    def interval(mean: float) -> dict[str, Any]:
        return {"mean": mean, "low": None, "high": None, "values": [mean]}

    def setting(score: float, names: list[str], note: str) -> dict[str, Any]:
        metrics = {metric: interval(score) for metric in ("auroc", "auprc", "f1", "accuracy")}
        return {"mean": metrics, "classifiers": {n: {**metrics, "seconds": 0.1, "note": note} for n in names}}

    def make(
        table: str = "moments", names: tuple[str, ...] = ("logistic regression", "forest"), note: str = ""
    ) -> Path:
        listed = list(names)
        plain = {
            "format": 1,
            "target": "y",
            "classes": ["no", "yes"],
            "positive": "yes",
            "classifiers": listed,
            "seeds": 1,
            "rows": {"train": 100, "test": 50},
            "real": setting(0.912, listed, ""),
            "tables": [
                {
                    "name": table,
                    "rows": 100,
                    "error": None,
                    "settings": {"B": setting(0.871, listed, note), "C": setting(0.902, listed, "")},
                    "ranking": {"auroc": 0.75},
                    "fidelity": None,
                    "signals": None,
                    "notes": [note] if note else [],
                },
                {
                    "name": "broken",
                    "rows": 0,
                    "error": "the file is empty",
                    "settings": {},
                    "ranking": {},
                    "fidelity": None,
                    "signals": None,
                    "notes": [],
                },
            ],
            "notes": [],
        }
        path = tmp_path / "evaluation.json"
        path.write_text(json.dumps(plain), "utf-8")
        return path

    return make


@pytest.fixture(scope="session")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A real generator of a table whose names and categories all try to break the page, and its test rows."""
    folder = tmp_path_factory.mktemp("nasty")
    # text that a table file can hold: no control characters among the categories
    labels = tuple(name for name in NASTY if "\n" not in name)
    schema = Schema(
        (
            *(Column(name, "continuous", (0, 1)) for name in NASTY[:6]),
            Column(NASTY[9], "categorical", categories=labels),
            Column(NASTY[0] + "!", "boolean"),
        ),
        NASTY[0] + "!",
    )
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.random(300) for name in NASTY[:6]}
    columns |= {NASTY[9]: rng.choice(labels, 300), NASTY[0] + "!": rng.random(300) < 0.5}
    frame = pd.DataFrame(columns)
    MomentsGenerator.from_settings(epsilon=5, random_state=0, steps=20).fit(frame, schema=schema).save(
        folder / "release"
    )
    frame.to_parquet(folder / "test.parquet")
    return folder / "release", folder / "test.parquet"
