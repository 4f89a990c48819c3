"""A target that is a number: looked at by itself, cut into bins that are the classes, drawn within its bin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import understudy
from understudy import MomentsGenerator
from understudy.errors import InputError
from understudy.methods.choosing import advise
from understudy.methods.moments.plan import number_bins
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (*(Column(f"x{i}", "continuous", (-10.0, 10.0)) for i in range(5)), Column("y", "continuous", (-500.0, 2000.0))),
    "y",
)


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    """The target follows two columns; its bounds are far wider than it is."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 5))
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(5)]).assign(
        y=100 + 20 * x[:, 0] - 15 * x[:, 1] + random.normal(0, 15, rows)
    )


def r2(made: Any) -> float:
    """Of least squares that learn from synthetic rows, on real ones."""
    test: Any = table(2000, 9)
    made = made.fillna(0.0)
    design = [np.column_stack([np.ones(len(f)), f.drop(columns="y")]) for f in (made, test)]
    weights = np.linalg.lstsq(design[0], made["y"].to_numpy(), rcond=None)[0]
    return float(1 - ((test["y"] - design[1] @ weights) ** 2).mean() / test["y"].var())


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_a_model_learns_the_number_from_few_rows(schema: Schema | None) -> None:
    found = [
        r2(
            MomentsGenerator(1.0, 1e-5, unsafe_noise_seed=s, random_state=s)
            .fit(table(1500, s), "y", schema)
            .sample(2000, random_state=s)
        )
        for s in range(3)
    ]
    # Real rows reach 0.73; a target whose place is not paid for has none.
    assert np.mean(found) > 0.3


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_the_target_is_no_feature_and_comes_back_from_disk(tmp_path: Path) -> None:
    made = MomentsGenerator(1.0, 1e-5, random_state=0, unsafe_noise_seed=0).fit(table(500), "y", SCHEMA)
    assert made.facts_["columns"] == 5
    assert made.facts_["target_bins"] == 3
    assert made.facts_["classes"] >= 2
    made.save(tmp_path / "release")
    again = understudy.load(tmp_path / "release")
    pd.testing.assert_frame_equal(again.sample(50, random_state=1), made.sample(50, random_state=1))
    for wrong in (0, "3", True, 10**9):
        with pytest.raises(InputError, match="damaged"):
            made.restore(made.model_.arrays(), SCHEMA, {**made.facts_, "target_bins": wrong})


def test_bins_are_as_many_as_the_rows_carry() -> None:
    assert [number_bins(rows, 1.0, 1e-5, 8) for rows in (50, 310, 500, 800, 10**6)] == [2, 2, 3, 5, 8]
    said = advise(SCHEMA, 500, 1.0)
    assert said.facts.bins == 3
    assert said.facts.rarest == pytest.approx(1 / 3)
    assert any("is a number" in warning for warning in said.warnings)
    assert "3 bins" in said.recommended.why
    assert json.dumps(said.to_json())
