"""Synthetic images beside real ones: a Fréchet distance on a public feature map, and pictures to look at.

The feature map is a convolutional network with *random* weights from a fixed seed, drawn by numpy so that they are the
same everywhere: three layers of 3 x 3 kernels, ReLU and 2 x 2 average pooling, then the mean over quarters of the
picture: 256 features. It has seen no data, so it needs no download and leaks nothing. The usual FID uses a network that
was trained on photographs; figures of the two cannot be compared.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.evaluation.images import as_images
from understudy.files import whole_file

FEATURES = 256
_KERNELS = 64
_SEED = 20190
_AT_ONCE = 500


def image_features(images: ArrayLike) -> np.ndarray:
    """Touches private data where the images are real: the random features of each image (n x 256)."""
    pixels = np.moveaxis(as_images(images), 3, 1)
    filters = _filters(pixels.shape[1])
    return np.concatenate(
        [np.asarray(_features(jnp.asarray(pixels[i : i + _AT_ONCE]), filters)) for i in range(0, len(pixels), _AT_ONCE)]
    )


def frechet_distance(real: ArrayLike, synthetic: ArrayLike) -> float:
    """Touches private data (`real`): the Fréchet distance of random features, as a share of their variance in `real`.

    0 for equal sets; about 1 where the synthetic images are as far off as the real ones are spread.
    """
    first, second = image_features(real), image_features(synthetic)
    if min(len(first), len(second)) < 2:
        raise InputError("the distance of two sets of images needs at least two of each.")
    a, b = np.cov(first, rowvar=False), np.cov(second, rowvar=False)
    root = _root(a)
    # The trace of sqrt(AB) is that of sqrt(A^1/2 B A^1/2), which is symmetric.
    cross = np.sqrt(np.clip(np.linalg.eigvalsh(root @ b @ root), 0, None)).sum()
    gap = float(np.sum((first.mean(axis=0) - second.mean(axis=0)) ** 2))
    return max(0.0, (gap + float(np.trace(a) + np.trace(b)) - 2 * float(cross)) / float(np.trace(a)))


def precision_recall(
    real: ArrayLike, synthetic: ArrayLike, *, neighbours: int = 5, most: int = 5000
) -> tuple[float, float]:
    """Touches private data (`real`): how many synthetic images lie among the real ones, and how many real ones among those.

    Kynkäänniemi et al. 2019, on the random features: an image lies among others if it is no further from one of them than
    that one is from its k-th nearest. Of each set the first `most` images count.
    """
    first, second = (image_features(np.asarray(one)[:most]) for one in (real, synthetic))
    if min(len(first), len(second)) <= neighbours:
        raise InputError(f"precision and recall of two sets of images need more than {neighbours} of each.")
    return _among(second, first, neighbours), _among(first, second, neighbours)


def _among(points: np.ndarray, others: np.ndarray, neighbours: int) -> float:
    """The share of points within the reach of at least one of the others."""
    reach = np.concatenate(
        [
            np.partition(_squares(others[i : i + _AT_ONCE], others), neighbours, axis=1)[:, neighbours]
            for i in range(0, len(others), _AT_ONCE)
        ]
    )
    found = [(_squares(points[i : i + _AT_ONCE], others) <= reach).any(axis=1) for i in range(0, len(points), _AT_ONCE)]
    return float(np.concatenate(found).mean())


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs, in double precision: those of an image to itself must come out alike."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.maximum((a**2).sum(axis=1)[:, None] - 2 * a @ b.T + (b**2).sum(axis=1), 0)


def picture_grid(images: ArrayLike, path: str | Path, *, columns: int = 10, zoom: int = 2) -> Path:
    """Write the images, row after row, as one PNG. As private as the images."""
    from matplotlib import image as png

    pixels = as_images(images)
    if columns < 1 or zoom < 1:
        raise InputError(f"`columns` (={columns}) and `zoom` (={zoom}) must be at least 1.")
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0 or high > 1:
        pixels = (pixels - low) / (high - low)
    n, height, width, channels = pixels.shape
    rows = math.ceil(n / columns)
    # One pixel of white between the pictures.
    page = np.ones((rows * (height + 1) + 1, columns * (width + 1) + 1, 3), dtype=np.float32)
    for place, picture in enumerate(pixels):
        top, left = (place // columns) * (height + 1) + 1, (place % columns) * (width + 1) + 1
        page[top : top + height, left : left + width] = np.broadcast_to(
            picture, (height, width, 3 if channels == 1 else channels)
        )
    page = page.repeat(zoom, axis=0).repeat(zoom, axis=1)
    target = Path(path)
    with whole_file(target) as temporary:
        png.imsave(temporary, page, format="png")
    return target


def _filters(channels: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(_SEED)
    sizes = (channels, _KERNELS, _KERNELS, _KERNELS)
    return tuple(
        (random.standard_normal((after, before, 3, 3)) * math.sqrt(2 / (9 * before))).astype(np.float32)
        for before, after in pairwise(sizes)
    )


@jax.jit
def _features(images: Array, filters: tuple[Array, ...]) -> Array:
    for kernels in filters:
        images = jax.nn.relu(jax.lax.conv(images, kernels, (1, 1), "SAME"))
        height, width = (size - size % 2 for size in images.shape[2:])
        images = (
            images[:, :, :height, :width].reshape(len(images), _KERNELS, height // 2, 2, width // 2, 2).mean((3, 5))
        )
    tall, wide = (-(-size // 2) for size in images.shape[2:])
    quarters = [
        images[:, :, top, left].mean((2, 3))
        for top in (slice(None, tall), slice(-tall, None))
        for left in (slice(None, wide), slice(-wide, None))
    ]
    return jnp.concatenate(quarters, axis=1)


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
