"""Both models in one release: common classes from tables, rare ones from means and second moments."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.both_models import BothModels
from understudy.methods.moments.gaussian_model import gaussian_events
from understudy.methods.moments.plan import GAUSSIAN, plan_both
from understudy.privacy import Budget, compose
from understudy.tables import Column, Schema

ROWS, RARE = 40_000, 150
SCHEMA = Schema(
    (
        *(Column(name, "continuous", bounds=(-20, 20)) for name in ("a", "b", "c")),
        Column("y", "categorical", categories=("often", "less", "rare")),
    ),
    target="y",
)


def table(rows: int = ROWS, rare: int = RARE) -> pd.DataFrame:
    """Two common classes in which b follows the square of a; a rare one far away from both."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(rows) < 0.3, "less", "often").astype(object)
    a = rng.normal(size=rows)
    b, c = a**2 + rng.normal(0, 0.3, rows), rng.normal(size=rows) + (y == "less")
    y[:rare], a[:rare], b[:rare], c[:rare] = "rare", a[:rare] + 6, rng.normal(-4, 1, rare), c[:rare] - 4
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y}).sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted() -> MomentsGenerator:
    return MomentsGenerator(1.0, random_state=0, unsafe_noise_seed=0).fit(table(), schema=SCHEMA)


def test_common_classes_keep_what_goes_together_and_a_rare_one_its_place(fitted: MomentsGenerator) -> None:
    assert fitted.facts_["model"] == "both"
    assert fitted.facts_["classes_from_tables"] == 2
    drawn = fitted.sample(20_000, random_state=0)
    share = drawn["y"].value_counts(normalize=True)
    assert abs(share["less"] - 0.3) < 0.02
    assert 0.5 * RARE / ROWS < share["rare"] < 2 * RARE / ROWS
    common = drawn[(drawn["y"] != "rare") & (drawn["a"].abs() < 4) & drawn["b"].between(-2, 12)]
    assert np.corrcoef(common["a"] ** 2, common["b"])[0, 1] > 0.7, "an ellipse has none of this"
    less, often = (common.loc[common["y"] == name, "c"].mean() for name in ("less", "often"))
    assert 0.7 < less - often < 1.3
    rare = fitted.sample(500, conditions={"y": "rare"}, random_state=0)
    assert rare["y"].eq("rare").all()
    assert rare["a"].mean() > 1.5
    assert (rare["b"] < common["b"].quantile(0.1)).mean() > 0.9
    assert fitted.sample(300, conditions={"y": "less"}, random_state=0)["y"].eq("less").all()
    assert fitted.sample(3_000, balance=1.0, random_state=0)["y"].value_counts().min() > 800


def test_a_rare_class_stays_an_ellipse_however_little_noise_there_is() -> None:
    """Its two-way tables have more cells than it has rows."""
    clear = MomentsGenerator(100.0, random_state=0, unsafe_noise_seed=0, model="both").fit(table(), schema=SCHEMA)
    assert clear.facts_["classes_from_tables"] == 2


def test_a_release_of_both_comes_back_from_disk(fitted: MomentsGenerator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "release")
    pd.testing.assert_frame_equal(
        fitted.sample(500, random_state=3), load(tmp_path / "release").sample(500, random_state=3)
    )


@pytest.mark.filterwarnings("ignore:of the target")
def test_both_looks_are_charged_and_fit_the_budget() -> None:
    budget = Budget(1.0, 1e-5)
    tables, gaussian = plan_both(budget, 10, 10, 100_000, 10, labelled=True, located=True)
    events = [*tables.events(10), *gaussian_events(gaussian)]
    assert tables.parities is not None
    assert 0.8 < compose(events, 1e-5).epsilon <= 1.0
    ours = tables.pairs.noise_multiplier**-2 + tables.parities.noise_multiplier**-2
    theirs = sum(noise**-2 for noise in asdict(gaussian).values() if noise)
    assert theirs / (ours + theirs) == pytest.approx(GAUSSIAN, abs=0.02)
    real = MomentsGenerator(1.0, random_state=0, model="both").fit(table(3_000, 50), schema=SCHEMA)
    assert 0.8 < real.certificate_.verify() <= 1.0


def test_damaged_arrays_are_refused(fitted: MomentsGenerator) -> None:
    both = fitted.model_.model  # type: ignore[union-attr]
    assert isinstance(both, BothModels)
    arrays, bins = both.arrays(), both.tables.bins
    axes = Axes(bins.columns, ROWS)
    assert BothModels.from_arrays(arrays, bins, axes, 3).common.tolist() == both.common.tolist()
    for name, wrong in (
        ("common", np.array([0, 7])),
        ("common", np.array([0])),
        ("common", np.array([0, 0])),
        ("ratio", np.ones(2)),
        ("tables_chances", np.ones((3, 3))),
    ):
        with pytest.raises(InputError):
            BothModels.from_arrays({**arrays, name: wrong}, bins, axes, 3)
