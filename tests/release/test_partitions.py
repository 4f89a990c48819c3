"""Rows in a folder of Parquet files: the same rows however many files there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.errors import InputError
from understudy.methods.moments import MomentsGenerator
from understudy.release import sampling


@pytest.fixture(scope="module")
def model() -> MomentsGenerator:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 50, 500), "y": rng.choice(["a", "b"], 500)})
    made = MomentsGenerator(5.0, 1e-4, random_state=0, unsafe_noise_seed=0, anyway=True)
    return made.set_params(fitting__components=5, fitting__steps=5).fit(frame, "y")


def test_rows_do_not_depend_on_the_number_of_files(
    model: MomentsGenerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "CHUNK", 100)
    found: list[pd.DataFrame] = []
    for files in (1, 3, 40):
        drawn = model.sample_to(tmp_path / str(files), 1050, random_state=5, partitions=files)
        assert drawn.rows == 1050
        names = sorted(path.name for path in (tmp_path / str(files)).iterdir())
        assert names == [f"part-{number:05d}.parquet" for number in range(min(files, 11))]
        found.append(pd.concat([pd.read_parquet(tmp_path / str(files) / name) for name in names], ignore_index=True))
    pd.testing.assert_frame_equal(found[0], found[1])
    pd.testing.assert_frame_equal(found[0], found[2])
    assert len(found[0].drop_duplicates()) > 60
    drawn = model.sample_to(tmp_path / "some", 300, {"y": "b"}, 5, partitions=2)
    assert set(pd.read_parquet(tmp_path / "some")["y"]) == {"b"}


@pytest.mark.parametrize(("given", "words"), [({"partitions": 0}, "at least 1"), ({"partitions": 2}, "there already")])
def test_what_cannot_be_written_is_said(
    given: dict[str, Any], words: str, model: MomentsGenerator, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    with pytest.raises(InputError, match=words):
        model.sample_to(tmp_path / "out", 10, **given)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine.txt"]
