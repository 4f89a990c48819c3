"""What the looks know of their own noise, for the verdict on a release. Public numbers in, public numbers out; free."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.methods.moments.axes import Axes
from understudy.methods.moments.margins import class_counts, class_margins
from understudy.privacy import Moments
from understudy.release.verdict import ClassMeans, Evidence
from understudy.tables.coordinates import Bins, Described

# The mean size of a standard normal number, halved: noise of so many deviations on each share moves that much of the rows.
_MOVED = 0.4
# A code that stands for next to no row tells nothing of the classes.
_LEAST = 2.0


def gaussian_evidence(
    axes: Axes,
    first: Moments,
    second: Moments,
    clips: Sequence[float],
    spread: np.ndarray,
    radii: np.ndarray,
    radius_noise: float,
) -> Evidence:
    """Of noisy sums, second moments and counts of radii. `spread` is that of the model's own points, classes x axes."""
    counts = np.maximum(first.counts, 1.0)
    noise = np.broadcast_to((first.sum_noise / counts)[:, None], first.sums.shape)
    rows, share = float(counts.sum()), counts / counts.sum()
    # Noise on the mean of all rows, in spreads: so much, and what the marginals themselves carry, is wrong in a column.
    pooled = math.sqrt(float(share**2 @ (first.sum_noise / counts) ** 2)) / np.maximum(share @ spread, 1e-9)
    columns = [
        _MOVED * _wrong(axis.column, axes.rows, float(np.mean(pooled[axis.start : axis.stop]))) for axis in axes.axes
    ]
    squares = counts * np.asarray(clips) ** 2
    product = math.sqrt(float(share**2 @ (second.product_noise / squares) ** 2))
    moment = share @ (np.trace(second.products, axis1=1, axis2=2) / squares) / axes.width
    pairs = math.hypot(product / max(float(moment), 0.25 / axes.width), 1 / math.sqrt(rows))
    if len(counts) == 1:
        return Evidence(float(np.mean(columns)), pairs)
    # Classes may differ in how far their rows lie from the mean, and in nothing else.
    far = _shares(radii, np.full(radii.shape[1], radius_noise), counts)
    parts = ((first.sums / counts[:, None], far.means), (noise, far.noise), (spread, far.spread))
    means, noises, spreads = (np.concatenate(both, axis=1) for both in parts)
    return Evidence(
        float(np.mean(columns)),
        pairs,
        classes=ClassMeans(means, noises, spreads, first.counts, 1.5 * first.count_noise),
    )


def _shares(counted: np.ndarray, sigma: np.ndarray, counts: np.ndarray) -> ClassMeans:
    """Noisy counts of each class and code as shares of the class; codes that stand for next to no row are left out."""
    everyone = counted.sum(axis=0)
    told = everyone > _LEAST * math.sqrt(len(counts)) * sigma
    spread = np.sqrt(np.maximum(everyone[told] / counts.sum(), 1e-9))
    shares, noise = (counted / counts[:, None])[:, told], (sigma / counts[:, None])[:, told]
    return ClassMeans(shares, noise, np.broadcast_to(spread, shares.shape), counts)


def _wrong(column: Described, rows: int, otherwise: float) -> float:
    """The sum of the noise over a column's values: of its released marginal, or `otherwise` where none was bought."""
    if not column.sigma:
        return otherwise
    return column.sigma / max(rows, 1) * len(column.mass if column.ordered else column.shares)


def tables_evidence(tables: np.ndarray, bins: Bins, one: float, two: float) -> Evidence:
    """Of noisy one-way and two-way tables of each class."""
    sizes = bins.sizes
    counts = np.maximum(class_counts(tables, sizes, one, two), 1.0)
    margins, sigma = class_margins(tables, sizes, one, two)
    rows, classes = float(counts.sum()), math.sqrt(len(counts))
    columns = _MOVED * classes * float(sigma.sum()) / len(sizes) / rows
    # A correlation is a sum over cells with weights of about one: the noise of B x B cells is B times that of one.
    pairs = math.hypot(classes * two * float(np.mean(sizes)) / rows, 1 / math.sqrt(rows))
    if len(counts) == 1:
        return Evidence(columns, pairs)
    return Evidence(columns, pairs, classes=replace(_shares(margins, sigma, counts), count_noise=one))
