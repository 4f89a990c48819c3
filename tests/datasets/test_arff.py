"""ARFF as OpenML serves it."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.datasets.arff import read_arff
from understudy.errors import InputError


def read(tmp_path: Path, text: str, numeric: str = "float64") -> pd.DataFrame:
    (tmp_path / "t.arff").write_text(text, encoding="utf-8")
    return read_arff(tmp_path / "t.arff", numeric=numeric)


def test_names_types_quotes_and_missing_values(tmp_path: Path) -> None:
    frame = read(
        tmp_path,
        "% a comment\n@RELATION 'some thing'\n\n@ATTRIBUTE age NUMERIC\n"
        "@attribute 'the state' {'New York', NA, 'D\\'C'}\n@Attribute \"x y\" real\n@attribute n integer\n"
        "@attribute note string\n@DATA\n1, 'New York', 2.5, 3, 'a, b'\n?, NA, ?, -1, ?\n4,'D\\'C',1e3,0,c\n",
    )
    assert list(frame.columns) == ["age", "the state", "x y", "n", "note"]
    assert frame["age"].tolist()[0::2] == [1.0, 4.0]
    assert frame["age"].isna().tolist() == [False, True, False]
    assert frame["the state"].tolist() == ["New York", "NA", "D'C"]
    assert frame["x y"].tolist()[2] == 1000.0
    assert frame["note"].isna().tolist() == [False, True, False]
    assert frame["note"].tolist()[0] == "a, b"


def test_double_quotes(tmp_path: Path) -> None:
    frame = read(tmp_path, '@attribute a {"x y", z}\n@data\n"x y"\nz\n')
    assert frame["a"].tolist() == ["x y", "z"]


def test_bytes(tmp_path: Path) -> None:
    frame = read(tmp_path, "@attribute p1 numeric\n@attribute p2 numeric\n@data\n0,255\n1,2\n", numeric="uint8")
    assert frame.dtypes.tolist() == [np.uint8, np.uint8]
    with pytest.raises(ValueError, match="cannot safely convert"):
        read(tmp_path, "@attribute p1 numeric\n@data\n0.5\n", numeric="uint8")


def test_what_is_no_dense_arff_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no @data line"):
        read(tmp_path, "<html>not found</html>")
    with pytest.raises(InputError, match="sparse"):
        read(tmp_path, "@attribute a numeric\n@data\n{0 1}\n")


@given(st.lists(st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=3), min_size=1, max_size=20))
def test_numbers_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    text = "".join(f"@attribute c{i} numeric\n" for i in range(3)) + "@data\n"
    text += "\n".join(",".join(map(str, row)) for row in rows)
    assert read(tmp_path_factory.mktemp("arff"), text).to_numpy().tolist() == rows


def test_a_file_of_openml_itself(tmp_path: Path) -> None:
    """scikit-learn ships the first rows of OpenML's adult for its own tests; wheels may come without them."""
    spec = importlib.util.find_spec("sklearn")
    assert spec is not None
    packed = Path(str(spec.origin)).parent / "datasets/tests/data/openml/id_1590/data-v1-dl-1595261.arff.gz"
    if not packed.is_file():
        pytest.skip("this scikit-learn comes without its test data")
    text = gzip.decompress(packed.read_bytes()).decode()
    frame = read(tmp_path, text)
    first = frame.iloc[0]
    assert (first["age"], first["workclass"], first["fnlwgt"], first["class"]) == (25, "Private", 226802, "<=50K")
    assert frame["occupation"].isna().tolist().count(True) == 2
