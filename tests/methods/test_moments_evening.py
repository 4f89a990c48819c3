"""Rows that come out even: each value as often as the looks say, and columns that still go together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.methods.moments.evening import FEWEST, counts_of, evenly, moved
from understudy.methods.moments.margins import likely_counts, shrunk
from understudy.methods.moments.tables_model import TablesModel
from understudy.tables import Column, Schema


def test_counts_are_within_one_of_their_shares_and_right_on_average() -> None:
    rng, shares = np.random.default_rng(0), np.array([0.5, 0.0, 0.31, 0.19])
    drawn = np.stack([counts_of(7, shares, rng) for _ in range(4_000)])
    assert (drawn.sum(axis=1) == 7).all()
    assert (np.abs(drawn - 7 * shares) < 1).all()
    assert np.allclose(drawn.mean(axis=0), 7 * shares, atol=0.05)
    places = evenly(1_000, shares, rng)
    assert np.bincount(places, minlength=4).tolist() == [500, 0, 310, 190]
    assert np.bincount(places[:200], minlength=4)[0] == pytest.approx(100, abs=40), "in random order"


def test_as_few_codes_change_as_can_be_and_those_that_fit() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [600, 300, 100])
    like = rng.random(1_000)
    counts = np.array([500, 300, 200])
    found = moved(codes, counts, lambda rows, code: 40 * like[rows], rng)
    assert np.bincount(found).tolist() == [500, 300, 200]
    changed = found != codes
    assert changed.sum() == 100, "none is moved that need not be"
    assert (codes[changed] == 0).all()
    assert like[changed].mean() > 0.8
    assert (moved(codes, counts, lambda rows, code: np.full(len(rows), -np.inf), rng) == codes).all(), "none may"


def test_codes_that_are_all_noise_are_drawn_together_and_those_that_are_not_stay() -> None:
    rng, deviation = np.random.default_rng(0), np.full(200, 30.0)
    noisy = 8 + rng.normal(0, 30, 200)
    found = shrunk(noisy, deviation)
    assert found is not None
    assert found.std() < 0.3 * noisy.std()
    assert shrunk(np.append(2_000.0, noisy[1:]), deviation) is None, "one code holds most rows"
    assert shrunk(np.array([500.0, 480.0, 20.0]), np.full(3, 20.0)) is None


def test_two_looks_are_weighed_by_their_noise() -> None:
    tables = np.zeros((1, 4, 4))
    tables[0][np.diag_indices(4)] = [700.0, 300.0, 600.0, 400.0]
    never = np.full(4, np.inf)
    alone = likely_counts(tables[:, :2, :2], [2], 1_000.0, 30.0, 30.0, also=(np.zeros(2), never[:2]))[0]
    assert alone.tolist() == [700.0, 300.0]
    both = likely_counts(
        tables[:, :2, :2], [2], 1_000.0, 30.0, 30.0, also=(np.array([500.0, 500.0]), np.full(2, 30.0**2))
    )[0]
    assert both == pytest.approx([600.0, 400.0])


def people(rows: int = 4_000) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(0)
    age = np.clip(rng.gamma(4, 10, rows), 0, 99).astype(int)
    frame = pd.DataFrame(
        {
            "age": age,
            "hours": np.clip(rng.normal(20 + age / 4, 6, rows), 0, 80).round(),
            "ward": rng.choice(["n", "s", "w"], rows, p=[0.6, 0.3, 0.1]),
            "ill": np.where(rng.random(rows) < age / 120, "yes", "no"),
        }
    )
    columns = (
        Column("age", "integer", bounds=(0, 99)),
        Column("hours", "integer", bounds=(0, 80)),
        Column("ward", "categorical", categories=("n", "s", "w")),
        Column("ill", "categorical", categories=("no", "yes")),
    )
    return frame, Schema(columns, target="ill")


@pytest.mark.parametrize("model", ["tables", "gaussian"])
def test_small_draws_have_the_shares_of_large_ones(model: str, tmp_path: object) -> None:
    frame, schema = people()
    fit = MomentsGenerator.from_settings(
        epsilon=20.0, model=model, components=10, steps=60, relabel=False, random_state=0, unsafe_noise_seed=0
    ).fit(frame, schema=schema)
    drawn, chance = fit.sample(FEWEST * 2, random_state=1), fit.sample(FEWEST - 1, random_state=1)
    edges = np.arange(0, 101, 5)

    def off(rows: pd.DataFrame, name: str) -> float:
        one, two = (
            np.histogram(part[name], edges)[0] / len(part)
            if name != "ward"
            else part[name].value_counts(normalize=True).reindex(["n", "s", "w"], fill_value=0).to_numpy()
            for part in (frame, rows)
        )
        return float(np.abs(one - two).sum() / 2)

    for name in ("age", "hours", "ward"):
        assert off(drawn, name) < 0.03, name
    assert off(chance, "age") > off(drawn, "age"), "so few rows are left to chance"
    together = [np.corrcoef(rows["age"], rows["hours"])[0, 1] for rows in (drawn, chance)]
    assert together[0] > together[1] - 0.1, "columns go together as before"
    fit.save(tmp_path / "release")  # type: ignore[operator]
    again = load(tmp_path / "release").sample(FEWEST * 2, random_state=1)  # type: ignore[operator]
    pd.testing.assert_frame_equal(drawn, again)
    known = fit.model_.model  # type: ignore[union-attr]
    name = "margins" if isinstance(known, TablesModel) else "shares"
    arrays = known.arrays() | {name: np.zeros_like(known.arrays()[name])}
    where = known.bins if isinstance(known, TablesModel) else known.axes
    with pytest.raises(InputError, match="no share"):
        type(known).from_arrays(arrays, where, 2)
