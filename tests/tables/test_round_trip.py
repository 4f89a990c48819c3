"""What comes out parses as what went in: grids, dates in any dress, codes, yes and no, spikes."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.methods.moments.generator import MomentsGenerator
from understudy.privacy import Budget
from understudy.tables import Column, Schema, validate_frame, write_table
from understudy.tables.coordinates import Coordinates
from understudy.tables.written import as_moments, as_written

ROWS = 3000
FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%SZ", "%d %b %Y %H:%M", "%Y%m%d"]
LOOKS = {
    "flag": r"[01]",
    "answer": r"yes|no|other",
    "tenth": r"-?\d+(\.\d)?",
    "cents": r"-?\d+(\.\d\d?)?",
    "whole": r"-?\d+",
    "hourly": r"\d{4}-\d\d-\d\d \d\d:00:00",
    "day": r"\d{4}-\d\d-\d\d",
    "zip": r"\d{5}|other",
    "zulu": r"\d{4}-\d\d-\d\dT\d\d:00:00Z",
    "german": r"\d\d\.\d\d\.\d{4}",
}


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    moments = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 8000, ROWS), unit="h"))
    return pd.DataFrame(
        {
            "flag": rng.integers(0, 2, ROWS),
            "answer": rng.choice(["yes", "no"], ROWS),
            "tenth": rng.normal(5, 1, ROWS).round(1),
            "cents": rng.gamma(2, 10, ROWS).round(2),
            "whole": np.where(rng.random(ROWS) < 0.7, 0, rng.integers(1, 5000, ROWS)),
            "hourly": moments.dt.strftime("%Y-%m-%d %H:%M:%S"),
            "day": moments.dt.strftime("%Y-%m-%d"),
            "zip": rng.choice(["01067", "04109"], ROWS),
            "zulu": moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "german": moments.dt.strftime("%d.%m.%Y"),
        }
    )


SCHEMA = Schema(
    (
        Column("zulu", "datetime", format="%Y-%m-%dT%H:%M:%SZ"),
        Column("german", "datetime", (datetime(2020, 1, 1), datetime(2020, 12, 31)), format="%d.%m.%Y"),
    )
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> MomentsGenerator:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows().to_csv(path, index=False)
    table = pd.read_csv(path, dtype=str)  # every cell as text, as a private file is read
    return MomentsGenerator(epsilon=20.0, random_state=0).fit(table, schema=SCHEMA, typed=False)


@pytest.mark.parametrize("chunk", [1 << 16, 100])
def test_every_cell_looks_as_the_table_wrote_it(
    model: MomentsGenerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    import understudy.release.sampling as sampling

    monkeypatch.setattr(sampling, "CHUNK", chunk)
    model.sample_to(tmp_path / "out.csv", 500, random_state=0)
    found = pd.read_csv(tmp_path / "out.csv", dtype=str)
    given = pd.read_csv(tmp_path / "out.csv")
    for name, look in LOOKS.items():
        wrong = [cell for cell in found[name] if not re.fullmatch(look, str(cell))]
        assert wrong == [], name
    assert set(given["flag"]) == {0, 1}
    assert np.mean(found["whole"].to_numpy() == "0") > 0.5, "a spike is gone"


@settings(max_examples=40, deadline=None)
@given(
    moments=st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), min_size=1, max_size=20),
    format=st.sampled_from(FORMATS),
)
def test_a_format_is_read_and_written_back(moments: list[datetime], format: str) -> None:
    text = pd.DataFrame({"at": pd.Series(pd.to_datetime(pd.Series(moments))).dt.strftime(format)})
    schema = Schema((Column("at", "datetime", (datetime(1899, 12, 31), datetime(2100, 1, 1)), format=format),))
    assert as_written(as_moments(text, schema), schema)["at"].tolist() == text["at"].tolist()
    validate_frame(text, schema)


def test_a_cell_of_another_format_is_missing() -> None:
    schema = Schema((Column("at", "datetime", nullable=True, format="%d.%m.%Y"),))
    found = as_moments(pd.DataFrame({"at": ["31.12.2020", "2020-12-31", None, "31.02.2020"]}), schema)["at"]
    assert found.isna().tolist() == [False, True, True, True]


def test_a_format_stands_in_the_schema_file() -> None:
    schema = Schema((Column("at", "datetime", nullable=True, format="%d.%m.%Y"),))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    for wrong in ("%H:%M", "dd.mm.yyyy", "%Y"):
        with pytest.raises(InputError, match="year, month and day"):
            Column("at", "datetime", format=wrong)
    with pytest.raises(InputError, match="for datetime columns"):
        Column("at", "integer", format="%d.%m.%Y")


def test_dates_in_a_csv_have_no_more_digits_than_they_need(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-02", None]), "at": pd.to_datetime(["2020-01-02 03:04:05"] * 2)}
    )
    write_table(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == [
        "2020-01-02,2020-01-02 03:04:05",
        ",2020-01-02 03:04:05",
    ]


def test_digits_in_a_column_of_text_are_a_code_and_stay_text() -> None:
    frame = pd.DataFrame({"zip": np.resize(np.array(["10115", "80331"], dtype=object), 4000)}).astype("str")
    made = Coordinates.release(frame, None, Budget(5.0, 1e-6, unsafe_noise_seed=0))
    assert made["zip"].labels == ("10115", "80331", "other")
    assert made.settled(frame, np.random.default_rng(0))["zip"].tolist() == frame["zip"].tolist()
