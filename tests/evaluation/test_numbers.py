"""A target that is a number: R² and error of models that learn from real and from synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.cli.app import main
from understudy.errors import InputError
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.features import Rows
from understudy.evaluation.numbers import THREE, fit_and_score
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", (18, 90)),
        Column("town", "categorical", categories=("north", "south")),
        Column("rent", "continuous", (0.0, 3000.0)),
    ),
    "rent",
)
RIDGE = {"ridge regression": THREE["ridge regression"]}


def tenants(rows: int, seed: int = 0, *, shuffled: bool = False) -> pd.DataFrame:
    """Age and town decide 80 % of the variance of the rent; with `shuffled` it belongs to nobody."""
    random = np.random.default_rng(seed)
    age, town = random.integers(18, 90, rows), random.choice(["north", "south"], rows)
    rent = 10.0 * age + 400 * (town == "south") + random.normal(0, 144, rows) + 300
    return pd.DataFrame({"age": age, "town": town, "rent": random.permutation(rent) if shuffled else rent})


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_a_number_is_scored_by_its_variance_and_its_error(schema: Schema | None) -> None:
    made = {"good": tenants(400, 2), "shuffled": tenants(400, 3, shuffled=True)}
    found = evaluate(tenants(400), tenants(400, 1), made, "rent", schema, jobs=1, seeds=2)
    assert found.classes == ()
    assert found.positive is None
    assert found.tuned is None
    assert found.classifiers == tuple(THREE)
    assert found.real is not None
    assert found.real.mean["r2"].mean == pytest.approx(0.8, abs=0.05)
    assert found.real.mean["error"].mean == pytest.approx(144, rel=0.15)
    good, shuffled = (found[name].settings["B"].mean for name in made)
    assert good["r2"].mean == pytest.approx(found.real.mean["r2"].mean, abs=0.05)
    assert shuffled["r2"].mean < 0.1
    assert shuffled["error"].mean > 250
    assert set(found["good"].ranking) == {"features", "r2"}
    assert Evaluation.from_json(found.to_json()).to_json() == found.to_json()


def test_rows_without_the_number_are_left_out_and_noise_is_not_scored_without_end() -> None:
    train = tenants(100)
    holes = train.assign(rent=train["rent"].where(np.arange(100) > 9))
    found = evaluate(train, tenants(100, 1), {"s": holes}, "rent", SCHEMA, classifiers=RIDGE, jobs=1)
    assert found["s"].notes == ("10 rows without a number to estimate left out",)
    x = np.arange(20, dtype=np.float32)[:, None]
    far = fit_and_score(RIDGE["ridge regression"], Rows(x, 1e6 * np.arange(20.0)), Rows(x, np.arange(20.0)), 0)
    assert far.r2 == -1
    constant = fit_and_score(RIDGE["ridge regression"], Rows(x, np.ones(20)), Rows(x, np.arange(20.0)), 0)
    assert constant.error == pytest.approx(np.sqrt(np.mean((np.arange(20) - 1) ** 2)))
    assert "constant" in constant.note


def test_what_is_about_classes_is_refused() -> None:
    given: dict[str, Any] = {
        "train": tenants(50),
        "test": tenants(50, 1),
        "synthetic": {"s": tenants(50, 2)},
        "jobs": 1,
    }
    with pytest.raises(InputError, match="no positive class"):
        evaluate(**given, target="rent", positive="yes")
    with pytest.raises(InputError, match="'twelve' are classifiers"):
        evaluate(**given, target="rent", classifiers="twelve")
    with pytest.raises(InputError, match="one value only"):
        evaluate(**{**given, "test": tenants(50).assign(rent=1.0)}, target="rent", schema=SCHEMA)


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("train", 0), ("test", 1), ("made", 2)):
        tenants(200, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [f"--{o}={tmp_path}/{f}.csv" for o, f in (("train", "train"), ("test", "test"), ("synthetic", "made"))]
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", *files, "--target", "rent", "--jobs", "1", "--cache", str(tmp_path / "kept")])
    said = capsys.readouterr().out
    assert "made: models trained on it reach R² 0." in said
    assert "Mean of 3 models of 'rent'" in said
    assert "error" in said
