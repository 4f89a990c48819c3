"""From noisy counts of readings to the kind and the grid of a column. Sees released numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.tables.coordinates.known import Kind, Known
from understudy.tables.coordinates.readings import (
    DURATIONS,
    DURATIONS_BY_FORM,
    MOMENTS,
    MOMENTS_BY_FORM,
    NUMBERS,
    STEPS,
    TEXTS,
    Reading,
)
from understudy.tables.forms import DURATION_FORMS, MOMENT_FORMS, Form

# A reading is believed from this many deviations of the noise on.
_STANDS_OUT = 3.5
# There are many readings of moments and durations, and few columns of them: these are believed from here on.
_STANDS_OUT_IN_TIME = 4.5
# A kind may be wrong in this share of the cells, which are then missing; a grid in this share, which are rounded.
_MISFITS = 0.1
_OFF_GRID = 0.01
# So much more of the cells than by chance must lie on a coarser grid for it to be told of.
_HEAPED = 0.2


@dataclass(frozen=True)
class Decided:
    """Public once paid for. What phase one says of a column; `step` is None for kinds without a grid.

    `heap` is a coarser grid on which far more of the cells lie than would by chance, as round numbers do; 0 for none.
    `classes`: a number that may stand for a class; where it lies tells. `code`: categories whose digits stay text.
    `format`: how moments or durations are written.
    """

    kind: Kind
    step: float | None = None
    words: bool = False
    heap: float = 0.0
    classes: bool = False
    code: bool = False
    format: str | None = None


def decide(known: Known, noisy: np.ndarray, sigma: float, rows: int) -> Decided:
    """The kind and the grid, by a fixed rule.

    A number, a moment, a duration or a yes and no is a column of which all but a tenth of the cells that are there read so;
    anything else is text. Digits of which some begin with a zero are a code. A target of whole numbers may be a class.
    """
    kind = known.kind or _kind(noisy, sigma, rows)
    if kind == "number":
        step = _number_step(noisy, sigma, rows) if known.step is None else known.step
        heap = _heap(noisy, step, sigma) if known.asks else 0.0
        return Decided(kind, step, heap=heap, classes=known.open_target and step >= 1)
    if kind == "datetime":
        return _timed(known, "datetime", noisy, sigma, rows)
    if kind == "duration":
        return _timed(known, "duration", noisy, sigma, rows)
    code = known.code or bool(known.kind is None and noisy[Reading.CODE] > _enough(sigma, rows))
    return Decided(kind, words=kind == "boolean" and known.kind is None, code=code)


def _timed(known: Known, kind: Kind, noisy: np.ndarray, sigma: float, rows: int) -> Decided:
    """The form that most cells have, and its finest clock that stands out."""
    forms, readings = (MOMENT_FORMS, MOMENTS_BY_FORM) if kind == "datetime" else (DURATION_FORMS, DURATIONS_BY_FORM)
    best = max(range(len(forms)), key=lambda form: noisy[list(readings[form])].max())
    if known.kind is not None and noisy[list(readings[best])].max() < _STANDS_OUT_IN_TIME * sigma:
        best = 0  # a type has no form, and noise is none
    step = _finest(noisy, readings[best], sigma, rows) or STEPS[readings[best][-1]]
    typed = known.kind is not None and best == 0
    return Decided(kind, step, format=known.format or (None if typed else _format(forms[best], noisy)))


def _format(form: Form, noisy: np.ndarray) -> str | None:
    """The format of a form; where cells could be of two, that of which more cells can be nothing else."""
    if form.also is None:
        return form.format
    sure = {
        format: sum(
            noisy[its[0]]
            for other, its in zip(MOMENT_FORMS, MOMENTS_BY_FORM, strict=True)
            if other.format == format and other.also is None
        )
        for format in (form.format, form.also)
    }
    return max(sure.items(), key=lambda item: item[1])[0]


def _kind(noisy: np.ndarray, sigma: float, rows: int) -> Kind:
    # Only readings that stand out are added up: a sum over all of a kind's readings would add up their noise.
    masses: dict[Kind, float] = {
        "number": _standing(noisy[list(NUMBERS)], _STANDS_OUT * sigma),
        "datetime": _standing(noisy[list(MOMENTS)], _STANDS_OUT_IN_TIME * sigma),
        "duration": _standing(noisy[list(DURATIONS)], _STANDS_OUT_IN_TIME * sigma),
        "boolean": _standing(noisy[[Reading.TRUTH]], _STANDS_OUT * sigma),
        "categorical": _standing(noisy[list(TEXTS)], _STANDS_OUT * sigma),
    }
    there = sum(masses.values())
    if there == 0:
        return _likeliest_kind(noisy, sigma, rows)
    if noisy[Reading.CODE] > _enough(sigma, rows):
        return "categorical"
    best = _heaviest(masses)
    return best if masses[best] >= (1 - _MISFITS) * there else "categorical"


# How the cells of usual columns are spread over the readings, and how usual such columns are.
_USUAL: tuple[tuple[Kind, float, dict[int, float]], ...] = (
    ("number", 0.2, {Reading.ONES: 0.8, Reading.FIVES: 0.1, Reading.TENS: 0.1}),
    ("number", 0.1, {Reading.ZERO: 0.5, Reading.ONES: 0.5}),
    ("number", 0.1, {Reading.ZERO: 0.9, Reading.ONES: 0.1}),
    ("number", 0.05, {Reading.ONES: 1.0}),
    ("number", 0.05, {Reading.TENTHS: 0.8, Reading.HALVES: 0.1, Reading.ONES: 0.1}),
    ("number", 0.05, {Reading.HUNDREDTHS: 0.8, Reading.TWENTIETHS: 0.1, Reading.TENTHS: 0.1}),
    ("number", 0.05, {Reading.THOUSANDTHS: 0.9, Reading.HUNDREDTHS: 0.1}),
    ("number", 0.1, {Reading.FREE: 1.0}),
    ("categorical", 0.18, {Reading.TEXT: 1.0}),
    ("categorical", 0.01, {Reading.CODE: 1.0}),
    ("boolean", 0.05, {Reading.TRUTH: 1.0}),
    *(("datetime", 0.05 / len(MOMENTS), {reading: 1.0}) for reading in MOMENTS),
    *(("duration", 0.01 / len(DURATIONS), {reading: 1.0}) for reading in DURATIONS),
)


def _likeliest_kind(noisy: np.ndarray, sigma: float, rows: int) -> Kind:
    """Where no reading stands out: the likeliest of some usual columns, all of their cells there or half of them."""
    best, most = _USUAL[0][0], -math.inf
    for kind, prior, how in _USUAL:
        seen = sum(share * noisy[reading] for reading, share in how.items())
        size = sum(share**2 for share in how.values())
        for there in (rows, rows / 2):
            likely = (there * seen - there**2 * size / 2) / max(sigma, 1e-9) ** 2 + math.log(prior)
            if likely > most:
                best, most = kind, likely
    return best


def _enough(sigma: float, rows: int) -> float:
    return max(_STANDS_OUT * sigma, _OFF_GRID * rows)


def _heaviest(masses: dict[Kind, float]) -> Kind:
    return max(masses.items(), key=lambda item: item[1])[0]


def _standing(counts: np.ndarray, enough: float) -> float:
    return float(counts[counts > enough].sum())


def _finest(noisy: np.ndarray, readings: Sequence[int], sigma: float, rows: int) -> float | None:
    """The step of the finest reading that stands out, None where none does."""
    found = [reading for reading in readings if noisy[reading] > _enough(sigma, rows)]
    return STEPS[found[-1]] if found else None


def _number_step(noisy: np.ndarray, sigma: float, rows: int) -> float:
    """The step of the grid on which a column lies; 0 where it lies on none.

    The finest reading that stands out decides, since each cell was counted under the coarsest grid that it lies on. Tenths
    and quarters together need twentieths. Where nothing stands out, whole numbers, thousandths or none: whichever is likeliest.
    """
    step = _finest(noisy, NUMBERS, sigma, rows)
    if step is None:
        return _likeliest_step(noisy)
    if math.isclose(step, 0.1) and noisy[Reading.QUARTERS] > _enough(sigma, rows):
        return 0.05
    return step


def _likeliest_step(noisy: np.ndarray) -> float:
    """A guess where no reading stands out: by how much each group of them holds for the noise on it."""
    groups = {1.0: NUMBERS[:6], 0.001: NUMBERS[6:-1], 0.0: NUMBERS[-1:]}
    held = {step: float(noisy[list(readings)].sum()) / math.sqrt(len(readings)) for step, readings in groups.items()}
    return max(held.items(), key=lambda item: item[1])[0]


def _heap(noisy: np.ndarray, step: float, sigma: float) -> float:
    """The coarser grid that holds most cells beyond its part of the finer one, if that is a good part of them."""
    if step == 0:
        return 0.0
    there = max(float(noisy[list(NUMBERS)].sum()), 1.0)
    best, most = 0.0, _HEAPED
    for reading in NUMBERS[1:-1]:
        grid = STEPS[reading]
        if grid <= step * (1 + 1e-9) or not _multiple(grid, step):
            continue
        on_it = [r for r in NUMBERS[:-1] if r == Reading.ZERO or _multiple(STEPS[r], grid)]
        held = float(noisy[on_it].sum())
        beyond = held / there - step / grid
        if beyond > most and held > _STANDS_OUT * sigma * math.sqrt(len(on_it)):
            best, most = grid, beyond
    return best


def _multiple(coarse: float, fine: float) -> bool:
    return coarse >= fine * (1 - 1e-9) and math.isclose(coarse / fine, round(coarse / fine), rel_tol=1e-9)
