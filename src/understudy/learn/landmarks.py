"""Who is near whom among points: a few landmarks of public points, and how near any point is to each of them.

Everything here is made of public points alone. What a point says is then a fixed function of that point, of length one:
it votes for the landmarks near it, more for the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

_AT_ONCE = 4096
# Points that say how far apart points usually are; rounds of k-means.
_COMPARED, _ROUNDS = 400, 8
# Directions in which nearness to landmarks varies less than this carry no weight.
_SMALLEST = 1e-5


@dataclass(frozen=True)
class Landmarks:
    """Public. A projection of points, the landmarks there, and the usual distance.

    Distances to landmarks overlap, so votes are told apart (`apart`): of two points, the product of their votes is about how
    near they are to each other, which is what a kernel is.
    """

    middle: Floats
    projection: Floats
    places: Floats
    usual: float
    apart: Floats

    @classmethod
    def of(cls, points: Floats, axes: int, count: int, nearness: float, rng: np.random.Generator) -> Landmarks:
        """`count` landmarks among public points, on their `axes` longest axes, each shrunk to the root of its length."""
        middle = points.mean(axis=0)
        centred = (points - middle).astype(np.float64)
        lengths, directions = np.linalg.eigh(centred.T @ centred)
        largest = np.argsort(-lengths)[: min(axes, len(points) - 1, points.shape[1])]
        deviations = np.sqrt(np.maximum(lengths[largest], 1e-9 * max(float(lengths.max()), 1e-12)))
        projection = (directions[:, largest] / np.sqrt(deviations)).astype(np.float32)
        inside = (centred @ projection).astype(np.float32)
        places = _means(inside, min(count, len(points)), rng)
        far = _distances(inside[:_COMPARED], inside[-_COMPARED:])
        usual = nearness * max(float(np.median(far)), 1e-9)
        lengths, directions = np.linalg.eigh(np.exp(-_distances(places, places).astype(np.float64) / usual))
        apart = directions / np.sqrt(np.maximum(lengths, _SMALLEST))
        return cls(middle, projection, places, usual, apart.astype(np.float32))

    def votes(self, points: Floats) -> Floats:
        """What each point says of the landmarks (points x landmarks); each row has length one, whatever the point is.

        A point beyond what floating point can tell says nothing: an error would say that there is one.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            inside = ((points - self.middle) @ self.projection).astype(np.float32)
            far = _distances(inside, self.places) / np.float32(self.usual)
            # Rows are brought to length one: what is the same in all distances of a point does not count, and must not underflow.
            said = np.exp(far.min(axis=1, keepdims=True) - far) @ self.apart
            said /= np.maximum(np.linalg.norm(said, axis=1, keepdims=True), 1e-30)
        return np.where(np.isfinite(said).all(axis=1, keepdims=True), said, 0)


def smoothed(votes: Floats, tallies: Floats, voters: int, penalty: float) -> Floats:
    """Shares of the classes of public points (points x classes), from their `votes` and noisy tallies (landmarks x classes).

    Ridge regression. How votes go together is known from public points, so only their products with classes were private.
    """
    gram = (votes.T @ votes).astype(np.float64) * (voters / len(votes))
    return votes @ np.linalg.solve(gram + penalty * np.eye(len(gram)), tallies)


def _means(points: Floats, count: int, rng: np.random.Generator) -> Floats:
    """k-means: the middles of so many groups of points."""
    means = points[rng.choice(len(points), count, replace=False)]
    for _ in range(_ROUNDS):
        nearest = np.concatenate(
            [_distances(points[i : i + _AT_ONCE], means).argmin(axis=1) for i in range(0, len(points), _AT_ONCE)]
        )
        sizes = np.bincount(nearest, minlength=count)
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, points)
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], means).astype(np.float32)
    return means


def _distances(a: Floats, b: Floats) -> Floats:
    """Squared, of each point of `a` to each of `b`."""
    return np.maximum((a**2).sum(axis=1)[:, None] - 2 * a @ b.T + (b**2).sum(axis=1), 0)
