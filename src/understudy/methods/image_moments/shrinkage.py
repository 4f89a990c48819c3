"""From noisy products to covariances: post-processing of what was released, so free.

Two steps of the same idea, a Wiener filter for symmetric matrices. An entry (i, j) of a covariance is taken as
sqrt(v_i v_j) times a number of variance t², plus noise of known size; the filter keeps t² v_i v_j / (t² v_i v_j + noise²)
of it, with t² from the released entries themselves. First the covariance pooled over classes is shrunk towards its own
diagonal in the public basis, then each class' towards the pooled one, in the pooled one's directions.
"""

from __future__ import annotations

import numpy as np

# A direction keeps at least this share of the mean variance: samples that are flat in many directions teach badly.
_FLOOR = 1e-4


def pooled_covariance(covariance: np.ndarray, noise: float) -> np.ndarray:
    """The pooled covariance, its off-diagonal entries shrunk by what the noise (off the diagonal) leaves of them."""
    variance = _positive(np.diag(covariance))
    outer = np.outer(variance, variance)
    off = ~np.eye(len(variance), dtype=bool)
    spread = _spread(covariance[off], outer[off], noise)
    kept = np.where(off, covariance * _share(spread * outer, noise), np.diag(variance))
    return positive_part(kept)


def class_covariance(covariance: np.ndarray, pooled: np.ndarray, noise: float) -> np.ndarray:
    """A class' covariance, its difference from the pooled one shrunk in the pooled one's directions."""
    values, vectors = np.linalg.eigh(pooled)
    values = _positive(values)
    difference = vectors.T @ (covariance - pooled) @ vectors
    outer = np.outer(values, values)
    # On the diagonal both the noise and the expected difference are sqrt(2) larger: the same share is kept.
    spread = _spread(difference, outer, noise)
    return positive_part(pooled + vectors @ (difference * _share(spread * outer, noise)) @ vectors.T)


def positive_part(matrix: np.ndarray) -> np.ndarray:
    """The nearest matrix whose eigenvalues are all positive."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = _positive(values)
    return (vectors * values) @ vectors.T


def _positive(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, _FLOOR * max(float(values.mean()), np.finfo(float).tiny))


def _spread(entries: np.ndarray, outer: np.ndarray, noise: float) -> float:
    """t²: how much larger the entries are than their noise, in units of sqrt(v_i v_j)."""
    return max(float(np.sum(entries**2 - noise**2)), 0.0) / float(np.sum(outer))


def _share(signal: np.ndarray, noise: float) -> np.ndarray:
    return signal / np.maximum(signal + noise**2, np.finfo(float).tiny)
