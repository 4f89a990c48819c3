"""Convolutional networks of the papers, on batches of images: number x height x width x colours, standardised.

- `ConvNet`: blocks of 3 x 3 kernels, instance norm, ReLU and 2 x 2 average pooling, then a linear head: the network of
  the distillation papers (DP-KIP, Table 2: three blocks of 128). Images of 28 pixels are padded to 32. It is written as
  plain products, fast to draw anew, to train and to differentiate.
- `TwoLayerCNN`: two convolutions of 32 and 64 kernels, ReLU, dropout after every layer (G-PATE, appendix on model
  structures, "Classification Models for MNIST and Fashion-MNIST"; kernel sizes and the dense layer are not printed
  there: 5 x 5 and 256 units here, as in its discriminator).
- `SmallCNN`: one convolution of 32 kernels and a dense layer of 64: quick on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.errors import InputError

Shape = tuple[int, int, int]
Convolve = Callable[[Array, Array, int], Array]
"""Images, a kernel and how far images are padded, to what the kernel makes of them."""
# Mean and deviation of pixels from 0 to 1 in pictures on a black ground; public, and of no great weight.
USUAL_PIXELS = (0.2, 0.35)


@runtime_checkable
class Network(Protocol):
    """A pytree of weights: scores of images (number x classes). With a key it drops units, as in training."""

    def __call__(self, images: Array, key: Array | None = None) -> Array: ...


def coloured(shape: tuple[int, ...]) -> Shape:
    """Height, width and colours of images, one where none are said."""
    return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)


def standardised(images: Array, pixels: tuple[Any, Any] = USUAL_PIXELS) -> Array:
    """Images from 0 to 1 as networks take them, by the mean and the deviation of pixels."""
    return (images - pixels[0]) / pixels[1]


class ConvNet(eqx.Module):
    """A kernel (3 x 3 x in x out), a bias, a scale and an offset for each block; the head."""

    kernels: tuple[Array, ...]
    biases: tuple[Array, ...]
    scales: tuple[Array, ...]
    offsets: tuple[Array, ...]
    head: Array
    head_bias: Array

    def __init__(self, shape: Shape, classes: int, *, key: Array, blocks: int = 3, width: int = 128) -> None:
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
        drawn = zip(into, parts[:blocks], parts[blocks:-1], strict=True)
        weights = [(math.sqrt(2 / (9 * n)) * k.reshape(3, 3, n, width), b / math.sqrt(27 * n)) for n, k, b in drawn]
        self.kernels, self.biases = zip(*weights, strict=True)
        self.scales, self.offsets = (jnp.ones(width),) * blocks, (jnp.zeros(width),) * blocks
        self.head, self.head_bias = parts[-1].reshape(size, classes) / math.sqrt(3 * size), jnp.zeros(classes)

    def features(self, images: Array, convolve: Convolve | None = None) -> Array:
        """What the head sees of each image (number x features). `convolve` is another way to the same convolutions."""
        x, convolve = images, convolve or _convolved
        padding = 3 if images.shape[1:3] == (28, 28) else 1
        for kernel, bias, scale, offset in zip(self.kernels, self.biases, self.scales, self.offsets, strict=True):
            x, padding = convolve(x, kernel, padding) + bias, 1
            mean = x.mean(axis=(1, 2), keepdims=True)
            x = (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axis=(1, 2), keepdims=True) + 1e-5)
            x = _mean_pool(jax.nn.relu(x * scale + offset))
        return x.reshape(len(x), -1)

    def __call__(self, images: Array, key: Array | None = None) -> Array:
        del key
        return self.features(images) @ self.head + self.head_bias


def _convolved(x: Array, kernel: Array, padding: int) -> Array:
    around = ((padding, padding), (padding, padding))
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), around, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def as_products(x: Array, kernel: Array, padding: int) -> Array:
    """The convolution as one product with the neighbourhoods of all pixels: where every image wants a gradient of its own, those are
    products too, and not a grouped convolution for each."""
    side, _, into, out = kernel.shape
    padded = jnp.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    height, width = padded.shape[1] - side + 1, padded.shape[2] - side + 1
    near = [padded[:, i : i + height, j : j + width] for i in range(side) for j in range(side)]
    return jnp.concatenate(near, axis=3) @ kernel.reshape(side * side * into, out)


class SmallCNN(eqx.Module):
    """One convolution, one dense layer."""

    conv: eqx.nn.Conv2d
    dense: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(self, shape: Shape, classes: int, *, key: Array) -> None:
        height, width, colours = shape
        keys = jax.random.split(key, 3)
        self.conv = eqx.nn.Conv2d(colours, 32, 5, stride=2, padding=2, key=keys[0])
        self.dense = eqx.nn.Linear(32 * _half(_half(height)) * _half(_half(width)), 64, key=keys[1])
        self.head = eqx.nn.Linear(64, classes, key=keys[2])

    def __call__(self, images: Array, key: Array | None = None) -> Array:
        del key
        return jax.vmap(self._one)(jnp.moveaxis(images, 3, 1))

    def _one(self, image: Array) -> Array:
        pooled = _max_pool(jax.nn.relu(self.conv(image)))
        return self.head(jax.nn.relu(self.dense(pooled.ravel())))


class TwoLayerCNN(eqx.Module):
    """G-PATE's classifier of images."""

    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    dense: eqx.nn.Linear
    head: eqx.nn.Linear
    dropout: float = eqx.field(static=True)

    def __init__(self, shape: Shape, classes: int, *, key: Array, dropout: float = 0.25) -> None:
        height, width, colours = shape
        keys = jax.random.split(key, 4)
        self.first = eqx.nn.Conv2d(colours, 32, 5, padding=2, key=keys[0])
        self.second = eqx.nn.Conv2d(32, 64, 5, padding=2, key=keys[1])
        self.dense = eqx.nn.Linear(64 * _half(_half(height)) * _half(_half(width)), 256, key=keys[2])
        self.head = eqx.nn.Linear(256, classes, key=keys[3])
        self.dropout = dropout

    def __call__(self, images: Array, key: Array | None = None) -> Array:
        """Scores; dropout only where a key is given, which is in training."""
        planes = jnp.moveaxis(images, 3, 1)
        if key is None:
            return jax.vmap(lambda image: self._one(image, None))(planes)
        return jax.vmap(self._one)(planes, jax.random.split(key, len(planes)))

    def _one(self, image: Array, key: Array | None) -> Array:
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        drop = eqx.nn.Dropout(self.dropout, inference=key is None)
        image = drop(_max_pool(jax.nn.relu(self.first(image))), key=keys[0])
        image = drop(_max_pool(jax.nn.relu(self.second(image))), key=keys[1])
        return self.head(drop(jax.nn.relu(self.dense(image.ravel())), key=keys[2]))


NETWORKS: dict[str, Any] = {"small": SmallCNN, "two-layer": TwoLayerCNN, "convnet": ConvNet}


def _half(size: int) -> int:
    return (size + 1) // 2


def _max_pool(image: Array) -> Array:
    """The largest of each 2 x 2 pixels of one image, colours first; an odd edge is filled up."""
    height, width = image.shape[1:]
    image = jnp.pad(image, ((0, 0), (0, height % 2), (0, width % 2)), constant_values=-jnp.inf)
    return jnp.stack([image[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]).max(axis=0)


def _mean_pool(x: Array) -> Array:
    """2 x 2 means; an odd last row or column is left out, as frameworks do."""
    number, height, width, channels = x.shape
    x = x[:, : height - height % 2, : width - width % 2]
    return x.reshape(number, height // 2, 2, width // 2, 2, channels).mean(axis=(2, 4))
