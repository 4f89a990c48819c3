"""Rules and rows: what they say of each, what of them is built in, and that drawn rows come out true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from stays import RULES, SCHEMA, broken, stays  # pyright: ignore[reportMissingImports]

from understudy.errors import InputError
from understudy.tables import Column, Schema
from understudy.tables.encoder import Encoder
from understudy.tables.io import column_of
from understudy.tables.rules import Rule, parse_rules
from understudy.tables.rules.counting import broken_rows, check_rules
from understudy.tables.rules.evaluate import read_values, truth
from understudy.tables.rules.rulebook import Rulebook, refuse_contradictions
from understudy.tables.rules.taking_in import RuledTable, prepare

WIDE = Schema(
    (
        Column("start", "datetime", bounds=("2020-01-01", "2020-12-31")),  # pyright: ignore[reportArgumentType]
        Column("end", "datetime", bounds=("2020-01-01", "2021-12-31")),  # pyright: ignore[reportArgumentType]
        Column("days", "integer", bounds=(0, 100)),
        Column("a", "integer", bounds=(0, 10)),
        Column("b", "continuous", bounds=(0, 10), nullable=True),
        Column("total", "continuous", bounds=(0, 20), nullable=True),
        Column("sex", "categorical", categories=("f", "m")),
        Column("old", "boolean"),
        Column("zip", "categorical", categories=("0001", "0002", "0003")),
    )
)


def wide(rows: int = 50, seed: int = 0) -> pd.DataFrame:
    encoder = Encoder(replace(WIDE, columns=tuple(replace(c, nullable=False) for c in WIDE)))
    return encoder.decode(np.random.default_rng(seed).random((rows, encoder.width)))


def ruled(*texts: str, schema: Schema = WIDE, target: str | None = None) -> RuledTable:
    return prepare(wide(), schema, target, parse_rules(texts))


def how(table: RuledTable) -> dict[str, str]:
    return {step.column: step.how for step in table.steps}


def drawn(table: RuledTable, rows: int = 4000, seed: int = 0) -> tuple[pd.DataFrame, Rulebook]:
    """Rows drawn evenly from the learnt table, finished."""
    learnt = table.learnt_schema
    assert learnt is not None
    encoder = Encoder(learnt)
    rng = np.random.default_rng(seed)
    book = Rulebook.of(table, learnt, lambda n: encoder.decode(rng.random((n, encoder.width))))
    frame, _ = book.finisher.finish(encoder.decode(rng.random((rows, encoder.width))))
    return frame, book


# ---- what a rule says of a row ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == b + 1", [1, 0, np.nan]),
        ("0.1 + 0.2 == c", [1, 0, 1]),
        ("a > b", [1, 0, np.nan]),
        ("a > b or a == 2", [1, 0, np.nan]),
        ("a > b or a == 9", [1, 0, 1]),
        ("a > b and a != 9", [1, 0, 0]),
        ("not a == 2", [0, 1, 1]),
        ("if a == 9 then b == 1", [1, 1, np.nan]),
        ("b is missing", [0, 0, 1]),
        ('ward in ("x", "y")', [1, 1, 0]),
        ('(ward, a) in (("x", 2), ("z", 9))', [1, 0, 1]),
        ('ward determines a in (("x", 2), ("y", 4))', [1, 0, 0]),
        ("day(t) == 1 and month(t) == 3 and year(t) == 2024 and hour(t) == 13", [1, 0, np.nan]),
        ("weekday(t) == 5 and quarter(t) == 1 and minute(t) == 5", [1, 0, np.nan]),
        ('t >= "2024-03-01 13:05:00"', [1, 0, np.nan]),
        ("hours(u - t) == 36", [1, 0, np.nan]),
        ("t + hours(36) == u", [1, 0, np.nan]),
        ("floor(u - t) == 1 and ceil(u - t) == 2 and round(u - t) == 2", [1, 0, np.nan]),
        ("u - t >= 1", [1, 0, np.nan]),
        ("date(u) == date(t) + 2", [1, 0, np.nan]),
        ("a / b == 2", [1, 0, np.nan]),
        ("a / (b - 1) == 2", [np.nan, 0, np.nan]),
        ("round(b / 3, 2) == 0.33", [1, 0, np.nan]),
        ("max(a, b) == 2 and min(a, b) == 1 and abs(b - a) == 1", [1, 0, np.nan]),
        ("yes == true", [1, 0, 1]),
        ('yes == "no"', [0, 1, 0]),
        ("yes == (a < b + 2)", [1, 0, np.nan]),
    ],
)
def test_a_rule_is_true_false_or_unknown(text: str, expected: list[float]) -> None:
    frame = pd.DataFrame(
        {
            "a": [2, 3, 9],
            "b": [1.0, 4.0, np.nan],
            "c": [0.3, 0.31, 0.3],
            "ward": ["x", "y", "z"],
            "t": pd.to_datetime(["2024-03-01 13:05", "2023-07-02 00:00", None]),
            "u": pd.to_datetime(["2024-03-03 01:05", "2023-07-02 00:00", None]),
            "yes": [True, False, True],
        }
    )
    sorts: Any = {
        "a": "number",
        "b": "number",
        "c": "number",
        "ward": "text",
        "t": "moment",
        "u": "moment",
        "yes": "truth",
    }
    values = {name: read_values(column_of(frame, name), sort) for name, sort in sorts.items()}
    found = truth(Rule.parse(text).statement, values, sorts)
    np.testing.assert_array_equal(found, expected)


# ---- what is built in ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["end >= start"], {"end": "above"}),
        (["start <= end"], {"end": "above"}),
        (["end - start >= 3"], {"end": "above"}),
        (["total == a + b"], {"total": "computed"}),
        (["a + b == total"], {"total": "computed"}),
        (["start + days == end"], {"end": "computed"}),
        (["days == end - start"], {"end": "computed"}),
        (["days == end - start", "end >= start"], {"end": "computed", "days": "at least"}),
        (["a == month(start)"], {"a": "computed"}),
        (["old == (a >= 5)"], {"old": "computed"}),
        (["a >= 3", "a <= 8"], {"a": "at most"}),
        (["total >= a", "total >= b"], {"total": "above", "b": "below"}),
        (["sex determines old"], {"old": "mapped"}),
        (['sex determines old in (("f", true), ("m", false))'], {"old": "looked up"}),
        (['if sex == "m" then a >= 3'], {}),
        (["a >= b", "b >= a"], {"b": "below"}),
    ],
)
def test_what_can_be_built_in_is(texts: list[str], expected: dict[str, str]) -> None:
    assert how(ruled(*texts)) == expected


def test_a_target_is_learnt_even_where_it_is_computed() -> None:
    table = ruled("old == (a >= 5)", target="old", schema=WIDE.with_target("old"))
    assert table.computed == []
    assert table.learnt_schema is not None
    assert table.learnt_schema.target == "old"
    frame, _ = drawn(table)
    assert np.array_equal(frame["old"], frame["a"] >= 5)
    # Another column is solved for where that is possible.
    assert how(ruled("total == a + b", target="total", schema=WIDE)) == {"b": "computed"}


def test_a_computed_column_is_gone_and_a_difference_is_never_negative() -> None:
    table = ruled("end >= start", "total == a + b")
    frame = wide()
    rows = table.learnt_rows(frame)
    assert "total" not in rows
    apart = rows["end"].to_numpy()
    expected = (frame["end"] - frame["start"]).dt.total_seconds().clip(lower=0) / 86400
    np.testing.assert_allclose(apart, expected)
    assert (apart == 0).any(), "no row broke the rule: nothing was tried"
    learnt = table.learnt_schema
    assert learnt is not None
    assert learnt.rules == ()
    assert learnt["end"] == Column("end", "continuous", (0, 730.0), scale="log")


def test_each_row_is_changed_by_its_own_cells_alone() -> None:
    """So a blanked row changes nothing but its own place: the sensitivity of every look stays what it was."""
    table, frame = prepare(stays(200), SCHEMA, "died", RULES), stays(200)
    whole = table.learnt_rows(frame)
    for part in ([3], [0, 17, 199], list(range(100))):
        alone = table.learnt_rows(frame.iloc[part].reset_index(drop=True))
        pd.testing.assert_frame_equal(alone, whole.iloc[part].reset_index(drop=True))
    strange = frame.astype(object)
    strange.loc[7, ["admission", "discharge", "cost"]] = ["never", None, "inf"]
    again = table.learnt_rows(strange)
    assert len(again) == len(frame)
    kept = [place for place in range(200) if place != 7]
    for name in ("cost", "length"):
        np.testing.assert_allclose(again[name].astype(float)[kept], whole[name].astype(float)[kept])


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("end >= start", lambda f: f.end >= f.start),
        ("end > start + 1.5", lambda f: f.end > f.start + pd.Timedelta(days=1.5)),
        ("start <= end - 30", lambda f: f.start <= f.end - pd.Timedelta(days=30)),
        ("days == end - start", lambda f: (f.end - f.start).dt.total_seconds() == f.days * 86400),
        ("end == start + hours(days)", lambda f: (f.end - f.start).dt.total_seconds() == f.days * 3600),
        ("days == floor(end - start)", lambda f: (f.end - f.start).dt.days == f.days),
        ("total == a + b", lambda f: (f.b.isna() & f.total.isna()) | ((f.total - f.a - f.b).abs() < 1e-9)),
        ("total == round(b / 3, 1)", lambda f: f.b.isna() | (((f.total * 10) % 1).round(6) % 1 == 0)),
        ("a >= 3", lambda f: f.a >= 3),
        ("a > b", lambda f: f.b.isna() | (f.a > f.b)),
        ("a != 4", lambda f: f.a != 4),
        ('if sex == "m" then zip != "0002"', lambda f: (f.sex != "m") | (f.zip != "0002")),
        ('zip determines sex in (("0001", "f"), ("0003", "m"))', lambda f: (f.zip == "0001") == (f.sex == "f")),
        ("zip determines sex", lambda f: f.groupby("zip").sex.transform("nunique") == 1),
        ("(zip, old) determines a", lambda f: f.groupby(["zip", "old"]).a.transform("nunique") == 1),
        ("old == (month(start) <= 6 and a > 2)", lambda f: f.old == ((f.start.dt.month <= 6) & (f.a > 2))),
        ("b is missing or total is missing", lambda f: f.b.isna() | f.total.isna()),
    ],
)
def test_every_drawn_row_is_true(text: str, check: Any) -> None:
    frame, book = drawn(ruled(text))
    assert len(frame) > 100
    assert check(frame).all()
    assert tuple(frame.columns) == WIDE.names
    Encoder(book.schema).encode(frame)  # all of it fits the schema


def test_days_and_formats_are_kept_to_what_is_written() -> None:
    """A format without hours writes days: what is true to the second must be true of the days."""
    columns = tuple(replace(c, format="%d.%m.%Y") if c.kind == "datetime" else c for c in WIDE)
    table = ruled("end > start", "days == end - start", schema=replace(WIDE, columns=columns))
    frame, _ = drawn(table)
    days = [pd.to_datetime(frame[n].dt.strftime("%d.%m.%Y"), format="%d.%m.%Y") for n in ("start", "end")]
    assert ((days[1] - days[0]).dt.days == frame["days"]).all()
    assert (days[1] > days[0]).all()


def test_what_is_not_declared_of_a_computed_column_follows_from_the_others() -> None:
    schema = replace(WIDE, columns=tuple(c for c in WIDE if c.name not in ("total", "end", "old")))
    table = prepare(wide(), schema, None, parse_rules(["total == a + b", "end == start + days", "old == (a > 3)"]))
    frame, book = drawn(table)
    assert book.schema["total"] == Column("total", "continuous", (0.0, 20.0), nullable=True)
    assert book.schema["end"].to_dict()["bounds"] == ["2020-01-01", "2021-04-10"]
    assert book.schema["old"] == Column("old", "boolean")
    assert set(book.schema.names) == set(WIDE.names)
    assert len(frame) == 4000


# ---- rules that cannot be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["stop >= start"], "no column 'stop'"),
        (["end >= strat"], "Did you mean 'start'"),
        (["sex >= 3"], "text has no order"),
        (["sex + 1 == a"], "is text"),
        (["month(a) == 3"], "a is a number"),
        (["end >= a"], "compares a date with a number"),
        (["end + start == end"], "means nothing"),
        (['sex == "male"'], "is never 'male'"),
        (['if sex == "m" then zip == 7'], "is never 7"),
        (['end >= "soon"'], "not a date"),
        (["a == 11"], "can never be true"),
        (["a >= b + 11"], "can never be true"),
        (["end < start", 'end > "2021-06-01"'], "rows drawn evenly"),
        (["a > b", "b > a"], "rows drawn evenly"),
        (["a > b", "total > a", "b > total"], "rows drawn evenly"),
        (['sex == "m"', 'sex == "f"'], "rows drawn evenly"),
        (["total == a + b", "total == a + b + 1"], "rows drawn evenly"),
        (["not (old == true or old == false)"], "rows drawn evenly"),
        (["b determines a"], "too many values"),
        (["a + 1"], "true nor false|says nothing"),
    ],
)
def test_rules_that_cannot_be_are_refused_with_a_reason(texts: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        refuse_contradictions(ruled(*texts))


def test_columns_of_which_nothing_is_known_are_asked_for() -> None:
    frame = pd.DataFrame({"start": ["2020-01-01"] * 3, "end": ["2020-01-02"] * 3, "month": ["1"] * 3})
    with pytest.raises(InputError, match=r"start .*are numbers or dates. Say their kinds"):
        prepare(frame, None, None, parse_rules(["start <= end"]), typed=False)
    table = prepare(frame, None, None, parse_rules(["month == month(start)"]), typed=False)
    assert table.read_as == {"start": "moment"}
    assert str(table.learnt_rows(frame)["start"].dtype).startswith("datetime64")
    refuse_contradictions(prepare(frame, None, None, parse_rules(["month(start) <= month(end)"]), typed=False))


def test_nothing_that_can_be_is_refused() -> None:
    refuse_contradictions(prepare(stays(50), SCHEMA, "died", RULES))
    refuse_contradictions(prepare(stays(50), None, "died", RULES))


# ---- for the owner, and on disk --------------------------------------------------------------------------------------


def test_the_owner_is_told_how_many_rows_break_a_rule() -> None:
    frame = stays(300)
    assert broken_rows(frame, SCHEMA, RULES) == [0] * len(RULES)
    frame.loc[:4, "discharge"] = pd.Timestamp("2018-01-01")
    frame.loc[10:16, "month"] = 13 - frame.loc[10:16, "month"]
    frame.loc[20, "city"] = "Basel" if frame.loc[20, "city"] != "Basel" else "Bern"
    counts = dict(zip(map(str, RULES), broken_rows(frame, SCHEMA, RULES), strict=True))
    assert counts["discharge >= admission"] == 5
    assert counts["month == month(admission)"] == 7
    assert counts["zip determines city"] == 1
    check_rules(replace(SCHEMA, rules=RULES))
    with pytest.raises(InputError, match="no column 'x'"):
        check_rules(replace(SCHEMA, rules=parse_rules(["x >= 1"])))


def test_a_rulebook_comes_back_from_plain_values_and_a_damaged_one_is_refused() -> None:
    table = prepare(stays(50), SCHEMA, "died", RULES)
    frame, book = drawn(table)
    assert broken(frame) == {}
    plain = book.to_dict()
    again = Rulebook.from_dict(plain, book.schema)
    assert again == book
    for key, wrong in (
        ("steps", [{"how": "computed", "column": "x", "rule": 0, "form": None, "learnt": False, "grain": 1.0}]),
        ("steps", [{"how": "eval", "column": "city", "rule": 0, "form": None, "learnt": False, "grain": 1.0}]),
        ("steps", [{"how": "computed", "column": "city", "rule": 99, "form": None, "learnt": False, "grain": 1.0}]),
        ("steps", []),
        ("steps", None),
        ("lists", {"7": 3}),
        ("sorts", {"a": "code"}),
        ("learnt", {}),
        ("kept", "much"),
    ):
        with pytest.raises(InputError):
            Rulebook.from_dict({**plain, key: wrong}, book.schema)
