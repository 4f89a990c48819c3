"""Random affine deformations of images for training; how far they go is public, and nothing is taken from data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array


@dataclass(frozen=True)
class Affine:
    """How far images are moved at random; all of it public. Zero everywhere leaves them alone."""

    turn: float = 0.15
    scale: float = 0.1
    shear: float = 0.15
    shift: float = 1.5

    def matrices(self, key: Array, count: int) -> tuple[Array, Array]:
        """Random linear maps (count x 2 x 2) and shifts (count x 2, in pixels) for rows and columns."""
        keys = jax.random.split(key, 5)
        angle = self.turn * _even(keys[0], count)
        shear = self.shear * _even(keys[1], count)
        tall, wide = (jnp.exp(self.scale * _even(k, count)) for k in keys[2:4])
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        maps = jnp.stack([jnp.stack([tall * cos, -tall * sin], -1), jnp.stack([wide * sin, wide * cos], -1)], -2)
        maps = maps @ jnp.stack(
            [jnp.stack([jnp.ones(count), shear], -1), jnp.stack([jnp.zeros(count), jnp.ones(count)], -1)], -1
        )
        return maps, self.shift * jax.random.uniform(keys[4], (count, 2), minval=-1, maxval=1)

    def apply(self, key: Array, images: Array) -> Array:
        """`images` (number x height x width x colours), each deformed by its own map."""
        return warp(images, *self.matrices(key, len(images)))


def _even(key: Array, count: int) -> Array:
    return jax.random.uniform(key, (count,), minval=-1, maxval=1)


def warp(images: Array, maps: Array, shifts: Array) -> Array:
    """Bilinear: pixel p of a new image is pixel maps (p - middle) + middle + shift of the old one, 0 outside.

    Written as two small matrix products a row would not allow shear; gathers of four corners do, and stay cheap.
    """
    height, width = images.shape[1:3]
    middle = jnp.array([(height - 1) / 2, (width - 1) / 2])
    grid = jnp.stack(jnp.meshgrid(jnp.arange(height), jnp.arange(width), indexing="ij"), -1).reshape(-1, 2) - middle
    places = jnp.einsum("nij,pj->npi", maps, grid) + middle + shifts[:, None]
    return jax.vmap(partial(_sample, height=height, width=width))(images, places)


def _sample(image: Array, places: Array, height: int, width: int) -> Array:
    corner = jnp.floor(places)
    part = places - corner
    total = jnp.zeros((len(places), image.shape[-1]), image.dtype)
    for down in (0, 1):
        for right in (0, 1):
            at = (corner + jnp.array([down, right])).astype(jnp.int32)
            inside = jnp.all((at >= 0) & (at < jnp.array([height, width])), axis=1)
            weight = jnp.abs(1 - down - part[:, 0]) * jnp.abs(1 - right - part[:, 1]) * inside
            rows, columns = jnp.clip(at[:, 0], 0, height - 1), jnp.clip(at[:, 1], 0, width - 1)
            total += weight[:, None] * image[rows, columns]
    return total.reshape(image.shape)
