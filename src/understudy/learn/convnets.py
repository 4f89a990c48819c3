"""The ConvNet of the distillation papers as plain functions on batches: fast to draw anew, to train and to differentiate.

Blocks of 3 x 3 kernels, instance norm, ReLU and 2 x 2 average pooling, then a linear head (DP-KIP, Table 2: three blocks
of 128). Images are number x height x width x colours from 0 to 1; those of 28 pixels are padded to 32.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.errors import InputError

Shape = tuple[int, int, int]
# Pixels from 0 to 1 about the middle of what pictures on a black ground have; public, and of no great weight.
_MEAN, _DEVIATION = 0.2, 0.35


class ConvNet(NamedTuple):
    """Weights, a pytree: a kernel (3 x 3 x in x out), a bias, a scale and an offset for each block; the head."""

    kernels: tuple[Array, ...]
    biases: tuple[Array, ...]
    scales: tuple[Array, ...]
    offsets: tuple[Array, ...]
    head: Array
    head_bias: Array


def convnet(key: Array, shape: Shape, classes: int, *, blocks: int = 3, width: int = 128) -> ConvNet:
    """A network with random weights for images of `shape` (height, width, colours)."""
    height, across, colours = shape
    height, across = (32 if (height, across) == (28, 28) else size for size in (height, across))
    for _ in range(blocks):
        height, across = height // 2, across // 2
    if min(height, across) < 1:
        raise InputError(f"images of {shape[0]} x {shape[1]} pixels are too small for {blocks} blocks of pooling.")
    into = [colours, *[width] * (blocks - 1)]
    size = width * height * across
    # All weights in one draw: a generator a layer would take most of the time to compile.
    counts = [9 * n * width for n in into] + [width] * blocks + [size * classes]
    parts = jnp.split(jax.random.normal(key, (sum(counts),)), list(accumulate(counts))[:-1])
    return ConvNet(
        tuple(math.sqrt(2 / (9 * n)) * w.reshape(3, 3, n, width) for n, w in zip(into, parts, strict=False)),
        tuple(w / math.sqrt(27 * n) for n, w in zip(into, parts[blocks:], strict=False)),
        (jnp.ones(width),) * blocks,
        (jnp.zeros(width),) * blocks,
        parts[-1].reshape(size, classes) / math.sqrt(3 * size),
        jnp.zeros(classes),
    )


def features(network: ConvNet, images: Array) -> Array:
    """What the head sees of each image (number x features)."""
    x = (images - _MEAN) / _DEVIATION
    first = 3 if images.shape[1:3] == (28, 28) else 1
    for block, kernel in enumerate(network.kernels):
        around = (first, first) if block == 0 else (1, 1)
        x = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), (around, around), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = x + network.biases[block]
        mean = x.mean(axis=(1, 2), keepdims=True)
        x = (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axis=(1, 2), keepdims=True) + 1e-5)
        x = _pooled(jax.nn.relu(x * network.scales[block] + network.offsets[block]))
    return x.reshape(len(x), -1)


def logits(network: ConvNet, images: Array) -> Array:
    """One score for each image and class."""
    return features(network, images) @ network.head + network.head_bias


def _pooled(x: Array) -> Array:
    """2 x 2 means; an odd last row or column is left out."""
    number, height, width, channels = x.shape
    x = x[:, : height - height % 2, : width - width % 2]
    return x.reshape(number, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
