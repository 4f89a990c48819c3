"""Rare classes asked for more often: the mix changes, the rows of a class do not, and nothing is paid for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator
from understudy.errors import InputError
from understudy.tables import Column, Schema, read_table, validate_frame

SCHEMA = Schema(
    (
        Column("x", "continuous", bounds=(-10, 10)),
        Column("ward", "categorical", categories=("n", "s")),
        Column("sick", "boolean"),
    ),
    "sick",
)


def rows(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sick = rng.random(n) < 0.06
    ward = np.where(rng.random(n) < np.where(sick, 0.8, 0.3), "n", "s")
    return pd.DataFrame({"x": rng.normal(3.0 * sick), "ward": ward, "sick": sick})


@pytest.fixture(scope="module", params=["gaussian", "tables"])
def generator(request: Any) -> MomentsGenerator:
    settings: dict[str, Any] = {"model": request.param, "steps": 60, "components": 12, "unsafe_noise_seed": 0}
    return MomentsGenerator.from_settings(epsilon=4.0, random_state=0, **settings).fit(rows(), schema=SCHEMA)


def test_the_mix_follows_the_power_of_the_share(generator: MomentsGenerator) -> None:
    share = float(generator.model_.model.ratio[1])
    for balance in (0.0, 0.5, 1.0):
        made: Any = generator.sample(6000, random_state=0, balance=balance)
        validate_frame(made, SCHEMA)
        wanted = share ** (1 - balance) / (share ** (1 - balance) + (1 - share) ** (1 - balance))
        assert made["sick"].mean() == pytest.approx(wanted, abs=0.03)
    assert generator.sample(500, random_state=1, balance=0.5).equals(generator.sample(500, random_state=1, balance=0.5))


def test_the_rows_of_a_class_stay_as_they_are(generator: MomentsGenerator) -> None:
    plain: Any = generator.sample(40_000, random_state=0)
    even: Any = generator.sample(8000, random_state=1, balance=1.0)
    for sick in (False, True):
        here, there = plain[plain["sick"] == sick], even[even["sick"] == sick]
        assert there["x"].mean() == pytest.approx(here["x"].mean(), abs=0.35)
        assert (there["ward"] == "n").mean() == pytest.approx((here["ward"] == "n").mean(), abs=0.1)


def test_a_file_and_a_condition(generator: MomentsGenerator, tmp_path: Path) -> None:
    generator.sample_to(tmp_path / "even.csv", 2000, random_state=0, balance=1.0)
    made: Any = read_table(tmp_path / "even.csv")
    assert made["sick"].mean() == pytest.approx(0.5, abs=0.05)
    assert set(generator.sample(50, {"ward": "n"}, 0, balance=0.5)["ward"]) == {"n"}


@pytest.mark.parametrize("balance", [-0.1, 1.5, True, "even", float("nan")])
def test_what_is_no_balance_is_refused(generator: MomentsGenerator, balance: Any) -> None:
    with pytest.raises(InputError, match="`balance`"):
        generator.sample(10, balance=balance)


def test_a_balance_without_classes_is_refused(generator: MomentsGenerator) -> None:
    with pytest.raises(InputError, match="names a class already"):
        generator.sample(10, {"sick": True}, balance=0.5)
    plain = MomentsGenerator(4.0, model="gaussian", unsafe_noise_seed=0).fit(rows(500), schema=SCHEMA.with_target(None))
    with pytest.raises(InputError, match="has none"):
        plain.sample(10, balance=0.5)
