"""The convolutional networks that judge synthetic images. Each takes one image (channels, height, width).

- `TwoLayerCNN`: two convolutions of 32 and 64 kernels, ReLU, dropout after every layer (G-PATE, appendix on model
  structures, "Classification Models for MNIST and Fashion-MNIST"; kernel sizes and the dense layer are not printed
  there: 5 x 5 and 256 units here, as in its discriminator).
- `SmallCNN`: one convolution of 32 kernels and a dense layer of 64: quick on a CPU.
- `ConvNet`: three blocks of 128 3 x 3 kernels, instance norm, ReLU and 2 x 2 average pooling, then a linear head: the
  network that DP-KIP and the distillation papers train on distilled images. Images of 28 pixels are padded to 32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from understudy.errors import InputError

Shape = tuple[int, int, int]


class SmallCNN(eqx.Module):
    """One convolution, one dense layer."""

    conv: eqx.nn.Conv2d
    dense: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(self, shape: Shape, classes: int, *, key: PRNGKeyArray) -> None:
        channels, height, width = shape
        keys = jax.random.split(key, 3)
        self.conv = eqx.nn.Conv2d(channels, 32, 5, stride=2, padding=2, key=keys[0])
        self.dense = eqx.nn.Linear(32 * _half(_half(height)) * _half(_half(width)), 64, key=keys[1])
        self.head = eqx.nn.Linear(64, classes, key=keys[2])

    def __call__(self, image: Array, key: PRNGKeyArray | None = None) -> Array:
        del key
        pooled = _max_pool(jax.nn.relu(self.conv(image)))
        return self.head(jax.nn.relu(self.dense(pooled.ravel())))


class TwoLayerCNN(eqx.Module):
    """G-PATE's classifier of images."""

    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    dense: eqx.nn.Linear
    head: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, shape: Shape, classes: int, *, key: PRNGKeyArray, dropout: float = 0.25) -> None:
        channels, height, width = shape
        keys = jax.random.split(key, 4)
        self.first = eqx.nn.Conv2d(channels, 32, 5, padding=2, key=keys[0])
        self.second = eqx.nn.Conv2d(32, 64, 5, padding=2, key=keys[1])
        self.dense = eqx.nn.Linear(64 * _half(_half(height)) * _half(_half(width)), 256, key=keys[2])
        self.head = eqx.nn.Linear(256, classes, key=keys[3])
        self.dropout = eqx.nn.Dropout(dropout)

    def __call__(self, image: Array, key: PRNGKeyArray | None = None) -> Array:
        """Logits; dropout only where a key is given, which is in training."""
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        image = self.dropout(_max_pool(jax.nn.relu(self.first(image))), key=keys[0], inference=key is None)
        image = self.dropout(_max_pool(jax.nn.relu(self.second(image))), key=keys[1], inference=key is None)
        units = self.dropout(jax.nn.relu(self.dense(image.ravel())), key=keys[2], inference=key is None)
        return self.head(units)


class ConvNet(eqx.Module):
    """The ConvNet of DP-KIP: 3 blocks of 128 kernels, instance norm, ReLU, average pooling; a linear head."""

    convs: tuple[eqx.nn.Conv2d, ...]
    norms: tuple[eqx.nn.GroupNorm, ...]
    head: eqx.nn.Linear

    def __init__(self, shape: Shape, classes: int, *, key: PRNGKeyArray, blocks: int = 3, kernels: int = 128) -> None:
        channels, height, width = shape
        keys = jax.random.split(key, blocks + 1)
        padding = 3 if (height, width) == (28, 28) else 1
        self.convs = tuple(
            eqx.nn.Conv2d(
                channels if block == 0 else kernels, kernels, 3, padding=padding if block == 0 else 1, key=keys[block]
            )
            for block in range(blocks)
        )
        # One group a channel is instance norm.
        self.norms = tuple(eqx.nn.GroupNorm(kernels, kernels) for _ in range(blocks))
        height, width = (size + 2 * (padding - 1) for size in (height, width))
        for _ in range(blocks):
            height, width = height // 2, width // 2
        if min(height, width) < 1:
            raise InputError(f"images of {shape[1]} x {shape[2]} pixels are too small for {blocks} blocks of pooling.")
        self.head = eqx.nn.Linear(kernels * height * width, classes, key=keys[blocks])

    def __call__(self, image: Array, key: PRNGKeyArray | None = None) -> Array:
        del key
        for conv, norm in zip(self.convs, self.norms, strict=True):
            image = _mean_pool(jax.nn.relu(norm(conv(image))))
        return self.head(image.ravel())


Network = Callable[..., Any]
NETWORKS: dict[str, Network] = {"small": SmallCNN, "two-layer": TwoLayerCNN, "convnet": ConvNet}


def network(name: str) -> Network:
    """The network of that name: small, two-layer or convnet."""
    if name not in NETWORKS:
        raise InputError(f"there is no network {name!r}; known are {', '.join(NETWORKS)}.")
    return NETWORKS[name]


def _half(size: int) -> int:
    return (size + 1) // 2


def _windows(image: Array, fill: float) -> Array:
    """The four pixels of each 2 x 2 window on a leading axis; an odd edge is filled up."""
    height, width = image.shape[1:]
    image = jnp.pad(image, ((0, 0), (0, height % 2), (0, width % 2)), constant_values=fill)
    return jnp.stack([image[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])


def _max_pool(image: Array) -> Array:
    return _windows(image, -jnp.inf).max(axis=0)


def _mean_pool(image: Array) -> Array:
    """2 x 2 average pooling; an odd last row or column is left out, as frameworks do."""
    height, width = (size - size % 2 for size in image.shape[1:])
    return _windows(image[:, :height, :width], 0.0).mean(axis=0)
