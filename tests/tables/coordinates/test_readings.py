"""Each cell has one reading, from itself alone: the coarsest grid that it lies on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.tables.coordinates.cells import factorise
from understudy.tables.coordinates.kinds import decide
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.readings import STEPS, Reading, from_index, number_readings, to_index
from understudy.tables.coordinates.tally import tally

EXAMPLES = {
    "TRUTH": ["True", "yes", "N", "FALSE"],
    "ZERO": ["0", "0.0", "-0"],
    "THOUSANDS": ["1000", "-2000", "1e6", "inf"],
    "HUNDREDS": ["100", "1300"],
    "TENS": ["10", "-1230"],
    "FIVES": ["5", "35"],
    "ONES": ["1", "-7", "12", "3.0"],
    "HALVES": ["0.5", "-7.5"],
    "QUARTERS": ["0.25", "3.75"],
    "TENTHS": ["0.1", "18.3"],
    "TWENTIETHS": ["0.05", "0.15", "7.35"],
    "HUNDREDTHS": ["0.01", "99.99"],
    "THOUSANDTHS": ["0.001", "0.627"],
    "FREE": ["3.14159265", "0.0001", "1e-9"],
    "DAYS": ["2020-02-29", "1999-12-31 00:00:00"],
    "HOURS": ["2020-02-29 13:00:00"],
    "MINUTES": ["2020-02-29 13:05"],
    "SECONDS": ["2020-02-29T13:05:09Z"],
    "CODE": ["007", "00", "-01"],
    "TEXT": ["abc", "1-2", "2020-02-30", "12 kg", "nan", ""],
}


@pytest.mark.parametrize(("reading", "text"), [(name, text) for name, texts in EXAMPLES.items() for text in texts])
def test_a_text_cell_is_read_as(reading: str, text: str) -> None:
    _, distinct = factorise(pd.Series([text], dtype=object))
    # An infinity counts as the last number of the ladder, 2^40, which is even: it is whole.
    expected = Reading.ONES if text == "inf" else Reading[reading]
    assert Reading(distinct.readings[0]) == expected


@given(st.integers(-(10**9), 10**9), st.sampled_from([r for r in STEPS if Reading.THOUSANDS <= r < Reading.FREE]))
def test_a_value_of_a_grid_lies_on_it_and_comes_back_exactly(place: int, reading: Reading) -> None:
    step = STEPS[reading]
    value = from_index(np.array([float(place)]), step)
    assert to_index(value, step)[0] == place
    found = Reading(number_readings(value)[0])
    # The reading is this grid, or one that is part of it.
    assert STEPS[found] >= step or found == Reading.ZERO
    single = value.astype(np.float32)
    if abs(place) < 10**4:
        assert number_readings(single.astype(np.float64), np.float32)[0] == found


@given(st.lists(st.one_of(st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3), st.none()), max_size=20))
def test_a_cell_reads_the_same_whatever_else_is_in_the_column(cells: list[object]) -> None:
    together = tally(pd.Series(cells, dtype=object)).readings()
    alone = sum((tally(pd.Series([cell], dtype=object)).readings() for cell in cells), np.zeros_like(together))
    assert together.tolist() == alone.tolist()
    assert together.sum() == len(cells)


def counts(**given: float) -> np.ndarray:
    found = np.zeros(len(Reading))
    for name, value in given.items():
        found[Reading[name]] = value
    return found


@pytest.mark.parametrize(
    ("noisy", "kind", "step"),
    [
        (counts(ONES=800, FIVES=100, TENS=90, ZERO=10), "number", 1.0),
        (counts(TENS=500, HUNDREDS=500), "number", 10.0),
        (counts(TENTHS=600, QUARTERS=300), "number", 0.05),
        (counts(QUARTERS=300, HALVES=300, ONES=300), "number", 0.25),
        (counts(FREE=900, ONES=20, TEXT=30), "number", 0.0),
        (counts(DAYS=950, MISSING=50), "datetime", 86400.0),
        (counts(DAYS=500, MINUTES=450), "datetime", 60.0),
        (counts(TRUTH=990, TEXT=-5), "boolean", None),
        (counts(ONES=500, TEXT=400), "categorical", None),
        (counts(CODE=500, ONES=450), "categorical", None),
        (counts(MISSING=1000), "number", 1.0),
        (counts(HUNDREDTHS=9, TENTHS=8), "number", 0.001),
        (counts(FREE=15), "number", 0.0),
    ],
)
def test_the_kind_and_the_grid_follow_from_the_noisy_counts(noisy: np.ndarray, kind: str, step: float | None) -> None:
    found = decide(Known("x"), noisy, 5.0, 1000)
    assert (found.kind, found.step) == (kind, step)


def test_a_whole_number_target_may_be_a_class() -> None:
    assert decide(Known("x", "number", target=True), counts(ONES=900), 5.0, 1000).classes
    assert not decide(Known("x", "number", target=True), counts(FREE=900), 5.0, 1000).classes
    assert not decide(Known("x", "number"), counts(ONES=900), 5.0, 1000).classes
