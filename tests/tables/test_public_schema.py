"""A schema from public rows: it says what they show, leaves room for what they do not, and encodes both tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.tables import Column, Encoder, validate_frame
from understudy.tables.public import schema_from_public


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [31, 64, 20],
            "dose": [0.5, np.nan, -2.5],
            "ward": ["north", "south", "north"],
            "smokes": [True, False, True],
            "seen": pd.to_datetime(["2024-01-02 00:00:00", "2023-05-06 07:08:09", "2024-01-01 00:00:00"]),
            "sick": ["yes", "no", "yes"],
        }
    )


def test_what_public_rows_show() -> None:
    schema = schema_from_public(frame(), "sick")
    assert schema.target is None
    assert schema.columns == (
        Column("age", "integer", bounds=(20, 64), nullable=True),
        Column("dose", "continuous", bounds=(-2.5, 0.5), nullable=True),
        Column("ward", "categorical", categories=("north", "south"), nullable=True, other=True),
        Column("smokes", "boolean", nullable=True),
        Column("seen", "datetime", bounds=(datetime(2023, 5, 6, 7, 8, 9), datetime(2024, 1, 2)), nullable=True),
    )
    assert schema.missing() == []
    assert "sick" in schema_from_public(frame())
    assert schema_from_public(frame(), "not there") == schema_from_public(frame())
    whole = frame().drop(columns="dose")
    assert schema_from_public(pl.from_pandas(whole), "sick") == schema_from_public(whole, "sick")


def test_sensitive_rows_may_hold_what_no_public_row_does() -> None:
    schema = schema_from_public(frame(), "sick")
    private = pd.DataFrame(
        {
            "age": pd.array([200, None], dtype="Int64"),
            "dose": [9.0, -9.0],
            "ward": ["east", None],
            "smokes": pd.array([True, None], dtype="boolean"),
            "seen": pd.to_datetime(["1990-01-01", None]),
        }
    )
    notes = validate_frame(private, schema)
    assert any("'age'" in note and "clipped" in note for note in notes)
    back = Encoder(schema).decode(Encoder(schema).encode(private))
    assert back["age"].tolist() == [64, pd.NA]
    assert back["dose"].tolist() == [0.5, -2.5]
    assert back["ward"].iloc[0] == "other"
    assert back["ward"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7, 7], {"bounds": (7, 7)}),
        ([0.25, 0.25], {"bounds": (0.25, 0.25)}),
        ([1e300, 1e300], {"bounds": (1e300, 1e300)}),
        ([2**63 - 1, 2**53 + 1], {"bounds": (2**53 + 1, 2**63 - 1)}),
        (pd.to_datetime(["1700-01-01", "2900-01-01"]), {"bounds": (datetime(1700, 1, 1), datetime(2900, 1, 1))}),
        (["a", "a"], {"categories": ("a",), "other": True}),
        (["other", "a"], {"categories": ("a",), "other": True}),
        (["other", "other"], {"categories": ("other",), "other": False}),
        (pd.Categorical([3, 1], categories=[1, 2, 3]), {"categories": (1, 2, 3), "other": True}),
    ],
)
def test_odd_columns(values: Any, expected: dict[str, Any]) -> None:
    public = pd.DataFrame({"x": values})
    (column,) = schema_from_public(public)
    assert {name: getattr(column, name) for name in expected} == expected
    assert validate_frame(public, schema_from_public(public)) is not None


@given(
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9),
    texts=st.lists(st.sampled_from(["a", "b", "other", "é"]), min_size=1, max_size=9),
)
def test_public_rows_fit_their_own_schema(numbers: list[int], texts: list[str]) -> None:
    rows = min(len(numbers), len(texts))
    public = pd.DataFrame({"n": np.array(numbers[:rows], dtype=np.int64), "t": texts[:rows]})
    schema = schema_from_public(public)
    assert schema["n"].bounds == (min(numbers[:rows]), max(numbers[:rows]))
    assert not any("clipped" in note for note in validate_frame(public, schema))


@pytest.mark.parametrize(
    ("table", "target", "words"),
    [
        (pd.DataFrame({"x": [1.0, np.nan], "y": [np.nan, np.nan]}), None, "column 'y' has no value in the public rows"),
        (pd.DataFrame({"y": pd.Series([None, None], dtype="str")}), None, "column 'y' has no value in the public rows"),
        (pd.DataFrame({"x": [1.0, np.inf]}), None, "is infinite"),
        (pd.DataFrame({"x": [1.0]})[:0], None, "no rows"),
        (pd.DataFrame({"sick": [1]}), "sick", "no columns"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), None, "duplicate column names"),
        (pd.DataFrame({"x": [1j]}), None, "no kind of column fits"),
        (pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}), None, "mixes text and numbers"),
        ([1, 2], None, "a table must be"),
    ],
)
def test_public_rows_that_say_nothing(table: Any, target: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        schema_from_public(table, target)
