"""Files of every kind that people have: what was written comes back, types that only rows could tell come as text."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.postgres_server import Server
from understudy.cli.app import main
from understudy.errors import InputError
from understudy.tables import read_table
from understudy.tables.formats import TableSource, with_text_options
from understudy.tables.io import has_types


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "zip": ["01067", "04109", "99999"],
            "dose": [0.3, 12.5, np.nan],
            "whole": [1, 2, 3],
            "name": ["Müller", "O'Neil, A.", "x;y"],
            "seen": pd.to_datetime(["2020-01-02", "2021-02-03", "2022-03-04"]),
        }
    )


PACKED = (".xz", ".zip", ".bz2")
TEXT = {
    "zip": ["01067", "04109", "99999"],
    "dose": ["0.3", "12.5", None],
    "whole": ["1", "2", "3"],
    "name": ["Müller", "O'Neil, A.", "x;y"],
    "seen": ["2020-01-02", "2021-02-03", "2022-03-04"],
}


def cells(table: pd.DataFrame) -> dict[str, list[str | None]]:
    plain = {name: [None if pd.isna(value) else str(value) for value in table[name]] for name in table.columns}
    plain["seen"] = [None if value is None else value[:10] for value in plain["seen"]]
    return plain


def pack(path: Path, text: str, packer: Callable[..., bytes]) -> None:
    path.write_bytes(packer(text.encode()))


def zipped(path: Path, text: str, *more: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("table.csv", *more):
            archive.writestr(name, text)


def test_text_files_come_back_as_text(frame: pd.DataFrame, tmp_path: Path) -> None:
    text, tabs = frame.to_csv(index=False), frame.to_csv(index=False, sep="\t")
    (tmp_path / "a.tsv").write_text(tabs)
    pack(tmp_path / "a.csv.xz", text, lzma.compress)
    pack(tmp_path / "a.csv.bz2", text, bz2.compress)
    pack(tmp_path / "a.tsv.gz", tabs, gzip.compress)
    zipped(tmp_path / "a.csv.zip", text)
    zipped(tmp_path / "a.zip", text)
    for name in ("a.tsv", "a.csv.xz", "a.csv.bz2", "a.tsv.gz", "a.csv.zip", "a.zip"):
        assert cells(read_table(tmp_path / name)) == TEXT, name
        assert not has_types(tmp_path / name)


def test_separator_decimal_and_encoding_are_said(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text(frame.to_csv(index=False, sep=";", decimal=","), encoding="cp1252")
    assert "0,3" in path.read_text(encoding="cp1252")
    source = with_text_options(path, None, ",", "cp1252")
    assert cells(read_table(source)) == TEXT
    assert not has_types(source)
    odd = tmp_path / "table.dat"
    odd.write_text(frame.to_csv(index=False, sep="|"))
    assert cells(read_table(with_text_options(odd, "|", None, None))) == TEXT
    with pytest.raises(InputError, match="--separator ';'"):
        read_table(path)
    (tmp_path / "b.tsv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"--separator ','"):
        read_table(tmp_path / "b.tsv")


def test_a_number_is_the_same_with_either_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1.234,5;x,y\n-0,25;1,2,3\n")
    found = read_table(with_text_options(path, ";", ",", None))
    assert found["a"].tolist() == ["1234.5", "-0.25"]
    assert found["b"].tolist() == ["x,y", "1,2,3"]


def test_no_row_is_refused_or_moves_another(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tb\n1\t2\n3\n4\t5\t6\n\xff\t7\n8\t9\n")
    assert read_table(path)["a"].fillna("-").tolist() == ["1", "-", "-", "-", "8"]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson"])
def test_json(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    records = json.loads(str(frame.assign(seen=TEXT["seen"]).to_json(orient="records")))
    path.write_text(json.dumps(records) if suffix == ".json" else "\n".join(map(json.dumps, records)))
    assert cells(read_table(path)) == TEXT
    assert not has_types(path)


def test_a_line_that_is_no_object_is_a_blank_row(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1, "b": true}\nnonsense\n{"b": false, "c": 3}\n[1]\n')
    found = read_table(path)
    assert found["a"].fillna("-").tolist() == ["1", "-", "-", "-"]
    assert found["b"].fillna("-").tolist() == ["True", "-", "False", "-"]


def test_spreadsheets(frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    frame.to_excel(path, index=False, sheet_name="rows")
    assert cells(read_table(path)) == TEXT
    assert cells(read_table(f"{path}::rows")) == TEXT
    assert not has_types(path)
    with pytest.raises(InputError, match="Did you mean 'rows'"):
        read_table(f"{path}::row")
    (tmp_path / "b.xlsx").write_text("nonsense")
    with pytest.raises(InputError, match="not a whole spreadsheet"):
        read_table(tmp_path / "b.xlsx")


def test_sqlite(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        frame.assign(seen=TEXT["seen"]).to_sql("visits", connection, index=False)
    assert cells(read_table(path)) == TEXT
    assert cells(read_table(f"{path}::visits")) == TEXT
    assert cells(read_table(f"{path}::SELECT * FROM visits WHERE 1")) == TEXT
    assert not has_types(path)
    with pytest.raises(InputError, match="Did you mean 'visits'"):
        read_table(f"{path}::visit")
    with pytest.raises(InputError, match="there is no file"):
        read_table(tmp_path / "gone.db")
    assert not (tmp_path / "gone.db").exists()


def test_duckdb(frame: pd.DataFrame, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
        connection.execute(f"COPY visits TO '{tmp_path}/a.parquet'")
        connection.execute(f"COPY visits TO '{tmp_path}/a.csv'")
    for place in (path, f"{path}::visits", f"duckdb:SELECT * FROM '{tmp_path}/a.parquet'"):
        assert cells(read_table(place))["zip"] == TEXT["zip"]
        assert read_table(place)["dose"].tolist()[:2] == [0.3, 12.5]
        assert has_types(place)
    asked = read_table(f"{path}::SELECT zip, INTERVAL 90 MINUTE AS waited, INTERVAL 1 MONTH AS odd FROM visits")
    assert asked["zip"].tolist() == TEXT["zip"]
    assert str(asked["waited"][0]) == "0 days 01:30:00"
    assert asked["odd"].isna().to_numpy().all()
    with pytest.raises(InputError, match="has no table 'selected'"):
        read_table(f"{path}::selected")
    sniffed = f"duckdb:SELECT * FROM read_csv('{tmp_path}/a.csv')"
    assert not has_types(sniffed)
    assert cells(read_table(sniffed))["whole"] == TEXT["whole"]
    with pytest.raises(InputError, match="DuckDB cannot answer"):
        read_table("duckdb:SELEKT 1")


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".xpt"])
def test_files_of_statistics_programs_have_types(frame: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / f"a{suffix}"
    write = {".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}.get(suffix, pyreadstat.write_sav)
    write(frame if suffix != ".xpt" else frame.assign(name=["a", "b", "c"]), str(path))
    found = read_table(path)
    assert has_types(path)
    assert found["zip"].tolist() == TEXT["zip"]
    assert found["dose"].tolist()[:2] == [0.3, 12.5]
    assert found["whole"].tolist() == [1, 2, 3]
    assert pd.api.types.is_datetime64_any_dtype(found["seen"])


def test_postgresql_says_what_is_missing() -> None:
    with pytest.raises(InputError, match="name a table or a query after ::"):
        read_table("postgresql://me@localhost/base")
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="PostgreSQL refused") as refused:
        read_table("postgresql://me:secret@127.0.0.1:9/base?connect_timeout=2::visits")
    assert "secret" not in str(refused.value)


def test_postgresql_is_a_source_wherever_a_file_is(
    postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import psycopg

    url = postgres.database("clinic")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA ward")
        connection.execute(
            "CREATE TABLE ward.visits AS SELECT lpad((n % 4)::text, 5, '0') AS zip, n % 7 AS age, (n % 10 / 10.0)::numeric(3,1)"
            " AS dose, timestamptz '2020-01-01 00:00:00+00' + n * interval '1 hour' AS seen, n % 90 * interval '1 minute' AS"
            " waited, n % 2 = 0 AS sick, NULL::text AS nothing FROM generate_series(1, 2000) n"
        )
        # What Python cannot hold is missing; the table is not refused for one row.
        connection.execute("UPDATE ward.visits SET seen = 'infinity', waited = '1 mon' WHERE ctid = '(0,1)'")
    place = f"{url}::ward.visits"
    found = read_table(place)
    assert has_types(place)
    assert set(found["zip"]) == {"00000", "00001", "00002", "00003"}
    assert [str(found[name].dtype) for name in ("age", "dose", "seen", "waited", "sick")] == [
        "int64", "float64", "datetime64[us, UTC]", "timedelta64[us]", "bool"]  # fmt: skip
    assert (found["seen"].isna().sum(), found["waited"].isna().sum()) == (1, 1)
    assert len(read_table(f"{url}::SELECT age FROM ward.visits WHERE age = 3")) == 286
    for words in ("ward.gone", "SELECT 1 / 0", "SELECT age FROM ward.visits; DROP TABLE ward.visits"):
        with pytest.raises(InputError, match="PostgreSQL refused"):
            read_table(f"{url}::{words}")
    assert len(read_table(place)) == 2000, "a source is read, and nothing else"
    out = tmp_path / "codebook.json"
    assert _run("describe", place, "--epsilon", "20", "--drop", "nothing", "--out", str(out)) == 0
    told = {column["name"]: column for column in json.loads(out.read_text())["schema"]["columns"]}
    assert (told["seen"]["zone"], told["waited"]["kind"], told["zip"]["categories"][0]) == ("UTC", "duration", "00000")
    capsys.readouterr()
    assert _run("plan", "--data", place, "--target", "sick", "--epsilon", "1", "--json") == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (facts["rows"], facts["columns"], facts["classes"]) == (2000, 6, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"separator": "ab"}, "one character"),
        ({"decimal": "x"}, "a point or a comma"),
        ({"separator": ",", "decimal": ","}, "another --separator"),
        ({"encoding": "martian"}, "is unknown"),
    ],
)
def test_options_are_checked(given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableSource("a.csv", **given)  # pyright: ignore[reportArgumentType]


def test_damaged_and_endless_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for suffix in PACKED:
        (tmp_path / f"a.csv{suffix}").write_bytes(b"nonsense")
        with pytest.raises(InputError, match=r"damaged|cannot read"):
            read_table(tmp_path / f"a.csv{suffix}")
        with pytest.raises(InputError, match="there is no file"):
            read_table(tmp_path / f"gone.csv{suffix}")
    zipped(tmp_path / "two.zip", "a\n1\n", "more.csv")
    with pytest.raises(InputError, match="holds 2 files"):
        read_table(tmp_path / "two.zip")
    monkeypatch.setattr("understudy.untrusted._SMALL", 1000)
    pack(tmp_path / "bomb.csv.xz", "a\n" + "1\n" * 10**6, lzma.compress)
    with pytest.raises(InputError, match="would unpack to"):
        read_table(tmp_path / "bomb.csv.xz")
