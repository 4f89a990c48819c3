"""Networks of the adversarial papers for small pictures (G-PATE, appendix on model structures and hyper-parameters).

- `PictureTeacher`: a convolution (32 kernels of 5 x 5, stride 2) and a dense layer (256), each with the class beside it.
- `DeconvGenerator`: a dense layer (1024) and a deconvolution (64 kernels of 5 x 5, stride 2). What takes the one to planes
  of a quarter of the side, and the 64 planes to a picture, is not printed: a dense layer, and one more deconvolution.
- `LabelledMLP`: the dense networks of its DP-GAN, half ReLU with features kept within 0.5, the class beside every layer.

The papers put batch norm everywhere. Here every picture is normalised by itself (layer norm, Ba et al. 2016): a teacher has
as few as fifteen pictures, a gradient penalty does not go with statistics of a batch (Gulrajani et al. 2017), and what is said
about a fake must not depend on which others stand beside it. Nothing then needs to be kept for sampling.

Under `vmap` over teachers a convolution with kernels of its own for each becomes a grouped one, which no library does well.
It is written as products with the patches of a picture instead; planes that are constant because they say a class add the
same to each patch, so they are a bias for each class.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from understudy.learn.cosine_spectrum import cosines
from understudy.learn.networks import MLP, dense

Shape = tuple[int, int, int]
SIDE, STRIDE = 5, 2
_SLOPE = 0.2
_PLANES = 64
# Half ReLU of DP-GAN, and how large a feature may be.
_HALF, _KEPT = 0.5, 0.5


def half(size: int) -> int:
    """The side of what a stride of two leaves."""
    return -(-size // STRIDE)


def patches(images: Float[Array, "rows height width colours"]) -> Float[Array, "rows places pixels"]:
    """Every second 5 x 5 patch, zero outside of the picture: two products, whose derivatives are products too."""
    rows, height, width, _ = images.shape
    seen = jnp.einsum("aiy,bjx,ryxc->rabijc", _windows(height), _windows(width), images)
    return seen.reshape(rows, half(height) * half(width), -1)


def _windows(side: int) -> np.ndarray:
    """Which place of a line stands in each place of each window (windows x 5 x side)."""
    at = STRIDE * np.arange(half(side))[:, None] + np.arange(SIDE) - SIDE // 2
    return (at[:, :, None] == np.arange(side)).astype(np.float32)


def low_passed(rows: Float[Array, "rows pixels"], shape: Shape, frequencies: int) -> Float[Array, "rows pixels"]:
    """Pictures in their lowest cosines alone, so many a side."""
    down, across = (_low_pass(side, frequencies) for side in shape[:2])
    return jnp.einsum("ay,bx,ryxc->rabc", down, across, rows.reshape(-1, *shape)).reshape(rows.shape)


def _low_pass(side: int, frequencies: int) -> np.ndarray:
    kept = cosines(side)[:frequencies]
    return (kept.T @ kept).astype(np.float32)


def _normed(x: Array) -> Array:
    """Every row by its own mean and deviation."""
    flat = x.reshape(len(x), -1)
    centred = flat - flat.mean(axis=1, keepdims=True)
    return (centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=1, keepdims=True) + 1e-5)).reshape(x.shape)


def _leaky(x: Array) -> Array:
    return jax.nn.leaky_relu(x, _SLOPE)


def _split(key: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Numbers uniform on [-1, 1] for each shape, from one draw."""
    ends = list(accumulate(math.prod(shape) for shape in shapes))
    drawn = jnp.split(jax.random.uniform(key, (ends[-1],), jnp.float32, -1.0, 1.0), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(drawn, shapes, strict=True)]


class PictureTeacher(eqx.Module):
    """A score of records, which are pixels and a class one-hot."""

    kernels: Array
    given: Array
    """What each class adds to each kernel."""
    dense: Array
    bias: Array
    head: Array
    shape: Shape = eqx.field(static=True)

    def __init__(self, shape: Shape, classes: int, kernels: int, units: int, *, key: Array) -> None:
        height, width, colours = shape
        size, seen = kernels * half(height) * half(width), SIDE * SIDE * colours
        shapes = [(kernels, seen), (classes, kernels), (units, size + classes), (1, units + classes)]
        # He uniform, by what goes into a unit.
        parts = [
            math.sqrt(6 / n) * part for n, part in zip((seen, seen, size, units), _split(key, shapes), strict=True)
        ]
        self.kernels, self.given, self.dense, self.head = parts
        self.bias, self.shape = jnp.zeros(units), shape

    def __call__(self, x: Float[Array, "rows record"]) -> Float[Array, "rows 1"]:
        pixels = math.prod(self.shape)
        images, label = x[:, :pixels].reshape(-1, *self.shape), x[:, pixels:]
        seen = jnp.einsum("rpn,kn->rpk", patches(images), self.kernels) + (label @ self.given)[:, None]
        features = _leaky(_normed(seen)).reshape(len(x), -1)
        units = dense(jnp.concatenate([features, label], axis=1), self.dense, self.bias)
        units = jnp.concatenate([_leaky(_normed(units)), label], axis=1)
        return units @ self.head.T


class DeconvGenerator(eqx.Module):
    """Pictures, pixels from 0 to 1, from normal numbers and classes."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    kernels: tuple[Array, ...]
    shape: Shape = eqx.field(static=True)

    def __init__(self, shape: Shape, classes: int, normals: int, units: int = 1024, *, key: Array) -> None:
        height, width, colours = shape
        small = half(half(height)) * half(half(width)) * _PLANES
        shapes = [(units, normals + classes), (small, units + classes)]
        shapes += [(SIDE, SIDE, _PLANES + classes, _PLANES), (SIDE, SIDE, _PLANES + classes, colours)]
        # A place of a deconvolution with stride 2 is reached by about a quarter of the 25 taps of every plane.
        into = (normals, units, SIDE * SIDE * _PLANES / 4, SIDE * SIDE * _PLANES / 4)
        parts = [math.sqrt(6 / n) * part for n, part in zip(into, _split(key, shapes), strict=True)]
        self.weights, self.kernels = (parts[0], parts[1]), (parts[2], 0.3 * parts[3])
        self.biases = (jnp.zeros(units), jnp.zeros(small), jnp.zeros(_PLANES), jnp.zeros(colours))
        self.shape = shape

    def __call__(self, z: Float[Array, "rows normals"], classes: Array) -> Float[Array, "rows pixels"]:
        height, width = self.shape[:2]
        label = jax.nn.one_hot(classes, self.weights[0].shape[1] - z.shape[1])
        x = z
        for weight, bias in zip(self.weights, self.biases[:2], strict=True):
            x = _leaky(_normed(dense(jnp.concatenate([x, label], axis=1), weight, bias)))
        x = x.reshape(len(z), half(half(height)), half(half(width)), _PLANES)
        x = _leaky(_normed(self._deconvolved(x, label, 0)[:, : half(height), : half(width)]))
        return jax.nn.sigmoid(self._deconvolved(x, label, 1)[:, :height, :width].reshape(len(z), -1))

    def _deconvolved(self, x: Array, label: Array, layer: int) -> Array:
        planes = jnp.broadcast_to(label[:, None, None], (*x.shape[:3], label.shape[1]))
        both = jnp.concatenate([x, planes], axis=3)
        return jax.lax.conv_transpose(both, self.kernels[layer], (STRIDE, STRIDE), "SAME") + self.biases[2 + layer]


class LabelledMLP(MLP):
    """Layers of half ReLU, features kept within 0.5. What goes into each has the class beside it, which records end with."""

    classes: int = eqx.field(static=True)

    def __init__(self, features: int, hidden: Sequence[int], outputs: int, classes: int, *, key: Array) -> None:
        """Uniform weights that leave features of the size they had (He et al. 2015, for half of a ReLU)."""
        shapes = [(after, before + classes) for before, after in pairwise((features, *hidden, outputs))]
        self.weights = tuple(math.sqrt(6 / _HALF**2 / part.shape[1]) * part for part in _split(key, shapes))
        self.biases, self.classes = tuple(jnp.zeros(len(weight)) for weight in self.weights), classes

    def traced(self, x: Float[Array, "rows features"], moved: Sequence[Array]) -> tuple[Array, list[Array]]:
        label, inputs = x[:, x.shape[1] - self.classes :], []
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x if layer == 0 else jnp.concatenate([x, label], axis=1)
            inputs.append(x)
            x = x @ weight.T + bias + moved[layer]
            if layer < len(self.weights) - 1:
                x = jnp.clip(_HALF * jax.nn.relu(x), -_KEPT, _KEPT)
        return x, inputs

    def __call__(self, x: Float[Array, "rows features"]) -> Float[Array, "rows outputs"]:
        return self.traced(x, [jnp.zeros(())] * len(self.biases))[0]


class DenseGenerator(eqx.Module):
    """Pictures from a `LabelledMLP` (128, 256 and 512 units)."""

    network: LabelledMLP

    def __call__(self, z: Float[Array, "rows normals"], classes: Array) -> Float[Array, "rows pixels"]:
        label = jax.nn.one_hot(classes, self.network.classes)
        return jax.nn.sigmoid(self.network(jnp.concatenate([z, label], axis=1)))
