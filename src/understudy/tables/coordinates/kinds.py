"""From noisy counts of readings to the kind and the grid of a column. Sees released numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.tables.coordinates.known import Kind, Known
from understudy.tables.coordinates.readings import MOMENTS, NUMBERS, STEPS, TEXTS, Reading

# A reading is believed from this many deviations of the noise on.
_STANDS_OUT = 3.5
# A kind may be wrong in this share of the cells, which are then missing; a grid in this share, which are rounded.
_MISFITS = 0.1
_OFF_GRID = 0.01
# So much more of the cells than by chance must lie on a coarser grid for it to be told of.
_HEAPED = 0.2


@dataclass(frozen=True)
class Decided:
    """Public once paid for. What phase one says of a column; `step` is None for kinds without a grid.

    `heap` is a coarser grid on which far more of the cells lie than would by chance, as round numbers do; 0 for none.
    `classes`: a number that may stand for a class; where it lies tells.
    """

    kind: Kind
    step: float | None = None
    words: bool = False
    heap: float = 0.0
    classes: bool = False


def decide(known: Known, noisy: np.ndarray, sigma: float, rows: int) -> Decided:
    """The kind and the grid, by a fixed rule.

    A number, a moment or a yes and no is a column of which all but a tenth of the cells that are there read so; anything
    else is text. A target of whole numbers may be a class.
    """
    kind = known.kind or _kind(noisy, sigma)
    if kind == "number":
        step = _number_step(noisy, sigma, rows) if known.step is None else known.step
        heap = _heap(noisy, step, sigma) if known.asks else 0.0
        return Decided(kind, step, heap=heap, classes=known.open_target and step >= 1)
    if kind == "datetime":
        return Decided(kind, _finest(noisy, MOMENTS, sigma, rows) or 1.0)
    return Decided(kind, words=kind == "boolean" and known.kind is None)


def _kind(noisy: np.ndarray, sigma: float) -> Kind:
    groups: dict[Kind, tuple[Reading, ...]] = {
        "number": NUMBERS,
        "datetime": MOMENTS,
        "boolean": (Reading.TRUTH,),
        "categorical": TEXTS,
    }
    # Only readings that stand out are added up: a sum over all of a kind's readings would add up their noise.
    masses: dict[Kind, float] = {kind: _standing(noisy[list(readings)], sigma) for kind, readings in groups.items()}
    there = sum(masses.values())
    best = _heaviest(masses)
    if there == 0:
        flat: dict[Kind, float] = {kind: float(np.max(noisy[list(readings)])) for kind, readings in groups.items()}
        return _heaviest(flat)
    return best if masses[best] >= (1 - _MISFITS) * there else "categorical"


def _heaviest(masses: dict[Kind, float]) -> Kind:
    return max(masses.items(), key=lambda item: item[1])[0]


def _standing(counts: np.ndarray, sigma: float) -> float:
    return float(counts[counts > _STANDS_OUT * sigma].sum())


def _finest(noisy: np.ndarray, readings: tuple[Reading, ...], sigma: float, rows: int) -> float | None:
    """The step of the finest reading that stands out, None where none does."""
    enough = max(_STANDS_OUT * sigma, _OFF_GRID * rows)
    found = [reading for reading in readings if noisy[reading] > enough]
    return STEPS[found[-1]] if found else None


def _number_step(noisy: np.ndarray, sigma: float, rows: int) -> float:
    """The step of the grid on which a column lies; 0 where it lies on none.

    The finest reading that stands out decides, since each cell was counted under the coarsest grid that it lies on. Tenths
    and quarters together need twentieths. Where nothing stands out, whole numbers, thousandths or none: whichever is likeliest.
    """
    step = _finest(noisy, NUMBERS, sigma, rows)
    if step is None:
        return _likeliest_step(noisy)
    enough = max(_STANDS_OUT * sigma, _OFF_GRID * rows)
    if math.isclose(step, 0.1) and noisy[Reading.QUARTERS] > enough:
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
