"""Codes of whole columns are those of their cells one by one, with the same draws, whatever type a column has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.privacy import Budget
from understudy.tables.coordinates import Bins, Coordinates, RowChances, coded_column, compact, few, read_column
from understudy.tables.coordinates.few import few_cells
from understudy.tables.coordinates.readings import number_readings
from understudy.tables.coordinates.tally import Tally, sorted_numbers, tally, tally_sorted
from understudy.tables.io import column_of

ROWS = 6000


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    here = rng.normal(size=ROWS)
    day = np.datetime64("2015-01-01", "s") + (rng.integers(0, 900, ROWS) * 86_400).astype("timedelta64[s]")
    text = pd.Series(rng.choice(["north", "south", "east"], ROWS), dtype="str")
    return pd.DataFrame(
        {
            "free": here,
            "short": np.clip(40 + 20 * here, -100, 99).astype(np.int8),
            "large": (np.exp(here / 3 + 6) // 10 * 10).astype(np.int64),
            "far": rng.choice([-(2**62), 0, 2**62], ROWS),
            "unsigned": rng.integers(0, 9, ROWS).astype(np.uint64),
            "word": text.astype("category"),
            "hole": text.where(rng.random(ROWS) > 0.2).astype("category"),
            "number": pd.Series(rng.choice([1.0, 2.5, 7.0], ROWS)).astype("category"),
            "text": text,
            "day": day,
            "moment": day + rng.integers(0, 999, ROWS).astype("timedelta64[s]"),
            "gone": pd.Series(day).where(rng.random(ROWS) > 0.1),
            "yes": rng.random(ROWS) < 0.3,
            "perhaps": pd.array(rng.random(ROWS) < 0.3, dtype="boolean"),
            "whole": pd.array(rng.integers(0, 50, ROWS), dtype="Int64"),
        }
    )


FRAME = table()
FOUND = Coordinates.release(FRAME, None, Budget(20.0, 1e-5, unsafe_noise_seed=0))


def chances() -> RowChances:
    return RowChances(np.random.default_rng(1), np.ones(ROWS, dtype=bool), before=3, after=5)


@pytest.mark.parametrize("chunk", [None, 700])
@pytest.mark.parametrize("nullable", [True, False])
def test_codes_of_columns_are_those_of_their_cells(
    nullable: bool, chunk: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With holes, with values that were not found, and where what is missing is drawn: the draws of all rows stay in their places."""
    if chunk is not None:
        monkeypatch.setattr(compact, "_CHUNK", chunk)
        monkeypatch.setattr(few, "_CHUNK", chunk)
    frame = FRAME.assign(word=FRAME["word"].cat.add_categories(["west"]))
    frame.loc[:9, "word"] = "west"
    frame.loc[3, "perhaps"] = pd.NA
    frame.loc[ROWS - 9, "free"] = np.nan
    columns = tuple(replace(column, nullable=nullable, other=False) for column in FOUND)
    bins = Bins(columns, 12)
    one, other = chances(), chances()
    expected = bins.encode(replace(FOUND, columns=columns).cells(frame, one))
    for place, column in enumerate(columns):
        codes = coded_column(column_of(frame, column.name), bins, place, other)
        assert codes.dtype == np.uint8
        np.testing.assert_array_equal(codes, expected[:, place], err_msg=column.name)


def test_few_cells_stand_for_all_rows() -> None:
    all_of: dict[str, Any] = {name: few_cells(column_of(FRAME, name)) for name in FRAME}
    none = {name for name, found in all_of.items() if found is None}
    assert none == {"free", "far", "text", "moment", "gone", "yes", "whole"}
    for name, found in all_of.items():
        if found is not None:
            assert found.cells.dtype == column_of(FRAME, name).dtype
            again = found.cells.take(found.take(np.arange(len(found.cells)))).reset_index(drop=True)
            pd.testing.assert_series_equal(again, column_of(FRAME, name), check_names=False)


@pytest.mark.parametrize("grid", [1, 12])
def test_few_cells_are_counted_as_those_of_the_rows_are(grid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row once, or by its parts of one; a cell that is missing too."""
    weights = None if grid == 1 else np.random.default_rng(2).integers(1, 13, ROWS)
    frame = FRAME.assign(
        perhaps=FRAME["perhaps"].mask(FRAME["free"] > 1), word=FRAME["word"].cat.add_categories("west")
    )
    quick = {name: tally(column_of(frame, name), weights, grid) for name in frame}
    assert {name for name, one in quick.items() if one.missing} == {"hole", "gone", "perhaps"}
    monkeypatch.setattr(few, "_MANY_ROWS", ROWS + 1)
    for name, one in quick.items():
        other = tally(column_of(frame, name), weights, grid)
        np.testing.assert_array_equal(one.readings(), other.readings(), err_msg=name)
        assert (named(one), one.missing) == (named(other), other.missing), name
        assert one.counts.sum() + one.missing == (ROWS if weights is None else weights.sum())


def named(one: Tally) -> dict[str, int]:
    counts = {one.distinct.label(place): int(count) for place, count in enumerate(one.counts) if count}
    assert sum(counts.values()) == one.counts.sum()
    return counts


@pytest.mark.parametrize("at_once", [True, False])
def test_a_cell_that_must_be_drawn_moves_no_draw_of_another_row(at_once: bool) -> None:
    """Whether a row before had nothing to be drawn for must not show in those of the columns after it."""
    names = ["short", "hole", "word", "perhaps", "free", "gone"]
    columns = tuple(replace(FOUND[name], nullable=False) for name in names)
    bins = Bins(columns, 12)

    def codes(frame: pd.DataFrame) -> np.ndarray:
        drawn = chances()
        if at_once:
            return np.stack(
                [coded_column(column_of(frame, c.name), bins, place, drawn) for place, c in enumerate(columns)], 1
            )
        return bins.encode(np.stack([read_column(column_of(frame, c.name), c, drawn) for c in columns], 1))

    without = FRAME.copy()
    without.loc[3, ["word", "perhaps", "free"]] = None
    moved = np.flatnonzero((codes(FRAME) != codes(without)).any(axis=1))
    assert set(moved) <= {3}


def test_sorted_numbers_are_counted_as_others_are() -> None:
    """Also those that are missing, that lie on an edge, and a zero with a sign."""
    rng = np.random.default_rng(4)
    numbers = pd.Series(np.round(rng.normal(size=70_000) * 40, 1))
    numbers[::50] = np.nan
    numbers[1::900], numbers[2::900] = -0.0, np.inf
    one, other = tally(numbers, apart=False), tally_sorted(*sorted_numbers(numbers))
    np.testing.assert_array_equal(one.readings(), other.readings())
    for step, edges in ((0.0, [-1e30, -7.5, -0.1, 0.0, 0.1, 12.0, 1e30]), (0.1, [-900.0, -3.0, 0.0, 1.0, 400.0])):
        places = np.array(edges)
        expected = one.ordered("number", step).histogram(places)
        np.testing.assert_array_equal(expected, other.ordered("number", step).histogram(places))
        np.testing.assert_array_equal(expected, tally(numbers).ordered("number", step).histogram(places))
    there = np.asarray(numbers)[np.isfinite(numbers)]
    np.testing.assert_array_equal(
        number_readings(there), np.concatenate([number_readings(part) for part in np.array_split(there, 10)])
    )
