"""How one cell of a table can be read: as a number on a grid, a moment, a duration, a truth value, a code, or text.

Every cell has exactly one reading, by a fixed order that looks at this cell alone: missing, then yes or no, then a number
by the coarsest public grid that it lies on, then a moment or a duration by the form in which it is written and the
coarsest clock, then a code (digits that begin with a zero), then text. So a row stands in one reading of each column,
whatever the other rows say.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from understudy.tables.forms import CLOCK, DURATION_FORMS, MOMENT_FORMS, Form


class Reading(IntEnum):
    """What a cell is by itself. Numbers go from the coarsest grid to the finest.

    After these come the readings of moments and of durations: one for each form and clock, a form's own from the day on.
    """

    MISSING = 0
    TRUTH = 1
    ZERO = 2
    THOUSANDS = 3
    HUNDREDS = 4
    TENS = 5
    FIVES = 6
    ONES = 7
    HALVES = 8
    QUARTERS = 9
    TENTHS = 10
    TWENTIETHS = 11
    HUNDREDTHS = 12
    THOUSANDTHS = 13
    FREE = 14
    CODE = 15
    TEXT = 16


def _clocked(forms: tuple[Form, ...], first: int) -> tuple[tuple[int, ...], ...]:
    """The readings of each form, by its clocks."""
    made: list[tuple[int, ...]] = []
    for form in forms:
        made.append(tuple(range(first, first + len(form.clock))))
        first += len(form.clock)
    return tuple(made)


NUMBERS = tuple(Reading(r) for r in range(Reading.ZERO, Reading.FREE + 1))
TEXTS = (Reading.CODE, Reading.TEXT)
MOMENTS_BY_FORM = _clocked(MOMENT_FORMS, len(Reading))
MOMENTS = tuple(reading for form in MOMENTS_BY_FORM for reading in form)
DURATIONS_BY_FORM = _clocked(DURATION_FORMS, MOMENTS[-1] + 1)
DURATIONS = tuple(reading for form in DURATIONS_BY_FORM for reading in form)
COUNT = DURATIONS[-1] + 1

STEPS: dict[int, float] = {
    Reading.ZERO: 1.0,
    Reading.THOUSANDS: 1000.0,
    Reading.HUNDREDS: 100.0,
    Reading.TENS: 10.0,
    Reading.FIVES: 5.0,
    Reading.ONES: 1.0,
    Reading.HALVES: 0.5,
    Reading.QUARTERS: 0.25,
    Reading.TENTHS: 0.1,
    Reading.TWENTIETHS: 0.05,
    Reading.HUNDREDTHS: 0.01,
    Reading.THOUSANDTHS: 0.001,
    Reading.FREE: 0.0,
    **{
        reading: step
        for form in (*MOMENTS_BY_FORM, *DURATIONS_BY_FORM)
        for reading, step in zip(form, CLOCK, strict=False)
    },
}
"""The distance between neighbouring values of a grid (moments, durations: in seconds); 0 means that there is none."""

LIMIT = 2.0**40
"""About 1e12: a number beyond it counts as this one."""

# So many numbers, and what is made of them on the way, stay in the processor's own memory.
_CHUNK = 1 << 15

# Pairs of words for no and yes, spelled as they are found in files.
TRUTH_WORDS: tuple[tuple[str, str], ...] = (
    ("False", "True"),
    ("false", "true"),
    ("FALSE", "TRUE"),
    ("no", "yes"),
    ("No", "Yes"),
    ("NO", "YES"),
    ("n", "y"),
    ("N", "Y"),
    ("F", "T"),
)
TRUTHS = frozenset(word for pair in TRUTH_WORDS for word in pair)
SAID = {word.lower(): float(at) for pair in TRUTH_WORDS for at, word in enumerate(pair)}
"""What such a word says, however it is spelled: 0 for no, 1 for yes."""


def to_index(numbers: np.ndarray, step: float) -> np.ndarray:
    """The place of each number on the grid, as a float; the number itself where there is no grid."""
    if step == 0:
        return numbers
    # Dividing by a whole number is exact to the last place, multiplying by 0.05 is not.
    return np.rint(numbers / step) if step >= 1 else np.rint(numbers * round(1 / step))


def from_index(places: np.ndarray, step: float) -> np.ndarray:
    """The inverse of `to_index`: the floating-point number nearest to the decimal one."""
    if step == 0:
        return places
    return places * step if step >= 1 else places / round(1 / step)


def number_readings(numbers: np.ndarray, precision: type[np.floating] = np.float64) -> np.ndarray:
    """The reading of each finite number. `precision` is that of the column: 0.1 in float32 is a tenth too."""
    found = np.empty(len(numbers), dtype=np.uint8)
    for start in range(0, len(numbers), _CHUNK):
        found[start : start + _CHUNK] = _readings(numbers[start : start + _CHUNK], precision)
    return found


def _readings(numbers: np.ndarray, precision: type[np.floating]) -> np.ndarray:
    found = np.full(len(numbers), Reading.FREE, dtype=np.uint8)
    whole = numbers == np.rint(numbers)
    found[whole] = Reading.ONES
    inside = np.flatnonzero(whole)
    for reading in (Reading.FIVES, Reading.TENS, Reading.HUNDREDS, Reading.THOUSANDS):
        inside = inside[numbers[inside] % STEPS[reading] == 0]
        found[inside] = reading
    found[numbers == 0] = Reading.ZERO  # it lies on every grid
    # Grids of decimals: each is looked for only among the numbers of the one that it is part of.
    fine = np.flatnonzero(~whole)
    for reading in (Reading.THOUSANDTHS, Reading.HUNDREDTHS, Reading.TWENTIETHS):
        fine = fine[_on_grid(numbers[fine], STEPS[reading], precision)]
        found[fine] = reading
    tenths = _on_grid(numbers[fine], 0.1, precision)
    quarters = _on_grid(numbers[fine], 0.25, precision)
    found[fine[tenths]] = Reading.TENTHS
    found[fine[quarters]] = Reading.QUARTERS
    found[fine[tenths & quarters]] = Reading.HALVES
    return found


def clock_readings(seconds: np.ndarray, readings: tuple[int, ...]) -> np.ndarray:
    """The reading of each moment or duration, given in whole seconds, among those of its form."""
    found = np.full(len(seconds), readings[-1], dtype=np.uint8)
    for reading in reversed(readings[:-1]):
        found[seconds % STEPS[reading] == 0] = reading
    return found


def _on_grid(numbers: np.ndarray, step: float, precision: type[np.floating]) -> np.ndarray:
    """Whether a number is a grid's value to within a few of its last places."""
    size = np.abs(numbers)
    off = np.abs(numbers - from_index(to_index(numbers, step), step))
    # A last place is no more than this; few numbers that are not on the grid are so near to it, and only those are looked at closely.
    limit = np.finfo(precision)
    size *= 5 * float(limit.eps)
    size += float(limit.tiny)
    found = off <= size
    near = np.flatnonzero(found)
    last_place = np.spacing(np.abs(numbers[near]).astype(precision)).astype(np.float64)
    found[near] = off[near] <= 4 * last_place
    return found
