"""A small ConvNet that learns a few thousand labelled pictures on a processor, in minutes.

Every step is a program of its own: convolutions within a compiled loop are several times slower on a processor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.convnet_training import Deform, in_parts
from understudy.learn.convnets import Shape, standardised

_ADAM: Any = optax.scale_by_adam()
# Steps until the rate is whole.
_WARMING = 50
# The memory of the running mean of the weights, and the share of units that stay in training.
_KEPT, _STAY = 0.99, 0.6


class PictureStudent(eqx.Module):
    """Three convolutions of 3 x 3 (the second and third twice and four times as wide), each with ReLU and 2 x 2 largest of
    four; a dense layer, dropout and a head."""

    kernels: tuple[Array, ...]
    biases: tuple[Array, ...]
    dense: Array
    dense_bias: Array
    head: Array
    head_bias: Array

    def __init__(self, shape: Shape, classes: int, *, key: Array, width: int, units: int) -> None:
        height, across, colours = shape
        if min(height, across) < 8:
            raise InputError(f"images of {height} x {across} pixels are too small: at least 8 a side are needed.")
        widths = [colours, width, 2 * width, 4 * width]
        flat = 4 * width * (height // 8) * (across // 8)
        keys = jax.random.split(key, 5)
        self.kernels = tuple(
            jax.random.normal(k, (3, 3, a, b)) * np.sqrt(2 / (9 * a))
            for k, a, b in zip(keys, widths[:-1], widths[1:], strict=False)
        )
        self.biases = tuple(jnp.zeros(b) for b in widths[1:])
        self.dense, self.dense_bias = jax.random.normal(keys[3], (flat, units)) * np.sqrt(2 / flat), jnp.zeros(units)
        self.head = jax.random.normal(keys[4], (units, classes)) * np.sqrt(2 / units)
        self.head_bias = jnp.zeros(classes)

    def features(self, images: Array) -> Array:
        """What the head sees of each image (images x units)."""
        x = standardised(images)
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = _largest(jax.nn.relu(x + bias))
        return jax.nn.relu(x.reshape(len(x), -1) @ self.dense + self.dense_bias)

    def __call__(self, images: Array, key: Array | None = None) -> Array:
        """Scores (images x classes); units are dropped where a key is given."""
        seen = self.features(images)
        if key is not None:
            seen = jnp.where(jax.random.bernoulli(key, _STAY, seen.shape), seen / _STAY, 0.0)
        return seen @ self.head + self.head_bias


class Course(NamedTuple):
    """How long a student learns: Adam, its rate falling to zero along a cosine."""

    steps: int
    batch: int
    learning_rate: float


def teach(
    student: PictureStudent, images: np.ndarray, targets: np.ndarray, course: Course, deform: Deform, seed: int
) -> PictureStudent:
    """The student after it has learnt images (0 to 1, with colours) and shares of their classes, over and over in random order.

    Free of private data where they are. What comes back is the running mean of its weights.
    """
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    size = min(course.batch, len(images))
    rounds = -(-course.steps * size // len(images))
    order = np.concatenate([rng.permutation(len(images)) for _ in range(rounds)])
    state = (student, _ADAM.init(student), student)
    for at in range(course.steps):
        chosen = order[at * size : (at + 1) * size]
        rate = course.learning_rate * min(1, (at + 1) / _WARMING) * (1 + np.cos(np.pi * at / course.steps)) / 2
        kept = min(_KEPT, at / (at + 1))  # the random start must not count where steps are few
        now = (jnp.asarray(images[chosen]), jnp.asarray(targets[chosen]), jax.random.fold_in(key, at), rate, kept)
        state = _step(deform, state, *now)
    return state[2]


@partial(jax.jit, static_argnums=0)
def _step(
    deform: Deform, state: Any, images: Array, targets: Array, key: Array, rate: Array | float, kept: Array | float
) -> Any:
    student, opt_state, mean = state
    moving, dropping = jax.random.split(key)
    moved = deform.apply(moving, images)

    def loss(student: PictureStudent) -> Array:
        return optax.softmax_cross_entropy(student(moved, dropping), targets).mean()

    updates, opt_state = _ADAM.update(jax.grad(loss)(student), opt_state)
    student = jax.tree.map(lambda w, u: w - rate * u, student, updates)
    return student, opt_state, jax.tree.map(lambda m, w: kept * m + (1 - kept) * w, mean, student)


def scores(student: PictureStudent, images: np.ndarray) -> np.ndarray:
    """Logits (images x classes)."""
    return in_parts(partial(_scores, student), images)


def features(student: PictureStudent, images: np.ndarray) -> np.ndarray:
    """What the head sees (images x units)."""
    return in_parts(partial(_features, student), images)


@jax.jit
def _scores(student: PictureStudent, images: Array) -> Array:
    return student(images)


@jax.jit
def _features(student: PictureStudent, images: Array) -> Array:
    return student.features(images)


def _largest(x: Array) -> Array:
    """The largest of each 2 x 2 pixels; an odd last row or column is left out."""
    number, height, width, channels = x.shape
    x = x[:, : height - height % 2, : width - width % 2]
    return x.reshape(number, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))
