"""The private looks: what leaves, and at which share of the budget.

One record is one row z of coefficients in a public basis, and has one class. Each look is one `ClippedMoments` release, so
its sensitivity is proved there: a record adds to one cell's count, sum and products, clipped to a public norm.

1. Counts and sums of z give class means.
2. Counts, sums and products of z - mean, about the *released* means, give class covariances. Centring by released numbers
   leaves the sensitivity as it is, since they are the same whichever record is blanked.
3. With several components, each class is cut into cells around the k-means centres of *samples* of what looks 1 and 2
   released. Which cells there are is public; a record falls into one of them. Counts and sums of z - mean over cells
   give the components' means, and products about those the covariance that the components of a class share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.learn.shrinkage import class_covariance, pooled_covariance, wiener_share
from understudy.privacy import Budget, GaussianEvent
from understudy.privacy.clipped_moments import ClippedMoments, Moments
from understudy.privacy.pair_tables import ABSENT

_KMEANS_SAMPLES = 4000
_KMEANS_STEPS = 25


@dataclass(frozen=True)
class LookPlan:
    """Everything public about the looks: clips, the noise multiplier of all together, and how they share it."""

    classes: int
    components: int
    mean_clip: float
    spread_clip: float
    noise_multiplier: float

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the precision: class means, class covariances; with cells, also their means and their covariances."""
        return (0.1, 0.9) if self.components == 1 else (0.05, 0.3, 0.2, 0.45)

    def looks(self) -> list[ClippedMoments]:
        """The releases in their order."""
        means = {"shares": (0.05, 0.95, 0.0), "products": "none"}
        products = {"shares": (0.005, 0.045, 0.95), "products": "full"}
        sizes = (self.classes, self.classes, self.classes * self.components, self.classes)
        clips = (self.mean_clip, self.spread_clip, self.spread_clip, self.spread_clip)
        kinds = (means, products, means, products)
        return [
            ClippedMoments((clip,) * size, self.noise_multiplier / share**0.5, **kind)  # type: ignore[arg-type]
            for share, size, clip, kind in zip(self.shares, sizes, clips, kinds, strict=False)
        ]

    def events(self) -> list[GaussianEvent]:
        return [event for look in self.looks() for event in look.events()]


@dataclass(frozen=True)
class Released:
    """Safe to publish: weights (classes x components), means (x d) and covariances (classes x d x d)."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


def look(rows: np.ndarray, classes: np.ndarray, plan: LookPlan, budget: Budget, rng: np.random.Generator) -> Released:
    """Touches private data (`rows`, `classes`): all looks of the plan. Safe to publish."""
    looks = plan.looks()
    first = looks[0].release(rows, classes, budget)
    means = first.sums / _count(first)[:, None]
    second = looks[1].release(rows - means[classes], classes, budget)
    means = means + second.sums / _count(first)[:, None]
    covariances = _covariances(second)
    if plan.components == 1:
        return Released(np.ones((plan.classes, 1)), means[:, None], covariances)
    centres = np.stack([_cells(c, plan.components, rng) for c in covariances])
    centred = rows - means[classes]
    cells = _nearest(centred, classes, centres)
    numbers = np.where(classes == ABSENT, ABSENT, classes * plan.components + cells)
    third = looks[2].release(centred, numbers, budget)
    shape = (plan.classes, plan.components)
    counts, sums = third.counts.reshape(shape), third.sums.reshape(*shape, -1)
    offsets = _cell_means(counts, sums, centres, third)
    fourth = looks[3].release(centred - offsets[classes, cells], classes, budget)
    weights = np.maximum(counts, third.count_noise)
    return Released(weights / weights.sum(axis=1, keepdims=True), means[:, None] + offsets, _covariances(fourth))


def _count(moments: Moments) -> np.ndarray:
    """Noisy counts that can be divided by: a class that drowns in the noise gets the noise's own size."""
    return np.maximum(moments.counts, 2 * moments.count_noise + 1)


def _covariances(moments: Moments) -> np.ndarray:
    counts = _count(moments)
    noisy = moments.products / counts[:, None, None]
    noise = moments.product_noise / counts
    total = counts.sum()
    pooled = pooled_covariance(
        np.einsum("c,cij->ij", counts / total, noisy), float(np.sqrt(np.sum(moments.product_noise**2)) / total)
    )
    return np.stack([class_covariance(one, pooled, float(s)) for one, s in zip(noisy, noise, strict=True)])


def _cell_means(counts: np.ndarray, sums: np.ndarray, centres: np.ndarray, moments: Moments) -> np.ndarray:
    """Cells' means, pulled towards where the class' Gaussian had them as far as noise makes them uncertain."""
    trusted = np.maximum(counts, moments.count_noise)[..., None]
    noise = moments.sum_noise.reshape(*counts.shape, 1) / trusted
    difference = sums / trusted - centres
    signal = np.maximum((difference**2).mean(axis=(0, 1)) - (noise**2).mean(), 0.0)
    return centres + difference * wiener_share(signal, noise**2)


def _cells(covariance: np.ndarray, components: int, rng: np.random.Generator) -> np.ndarray:
    """k-means centres of samples of the released Gaussian: free."""
    values, vectors = np.linalg.eigh(covariance)
    samples = (rng.normal(size=(_KMEANS_SAMPLES, len(values))) * np.sqrt(values)) @ vectors.T
    centres = samples[:components]
    for _ in range(_KMEANS_STEPS):
        nearest = _closest(samples, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, samples)
        sizes = np.bincount(nearest, minlength=components)[:, None]
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
    return centres


def _nearest(centred: np.ndarray, classes: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Touches private data: the cell of each record among its class' cells."""
    cells = np.zeros(len(centred), dtype=np.int64)
    for c in range(len(centres)):
        mine = classes == c
        cells[mine] = _closest(centred[mine], centres[c])
    return cells


def _closest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return (np.sum(centres**2, axis=1) - 2 * points @ centres.T).argmin(axis=1)
