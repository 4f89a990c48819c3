"""What columns decide together: exclusive or, parity of three, and tables in which nothing of the kind is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import understudy
from understudy import MomentsGenerator
from understudy.methods.moments.plan import plan_tables
from understudy.privacy import Budget
from understudy.tables import Column, Schema

N = 40_000
RNG = np.random.default_rng(8)
BITS = RNG.random((N, 5)) < 0.5
NAMES = [f"b{i}" for i in range(5)]
SCHEMA = Schema(
    (*(Column(name, "boolean") for name in NAMES), Column("x", "continuous", bounds=(-6, 6)),
     Column("y", "categorical", categories=("no", "yes"))),
    target="y",
)  # fmt: skip


def _table(yes: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(BITS, columns=pd.Index(NAMES)).assign(x=RNG.normal(size=N))
    return frame.assign(y=np.where(yes ^ (RNG.random(N) < 0.02), "yes", "no"))


def _fitted(yes: np.ndarray) -> MomentsGenerator:
    generator = MomentsGenerator(1.0, 1e-5, random_state=0, unsafe_noise_seed=3)
    return generator.fit(_table(yes), schema=SCHEMA)


def _agree(rows: pd.DataFrame, columns: int) -> float:
    odd = rows[NAMES[:columns]].astype(bool).to_numpy().sum(axis=1) % 2 == 1
    return float(np.mean(odd == (rows["y"] == "yes")))


@pytest.mark.parametrize("columns", [2, 3])
def test_a_class_that_columns_decide_together_is_kept(columns: int, tmp_path: Path) -> None:
    generator = _fitted(BITS[:, :columns].sum(axis=1) % 2 == 1)
    assert generator.facts_["model"] == "tables"
    rows = generator.sample(5_000, random_state=1)
    assert _agree(rows, columns) > 0.95
    # Rows of one class are picked by the same model.
    only = generator.sample(1_000, random_state=2, conditions={"y": "yes"})
    assert _agree(only, columns) > 0.9
    generator.save(tmp_path / "release")
    again = understudy.load(tmp_path / "release")
    pd.testing.assert_frame_equal(again.sample(200, random_state=5), generator.sample(200, random_state=5))


def test_nothing_is_found_where_columns_add_up() -> None:
    chance = 1 / (1 + np.exp(-(BITS.astype(float) @ np.array([1.5, -1.0, 0.8, 0.0, 0.0]))))
    generator = _fitted(RNG.random(N) < chance)
    model = generator.model_
    terms = model.model.labels.terms  # type: ignore[union-attr]
    assert len(terms.pairs) == 0
    assert len(terms.triples) <= 1


def test_parities_are_looked_at_where_public_sizes_carry_them() -> None:
    budget = Budget(1.0, 1e-5)
    assert plan_tables(budget, 10, 100_000, labelled=True).parities is not None
    assert plan_tables(budget, 10, 3_000, labelled=True).parities is None
    assert plan_tables(budget, 10, 100_000, labelled=False).parities is None
    assert plan_tables(budget, 40, 10**6, labelled=True).parities is None
