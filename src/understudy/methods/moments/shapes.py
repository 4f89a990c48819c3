"""Noisy means and second moments made whole: what the noise hides is taken from what all classes share. Free."""

from __future__ import annotations

import math

import numpy as np

# Eigenvalues below this part of the average are raised to it: no direction is without any spread.
_FLOOR = 0.02
_SHORTEST_SERIES = 16


def shrink_means(means: np.ndarray, noise: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Class means pulled towards the mean of all rows by as much as their noise explains of the distance (James-Stein)."""
    pooled = counts @ means / counts.sum()
    away = means - pooled
    d = means.shape[1]
    size = (away**2).sum(axis=1)
    keep = np.clip(1 - (d - 2 if d > 2 else 1) * noise**2 / np.maximum(size, 1e-300), 0.0, 1.0)
    return pooled + away * keep[:, None]


def class_shapes(
    products: np.ndarray, noise: np.ndarray, counts: np.ndarray, means: np.ndarray, clips: np.ndarray
) -> np.ndarray:
    """A factor F for each class, F F' being its shape: what classes share, plus what stands out of the noise.

    Shapes are compared in units of the radius that their rows were clipped to: a class of far rows has no more say.
    """
    n_classes, d = means.shape
    moments = products / (counts * clips**2)[:, None, None]
    each = noise / (counts * clips**2)
    pooled = np.einsum("c,cij->ij", counts, moments) / counts.sum()
    shared = clean(pooled, math.sqrt(float(((each * counts) ** 2).sum())) / counts.sum())
    centre = counts @ means / counts.sum()
    made = np.empty((n_classes, d, d))
    for c in range(n_classes):
        scale = max(float(np.trace(moments[c])), 0.1 * float(np.trace(shared))) / max(float(np.trace(shared)), 1e-12)
        found = scale * shared
        found = found + _series(moments[c] - found, each[c])
        rest = moments[c] - found
        found = found + _direction(rest, means[c] - centre, each[c])
        rest = moments[c] - found
        found = found + _outstanding(rest, each[c])
        rest = moments[c] - found
        found = found + np.diag(_diagonal(np.diag(rest), each[c]))
        made[c] = _factor(found)
    return made


def clean(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment as series plus low rank plus diagonal.

    Eigenvalues above the edge of the noise's own spectrum, 2 noise sqrt(d), are kept and corrected for what the noise
    adds to them; the rest of each axis' variance stays on the diagonal.
    """
    d = len(moment)
    series = _series(moment - np.diag(np.diag(moment)), noise)
    values, vectors = np.linalg.eigh((moment - series + (moment - series).T) / 2)
    edge = 2 * noise * math.sqrt(d)
    kept = values > edge
    strong = (values[kept] + np.sqrt(values[kept] ** 2 - edge**2)) / 2
    smooth = series + (vectors[:, kept] * strong) @ vectors[:, kept].T
    rest = np.diag(moment) - np.diag(smooth)
    average = max(float(rest.mean()), _FLOOR * float(np.trace(moment)) / d, 1e-12)
    steady = average + _diagonal(rest - average, noise)
    return smooth + np.diag(np.maximum(steady, 0.2 * average))


def _series(rest: np.ndarray, noise: float) -> np.ndarray:
    """What depends only on how far apart two columns stand, as in a signal: averages along the diagonals.

    An average of d - k entries has little noise. Where the order of the columns means nothing the averages are about
    zero, and nothing is added.
    """
    d = len(rest)
    if d < _SHORTEST_SERIES:
        return np.zeros_like(rest)
    lags = np.zeros(d)
    for lag in range(d):
        mean = float(np.diagonal(rest, lag).mean())
        least = 3 * noise * (math.sqrt(2) if lag == 0 else 1) / math.sqrt(d - lag)
        lags[lag] = math.copysign(max(abs(mean) - least, 0.0), mean)
    places = np.arange(d)
    return lags[np.abs(places[:, None] - places[None, :])]


def _direction(rest: np.ndarray, away: np.ndarray, noise: float) -> np.ndarray:
    """The spread along the line from the common mean to this class' mean: one number, so little noise hides it."""
    length = float(np.linalg.norm(away))
    if length < 1e-12:
        return np.zeros_like(rest)
    line = away / length
    found = float(line @ rest @ line)
    least = 2 * math.sqrt(2) * noise
    return np.outer(line, line) * math.copysign(max(abs(found) - least, 0.0), found)


def _outstanding(rest: np.ndarray, noise: float) -> np.ndarray:
    """What of a symmetric difference lies beyond the spectrum of the noise."""
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    edge = 2 * noise * math.sqrt(len(rest))
    size = np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    return (vectors * (np.sign(values) * size)) @ vectors.T


def _diagonal(rest: np.ndarray, noise: float) -> np.ndarray:
    """Differences on the diagonal, pulled to zero by as much as their noise explains of them (James-Stein)."""
    explained = len(rest) * 2 * noise**2 / max(float((rest**2).sum()), 1e-300)
    return rest * max(0.0, 1 - explained)


def _factor(shape: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((shape + shape.T) / 2)
    least = _FLOOR * max(float(values.mean()), 1e-9)
    return vectors * np.sqrt(np.maximum(values, least))
