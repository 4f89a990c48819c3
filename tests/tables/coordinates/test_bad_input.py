"""Whatever rows say, they are described: no refusal tells of a row."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pytest

from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.coordinates.tally import tally
from understudy.tables.persons import keys_of
from understudy.tables.written import as_read

HOSTILE: dict[str, list[object]] = {
    "nothing but missing": [None] * 40,
    "missing numbers": [float("nan")] * 40,
    "one value": [7] * 40,
    "infinities": [float("inf"), float("-inf"), 1.0, 2.0] * 10,
    "beyond the ladder": [1e300, -1e300, 10**30, 5] * 10,
    "tiny": [1e-300, 5e-324, -1e-12, 0.0] * 10,
    "mixed types": [1, "a", True, 2.5, None, pd.Timestamp("2020-01-01"), [1, 2], {"a": 1}, b"x", decimal.Decimal("1.1")] * 4,
    "truths and ones": [True, 1, 1.0, "1"] * 10,
    "codes": ["007", "012", "7", "0"] * 10,
    "dates": ["2020-01-01", "0001-01-01", "9999-12-31", "2020-02-30"] * 10,
    "empty text": ["", " ", "nan", "None"] * 10,
    "surrogates and nul": ["\x00", "é", "𝔘", "\n", "half \ud800"] * 8,
    "bytes that are no text": [b"x", b"\xff", "x", "2"] * 10,
    "called other": ["other"] * 40,
    "numbers with spaces": [" 1", "2 ", "1e5", "0x10"] * 10,
}  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.01, 50.0])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_column_is_described_and_mapped_both_ways(name: str, epsilon: float) -> None:
    frame = pd.DataFrame({"x": pd.Series(HOSTILE[name], dtype=object), "y": np.arange(40)})
    _describe(frame, epsilon)


@pytest.mark.parametrize("name", ["missing numbers", "one value", "infinities", "beyond the ladder", "tiny"])
def test_so_is_a_hostile_column_of_a_numeric_type(name: str) -> None:
    frame = pd.DataFrame({"x": np.array(HOSTILE[name], dtype=np.float64)})
    found = _describe(frame, 50.0)
    assert found["x"].kind == "number"


def test_half_a_character_is_text_and_changes_how_no_other_cell_is_read() -> None:
    """In cells, and among the levels of a category."""
    cells = [1, "1.50", True, b"word", None, "2020-01-01", 2.5, "half \ud800"]
    here, there = (tally(pd.Series(some * 3, dtype=object)) for some in (cells, cells[:-1]))
    counts = {here.distinct.label(place): int(count) for place, count in enumerate(here.counts)}
    assert counts.pop(r"half \ud800") == 3
    assert counts == {there.distinct.label(place): int(count) for place, count in enumerate(there.counts)}
    assert here.missing == there.missing == 3
    levels = pd.Index(["a", "half \ud800"], dtype=object)
    level = pd.Series(pd.Categorical.from_codes(np.array([0, 1, 1, -1]), categories=levels))
    assert tally(level).counts.tolist() == [1, 2]


CODES = Schema((Column("code", "code", nullable=True), Column("day", "datetime", format="%d/%m/%Y", nullable=True)))


@pytest.mark.parametrize("odd", ["half \ud800", b"\xff"])
def test_what_is_no_text_is_no_error_where_codes_days_and_persons_are_declared(odd: object) -> None:
    cells: dict[str, list[object]] = {"code": ["007", b"a", 12] * 20, "day": ["31/12/2020"] * 60}
    other = {name: [odd, *column[1:]] for name, column in cells.items()}
    here, there = (as_read(pd.DataFrame(of, dtype=object), CODES) for of in (cells, other))
    pd.testing.assert_frame_equal(here.iloc[1:], there.iloc[1:])
    assert there["day"].isna().tolist() == [True, *[False] * 59]
    assert len(np.unique(keys_of(pd.Series([odd, "a", "b", odd], dtype=object), 0))) == 3


def test_an_empty_table_is_described() -> None:
    frame = pd.DataFrame({"x": pd.Series(dtype=np.float64), "c": pd.Series(dtype="str"), "d": pd.Series(dtype=object)})
    found = _describe(frame, 1.0, unsafe_noise_seed=1)
    assert found.rows == 0
    assert not found["x"].found


def test_a_hundred_thousand_levels_are_pooled() -> None:
    names = [f"name {i % 100_000}" for i in range(200_000)] + ["common"] * 50_000
    unique = pd.Series(np.arange(250_000).astype(str), dtype="str")
    found = Coordinates.release(pd.DataFrame({"level": pd.Categorical(names), "id": unique}), None, Budget(1.0, 1e-6))
    assert found["level"].labels == ("common", "other")
    assert found["level"].shares[1] == pytest.approx(0.8, abs=0.01)
    assert found["id"].labels == ("other",)
    assert not found["id"].found


def test_text_in_a_declared_number_column_is_missing() -> None:
    schema = Schema((Column("x", "integer", bounds=(0, 9), nullable=True),))
    frame = pd.DataFrame({"x": ["1", "2", "unknown", "3"] * 500})
    found = Coordinates.release(frame, schema, Budget(5.0, 1e-6))
    assert found["x"].missing == pytest.approx(0.25, abs=0.05)
    rows = found.settled(frame, np.random.default_rng(0))
    assert rows["x"].isna().to_numpy().tolist() == [False, False, True, False] * 500


def test_what_is_missing_where_nothing_may_be_is_drawn() -> None:
    schema = Schema((Column("x", "integer", bounds=(0, 9)), Column("c", "categorical", categories=("a", "b"))))
    frame = pd.DataFrame({"x": [1.0, np.nan] * 200, "c": ["a", "z"] * 200})
    found = Coordinates.release(frame, schema, Budget(5.0, 1e-6))
    rows = found.settled(frame, np.random.default_rng(0))
    assert not rows["x"].isna().to_numpy().any()
    assert set(rows["c"]) <= {"a", "b"}


def test_a_type_that_no_kind_fits_is_refused_by_its_type() -> None:
    budget = Budget(1.0, 1e-6)
    with pytest.raises(InputError, match="complex128"):
        Coordinates.release(pd.DataFrame({"x": np.zeros(3, dtype=complex)}), None, budget)
    assert budget.events == ()


def test_a_schema_for_a_column_that_is_not_there_is_refused() -> None:
    schema = Schema((Column("agge", "integer", bounds=(0, 9)),))
    with pytest.raises(InputError, match="Did you mean 'age'"):
        Coordinates.release(pd.DataFrame({"age": [1]}), schema, Budget(1.0, 1e-6))


def _describe(frame: pd.DataFrame, epsilon: float, unsafe_noise_seed: int | None = None) -> Coordinates:
    found = Coordinates.release(frame, None, Budget(epsilon, 1e-6, unsafe_noise_seed=unsafe_noise_seed))
    found.schema.require_complete()
    rng = np.random.default_rng(0)
    again = Coordinates.from_dict(found.to_dict())
    assert again.columns == found.columns
    rows = found.values(found.ranks(frame, rng))
    assert len(rows) == len(frame)
    bins = found.bins(5)
    codes = bins.encode(found.cells(frame, rng))
    assert (codes >= 0).all()
    assert (codes < np.array(bins.sizes)).all()
    assert len(found.frame(bins.decode(codes, rng))) == len(frame)
    return found
