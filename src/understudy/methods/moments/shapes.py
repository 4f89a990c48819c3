"""Noisy means and second moments made whole: what the noise hides is taken from what all classes share. Free."""

from __future__ import annotations

import math

import numpy as np

# Eigenvalues below this part of the average are raised to it: no direction is without any spread.
_FLOOR = 0.02


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
    """A factor F for each class, F F' being its shape: what classes share, plus what stands out of the noise."""
    del clips
    n_classes, d = means.shape
    moments = products / counts[:, None, None]
    each = noise / counts
    pooled = np.einsum("c,cij->ij", counts, moments) / counts.sum()
    shared = clean(pooled, math.sqrt(float((noise**2).sum())) / counts.sum())
    centre = counts @ means / counts.sum()
    made = np.empty((n_classes, d, d))
    for c in range(n_classes):
        scale = max(float(np.trace(moments[c])), 0.1 * float(np.trace(shared))) / max(float(np.trace(shared)), 1e-12)
        rest = moments[c] - scale * shared
        found = scale * shared + _direction(rest, means[c] - centre, each[c])
        rest = moments[c] - found
        found = found + _outstanding(rest, each[c])
        rest = moments[c] - found
        found = found + np.diag(_diagonal(np.diag(rest), each[c]))
        made[c] = _factor(found)
    return made


def clean(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment as low rank plus diagonal.

    Eigenvalues above the edge of the noise's own spectrum, 2 noise sqrt(d), are kept and corrected for what the noise
    adds to them; the rest of each axis' variance stays on the diagonal.
    """
    d = len(moment)
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    edge = 2 * noise * math.sqrt(d)
    kept = values > edge
    strong = (values[kept] + np.sqrt(values[kept] ** 2 - edge**2)) / 2
    low_rank = (vectors[:, kept] * strong) @ vectors[:, kept].T
    rest = np.diag(moment) - np.diag(low_rank)
    average = max(float(rest.mean()), _FLOOR * float(np.trace(moment)) / d, 1e-12)
    steady = average + _diagonal(rest - average, noise)
    return low_rank + np.diag(np.maximum(steady, 0.2 * average))


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
