"""Public features of small images: how much edge there is in each direction, cell by cell, and how bright each cell is.

They are a fixed function of one image, of length one whatever the image is (Dalal and Triggs 2005, with the square root
that makes counts comparable): a record's contribution is bounded without a look at the data. And they are smooth, so an
image can be moved until its features are what one wants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

# Differences of neighbours are small beside brightness; these weights make both of a size.
_EDGE_WEIGHT, _BRIGHT_WEIGHT = 1.5, 0.5
# Added below the square root, whose gradient would be infinite at 0.
_SOFT = 1e-3


@dataclass(frozen=True)
class EdgeMap:
    """Edges in `directions` directions and brightness, in overlapping cells of about `cell` pixels a side."""

    directions: int = 8
    cell: int = 4

    def count(self, shape: tuple[int, ...]) -> int:
        """How many features an image of that shape has."""
        colours = shape[2] if len(shape) == 3 else 1
        return math.prod(self._cells(side) for side in shape[:2]) * (self.directions + colours)

    def __call__(self, images: Array) -> Array:
        """Features (number x features, no row longer than one) of images (number x height x width x colours), 0 to 1."""
        grey = images.mean(axis=3)
        # Differences of direct neighbours: wider ones would not see a chequerboard.
        beyond = jnp.pad(grey, ((0, 0), (0, 1), (0, 1)))
        down, right = beyond[:, 1:, :-1] - grey, beyond[:, :-1, 1:] - grey
        angles = 2 * math.pi * np.arange(self.directions) / self.directions
        gradients = down[..., None] * np.sin(angles, dtype=np.float32) + right[..., None] * np.cos(
            angles, dtype=np.float32
        )
        planes = jnp.concatenate([_EDGE_WEIGHT * jnp.maximum(gradients, 0), _BRIGHT_WEIGHT * images], axis=3)
        rows, columns = (jnp.asarray(self._tents(side)) for side in grey.shape[1:])
        cells = jnp.einsum("ay,nyxd,bx->nabd", rows, planes, columns).reshape(len(images), -1)
        found = jnp.sqrt(jnp.maximum(cells, 0) + _SOFT) - math.sqrt(_SOFT)
        # A black image has no direction: its features are 0, and the gradient of its length is kept finite.
        return found / jnp.sqrt(jnp.maximum(jnp.sum(found**2, axis=1, keepdims=True), 1e-6))

    def _cells(self, side: int) -> int:
        return max(2, round(side / self.cell))

    def _tents(self, side: int) -> np.ndarray:
        """Tents of two cells' width, one around the middle of each cell (cells x side)."""
        width = side / self._cells(side)
        middles = width * np.arange(self._cells(side))[:, None] + (width - 1) / 2
        return np.maximum(1 - np.abs(np.arange(side) - middles) / width, 0).astype(np.float32)
