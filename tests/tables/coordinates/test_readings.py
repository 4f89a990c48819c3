"""Each cell has one reading, from itself alone: the coarsest grid that it lies on."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.tables.coordinates.cells import factorise
from understudy.tables.coordinates.kinds import decide
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.readings import (
    COUNT,
    DURATIONS_BY_FORM,
    MOMENTS,
    MOMENTS_BY_FORM,
    STEPS,
    Reading,
    from_index,
    number_readings,
    to_index,
)
from understudy.tables.coordinates.tally import tally
from understudy.tables.forms import DURATION_FORMS, MOMENT_FORMS

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
    "CODE": ["007", "00", "-01"],
    "TEXT": ["abc", "1-2", "2020-02-30", "12 kg", "nan", "", "31.02.2020", "13/13/2020", "1:75", "P", "PT", "5:3"],
}
# The form of a moment or a duration, its clock, and what it stands for.
TIMES = [
    ("2020-02-29", None, 86400.0, "2020-02-29"),
    ("1999-12-31 00:00:00", None, 86400.0, "1999-12-31"),
    ("2020-02-29 13:00:00", None, 3600.0, "2020-02-29 13:00"),
    ("2020-02-29 13:05:09.25", None, 1.0, "2020-02-29 13:05:09"),
    ("2020-02-29 13:05", "%Y-%m-%d %H:%M", 60.0, "2020-02-29 13:05"),
    ("2020-02-29T13:05:09Z", "%Y-%m-%dT%H:%M:%SZ", 1.0, "2020-02-29 13:05:09"),
    ("2020-02-29T13:05:09.000Z", "%Y-%m-%dT%H:%M:%S.%fZ", 1.0, "2020-02-29 13:05:09"),
    ("2020-02-29T13:00:00+02:00", "%Y-%m-%dT%H:%M:%S%z", 3600.0, "2020-02-29 11:00"),
    ("29.02.2020", "%d.%m.%Y", 86400.0, "2020-02-29"),
    ("29.2.2020 07:30", "%d.%m.%Y %H:%M", 60.0, "2020-02-29 07:30"),
    ("02/29/2020", "%m/%d/%Y", 86400.0, "2020-02-29"),
    ("29/02/2020", "%d/%m/%Y", 86400.0, "2020-02-29"),
    ("02/03/2020", "%m/%d/%Y", 86400.0, "2020-02-03"),
    ("02:30:00", "%H:%M:%S", 60.0, "2h 30min"),
    ("30:00:00", "%H:%M:%S", 3600.0, "30h"),
    ("-02:30", "%H:%M", 60.0, "-2h 30min"),
    ("1 days 02:03:04", "%d days %H:%M:%S", 1.0, "1D 2h 3min 4s"),
    ("-1 days +22:00:00", "%d days %H:%M:%S", 3600.0, "-2h"),
    ("1 day, 0:00:00", "%d days %H:%M:%S", 86400.0, "1D"),
    ("PT5H", "ISO8601", 3600.0, "5h"),
    ("P1DT0.5S", "ISO8601", 86400.0, "1D"),
]


@pytest.mark.parametrize(("reading", "text"), [(name, text) for name, texts in EXAMPLES.items() for text in texts])
def test_a_text_cell_is_read_as(reading: str, text: str) -> None:
    _, distinct = factorise(pd.Series([text], dtype=object))
    # An infinity counts as the last number of the ladder, 2^40, which is even: it is whole.
    expected = Reading.ONES if text == "inf" else Reading[reading]
    assert Reading(distinct.readings[0]) == expected


@pytest.mark.parametrize(("text", "format", "step", "meant"), TIMES)
def test_a_moment_or_duration_is_read_with_its_form_and_clock(
    text: str, format: str | None, step: float, meant: str
) -> None:
    _, distinct = factorise(pd.Series([text], dtype=object))
    reading = int(distinct.readings[0])
    readings, forms = [*MOMENTS_BY_FORM, *DURATIONS_BY_FORM], [*MOMENT_FORMS, *DURATION_FORMS]
    form = next(form for form, its in zip(forms, readings, strict=True) if reading in its)
    assert (form.format, STEPS[reading]) == (format, step)
    value = (
        datetime.fromisoformat(meant).replace(tzinfo=UTC).timestamp()
        if reading in MOMENTS
        else pd.Timedelta(meant).total_seconds()
    )
    assert distinct.numbers[0] == value


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


NAMES = {"DAYS": MOMENTS_BY_FORM[0][0], "MINUTES": MOMENTS_BY_FORM[0][2], "US": MOMENTS_BY_FORM[13][0]}
NAMES |= {"UK": MOMENTS_BY_FORM[14][0], "EITHER": MOMENTS_BY_FORM[15][0], "ZULU": MOMENTS_BY_FORM[2][1]}
NAMES |= {"CLOCK": DURATIONS_BY_FORM[1][2], "LATEST": DURATIONS_BY_FORM[-1][-1]}


def counts(**given: float) -> np.ndarray:
    found = np.zeros(COUNT)
    for name, value in given.items():
        found[NAMES[name] if name in NAMES else Reading[name]] = value
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
        (counts(CODE=70, ONES=880), "categorical", None),
        (counts(CLOCK=800, MISSING=150), "duration", 60.0),
        # One reading of many that stands out a little by noise is no column of moments or durations.
        (counts(DAYS=19), "number", 1.0),
        (counts(LATEST=21), "number", 1.0),
    ],
)
def test_the_kind_and_the_grid_follow_from_the_noisy_counts(noisy: np.ndarray, kind: str, step: float | None) -> None:
    found = decide(Known("x"), noisy, 5.0, 1000)
    assert (found.kind, found.step) == (kind, step)


def test_the_form_is_the_one_that_most_cells_have() -> None:
    found = decide(Known("x"), counts(ZULU=800, DAYS=100), 5.0, 1000)
    assert (found.kind, found.step, found.format) == ("datetime", 3600.0, "%Y-%m-%dT%H:%M:%SZ")
    for days, format in (({"US": 500, "EITHER": 400}, "%m/%d/%Y"), ({"UK": 300, "EITHER": 600}, "%d/%m/%Y")):
        assert decide(Known("x"), counts(**days), 5.0, 1000).format == format


def test_digits_of_which_some_begin_with_a_zero_are_a_code() -> None:
    assert decide(Known("x"), counts(CODE=70, ONES=880), 5.0, 1000).code
    assert not decide(Known("x"), counts(TEXT=900), 5.0, 1000).code


def test_where_nothing_stands_out_a_rare_kind_is_not_guessed() -> None:
    """Two thousand columns of zeros and ones among noise as large as two fifths of the rows, or as all of them."""
    rng = np.random.default_rng(0)
    for sigma in (400.0, 1000.0):
        noisy = np.rint(rng.normal(0, sigma, (1000, COUNT)))
        noisy[:, Reading.ZERO] += 950
        noisy[:, Reading.ONES] += 50
        kinds = [decide(Known("x"), one, sigma, 1000).kind for one in noisy]
        assert sum(kind in ("datetime", "duration") for kind in kinds) <= 10


def test_a_whole_number_target_may_be_a_class() -> None:
    assert decide(Known("x", "number", target=True), counts(ONES=900), 5.0, 1000).classes
    assert not decide(Known("x", "number", target=True), counts(FREE=900), 5.0, 1000).classes
    assert not decide(Known("x", "number"), counts(ONES=900), 5.0, 1000).classes
