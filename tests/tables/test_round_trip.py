"""What comes out parses as what went in: grids, dates in any dress, codes, yes and no, spikes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from pyarrow import parquet

from understudy.errors import InputError
from understudy.methods.moments.generator import MomentsGenerator
from understudy.privacy import Budget
from understudy.tables import Column, Encoder, Schema, read_table, validate_frame, write_table
from understudy.tables.aside import Aside, with_aside
from understudy.tables.coordinates import Coordinates
from understudy.tables.forms import DURATION_FORMATS, duration_text
from understudy.tables.written import as_read, as_written

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
    "offset": r"\d{4}-\d\d-\d\dT\d\d:00:00\+00:00",
    "german": r"\d\d\.\d\d\.\d{4}",
    "british": r"\d\d/\d\d/\d{4}",
    "waited": r"\d+:[0-5]\d:00",
    "stayed": r"\d+ days \d\d:00:00",
    "ran": r"P(\d+D)?(T\d+M)?|PT\d+H(\d+M)?",
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
            # Few begin with a zero: by number alone these would be numbers, and the zeros gone.
            "zip": rng.choice(["01067", "10115", "80331"], ROWS, p=[0.07, 0.53, 0.4]),
            "zulu": moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "offset": moments.dt.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
            "german": moments.dt.strftime("%d.%m.%Y"),
            "british": moments.dt.strftime("%d/%m/%Y"),
            "waited": [duration_text(60.0 * minutes, "%H:%M:%S") for minutes in rng.integers(0, 2000, ROWS)],
            "stayed": pd.Series(pd.to_timedelta(rng.integers(0, 200, ROWS), unit="h")).astype(str),
            "ran": [f"PT{minutes}M" for minutes in rng.integers(1, 59, ROWS)],
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> MomentsGenerator:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows().to_csv(path, index=False)
    table = pd.read_csv(path, dtype=str)  # every cell as text, as a private file is read
    return MomentsGenerator(epsilon=30.0, random_state=0, unsafe_noise_seed=0).fit(table, typed=False)


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
    assert "01067" in set(found["zip"])
    assert pd.to_datetime(found["british"], format="%d/%m/%Y").between("2019-12-01", "2021-02-01").all()
    assert np.mean(found["whole"].to_numpy() == "0") > 0.5, "a spike is gone"


def test_types_of_a_file_come_back(tmp_path: Path) -> None:
    """Zone, clock and durations of a Parquet file; what is said by types is not paid for."""
    rng = np.random.default_rng(0)
    hours = pd.to_timedelta(rng.integers(0, 8000, ROWS), unit="h")
    frame = pd.DataFrame(
        {
            "berlin": pd.Series(pd.Timestamp("2020-01-01", tz="UTC") + hours).dt.tz_convert("Europe/Berlin"),
            "long": pd.Series(pd.to_timedelta(rng.integers(0, 500, ROWS), unit="min")),
            "zip": pd.Series(rng.choice(["01067", "10115"], ROWS), dtype="str"),
        }
    )
    model = MomentsGenerator(epsilon=30.0, random_state=0, unsafe_noise_seed=0).fit(frame)
    model.sample_to(tmp_path / "out.parquet", 200, random_state=0)
    model.sample_to(tmp_path / "out.csv", 200, random_state=0)
    types = parquet.read_schema(tmp_path / "out.parquet")
    assert str(types.field("berlin").type) == "timestamp[us, tz=Europe/Berlin]"
    assert str(types.field("long").type) == "duration[us]"
    found = read_table(tmp_path / "out.parquet")
    assert set(found["berlin"].dt.minute) == {0}
    assert not np.any(found["long"].dt.total_seconds().to_numpy() % 60)
    text = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:00:00[+]0[12]:?00", cell) for cell in text["berlin"]), text[
        "berlin"
    ][0]
    assert all(re.fullmatch(r"0 days \d\d:\d\d:00", cell) for cell in text["long"])
    assert set(text["zip"]) <= {"01067", "10115", "other"}


def test_a_form_is_kept_where_only_kind_and_range_are_declared() -> None:
    table = rows()[["zulu", "waited"]]
    columns = (
        Column("zulu", "datetime", (datetime(2020, 1, 1), datetime(2021, 1, 1))),
        Column("waited", "duration"),
    )
    made = Coordinates.release(table, Schema(columns), Budget(20.0, 1e-6, unsafe_noise_seed=0), typed=False)
    assert [column.format for column in made.schema] == ["%Y-%m-%dT%H:%M:%SZ", "%H:%M:%S"]
    assert [column.step for column in made] == [3600.0, 60.0]


# One column of each kind, and what its cells look like in a file.
WHOLE = st.integers(-500, 500)
SECONDS = st.integers(-(10**6), 10**7)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)).map(lambda moment: moment.replace(microsecond=0))
ENDS = (datetime(1899, 12, 31), datetime(2100, 1, 2))
LENGTHS = (timedelta(days=-20), timedelta(days=200))
WARDS = ("007", "11", "A3")
EVERY_KIND: list[tuple[Column, st.SearchStrategy[str]]] = [
    (Column("a", "integer", (-500, 500), nullable=True), WHOLE.map(str)),
    (Column("a", "integer", format="%05d", nullable=True), st.integers(0, 99999).map("{:05d}".format)),
    (Column("a", "continuous", (-60, 60), nullable=True), WHOLE.map(lambda tenths: str(tenths / 10 + 0.01))),
    (Column("a", "boolean", nullable=True), st.sampled_from(["true", "false"])),
    (Column("a", "boolean", nullable=True, format="0/1"), st.sampled_from(["0", "1"])),
    (Column("a", "boolean", nullable=True, format="nein/ja"), st.sampled_from(["nein", "ja"])),
    (Column("a", "categorical", categories=("x", "y z"), nullable=True), st.sampled_from(["x", "y z"])),
    (Column("a", "categorical", categories=(1, 2, 10), nullable=True), st.sampled_from(["1", "2", "10"])),
    (Column("a", "ordinal", categories=("low", "high"), nullable=True), st.sampled_from(["low", "high"])),
    (Column("a", "code", categories=WARDS, nullable=True), st.sampled_from(WARDS)),
    (Column("a", "code", categories=(1067, 10115), format="%05d", nullable=True), st.sampled_from(["01067", "10115"])),
    *(
        (Column("a", "datetime", ENDS, nullable=True, format=f), MOMENTS.map(lambda m, f=f: m.strftime(f)))
        for f in FORMATS
    ),
    (
        Column("a", "datetime", ENDS, nullable=True, format="%Y-%m-%dT%H:%M:%S%z", zone="+05:30"),
        MOMENTS.map(lambda moment: moment.isoformat() + "+05:30"),
    ),
    *(
        (Column("a", "duration", LENGTHS, nullable=True, format=f), SECONDS.map(lambda s, f=f: duration_text(s, f)))
        for f in DURATION_FORMATS
        if f != "%H:%M"
    ),
    (
        Column("a", "duration", LENGTHS, nullable=True, format="%H:%M"),
        SECONDS.map(lambda s: duration_text(s // 60 * 60, "%H:%M")),
    ),
]


@seed(0)
@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize(("column", "cells"), EVERY_KIND, ids=lambda given: getattr(given, "kind", ""))
@given(data=st.data())
def test_text_of_every_kind_is_read_and_written_back(
    column: Column, cells: st.SearchStrategy[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The whole way of a cell: text in, coordinates, a frame, text out. Also in a schema file and through the encoder."""
    texts = data.draw(st.lists(st.one_of(cells, st.none()), min_size=1, max_size=12))
    note, name = Aside("note", "text", 0), Aside("name", "id", 2, "P-###")
    schema = Schema((column,), aside=(note, name, Aside("gone", "drop", 3)))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    frame = pd.DataFrame({"a": pd.Series(texts, dtype="str")})
    settled = Coordinates.declared(schema, len(frame)).settled(as_read(frame, schema), np.random.default_rng(0))
    encoder = Encoder(schema)
    for drawn in (settled, encoder.decode(encoder.encode(settled))):
        path = tmp_path_factory.mktemp("out") / "out.csv"
        write_table(with_aside(as_written(drawn, schema), schema), path)
        found = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert list(found.columns) == ["note", "a", "name"]
        if column.kind == "continuous" and drawn is not settled:
            near = [(float(one), float(other or "nan")) for one, other in zip(found["a"], texts, strict=True) if one]
            assert all(abs(one - other) < 1e-4 for one, other in near)
        else:
            assert found["a"].tolist() == [text or "" for text in texts]
        assert found["name"].tolist() == [f"P-{row:03d}" for row in range(1, len(texts) + 1)]
        assert set(found["note"]) == {""}
    if any(texts):
        validate_frame(read_table(path), schema)  # what evaluations read


def test_a_cell_of_another_format_is_missing() -> None:
    schema = Schema((Column("at", "datetime", nullable=True, format="%d.%m.%Y"),))
    found = as_read(pd.DataFrame({"at": ["31.12.2020", "2020-12-31", None, "31.02.2020"]}), schema)["at"]
    assert found.isna().tolist() == [False, True, True, True]


def test_a_format_stands_in_the_schema_file() -> None:
    schema = Schema((Column("at", "datetime", nullable=True, format="%d.%m.%Y"),))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    for wrong in ("%H:%M", "dd.mm.yyyy", "%Y"):
        with pytest.raises(InputError, match="year, month and day"):
            Column("at", "datetime", format=wrong)
    with pytest.raises(InputError, match="has no `format`"):
        Column("at", "ordinal", format="%d.%m.%Y")
    with pytest.raises(InputError, match="two words"):
        Column("at", "boolean", format="0/0")
    with pytest.raises(InputError, match="written as %05d"):
        Column("at", "integer", format="%d.%m.%Y")
    with pytest.raises(InputError, match="of a duration is one of"):
        Column("at", "duration", format="%d.%m.%Y")
    with pytest.raises(InputError, match="is no time zone"):
        Column("at", "datetime", zone="Mars/Olympus")


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
