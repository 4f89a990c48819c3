"""How writing stands: slant, width and height, taken away before a look and given back to samples.

Fixed functions of one image, as all deformations here are. Hands differ in these more than in what they write, and a
Gaussian cannot say so: without them the pictures of a class lie closer together.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.images.dataset import ImageDataset
from understudy.images.deform import STEEPEST, each_image, warp

# The deviation of ink from its middle that upright writing has, as a share of the image's side, and how far (in logarithms)
# a width or height may be from it. About what writing has that fills two thirds of an image; public, and of no great weight.
_WIDE, _TALL, _MOST = 0.15, 0.19, 0.5


def stance(images: Array) -> Array:
    """Slant (pixels sideways a pixel of height), and the logarithms of width and height (number x 3)."""
    ink = images.mean(axis=3)
    height, width = ink.shape[1:]
    y, x = jnp.arange(height)[:, None] - (height - 1) / 2, jnp.arange(width)[None] - (width - 1) / 2
    share = ink / jnp.maximum(ink.sum(axis=(1, 2), keepdims=True), 1e-6)
    down, right = ((share * part).sum(axis=(1, 2), keepdims=True) for part in (y, x))
    tall = (share * (y - down) ** 2).sum(axis=(1, 2))
    wide = (share * (x - right) ** 2).sum(axis=(1, 2))
    both = (share * (y - down) * (x - right)).sum(axis=(1, 2))
    slants = jnp.clip(both / jnp.maximum(tall, 1e-3), -STEEPEST, STEEPEST)
    wide = wide - 2 * slants * both + slants**2 * tall
    sizes = [
        jnp.clip(0.5 * jnp.log(jnp.maximum(part, 1e-2) / (usual * side) ** 2), -_MOST, _MOST)
        for part, usual, side in ((wide, _WIDE, width), (tall, _TALL, height))
    ]
    return jnp.stack([slants, *sizes], axis=1)


def upright(images: Array, stances: Array) -> Array:
    """Images without their slant, of the usual width and height, about the middle."""
    slants, wide, tall = stances[:, 0], jnp.exp(stances[:, 1]), jnp.exp(stances[:, 2])
    rows = [jnp.stack([tall, jnp.zeros_like(tall)], -1), jnp.stack([slants * tall, wide], -1)]
    return warp(images, jnp.stack(rows, -2), jnp.zeros((len(images), 2)))


def leaning(images: Array, stances: Array) -> Array:
    """The way back: upright images with that slant, width and height; sizes beyond the bounds are cut to them."""
    slants = stances[:, 0]
    wide, tall = (jnp.exp(-jnp.clip(stances[:, part], -_MOST, _MOST)) for part in (1, 2))
    rows = [jnp.stack([tall, jnp.zeros_like(tall)], -1), jnp.stack([-slants * wide, wide], -1)]
    return warp(images, jnp.stack(rows, -2), jnp.zeros((len(images), 2)))


@jax.jit
def _stood(images: Array) -> tuple[Array, Array]:
    stances = stance(images)
    return upright(images, stances), stances


def stand(data: ImageDataset) -> tuple[np.ndarray, np.ndarray]:
    """Touches private data: each image, upright, as a row of numbers from 0 to 1; and how it stood (images x 3)."""
    return each_image(data, _stood)
