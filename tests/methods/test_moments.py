"""The moments generator: what it releases fits the schema, says what it cost, and survives the disk."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.tables import Column, Schema, read_table, validate_frame

SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 120)),
        Column("ward", "categorical", categories=("n", "s", "w"), nullable=True),
        Column("value", "continuous", bounds=(-40, 40), nullable=True),
        Column("pay", "integer", bounds=(0, 99999), scale="log"),
        Column("grade", "ordinal", categories=("low", "mid", "high")),
        Column("admitted", "datetime", bounds=(datetime(2020, 1, 1), datetime(2024, 1, 1))),
        Column("smokes", "boolean", nullable=True),
        Column("sick", "boolean"),
    ),
    "sick",
)


def table(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    value = rng.normal(np.where(sick, 2.0, -1.0), 1.0)
    frame = pd.DataFrame(
        {
            "age": np.clip(rng.normal(40 + 20 * sick, 10), 0, 120).astype(int),
            "ward": np.where(sick, rng.choice(["n", "s"], rows), rng.choice(["s", "w"], rows)),
            "value": np.where(rng.random(rows) < 0.1, np.nan, value),
            "pay": np.where(rng.random(rows) < 0.6, 0, np.exp(rng.normal(8, 1, rows)).astype(int)),
            "grade": rng.choice(["low", "mid", "high"], rows, p=[0.6, 0.3, 0.1]),
            "admitted": pd.Timestamp("2020-06-01") + pd.to_timedelta(rng.integers(0, 800, rows), unit="D"),
            "smokes": pd.array(rng.random(rows) < 0.3, dtype="boolean"),
            "sick": sick,
        }
    )
    frame.loc[rng.random(rows) < 0.05, "ward"] = None
    frame.loc[rng.random(rows) < 0.05, "smokes"] = pd.NA
    return frame


def small(**changes: Any) -> MomentsGenerator:
    return MomentsGenerator(**{"epsilon": 4.0, "steps": 60, "components": 12, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def fitted() -> MomentsGenerator:
    return small(model="tables").fit(table(), schema=SCHEMA)


def test_rows_fit_the_schema_and_survive_the_disk(fitted: MomentsGenerator, tmp_path: Path) -> None:
    rows = fitted.sample(2000, random_state=1)
    assert list(rows.columns) == list(SCHEMA.names)
    validate_frame(rows, SCHEMA)
    assert fitted.sample(2000, random_state=1).equals(rows)
    assert not fitted.sample(2000, random_state=2).equals(rows)
    fitted.save(tmp_path / "release")
    loaded = load(tmp_path / "release")
    assert loaded.sample(2000, random_state=1).equals(rows)
    assert loaded.certificate_.verify() <= 4.0
    assert loaded.certificate_.delta == 1e-5
    loaded.sample_to(tmp_path / "rows.csv", 30, random_state=1)
    assert len(read_table(tmp_path / "rows.csv")) == 30


def test_what_the_table_says_is_in_the_rows(fitted: MomentsGenerator) -> None:
    real: Any = table(20_000, seed=1)
    made: Any = fitted.sample(20_000, random_state=0)
    assert made["sick"].mean() == pytest.approx(real["sick"].mean(), abs=0.05)
    for sick in (False, True):
        here, there = real[real["sick"] == sick], made[made["sick"] == sick]
        assert there["age"].mean() == pytest.approx(here["age"].mean(), abs=4)
        assert there["value"].mean() == pytest.approx(here["value"].mean(), abs=0.5)
        assert (there["ward"] == "s").mean() == pytest.approx((here["ward"] == "s").mean(), abs=0.1)
    assert (made["pay"] == 0).mean() == pytest.approx(0.6, abs=0.08)
    assert made["smokes"].isna().mean() == pytest.approx(0.05, abs=0.04)


def test_conditions(fitted: MomentsGenerator) -> None:
    assert set(fitted.sample(40, {"sick": True, "grade": "low"}, 0)["sick"]) == {True}
    ill: Any
    well: Any
    ill, well = (fitted.sample(2000, {"sick": sick}, 0) for sick in (True, False))
    assert ill["age"].mean() - well["age"].mean() > 10
    with pytest.raises(InputError, match="never 'x'"):
        fitted.sample(10, {"ward": "x"})
    with pytest.raises(InputError, match="hardly makes"):
        fitted.sample(10, {"value": 39.0})
    with pytest.raises(InputError, match="whole number"):
        fitted.sample(0)
