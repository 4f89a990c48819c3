"""Ceilings: with the noise next to nothing the same code must come close to real data, or learning is broken.

A small mixed table for every run of the tests, the papers' own for slow ones.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from understudy import DPGAN, GAN, GPATE, PATEGAN
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("x", "continuous", bounds=(-50, 50)),
        Column("y", "continuous", bounds=(-50, 50)),
        Column("spent", "integer", bounds=(0, 1000)),
        Column("ward", "categorical", categories=("n", "s", "w")),
        Column("moon", "boolean"),
    ),
    "moon",
)
SHORT = {"first_steps": 20, "teacher_hidden": (32,), "generator_hidden": (32,), "random_state": 0}
QUICK: dict[str, Any] = {
    "gpate": lambda: GPATE.from_settings(epsilon=1e5, teachers=10, iterations=80, learning_rate=0.03, **SHORT),
    "pategan": lambda: PATEGAN.from_settings(
        epsilon=1e5, teachers=10, iterations=60, batch=256, student_steps=20, generator_steps=3, **SHORT
    ),
    "dpgan": lambda: DPGAN.from_settings(
        epsilon=100.0, iterations=200, batch=400, learning_rate=0.02, generator_hidden=(32,), random_state=0
    ),
    "gan": lambda: GAN.from_settings(iterations=150, learning_rate=0.01, generator_hidden=(32,), random_state=0),
}


def moons(rows: int, seed: int) -> pd.DataFrame:
    """Two moons in a corner of wide honest bounds, a zero-inflated number and a category that lean with the moon."""
    rng = np.random.default_rng(seed)
    moon, angle = rng.random(rows) < 0.3, rng.uniform(0, np.pi, rows)
    x = np.where(moon, 1 - np.cos(angle), np.cos(angle)) + 0.1 * rng.normal(size=rows)
    y = np.where(moon, 0.5 - np.sin(angle), np.sin(angle)) + 0.1 * rng.normal(size=rows)
    spent = np.where(rng.random(rows) < 0.6, 0, rng.poisson(20 + 10 * moon))
    ward = np.where(rng.random(rows) < 0.5 + 0.2 * moon, "n", rng.choice(["s", "w"], rows))
    return pd.DataFrame({"x": x, "y": y, "spent": spent, "ward": ward, "moon": moon})


def judged(made: pd.DataFrame, test: pd.DataFrame) -> float:
    """AUROC of a forest that learnt from `made`."""
    x, y = (pd.get_dummies(frame.drop(columns="moon")).astype(float) for frame in (made, test))
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0, n_jobs=1)
    forest.fit(x.reindex(columns=y.columns, fill_value=0.0), made["moon"].astype(bool))
    return float(roc_auc_score(test["moon"], np.asarray(forest.predict_proba(y))[:, 1]))


@pytest.mark.parametrize("method", QUICK)
def test_without_noise_a_small_table_is_learnt(method: str) -> None:
    train, test = moons(4000, 0), moons(2000, 1)
    wanted, found = 0.9 * judged(train, test), list[float]()
    # A game of two networks may end badly by chance; what has forgotten how to learn does so three times.
    for seed in (1, 0, 3):
        noise = {} if method == "gan" else {"unsafe_noise_seed": seed + 1}
        generator = QUICK[method]().set_params(random_state=seed, **noise)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = generator.fit(train, schema=SCHEMA).sample(4000, random_state=0)
        found.append(judged(made, test))
        if found[-1] >= wanted:
            break
    assert max(found) >= wanted, found


# The least that a method must reach on the papers' tables, mean AUROC of four classifiers.
LEAST = {
    ("gpate", "credit"): 0.95,
    ("gpate", "adult"): 0.87,
    ("pategan", "credit"): 0.95,
    ("pategan", "adult"): 0.86,
    ("dpgan", "credit"): 0.95,
    ("dpgan", "adult"): 0.86,
    ("gan", "credit"): 0.95,
    ("gan", "adult"): 0.87,
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif("UNDERSTUDY_DATA" not in os.environ, reason="UNDERSTUDY_DATA names no folder with credit and adult")
@pytest.mark.parametrize(("method", "dataset"), LEAST)
def test_without_noise_the_papers_tables_are_learnt(method: str, dataset: str) -> None:
    from benchmarks.adversarial import measure

    settings = {"dataset": dataset, "method": method, "epsilon": "inf", "rows": 10_000}
    # The means over five seeds are above; a single one may fall short by its deviation, which is 0.03 for critics on credit.
    found = [measure(settings, [seed])[0]["auroc"] for seed in (0, 1)]
    assert max(found) >= LEAST[method, dataset], found
