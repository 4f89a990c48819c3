"""One private look before the votes: class-conditional histograms, from which a generator starts.

A generator that starts at random spends its first votes on being called a fake by everybody, and at a small epsilon
there are few votes. Histograms of each column for each class cost a share of epsilon once; teaching them to the
generator is post-processing and free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.methods.layout import Label
from understudy.privacy import Budget, GaussianCounts, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.tables import Encoder

_GRID = 33


@dataclass(frozen=True)
class Marginals:
    """Public once paid for. `quantiles` are those of numeric columns on an even grid, `chances` of categories."""

    ratio: np.ndarray
    quantiles: np.ndarray
    chances: np.ndarray


def plan(encoder: Encoder, epsilon: float, delta: float) -> GaussianCounts:
    """The histograms' mechanism: every row is in one cell of each column's histogram, plus one of the classes'."""
    cells = len(encoder.groups) + 1
    multiplier = smallest_noise(
        lambda noise: [GaussianEvent(noise * cells**0.5, cells, "discrete", integer_unit=True)],
        epsilon,
        delta,
        tolerance=1e-3,
    )
    return GaussianCounts(multiplier, cells)


def measure(
    cube: np.ndarray, present: np.ndarray, encoder: Encoder, label: Label | None, bins: int, mechanism: GaussianCounts,
    budget: Budget,
) -> np.ndarray:  # fmt: skip
    """Touches private data: noisy histograms, classes x cells. Safe to publish.

    A missing number is in a cell of its own. The last cell counts the rows of the class.
    """
    counts = histograms(cube, present, encoder, label, bins)
    return mechanism.release(counts, budget)


def histograms(cube: np.ndarray, present: np.ndarray, encoder: Encoder, label: Label | None, bins: int) -> np.ndarray:
    """Touches private data: exact histograms."""
    classes = np.zeros(len(cube), dtype=np.int64) if label is None else label.classes(cube)
    parts: list[np.ndarray] = []
    n_classes = 1 if label is None else len(label.codes)
    for group in encoder.groups:
        part = cube[:, group.columns]
        if group.one_hot:
            cell, cells = part.argmax(axis=1), group.stop - group.start
        else:
            cell, cells = np.minimum((part[:, 0] * bins).astype(np.int64), bins - 1), bins + 1
            if group.missing is not None:
                cell = np.where(part[:, 1] >= 0.5, bins, cell)
        table = np.bincount(classes[present] * cells + cell[present], minlength=n_classes * cells)
        parts.append(table.reshape(n_classes, cells))
    parts.append(np.bincount(classes[present], minlength=n_classes)[:, None])
    return np.concatenate(parts, axis=1)


def marginals(noisy: np.ndarray, encoder: Encoder, bins: int, noise: float) -> Marginals:
    """What noisy histograms say: negative cells are empty, and so is what drowns in the noise."""
    n_classes = len(noisy)
    quantiles = np.zeros((n_classes, encoder.width, _GRID), dtype=np.float32)
    chances = np.zeros((n_classes, encoder.width), dtype=np.float32)
    counts = np.maximum(noisy[:, -1].astype(np.float64), 1.0)
    start = 0
    even = np.linspace(0, 1, _GRID)
    for group in encoder.groups:
        cells = group.stop - group.start if group.one_hot else bins + 1
        table = noisy[:, start : start + cells].astype(np.float64)
        start += cells
        # A cell below one standard deviation of its noise is as likely empty as not.
        kept = np.where(table > noise, table, 0.0)
        kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, 1.0)
        if group.one_hot:
            chances[:, group.columns] = kept / kept.sum(axis=1, keepdims=True)
            continue
        if group.missing is not None:
            chances[:, group.missing] = kept[:, -1] / kept.sum(axis=1)
        values = kept[:, :-1] + 1e-9
        cumulative = np.cumsum(values, axis=1) / values.sum(axis=1, keepdims=True)
        for c in range(n_classes):
            if group.kind == "boolean":
                chances[c, group.start] = values[c, bins // 2 :].sum() / values[c].sum()
            known = np.concatenate([[0.0], cumulative[c]])
            quantiles[c, group.start] = np.interp(even, known, np.linspace(0, 1, bins + 1))
    return Marginals((counts / counts.sum()).astype(np.float32), quantiles, chances)
