"""The look at edges: class means and one covariance of public edge features, where samples show how to look.

Gaussians of pixels know nothing of outlines and textures: their samples have other edges than pictures have. What leaves
here says which edges pictures have. A record's features f have length one at most; each look is one `ClippedMoments`
release, so its sensitivity is proved there.

1. Counts and sums of f give class means m.
2. Sums, class by class, and products, over all classes, of (f - m) A give better means and the covariance within classes.
   The columns of A are the axes of the features of *samples* of the release so far, scaled so that samples have about the
   same spread along each. Noise of one size along all axes then costs the least: along axes of a tenth of the spread it
   would weigh ten times as much. Samples, A and m are public, the same whichever record is blanked.
3. Squared lengths of (f - m) A, over all classes. Most rows are longer than the clip in 2, which then sees where they
   point; one number says how long they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from understudy.learn.shrinkage import invertible_covariance, ridged_covariance, shrink_to_middle
from understudy.privacy import Budget, GaussianEvent
from understudy.privacy.clipped_moments import ClippedMoments
from understudy.privacy.pair_tables import ABSENT

# Of the precision: class means, means along the axes, products, lengths.
_SHARES = (0.1, 0.3, 0.57, 0.03)
# The longest row that is kept whole, and the longest whose length is, in units of a sample's typical length.
_CLIP, _LENGTH_CLIP = 1.6, 6.4
# An axis is not stretched beyond that of this share of the samples' mean variance.
_FLOOR = 0.3
# Looks along k axes are of use while k^1.5 times their noise stays below this share of the number of records: then the
# noise's largest eigenvalue is not far above the samples' variances. Chosen on Fashion-MNIST, where it allows 400.
_AXES_NOISE = 0.76
# No axis has less variance than this, on a scale where samples have at most 1.
_LEAST = 0.02


class EdgeMoments(NamedTuple):
    """Safe to publish: edge features of each class along public axes.

    `axes` (features x k); `before` and `means` (classes x k): of plain samples and of the records; `deviations` (k): of plain
    samples; `covariance` (k x k): of the records within classes; `along` (k x classes): how much each axis speaks for each.
    """

    axes: np.ndarray
    before: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    covariance: np.ndarray
    along: np.ndarray

    def judge(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear discriminant analysis: weights (features x classes) and offsets of each class' log-share."""
        return self.axes @ self.along, -0.5 * np.einsum("ck,kc->c", self.means, self.along)

    def move(self) -> np.ndarray:
        """The matrix that takes plain samples' distance from their class' mean to a record's, by the shortest way."""
        inside = self.covariance / np.outer(self.deviations, self.deviations)
        values, vectors = np.linalg.eigh(inside)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return self.deviations[:, None] * root / self.deviations


@dataclass(frozen=True)
class EdgePlan:
    """Everything public about the look."""

    classes: int
    axes: int
    noise_multiplier: float

    @classmethod
    def of(cls, classes: int, features: int, records: int, noise_multiplier: float) -> EdgePlan:
        """As many axes as the public number of records carries at that noise."""
        carried = int((_AXES_NOISE * records / noise_multiplier) ** (2 / 3))
        return cls(classes, max(1, min(features, carried)), noise_multiplier)

    def looks(self, length: float = 1.0) -> tuple[ClippedMoments, ...]:
        """The releases in their order; `length` is a sample's typical one along the axes."""
        one, many = (length * _CLIP,), (length * _CLIP,) * self.classes
        noises = [self.noise_multiplier / share**0.5 for share in _SHARES]
        return (
            ClippedMoments((1.0,) * self.classes, noises[0], (0.05, 0.95, 0.0), "none"),
            ClippedMoments(many, noises[1], (0.02, 0.98, 0.0), "none"),
            ClippedMoments(one, noises[2], (0.005, 0.005, 0.99), "full"),
            ClippedMoments((length * _LENGTH_CLIP,), noises[3], (0.05, 0.05, 0.9), "diagonal"),
        )

    def events(self) -> list[GaussianEvent]:
        return [event for look in self.looks() for event in look.events()]


def edge_look(
    features: np.ndarray, classes: np.ndarray, plain: np.ndarray, drawn: np.ndarray, plan: EdgePlan, budget: Budget
) -> EdgeMoments:
    """Touches private data (`features`, `classes`): all looks of the plan. Safe to publish.

    `plain` are the features of samples of what was released before, drawn for the classes `drawn`.
    """
    centres = np.stack([plain[drawn == c].mean(axis=0) for c in range(plan.classes)])
    axes, stretched, deviations = _axes(plain - centres[drawn], plan.axes)
    first, second, third, fourth = plan.looks(float(np.sqrt(np.sum(deviations**2))))

    sums = first.release(features, classes, budget)
    counts = np.maximum(sums.counts, 2 * sums.count_noise + 1)[:, None]
    means = sums.sums / counts @ axes
    rows = features @ axes - means[classes]
    together = np.where(classes == ABSENT, ABSENT, 0)

    offsets = second.release(rows, classes, budget)
    products = third.release(rows, together, budget)
    lengths = fourth.release(np.linalg.norm(rows, axis=1, keepdims=True), together, budget)

    # What is left of the first means' noise, and the noise with which it was seen.
    expected = (sums.sum_noise[:, None] / counts * stretched) ** 2
    seen = (offsets.sum_noise[:, None] / counts) ** 2
    means = means + offsets.sums / counts * expected / (expected + seen)
    means = shrink_to_middle(means, expected * seen / (expected + seen))
    total = max(products.counts[0], 1.0)
    covariance, noise = products.products[0] / total, float(products.product_noise[0]) / total
    longer = float(lengths.products[0, 0]) / total / max(float(np.trace(covariance)), np.finfo(float).tiny)
    covariance, noise = (max(longer, 1.0) * part for part in (covariance, noise))
    along = np.linalg.solve(ridged_covariance(covariance, noise), means.T)
    covariance = invertible_covariance(covariance, noise, _LEAST)
    return EdgeMoments(axes, centres @ axes, means, deviations, covariance, along)


def _axes(centred: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stretched principal axes of samples, how far each is stretched, and samples' deviations along them."""
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    values, vectors = np.maximum(values[::-1][:count], 1e-9), vectors[:, ::-1][:, :count]
    stretched = 1 / np.sqrt(values + _FLOOR * values.mean())
    return vectors * stretched, stretched, np.sqrt(values) * stretched
