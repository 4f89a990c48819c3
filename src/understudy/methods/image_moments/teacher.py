"""A linear teacher from one look at public features: it says what class a sampled image looks like.

Samples of a Gaussian are cruder than real images, and what class they were drawn for is a crude label. Linear
discriminant analysis on edge features needs two small releases, class means and the covariance within classes (one matrix
for all), and is good at a small epsilon: it labels any number of samples for free.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.images import ImageDataset
from understudy.images.features import edge_features, edge_features_jit
from understudy.privacy import Budget, GaussianEvent
from understudy.privacy.clipped_moments import ClippedMoments

# Features have length one; from their class' mean they are seldom farther than this. Public, as is all here.
_SPREAD_CLIP = 0.55
# The ridge in units of the largest eigenvalue that noise alone would show.
_RIDGE = 0.15
_SHARES = (0.15, 0.85)
_CHUNK = 2048


def teacher_looks(classes: int, noise_multiplier: float) -> tuple[ClippedMoments, ClippedMoments]:
    """Sums of features by class; products of their distances from the released means, over all classes together.

    A record's features have norm 1 at most, and its distance is clipped: `ClippedMoments` proves the rest.
    """
    means, spread = (noise_multiplier / share**0.5 for share in _SHARES)
    return (
        ClippedMoments((1.0,) * classes, means, (0.05, 0.95, 0.0), "none"),
        ClippedMoments((_SPREAD_CLIP,), spread, (0.005, 0.045, 0.95), "full"),
    )


def teacher_events(classes: int, noise_multiplier: float) -> list[GaussianEvent]:
    return [event for look in teacher_looks(classes, noise_multiplier) for event in look.events()]


def teach(data: ImageDataset, noise_multiplier: float, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Touches private data: weights (features x classes) and offsets of the teacher. Safe to publish."""
    first, second = teacher_looks(len(data.classes), noise_multiplier)
    features = _features(data)
    found = first.release(features, data.labels, budget)
    means = found.sums / np.maximum(found.counts, 2 * found.count_noise + 1)[:, None]
    spread = second.release(features - means[data.labels], np.zeros(len(data), np.int64), budget)
    count = max(spread.counts[0], 1.0)
    noise = float(spread.product_noise[0]) / count
    values, vectors = np.linalg.eigh(spread.products[0] / count)
    ridge = _RIDGE * 2 * np.sqrt(len(values)) * noise + 1e-6
    weights = (vectors / (np.maximum(values, 0) + ridge)) @ vectors.T @ means.T
    return weights.astype(np.float32), (-0.5 * np.einsum("cf,fc->c", means, weights)).astype(np.float32)


def logits(weights: Array, offsets: Array, images: Array) -> Array:
    """The teacher's log-shares of the classes, up to a constant (number x classes)."""
    return edge_features(images) @ weights + offsets


def _features(data: ImageDataset) -> np.ndarray:
    """Touches private data: the features of each image."""
    shape = data.shape if len(data.shape) == 3 else (*data.shape, 1)
    parts = []
    for start in range(0, len(data), _CHUNK):
        rows = data.take(slice(start, start + _CHUNK)).flat()
        padded = np.zeros((_CHUNK, rows.shape[1]), dtype=np.float32)
        padded[: len(rows)] = rows
        parts.append(np.asarray(edge_features_jit(jnp.asarray(padded.reshape(-1, *shape))))[: len(rows)])
    return np.concatenate(parts).astype(np.float64)


def softened(scores: Array, classes: Array, trust: float) -> Array:
    """Shares of the classes where the class that a sample was drawn for counts `trust` more than the others."""
    return jax.nn.softmax(scores + trust * jax.nn.one_hot(classes, scores.shape[1]), axis=1)
