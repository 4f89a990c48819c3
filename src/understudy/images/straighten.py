"""Slanted writing made upright, and of one size: its slant, width and height are taken away, and given back to samples.

Fixed functions of one image: what they do to a private image stays within that image's own contribution, and costs
nothing. Hands differ in slant and size more than in what they write, and a Gaussian cannot say so: without them the
pictures of a class lie closer together.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.images.dataset import ImageDataset
from understudy.images.deform import warp

_CHUNK = 2048
# Writing slants by less than this, sideways pixels a pixel of height.
_STEEPEST = 1.0
# The deviation of ink from its middle that upright writing has, as a share of the image's side, and how far (in logarithms)
# a width or height may be from it. About what writing has that fills two thirds of an image; public, and of no great weight.
_WIDE, _TALL, _MOST = 0.15, 0.19, 0.5


def slant_and_size(images: Array) -> Array:
    """Slant (pixels sideways a pixel of height), and the logarithms of width and height (number x 3)."""
    ink = images.mean(axis=3)
    height, width = ink.shape[1:]
    y, x = jnp.arange(height)[:, None] - (height - 1) / 2, jnp.arange(width)[None] - (width - 1) / 2
    share = ink / jnp.maximum(ink.sum(axis=(1, 2), keepdims=True), 1e-6)
    down, right = ((share * part).sum(axis=(1, 2), keepdims=True) for part in (y, x))
    tall = (share * (y - down) ** 2).sum(axis=(1, 2))
    wide = (share * (x - right) ** 2).sum(axis=(1, 2))
    both = (share * (y - down) * (x - right)).sum(axis=(1, 2))
    slants = jnp.clip(both / jnp.maximum(tall, 1e-3), -_STEEPEST, _STEEPEST)
    wide = wide - 2 * slants * both + slants**2 * tall
    sizes = [
        jnp.clip(0.5 * jnp.log(jnp.maximum(part, 1e-2) / (usual * side) ** 2), -_MOST, _MOST)
        for part, usual, side in ((wide, _WIDE, width), (tall, _TALL, height))
    ]
    return jnp.stack([slants, *sizes], axis=1)


def straightened(images: Array, poses: Array) -> Array:
    """Images without their slant and, where `poses` says their width and height (x 3, not x 1), of the usual size."""
    slants, wide, tall = _scales(poses)
    rows = [jnp.stack([tall, jnp.zeros_like(tall)], -1), jnp.stack([slants * tall, wide], -1)]
    return warp(images, jnp.stack(rows, -2), jnp.zeros((len(images), 2)))


def slanted(images: Array, poses: Array) -> Array:
    """The way back: upright images with that slant, width and height; sizes beyond the bounds are cut to them."""
    slants, wide, tall = _scales(poses)
    rows = [jnp.stack([1 / tall, jnp.zeros_like(tall)], -1), jnp.stack([-slants / wide, 1 / wide], -1)]
    return warp(images, jnp.stack(rows, -2), jnp.zeros((len(images), 2)))


def straighten(data: ImageDataset, *, sized: bool) -> tuple[np.ndarray, np.ndarray]:
    """Touches private data: each image, upright, as a row of numbers from 0 to 1; and its slant, or slant and size.

    Parts all have one length, so that the function is compiled once.
    """
    shape = data.shape if len(data.shape) == 3 else (*data.shape, 1)
    rows, poses = [], []
    for start in range(0, len(data), _CHUNK):
        part = data.take(slice(start, start + _CHUNK)).flat()
        padded = np.zeros((_CHUNK, part.shape[1]), dtype=np.float32)
        padded[: len(part)] = part
        upright, pose = _straighten(sized, jnp.asarray(padded.reshape(-1, *shape)))
        rows.append(np.asarray(upright).reshape(_CHUNK, -1)[: len(part)])
        poses.append(np.asarray(pose)[: len(part)])
    return np.concatenate(rows), np.concatenate(poses)


@partial(jax.jit, static_argnums=0)
def _straighten(sized: bool, images: Array) -> tuple[Array, Array]:
    poses = slant_and_size(images)[:, : 3 if sized else 1]
    return straightened(images, poses), poses


def _scales(poses: Array) -> tuple[Array, Array, Array]:
    """Slants, widths and heights; the usual ones where `poses` holds slants alone."""
    sizes = jnp.exp(jnp.clip(poses[:, 1:], -_MOST, _MOST)) if poses.shape[1] == 3 else jnp.ones((len(poses), 2))
    return poses[:, 0], sizes[:, 0], sizes[:, 1]
