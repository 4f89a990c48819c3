"""The honest PATE: one row, one vote; nothing from private rows but noisy answers; a certificate that verifies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.pima import honest, quotes
from understudy.learn.partition import shards


def test_every_trial_is_quoted_and_another_one() -> None:
    assert {quote.row for quote in quotes.QUOTES if quote.part == "tried"} == set(honest.TRIALS)
    assert honest.TRIALS["the recipe"] == honest.Trial()
    assert len(set(honest.TRIALS.values())) == len(honest.TRIALS), "every trial is another one"


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3, 7]))
def test_one_row_moves_one_vote_at_most(seed: int, rows_each: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((21, 3)), random.integers(0, 2, 21)
    dealt = shards(21, 21 // rows_each, seed=seed)
    queries, present = random.standard_normal((15, 3)), np.ones(21, dtype=bool)
    before = honest.RowTeachers(X, y, present, dealt).votes(queries)
    row = int(random.integers(21))
    X[row], y[row] = random.standard_normal(3) * 100, 1 - y[row]
    after = honest.RowTeachers(X, y, present, dealt).votes(queries)
    assert np.all(before.sum(axis=1) == dealt.teachers)
    assert np.abs(after - before).max() <= 1


@pytest.mark.data
def test_private_rows_decide_nothing_about_the_scale(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = honest.setting(honest.RECIPE, 4)
    assert (len(before.X), len(before.public), len(before.X_test)) == (437, 100, 231)
    table = honest.table()
    training, _ = honest.division(4)
    X, y = table.X.copy(), table.y.copy()
    X[training[100:]], y[training] = 50.0, 0
    monkeypatch.setattr(honest, "table", lambda: replace(table, X=X, y=y))
    after = honest.setting(honest.RECIPE, 4)
    assert np.array_equal(before.public, after.public)
    assert np.array_equal(before.X_test, after.X_test)
    assert not np.array_equal(before.X, after.X)


@pytest.mark.data
@pytest.mark.parametrize("name", ["the recipe", "Confident-GNMax", "54 nearest centroids"])
def test_releases_are_certified_within_the_budget(name: str, data_folder: Path) -> None:
    (found,) = honest.measure({"trials": [name], "bounds": False}, [1000])
    assert 2.1 < float(found[f"{name}/epsilon"]) <= 2.16  # pyright: ignore[reportArgumentType]
    assert float(found[f"{name}/accuracy"]) > 0.66  # pyright: ignore[reportArgumentType]


@pytest.mark.data
def test_the_recipe_is_worth_its_budget(data_folder: Path) -> None:
    found = honest.measure({"trials": ["the recipe"], "bounds": True}, range(5))

    def mean(name: str) -> float:
        return float(np.mean([one[f"{name}/accuracy"] for one in found]))  # pyright: ignore[reportArgumentType]

    assert mean("the recipe") > 0.73
    assert mean("the recipe") > mean("majority") + 0.06
    assert mean("no privacy, risk factors") > 0.75
