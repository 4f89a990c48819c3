"""The one door for tables: every kind comes in the same, goes out whole, and a broken one is named."""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false
# (pandas' types say that a column may be a frame, and wrong arguments are given on purpose)
from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from understudy.errors import InputError
from understudy.files import whole_file
from understudy.tables import check_table_path, check_writable, csv_file, read_private, read_table, write_table
from understudy.tables.csv_file import LONGEST_LINE
from understudy.tables.io import is_nested, private_frame

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".feather", ".arrow")


def sample() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": [1, 2, 3],
            "big": pd.array([2**53 + 1, None, -1], dtype="Int64"),
            "x": [0.1, np.nan, 1e300],
            "s": ['a "quoted", text', None, "zwölf\nlines"],
            "b": [True, False, True],
            "m": pd.array([True, None, False], dtype="boolean"),
            "t": pd.to_datetime(["2020-01-01 10:00:00", None, "1999-12-31 23:59:59"]),
        }
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table{suffix}"
    write_table(sample(), path)
    back = read_table(path)
    pd.testing.assert_frame_equal(back.astype({"t": "datetime64[us]"}), sample().astype({"t": "datetime64[us]"}))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    pd.testing.assert_frame_equal(read_table(str(path)), back)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_single_column_keeps_its_missing_values(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"x": [1.5, np.nan, 2.5]})
    write_table(frame, tmp_path / f"t{suffix}")
    pd.testing.assert_frame_equal(read_table(tmp_path / f"t{suffix}"), frame)


def test_pandas_polars_and_arrow_come_in_alike() -> None:
    expected = pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "s": ["x", None], "x": [0.5, np.nan]})
    polars = pl.DataFrame({"n": [1, None], "s": ["x", None], "x": [0.5, None]})
    for table in (expected, polars, polars.to_arrow(), polars.to_arrow().to_reader()):
        pd.testing.assert_frame_equal(read_table(table), expected)
    assert isinstance(
        read_table(pl.DataFrame({"c": ["a"]}, schema={"c": pl.Categorical()}))["c"].dtype, pd.CategoricalDtype
    )


def test_csv_types(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "\ufeffwhole,holes,part,truth,day,moment,clock,none,text,late\n"
        "1,9007199254740993,0.5,true,2020-01-01,2020-01-01T10:00:00Z,10:30:00,,NA,1\n"
        "2,NA,NaN,False,2020-01-02,2020-01-01 11:00:00Z,10:31:00,,n/a,x\n",
        encoding="utf-8",
    )
    frame = read_table(path)
    kinds = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert kinds["whole"] == "int64"
    assert kinds["holes"] == "Int64"
    assert frame["holes"][0] == 2**53 + 1
    assert kinds["part"] == "float64"
    assert kinds["truth"] == "bool"
    assert kinds["day"].startswith("datetime64")
    assert "UTC" in kinds["moment"]
    assert frame["clock"].tolist() == ["10:30:00", "10:31:00"]
    assert frame["none"].isna().all()
    assert frame["text"].isna().tolist() == [True, False]
    assert frame["late"].tolist() == ["1", "x"]


def test_types_are_inferred_from_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n\n" + "1\n" * 600_000 + "late\n")
    assert read_table(path)["n"].iloc[-1] == "late"


def test_arrow_types_without_a_pandas_twin() -> None:
    import datetime as dt
    from decimal import Decimal

    table = pa.table(
        {"d": [dt.date(2020, 1, 1)], "c": [Decimal("1.5")], "d64": pa.array([dt.date(2020, 1, 1)], pa.date64())}
    )
    frame = read_table(table)
    assert frame["d"][0] == frame["d64"][0] == pd.Timestamp("2020-01-01")
    assert frame["c"].dtype == np.float64


def test_bytes_and_uuids_are_text_and_lists_keep_their_type() -> None:
    table = pa.table(
        {
            "bytes": [b"abc", None, b"\xff\x00"],
            "fixed": pa.array([b"ab", None, b"\xff\xff"], pa.binary(2)),
            "words": pa.array([b"a", b"b", b"a"]).dictionary_encode(),
            "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
            "list": [[1], [], [2, 3]],
            "record": [{"a": 1}] * 3,
        }
    )
    frame = read_table(table)
    assert frame["bytes"].dropna().tolist() == ["abc", "\\xff\x00"]
    assert frame["fixed"].dropna().tolist() == ["ab", "\\xff\\xff"]
    assert frame["words"].tolist() == ["a", "b", "a"]
    assert frame["uuid"].dropna().tolist()[0] == "30303030-3030-3030-3030-303030303030"
    assert [name for name in frame if is_nested(frame.dtypes[name])] == ["list", "record"]
    empty = read_table(table.slice(0, 0), empty_allowed=True)
    assert (empty.dtypes == frame.dtypes).all()  # told by the type, not by the rows


def test_a_stored_row_index_is_no_column(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2]}, index=[5, 7]).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").columns) == ["a"]


def test_codes_beside_words_are_written_as_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c": pd.Series([1, "other", None], dtype=object)})
    write_table(frame, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["c"].fillna("-").tolist() == ["1", "other", "-"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "only white space"),
        (b"\xef\xbb\xbf\n", "only white space"),
        (b"a,b\n", r"has columns \('a', 'b'\) but no rows"),
        (b"a,b\n1,2\n3\n", r"row #3 \(the header is row #1\): expected 2 columns, got 1"),
        (b"a,b\n1,2,3\n", "row #2.*expected 2 columns, got 3.*quotes"),
        (b"a,b,a\n1,2,3\n", r"t\.csv has duplicate column names: 'a'"),
        (b"a,\n1,2\n", "column 2 has no name"),
        (b"a;b\n1;2\n", "semicolons and no comma"),
        (b"a\tb\n1\t2\n", "tabs and no comma"),
        (b"a,b\nx\xe9,1\n", "byte 0xe9 at offset 5 is not UTF-8.*iconv -f WINDOWS-1252"),
        (b"a,b\n1,x\xc3", "byte 0xc3 at offset 7"),
        (b"caf\xe9,b\n1,2\n", "byte 0xe9 at offset 3"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16.*iconv -f UTF-16"),
        (b"a,b\n1,\x00\n", "zero byte at offset 6"),
        (b"PAR1....", "is a Parquet file.*Name it .parquet"),
        (b"ARROW1..", "Feather"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "Name it .csv.gz"),
        (b"PK\x03\x04", "spreadsheet"),
    ],
)
def test_a_broken_csv_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_table(path)


def test_a_wrong_byte_is_found_across_chunks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = b"a\n" + b"\xc3\xa9\n" * (LONGEST_LINE // 3 + 10)
    path.write_bytes(lines[: LONGEST_LINE - 1] + b"\xc3")
    cut = LONGEST_LINE - 1
    with path.open("ab") as file:
        file.write(b"(\n")
    with pytest.raises(InputError, match=rf"at offset ({cut}|{cut - 1})\b"):
        read_table(path)


@pytest.mark.parametrize("start", [b"", b"a,b\n1,2\n"])
def test_a_line_of_a_gigabyte_is_refused_without_being_read(tmp_path: Path, start: bytes) -> None:
    import time
    import tracemalloc

    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.write(start + b"7," * LONGEST_LINE * 2)
        file.truncate(2**30)
    tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(InputError, match="a line of more than 16 MB"):
        read_table(path)
    assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    tracemalloc.stop()
    assert time.process_time() - begun < 10


def test_a_long_line_is_refused_in_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(3):
            file.write(b"7," * (LONGEST_LINE // 2))
    with pytest.raises(InputError, match="a line of more than 16 MB"):
        read_table(path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    write_table(sample(), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for name, content, words in (
        ("a.parquet", whole[:-20], "not a whole .parquet"),
        ("b.feather", b"ARROW1 and no more", "not a whole .feather"),
        ("c.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "compressed file is damaged"),
        ("d.csv.gz", b"a,b\n1,2\n", "compressed file is damaged"),
        ("e.parquet", b"", "is empty"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=words):
            read_table(tmp_path / name)


def test_missing_files_and_unknown_suffixes(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"no file .*pateints\.csv\. Did you mean 'patients\.csv'"):
        read_table(tmp_path / "pateints.csv")
    with pytest.raises(InputError, match="no folder"):
        read_table(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(InputError, match=r"no file .*patients, nor a folder\. Did you mean 'patients\.csv'"):
        read_table(tmp_path / "patients")
    with pytest.raises(InputError, match="A folder of Parquet files is read by"):
        read_table(tmp_path)
    with pytest.raises(InputError, match=r"Did you mean '\.parquet'"):
        read_table(tmp_path / "t.parqet")
    with pytest.raises(InputError, match=r"Did you mean '\.csv\.gz'"):
        read_table(tmp_path / "t.cvs.gz")
    (tmp_path / "table").write_text("a\n1\n")
    with pytest.raises(InputError, match="suffix ''"):
        read_table(tmp_path / "table")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "duplicate column names: 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "duplicate column names: 'a'"),
        (pd.DataFrame({0: [1], "b": [2]}), r"no text \(0\).*astype\(str\)"),
        (pd.DataFrame({" ": [1]}), "column 1 has no name"),
        (pl.LazyFrame({"a": [1]}), r"not LazyFrame\. Call \.collect\(\)"),
        (42, "not int"),
    ],
)
def test_tables_that_are_none_are_refused(table: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_table(table)


def test_outputs_that_cannot_be_written_are_refused_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path / "nowhere" / "t.csv", "Make it first"),
        (tmp_path / "file" / "t.csv", "Make it first"),
        (Path("/proc/t.csv"), "cannot write"),
    ):
        with pytest.raises(InputError, match=words):
            check_writable(path)
        with pytest.raises(InputError, match=words):
            write_table(sample(), path)
    with pytest.raises(InputError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match=r"Did you mean '\.csv'"):
        check_table_path(tmp_path / "t.cs")
    assert check_table_path(tmp_path / "T.CSV") == ".csv"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def _run_out_of_space(path: Path) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(b"half")
        raise OSError(28, "No space left on device")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(sample(), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="cannot be written"):
        write_table(pd.DataFrame({"a": pd.Series([1j, "x"], dtype=object)}), path)
    with pytest.raises(InputError, match="Nothing was left"):
        _run_out_of_space(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert pq.read_table(path).num_rows == 3


# ---- private files -------------------------------------------------------------------------------------------------


def test_a_private_csv_is_text_and_what_cannot_be_read_is_a_blank_row_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,x\n2\n3,"y\nz"\n4,\xff\n5,v\0\n6,7,8\n9,\n')
    table = read_private(path)
    assert (table.typed, table.unreadable) == (False, 4)
    assert table.frame["a"].fillna("-").tolist() == ["1", "-", "3", "-", "-", "-", "9"]
    assert table.frame["b"].fillna("-").tolist() == ["x", "-", "y\nz", "-", "-", "-", "-"]
    assert {str(dtype) for dtype in table.frame.dtypes} == {"str"}


def test_a_line_that_is_too_long_is_a_blank_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "LONGEST_LINE", 8)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3," + b"x" * 40 + b"\n5,6")
    table = read_private(path)
    assert (table.unreadable, table.frame["a"].fillna("-").tolist()) == (1, ["1", "-", "5"])


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff,b\n1,2\n", "header line is not UTF-8"), (b"a,a\n1,2\n", "duplicate"), (b"a;b\n1;2\n", "semicolons")],
)
def test_a_private_file_is_refused_for_its_header(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_private(path)


def test_the_type_of_a_private_column_does_not_tell_whether_a_value_is_missing(tmp_path: Path) -> None:
    for values in ([True, False], [True, None]):
        pd.DataFrame({"b": pd.array(values, dtype="boolean")}).to_parquet(tmp_path / "t.parquet")
        table = read_private(tmp_path / "t.parquet")
        assert (table.typed, str(table.frame["b"].dtype)) == (True, "boolean")


def _broken() -> pa.Table:
    """Text of which one cell holds bytes that are none, plain and with levels."""
    ends = np.arange(0, 10, 3, dtype=np.int32)
    broken = pa.StringArray.from_buffers(3, pa.py_buffer(ends), pa.py_buffer(b"abcab\xffabc"))
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), broken)
    return pa.table({"text": broken, "coded": coded})


def test_a_batch_of_text_that_is_no_utf8_is_read() -> None:
    frame = private_frame(_broken(), "rows.parquet")
    assert frame["text"].tolist() == ["abc", "ab\\xff", "abc"]
    assert frame["coded"].tolist() == ["abc", "ab\\xff", "ab\\xff"]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_a_private_file_is_not_refused_for_the_bytes_of_a_cell(name: str, tmp_path: Path) -> None:
    write = pq.write_table if name == "t.parquet" else feather.write_feather
    write(_broken(), tmp_path / name)
    assert read_private(tmp_path / name).frame["text"].tolist() == ["abc", "ab\\xff", "abc"]
    with pytest.raises(InputError, match="not a whole"):
        read_table(tmp_path / name)
