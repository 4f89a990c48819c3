"""DP-KIP from a start that was paid for: what it knows, what it costs, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy.errors import InputError
from understudy.methods.distillation import DPKIP, dpkip
from understudy.methods.distillation.domain import TableDomain
from understudy.methods.distillation.training import Support
from understudy.privacy import Budget, GaussianEvent, SubsampledGaussianEvent
from understudy.tables import Schema
from understudy.tables.column import Column

WARM: dict[str, Any] = {"warm_start": "moments", "epochs": 1, "batch": 50, "learning_rate": 1e-3, "random_state": 0}


def _table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    a = np.clip(0.48 + 0.04 * y + 0.01 * rng.normal(size=rows), 0, 1)
    return pd.DataFrame({"a": a, "b": rng.uniform(size=rows), "y": np.where(y, "yes", "no")})


def _schema() -> Schema:
    bounds = (0.0, 1.0)
    columns = (
        Column("a", "continuous", bounds=bounds),
        Column("b", "continuous", bounds=bounds),
        Column("y", "categorical", categories=("no", "yes")),
    )
    return Schema(columns, target="y")


@pytest.fixture
def at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step of DP-SGD moves the support; the steps are paid for all the same."""

    def keep(kernel: Any, ridge: Any, points: Any, targets: Any, present: Any, start: Support, *rest: Any) -> Support:
        del kernel, ridge, points, targets, present, rest
        return start

    monkeypatch.setattr(dpkip, "distil_privately", keep)


@pytest.mark.usefixtures("at_the_start")
def test_images_start_from_a_release_that_knows_their_classes() -> None:
    made = DPKIP.from_settings(epsilon=8.0, delta=1e-5, per_class=5, **WARM).fit(bars(900))
    assert made.score(bars(300, 1)) > 0.9
    assert np.bincount(np.asarray(made.support_.labels).argmax(axis=1)).tolist() == [5, 5, 5]


@pytest.mark.slow
@pytest.mark.usefixtures("at_the_start")
def test_a_table_starts_from_a_release_and_is_scaled_by_it() -> None:
    made = DPKIP.from_settings(epsilon=8.0, delta=1e-5, per_class=5, **WARM).fit(_table(3000), "y", _schema())
    assert made.score(_table(500, 1)) > 0.8
    assert isinstance(made.domain_, TableDomain)
    assert made.domain_.scale[0] < 0.1 < made.domain_.scale[1], "`a` hardly varies, and the release shows it"
    assert list(made.distilled_["y"]) == ["no", "yes"] * 5
    assert made.certificate_.body["release"]["clip"] == 1.0


def test_the_release_and_the_steps_share_one_budget(tmp_path: Path) -> None:
    made = DPKIP.from_settings(epsilon=4.0, delta=1e-5, per_class=2, **WARM).fit(bars(600))
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert 3.5 < back.certificate_.verify() <= 4
    told = back.certificate_.body["release"]
    assert (told["warm_start"], told["clip"]) == ("moments", 1e-6)
    assert {type(event) for event in back.certificate_.events} >= {GaussianEvent, SubsampledGaussianEvent}


@pytest.mark.slow
def test_more_for_the_start_leaves_less_for_the_steps() -> None:
    alone = (
        DPKIP.from_settings(epsilon=4.0, delta=1e-5, per_class=2, **{**WARM, "warm_start": None})
        .fit(bars(600))
        .certificate_.body["release"]
    )
    assert "warm_start" not in alone
    noises = [alone["noise"]]
    for share in (0.2, 0.8):
        made = DPKIP.from_settings(epsilon=4.0, delta=1e-5, per_class=2, **WARM, warm_epsilon_share=share).fit(
            bars(600)
        )
        noises.append(made.certificate_.body["release"]["noise"])
    assert noises == sorted(noises)
    assert noises[2] > 1.05 * noises[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"warm_start": "data"}, "moments"), ({"warm_epsilon_share": 0.0}, "above 0"), ({"warm_epsilon_share": 1.0}, "below 1")],
)  # fmt: skip
def test_wrong_starts_are_refused_before_anything_is_spent(settings: Any, said: str) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match=said):
        DPKIP.from_settings(**{**WARM, **settings}).fit(bars(90), budget=budget)
    assert not budget.events
