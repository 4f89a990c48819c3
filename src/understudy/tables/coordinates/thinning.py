"""Rows thin out towards the ends of a range that nobody declared. Free: released numbers in, released numbers out.

The outer cells of a spread are often wide: of a ladder's cell from 64 to 256 next to none may hold the rows of a column of ages,
all of them at its near end. Where such a cell holds rows less densely than the cell beside it, they are taken to thin out as an
exponential does, from the density beside it, and the cell is cut into finer ones that say so. Its share of the rows stays.
"""

from __future__ import annotations

import numpy as np

from understudy.tables.coordinates.ladder import TINY

# Cells at each end that may be cut, and where: the shares of a cell's rows up to each cut.
_OUTER = 2
_CUTS = np.array([0.3, 0.6, 0.8, 0.92, 0.98])
# A smaller difference in density is none, and so is a smaller share of the rows.
_ALIKE, _NONE = 1.05, 1e-9


def thinned_out(edges: np.ndarray, mass: np.ndarray, *, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Edges and shares of the same spread, whose outer cells are finer. On a grid (`whole`) all edges stay whole numbers."""
    edges, mass = _upper_end(edges, mass, whole)
    edges, mass = _upper_end(-edges[::-1], mass[::-1], whole)
    return -edges[::-1], mass[::-1]


def _upper_end(edges: np.ndarray, mass: np.ndarray, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    width = np.diff(edges)
    # What is exactly zero is a spike, and has no density.
    zero = (edges[:-1] <= 0) & (edges[1:] >= 0) & (width <= 2 * TINY * (1 + 1e-9)) & (not whole)
    density = np.where(zero, 0.0, mass / width)
    first = max(len(mass) - _OUTER, 1)
    cells = [
        _cut(edges[place], edges[place + 1], mass[place], density[place - 1], whole)
        for place in range(first, len(mass))
    ]
    finer = [edges[:first], *(cell[:-1] for cell, _ in cells), edges[-1:]]
    return np.concatenate(finer), np.concatenate([mass[:first], *(shares for _, shares in cells)])


def _cut(low: float, high: float, mass: float, beside: float, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """One cell as several, over which the density falls from `beside` on."""
    width = high - low
    steep = beside * width / mass if mass > _NONE else 0.0
    if steep <= _ALIKE:
        return np.array([low, high]), np.array([mass])
    fall = steep
    for _ in range(50):  # the density at the near end: fall / (1 - exp(-fall)) times the mean one
        fall = steep * -np.expm1(-fall)
    held = -np.expm1(-fall)
    cuts = low - np.log1p(-_CUTS * held) / fall * width
    cuts = np.maximum(np.rint(cuts), low + 1) if whole else cuts
    cuts = np.unique(cuts[(cuts > low) & (cuts < high)])
    cell = np.concatenate([[low], cuts, [high]])
    reached = -np.expm1(-fall * (cell - low) / width) / held
    return cell, mass * np.diff(reached)
