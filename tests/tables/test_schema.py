"""What a schema accepts, what it refuses and with which words."""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false
# (pandas' types say that a column may be a frame, and wrong arguments are given on purpose)
from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.tables import Column, Schema

AGE = Column("age", "integer", bounds=(0, 120))
SEX = Column("sex", "categorical", categories=("female", "male"), other=True)
SEEN = Column("seen", "datetime", bounds=("2000-01-01", dt.date(2024, 12, 31)))
SICK = Column("sick", "boolean")
DOSE = Column("dose", "continuous", bounds=(0.0, 1e6), scale="log", nullable=True)
GRADE = Column("grade", "ordinal", categories=(1, 2, 3))
FULL = Schema((AGE, SEX, SEEN, SICK, DOSE, GRADE), target="sick")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "", "kind": "integer"}, "name"),
        ({"name": 3, "kind": "integer"}, "name"),
        ({"name": "a", "kind": "integr"}, "Did you mean 'integer'"),
        ({"name": "a", "kind": "float"}, "unknown `kind`"),
        ({"name": "a", "kind": "integer", "bounds": (5, 1)}, "inverted"),
        ({"name": "a", "kind": "integer", "bounds": (0, 1.5)}, "whole number"),
        ({"name": "a", "kind": "integer", "bounds": (0, 2**63)}, "64 bits"),
        ({"name": "a", "kind": "integer", "bounds": (0,)}, "two values"),
        ({"name": "a", "kind": "integer", "bounds": "01"}, "two values"),
        ({"name": "a", "kind": "integer", "bounds": (False, True)}, "must be a number"),
        ({"name": "a", "kind": "continuous", "bounds": (0, math.inf)}, "finite"),
        ({"name": "a", "kind": "continuous", "bounds": (math.nan, 1)}, "finite"),
        ({"name": "a", "kind": "continuous", "bounds": ("0", 1)}, "must be a number"),
        ({"name": "a", "kind": "continuous", "bounds": (-1, 1), "scale": "log"}, "at least 0"),
        ({"name": "a", "kind": "continuous", "bounds": (-1e308, 1e308)}, "further apart"),
        ({"name": "a", "kind": "continuous", "bounds": (5e-324, 1), "scale": "log"}, "too small"),
        ({"name": "a", "kind": "continuous", "scale": "sqrt"}, "linear"),
        ({"name": "a", "kind": "boolean", "scale": "log"}, "log `scale`"),
        ({"name": "a", "kind": "boolean", "bounds": (0, 1)}, "`bounds` are for"),
        ({"name": "a", "kind": "datetime", "bounds": ("yesterday", "2020-01-01")}, "not a date"),
        ({"name": "a", "kind": "datetime", "bounds": (0, 1)}, "must be a date"),
        ({"name": "a", "kind": "datetime", "bounds": (pd.NaT, pd.NaT)}, "must be a date"),
        ({"name": "a", "kind": "datetime", "bounds": ("2021-01-01", "2020-01-01")}, "inverted"),
        ({"name": "a", "kind": "integer", "categories": ("x",)}, "`categories` are for"),
        ({"name": "a", "kind": "categorical", "categories": "abc"}, "must be a list"),
        ({"name": "a", "kind": "categorical", "categories": ()}, "is empty"),
        ({"name": "a", "kind": "categorical", "categories": ("x", "y", "x")}, "'x' is listed more than once"),
        ({"name": "a", "kind": "categorical", "categories": (1, 1.0)}, "more than once"),
        ({"name": "a", "kind": "categorical", "categories": (1, "x")}, "mixes text and numbers"),
        ({"name": "a", "kind": "categorical", "categories": (True, False)}, "kind: boolean"),
        ({"name": "a", "kind": "categorical", "categories": (None,)}, "text or a number"),
        ({"name": "a", "kind": "categorical", "categories": (math.nan,)}, "finite"),
        ({"name": "a", "kind": "categorical", "categories": ("other",), "other": True}, "Leave 'other' out"),
        ({"name": "a", "kind": "ordinal", "other": True}, "`other` is for categorical"),
        ({"name": "a", "kind": "boolean", "nullable": "yes"}, "true or false"),
    ],
)
def test_a_wrong_column_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Column(**arguments)


def test_bounds_are_kept_in_one_form() -> None:
    low, high = np.datetime64("2000-01-01T10:00"), pd.Timestamp("2000-01-02 01:30+01:00")
    assert Column("t", "datetime", (low, high)).bounds == (
        dt.datetime(2000, 1, 1, 10),
        dt.datetime(2000, 1, 2, 0, 30),
    )
    assert Column("t", "datetime", ("1970-01-01", "1970-01-02")).number_bounds == (0, 86400)
    bounds = Column("n", "integer", (np.int64(1), 2.0)).bounds
    assert bounds == (1, 2)
    assert [type(bound) for bound in bounds or ()] == [int, int]
    assert Column("c", "categorical", categories=[np.int64(1)]).categories == (1,)


def test_a_schema_knows_its_columns() -> None:
    assert FULL.names == ("age", "sex", "seen", "sick", "dose", "grade")
    assert FULL["sex"] is SEX
    assert "sex" in FULL
    assert len(FULL) == 6
    assert next(iter(FULL)) is AGE
    assert FULL.features.names == ("age", "sex", "seen", "dose", "grade")
    assert FULL.features.target is None
    assert FULL.features.features == FULL.features
    assert FULL.with_target("grade").target == "grade"
    assert FULL.with_column(Column("age", "continuous"))["age"].kind == "continuous"
    assert SEX.labels == ("female", "male", "other")
    with pytest.raises(InputError, match="Did you mean 'age'"):
        FULL["agee"]
    with pytest.raises(InputError, match="no column 'zzz'"):
        FULL.with_column(Column("zzz", "boolean"))


@pytest.mark.parametrize(
    ("columns", "target", "words"),
    [
        ((), None, "at least one column"),
        ("age", None, "list of columns"),
        (("age",), None, "Column objects"),
        ((AGE, AGE), None, "'age' is in the schema more than once"),
        ((AGE, SICK), "sik", "Did you mean 'sick'"),
        ((DOSE, SICK), "dose", "nullable"),
    ],
)
def test_a_wrong_schema_is_refused(columns: tuple, target: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Schema(columns, target)


def test_what_is_missing_is_named_with_both_ways_out() -> None:
    schema = Schema((Column("age", "integer"), Column("sex", "categorical"), SICK, AGE.__class__("day", "datetime")))
    assert schema.missing() == ["age", "sex", "day"]
    with pytest.raises(InputError) as caught:
        schema.require_complete()
    for words in ("bounds of 'age', 'day'", "categories of 'sex'", "write them in the schema", "epsilon"):
        assert words in str(caught.value)
    FULL.require_complete()
    with pytest.raises(InputError, match="has no bounds"):
        _ = schema["age"].number_bounds
    with pytest.raises(InputError, match="has no categories"):
        _ = schema["sex"].labels


def test_a_draft_takes_names_and_types_only() -> None:
    frame = pd.DataFrame(
        {
            "b": [True, False],
            "i": [1, 2],
            "n": pd.array([1, None], dtype="Int64"),
            "f": [0.5, 1.5],
            "s": ["x", "y"],
            "o": pd.Series(["x", 1], dtype=object),
            "c": pd.Categorical(["u", "v"]),
            "cb": pd.Categorical([True, False]),
            "d": pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True),
            "y": [0, 1],
        }
    )
    schema = Schema.draft(frame, target="y")
    kinds = {column.name: column.kind for column in schema}
    assert kinds == {
        "b": "boolean",
        "i": "integer",
        "n": "integer",
        "f": "continuous",
        "s": "categorical",
        "o": "categorical",
        "c": "categorical",
        "cb": "categorical",
        "d": "datetime",
        "y": "categorical",
    }
    assert all(column.bounds is None and column.categories is None for column in schema)
    assert {column.name for column in schema if not column.nullable} == {"y"}
    holes = pd.array([7, None], dtype="Int64")
    other_values = frame.assign(i=holes, f=[np.nan, -1e9], s=["p", "q"], c=pd.Categorical(["w", "z"]))
    assert Schema.draft(other_values, target="y") == schema


def test_a_draft_refuses_what_no_kind_fits() -> None:
    with pytest.raises(InputError, match=r"'t' is of type complex"):
        Schema.draft(pd.DataFrame({"t": [1j]}))
    with pytest.raises(InputError, match="Did you mean 'label'"):
        Schema.draft(pd.DataFrame({"label": [1]}), target="labl")


def test_text_forms_round_trip() -> None:
    assert Schema.from_json(FULL.to_json()) == FULL
    assert Schema.from_yaml(FULL.to_yaml()) == FULL
    assert Schema.from_dict(FULL.to_dict()) == FULL
    assert json.loads(FULL.to_json())["version"] == 1
    draft = Schema((Column("a", "integer"), Column("b", "categorical")))
    assert "bounds: null" in draft.to_yaml()
    assert Schema.from_yaml(draft.to_yaml()) == draft


@given(
    st.lists(
        st.one_of(st.text(), st.sampled_from(["no", "yes", "null", "~", "1e6", "007", "1_000", "2020-01-01", "0x1F"])),
        min_size=1,
        unique=True,
    ),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2).map(sorted),
)
def test_any_text_and_any_bounds_survive_the_file(categories: list[str], bounds: list[float]) -> None:
    schema = Schema(
        (
            Column("c", "categorical", categories=tuple(categories)),
            Column("x", "continuous", bounds=(bounds[0] / 2, bounds[1] / 2)),
        )
    )
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_json(schema.to_json()) == schema


def test_yaml_is_read_as_people_write_it() -> None:
    schema = Schema.from_yaml(
        """
        version: 1
        target: smokes
        columns:
          - {name: country, kind: categorical, categories: [no, se, on, 007]}
          - {name: income, kind: continuous, bounds: [0, 1e6]}
          - {name: day, kind: datetime, bounds: [2020-01-01, 2020-12-31]}
          - {name: smokes, kind: boolean}
        """
    )
    assert schema["country"].categories == ("no", "se", "on", "007")
    assert schema["income"].bounds == (0, 1e6)
    assert schema["day"].bounds == (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("columns: []", "`version` is missing"),
        ("version: 2\ncolumns: []", "Upgrade"),
        ("version: true\ncolumns: []", "`version`"),
        ("version: 1", "`columns` must be a list"),
        ("version: 1\ncolumns: []", "at least one column"),
        ("version: 1\nversion: 1\ncolumns: []", "twice"),
        ("version: 1\ncolums: []", "Did you mean 'columns'"),
        ("version: 1\ncolumns: [3]", "column 1: expected keys and values"),
        ("version: 1\ncolumns: [{kind: integer}]", "`name` is missing"),
        ("version: 1\ncolumns: [{name: a}]", "`kind` is missing"),
        ("version: 1\ncolumns: [{name: a, kind: integer, bound: [0, 1]}]", "Did you mean 'bounds'"),
        ("version: 1\ncolumns: [{name: a, kind: integer, bounds: [2, 1]}]", "inverted"),
        ("version: 1\ntarget: b\ncolumns: [{name: a, kind: integer}]", "not a column"),
        ("[1, 2]", "expected keys and values, got list"),
        ("{", "not YAML"),
        ("version: !!python/object/apply:os.getcwd []", "tags such as"),
    ],
)
def test_a_wrong_file_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Schema.from_yaml(text)


@pytest.mark.parametrize(("text", "words"), [("{", "not valid JSON"), ('{"version": 1, "version": 1}', "twice")])
def test_wrong_json_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Schema.from_json(text)


def test_files(tmp_path: Path) -> None:
    for name in ("s.yaml", "s.yml", "s.json"):
        FULL.write(tmp_path / name)
        assert Schema.read(tmp_path / name) == FULL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "s.yaml", "s.yml"]
    with pytest.raises(InputError, match=r"Did you mean '\.yaml'"):
        FULL.write(tmp_path / "s.yamll")
    with pytest.raises(InputError, match="schema init"):
        Schema.read(tmp_path / "none.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match="cannot read"):
        Schema.read(tmp_path / "folder.yaml")
    (tmp_path / "empty.yaml").write_text(" \n")
    with pytest.raises(InputError, match="is empty"):
        Schema.read(tmp_path / "empty.yaml")
    (tmp_path / "latin.yaml").write_bytes("version: 1 # é".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8: byte 0xe9 at offset 13"):
        Schema.read(tmp_path / "latin.yaml")
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(InputError, match="larger than 4 MiB"):
        Schema.read(tmp_path / "huge.yaml")
