"""What a release says of itself: right where the answer is known, the same from disk, and nothing but words for numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.release.verdict import IN_NOISE, STANDS_OUT, ClassMeans, Evidence, Verdict, judge, unjudged
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        *(Column(f"x{i}", "continuous", bounds=(-6, 6)) for i in range(4)),
        Column("y", "categorical", categories=("no", "yes")),
    ),
    "y",
)


def patients(rows: int, apart: float, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    yes = rng.random(rows) < 0.4
    columns = {f"x{i}": rng.normal(np.where(yes, apart, 0.0), 1.0).clip(-6, 6) for i in range(4)}
    return pd.DataFrame(columns).assign(y=np.where(yes, "yes", "no"))


def means(apart: float, noise: float, rows: float = 1000.0) -> ClassMeans:
    """Two classes, ten axes, means that lie `apart` on each, measured with noise."""
    drawn = np.random.default_rng(1).normal(size=(2, 10)) * noise
    return ClassMeans(
        np.array([[0.0], [apart]]) + drawn, np.full((2, 10), noise), np.ones((2, 10)), np.array([rows, rows])
    )


def test_classes_that_stand_out_are_told_from_those_that_do_not() -> None:
    assert means(1.0, 0.05).stands_out() > STANDS_OUT
    assert means(0.0, 0.05).stands_out() < IN_NOISE
    assert means(1.0, 3.0).stands_out() < IN_NOISE
    # However little noise, so few rows say nothing either.
    assert means(0.1, 0.001, rows=5).stands_out() < IN_NOISE
    drowned = replace(means(1.0, 0.05), counts=np.array([1000.0, 3.0]), count_noise=10.0)
    assert drowned.stands_out() == 0.0
    found = [means(0.5, noise).stands_out() for noise in (0.01, 0.1, 0.5)]
    assert found == sorted(found, reverse=True)


def test_the_sentence_names_what_the_rows_are_for() -> None:
    fine = judge(Evidence(0.01, 0.02, "sick", means(1.0, 0.05)))
    assert fine.grade == "good"
    assert fine.sentence().startswith("Good for predicting 'sick', how single columns are spread")
    poor = judge(Evidence(0.2, 0.9, "sick", means(0.0, 1.0), lost=["'rare'"]))
    assert poor.grade == "lost"
    assert poor.with_care == ("how single columns are spread",)
    assert "not for predicting 'sick', how pairs of columns go together, the classes 'rare'" in poor.sentence()
    assert judge(Evidence(0.01, 0.2)).grade == "thin"
    assert judge(Evidence(0.6, 0.02, "sick", means(1.0, 0.05))).grade == "thin"
    # A target of which no classes were found at all.
    assert judge(Evidence(0.01, 0.02, "sick")).grade == "lost"
    assert "cannot judge itself" in unjudged("gpate").sentence()


def test_from_plain_values_and_back() -> None:
    made = judge(Evidence(0.01, 0.2, "sick", means(1.0, 0.05)))
    assert Verdict.from_dict(made.to_dict()) == made
    for damaged in (None, {}, {**made.to_dict(), "grade": "splendid"}, {**made.to_dict(), "figures": [1]}):
        with pytest.raises(InputError, match="no verdict"):
            Verdict.from_dict(damaged)


@pytest.mark.parametrize("model", ["gaussian", "tables"])
def test_a_release_judges_itself(model: str, tmp_path: Path) -> None:
    def fitted(apart: float, epsilon: float) -> MomentsGenerator:
        generator = MomentsGenerator.from_settings(
            epsilon=epsilon, model=model, steps=20, components=5, random_state=0, unsafe_noise_seed=3
        )
        return generator.fit(patients(3000, apart), schema=SCHEMA)

    clear = fitted(1.0, 3.0)
    assert clear.verdict_.grade == "good"
    assert fitted(0.0, 3.0).verdict_.grade == "lost"
    assert fitted(1.0, 0.02 if model == "gaussian" else 0.05).verdict_.grade != "good"
    clear.save(tmp_path / "release")
    assert load(tmp_path / "release").verdict_ == clear.verdict_
    assert clear.certificate_.body["release"]["rows"] == 3000


def test_without_a_target_columns_and_pairs_are_judged() -> None:
    frame = patients(3000, 1.0).drop(columns="y")
    schema = Schema(SCHEMA.columns[:-1])
    made = MomentsGenerator(5.0, random_state=0, unsafe_noise_seed=0).fit(frame, schema=schema).verdict_
    assert made.grade == "good"
    assert all("predicting" not in what for what in made.good_for)
