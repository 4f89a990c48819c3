"""Which looks the Gaussian model takes, from public sizes alone, and that each of them is charged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator
from understudy.methods.moments.gaussian_model import GaussianShares, gaussian_events, gaussian_plan, shares_of
from understudy.privacy import GaussianEvent
from understudy.tables import Column, Schema


def numbers(rows: int, columns: int, seed: int = 0) -> tuple[pd.DataFrame, Schema]:
    """Two classes of numbers; in the rarer one every third column is three times as wide."""
    rng = np.random.default_rng(seed)
    rare = rng.random(rows) < 0.1
    widths = np.where(rare[:, None] & (np.arange(columns) % 3 == 0), 3.0, 1.0)
    frame = pd.DataFrame(rng.normal(size=(rows, columns)) * widths, columns=[f"x{i}" for i in range(columns)])
    frame = frame.clip(-20, 20).assign(rare=rare)
    listed = [Column(f"x{i}", "continuous", bounds=(-20, 20)) for i in range(columns)]
    return frame, Schema((*listed, Column("rare", "boolean")), "rare")


@pytest.mark.filterwarnings("ignore:of the target")  # of six rows it is chance whether they stand out
@pytest.mark.parametrize(
    ("rows", "columns", "looked_for"),
    [
        (60_000, 4, {"radius", "means", "spread", "deviations", "shapes"}),
        (4000, 4, {"radius", "means", "spread", "shapes"}),
        (60, 4, {"centre", "radius", "means", "spread", "shapes"}),
        (1500, 120, {"centre", "radius", "means", "spread", "deviations", "shapes"}),
    ],
    ids=["many rows", "rows for marginals", "few rows", "many columns"],
)
def test_the_looks_follow_from_public_sizes_and_use_the_budget(rows: int, columns: int, looked_for: set[str]) -> None:
    frame, schema = numbers(rows, columns)
    found = MomentsGenerator(4.0, model="gaussian", random_state=0).fit(frame, schema=schema)
    assert {look for look, noise in found.facts_["noise"].items() if noise} == looked_for
    # What was planned is what was charged: nothing over, next to nothing left.
    assert 3.95 < found.certificate_.verify() <= 4.0


def test_deviations_are_looked_at_where_they_tell_something() -> None:
    assert shares_of(True, 100, 60, 5e4).deviations > 0
    assert shares_of(True, 100, 60, 5e3).deviations == 0
    assert shares_of(False, 600, 600, 2e3).deviations > 0
    assert shares_of(False, 600, 600, 2e2).deviations == 0
    assert shares_of(False, 30, 30, 2e3).deviations == 0
    # A choice is as wide as its mean says.
    assert shares_of(True, 100, 40, 5e4).deviations == 0


@pytest.mark.parametrize(
    "shares", [shares_of(True, 9, 9, 1e5), shares_of(False, 9, 9, 1e5), shares_of(False, 200, 200, 1e5)]
)
def test_a_look_is_charged_where_it_is_taken(shares: GaussianShares) -> None:
    events = gaussian_events(gaussian_plan(1.0, shares))
    # The precisions of all events add up to that of the whole.
    precision = [e.count / e.noise_multiplier**2 for e in events if isinstance(e, GaussianEvent)]
    assert sum(precision) == pytest.approx(1.0, rel=1e-6)


def test_a_rare_class_of_numbers_keeps_its_widths() -> None:
    frame, schema = numbers(60_000, 12)
    found = MomentsGenerator(2.0, model="gaussian", random_state=0, unsafe_noise_seed=1).fit(frame, schema=schema)
    rows = found.sample(4000, {"rare": True}, random_state=0)
    wide = [f"x{i}" for i in range(0, 12, 3)]
    spread = rows.drop(columns="rare").quantile(0.75) - rows.drop(columns="rare").quantile(0.25)
    assert spread[wide].mean() > 2 * spread.drop(wide).mean()
