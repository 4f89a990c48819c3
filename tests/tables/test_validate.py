"""What is said about a table before anything is spent on it."""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false
# (pandas' types say that a column may be a frame, and wrong arguments are given on purpose)
from __future__ import annotations

import math

import pandas as pd
import pytest

from understudy.errors import InputError
from understudy.tables import Column, Schema, validate_frame

SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 100)),
        Column("dose", "continuous", bounds=(0, 1), nullable=True),
        Column("ward", "categorical", categories=("n", "s"), nullable=True),
        Column("sick", "boolean"),
    ),
    target="sick",
)


def table(**changes: object) -> pd.DataFrame:
    plain = {"age": [1, 2, 3], "dose": [0.1, 0.2, None], "ward": ["n", "s", "n"], "sick": [True, False, True]}
    return pd.DataFrame(plain | changes)


def test_a_good_table_has_nothing_to_say() -> None:
    assert validate_frame(table(), SCHEMA) == ()
    assert validate_frame(table()[["sick", "ward", "dose", "age"]], SCHEMA) == ()


def test_odd_but_harmless_things_are_notes(recwarn: pytest.WarningsRecorder) -> None:
    notes = validate_frame(table(age=[5, 5, 5], dose=[2, -1, 0.5], ward=[None] * 3), SCHEMA)
    assert notes == (
        "column 'age': constant, the same value in every row",
        "column 'dose': 2 of 3 values lie outside its bounds and will be clipped",
        "column 'ward': every value is missing",
    )
    assert not recwarn


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (table().drop(columns="age"), "lacks 'age', which the schema has"),
        (table().rename(columns={"dose": "dosis"}), "lacks 'dose'.*Did you mean 'dosis'.*does not know"),
        (table(extra=1), "has 'extra', which the schema does not know.*drop"),
        (table(dose=[0.1, math.inf, 0]), r"'dose', row 2 .*inf is infinite"),
        (table(sick=[True, None, False]), r"target 'sick' is missing in 1 of 3 rows, first in row 2"),
        (table(sick=[True] * 3), "one class only"),
        (table(age=[1, None, 2]), "'age' has a missing value in row 2"),
        (table(age=["a", "b", "c"]), "'a' is not a number"),
        (table(ward=["n", "x", "s"]), "'x' is none of its categories.*other: true"),
        (table(ward=[1, 2, 3]), "categories are text"),
        (table(sick=["a", "b", "c"]), "neither true nor false"),
    ],
)
def test_what_does_not_fit_is_refused(frame: pd.DataFrame, words: str) -> None:
    with pytest.raises(InputError, match=words):
        validate_frame(frame, SCHEMA)


def test_the_target_can_be_named_and_left_out() -> None:
    one_class = table(sick=[True] * 3)
    assert validate_frame(one_class.drop(columns="sick"), SCHEMA.features) == ()
    assert validate_frame(one_class, SCHEMA.with_target("age")) != ()
    with pytest.raises(InputError, match="one class only"):
        validate_frame(one_class, SCHEMA.with_target(None), target="sick")
    with pytest.raises(InputError, match="Did you mean 'sick'"):
        validate_frame(one_class, SCHEMA, target="sik")


def test_an_incomplete_schema_is_checked_as_far_as_it_goes() -> None:
    draft = Schema((Column("a", "integer"), Column("s", "categorical")))
    assert validate_frame(pd.DataFrame({"a": [1, 2], "s": ["x", "y"]}), draft) == ()
    with pytest.raises(InputError, match="not a whole number"):
        validate_frame(pd.DataFrame({"a": [1, 2.5], "s": ["x", "y"]}), draft)
