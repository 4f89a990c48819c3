"""Public features of small images: histograms of the directions of edges in overlapping cells, and mean brightness.

They are a fixed function of one image (Dalal and Triggs 2005, with the square root that makes counts comparable), of length
one whatever the image is, so a record's contribution is bounded without a look at the data.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_DIRECTIONS = 8
_CELL = 4


def feature_count(shape: tuple[int, ...]) -> int:
    """How many features an image of that shape has."""
    return math.prod(_grid(side) for side in shape[:2]) * (_DIRECTIONS + 1)


def edge_features(images: Array) -> Array:
    """Features (number x features, each row of length one) of images (number x height x width x colours) from 0 to 1."""
    grey = images.mean(axis=3)
    down = jnp.zeros_like(grey).at[:, 1:-1].set(grey[:, 2:] - grey[:, :-2])
    right = jnp.zeros_like(grey).at[:, :, 1:-1].set(grey[:, :, 2:] - grey[:, :, :-2])
    strength = jnp.sqrt(down**2 + right**2 + 1e-12)
    turn = (jnp.arctan2(down, right) % (2 * math.pi)) / (2 * math.pi) * _DIRECTIONS
    # An edge counts for its two nearest directions, more for the nearer.
    apart = jnp.abs((turn[..., None] - jnp.arange(_DIRECTIONS) + _DIRECTIONS / 2) % _DIRECTIONS - _DIRECTIONS / 2)
    planes = jnp.concatenate([strength[..., None] * jnp.maximum(1 - apart, 0), grey[..., None] / 2], axis=3)
    rows, columns = (jnp.asarray(_cells(side)) for side in grey.shape[1:])
    cells = jnp.einsum("ay,nyxd,bx->nabd", rows, planes, columns)
    found = jnp.sqrt(jnp.maximum(cells, 0)).reshape(len(images), -1)
    return found / jnp.maximum(jnp.linalg.norm(found, axis=1, keepdims=True), 1e-6)


def _grid(side: int) -> int:
    return max(2, round(side / _CELL))


def _cells(side: int) -> np.ndarray:
    """Tents of two cells' width, one around the middle of each cell (cells x side)."""
    width = side / _grid(side)
    middles = width * np.arange(_grid(side))[:, None] + (width - 1) / 2
    return np.maximum(1 - np.abs(np.arange(side) - middles) / width, 0).astype(np.float32)


edge_features_jit = jax.jit(edge_features)
