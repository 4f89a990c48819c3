"""Training a ConvNet on labelled images, all of it on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array
from scipy import special

from understudy.learn.convnets import ConvNet, Shape, convnet, features, logits

_CHUNK = 100
_SCORED_AT_ONCE = 1000
_SMALL_SET = 2048
_ADAM: Any = optax.scale_by_adam()


@runtime_checkable
class Deform(Protocol):
    """A random deformation of images (number x height x width x colours); hashable."""

    def apply(self, key: Array, images: Array) -> Array: ...


class Lessons(NamedTuple):
    """How a network is trained: Adam on cross-entropy, its rate falling to zero along a cosine; no choice between stages.

    The weights that count are the running mean of those that were trained, with `memory` steps of memory. `mixed` trains on
    weighted means of two images and of their labels (mixup, Zhang et al. 2018), which few images ask for.
    """

    steps: int = 1200
    batch: int = 256
    learning_rate: float = 1e-3
    decay: float = 1e-4
    memory: float = 100.0
    width: int = 128
    mixed: bool = False


@dataclass(frozen=True)
class Learner:
    """A trained network. As public as the images it was trained on. `sharpness` undoes what made its labels soft."""

    network: ConvNet
    shape: Shape
    sharpness: float = 1.0

    def scores(self, points: np.ndarray) -> np.ndarray:
        """Logits of each class, centred (points x classes), of images that are rows of pixels: from 0 to 1, or bytes."""
        scores = self.sharpness * self._in_parts(_logits, len(self.network.head_bias), points)
        return scores - scores.mean(axis=1, keepdims=True)

    def features(self, points: np.ndarray) -> np.ndarray:
        """What the last layer sees of each image (points x features)."""
        return self._in_parts(_features, len(self.network.head), points)

    def _in_parts(self, function: Callable[[ConvNet, Array], Array], width: int, points: np.ndarray) -> np.ndarray:
        """All parts have one size, so that the function is compiled once."""
        size = max(1, min(_SCORED_AT_ONCE, len(points)))
        found = [np.zeros((0, width), np.float32)]
        for start in range(0, len(points), size):
            part = points[start : start + size]
            padded = np.zeros((size, points.shape[1]), np.float32)
            padded[: len(part)] = part / np.float32(255) if part.dtype == np.uint8 else part
            found.append(
                np.asarray(function(self.network, jnp.asarray(padded).reshape(size, *self.shape)))[: len(part)]
            )
        return np.concatenate(found)

    def predict(self, points: np.ndarray) -> np.ndarray:
        """The number of the class of each image."""
        return self.scores(points).argmax(axis=1)

    def predict_proba(self, points: np.ndarray) -> np.ndarray:
        """Shares of the classes (points x classes)."""
        return special.softmax(self.scores(points), axis=1)


def train_convnet(
    points: np.ndarray, labels: np.ndarray, shape: Shape, lessons: Lessons, deform: Deform | None, seed: int
) -> Learner:
    """A network trained on images (rows of pixels: from 0 to 1, or bytes) and labels: logits, images x classes."""
    starting, running = jax.random.split(jax.random.key(seed))
    network = convnet(starting, shape, labels.shape[1], width=lessons.width)
    carried = (network, _ADAM.init(network), network)
    decay = (1 + np.cos(np.pi * np.arange(lessons.steps) / lessons.steps)) / 2
    rates = (lessons.learning_rate * decay).astype(np.float32)
    # Small sets are filled up to one size, of which only the first rows are drawn: they share what was compiled.
    beyond = ((0, max(0, _SMALL_SET - len(points))), (0, 0))
    images, wanted = jnp.pad(jnp.asarray(points), beyond).reshape(-1, *shape), jnp.pad(jnp.asarray(labels), beyond)
    data = (images, jax.nn.softmax(wanted.astype(jnp.float32), axis=1), jnp.asarray(len(points)))
    # A memory that is long against the training would hold on to the random start.
    memory = max(1.0, min(lessons.memory, lessons.steps / 10))
    fixed = lessons._replace(steps=0, learning_rate=0.0, batch=min(lessons.batch, len(points)), memory=memory)
    for begun in range(0, lessons.steps, _CHUNK):
        part = rates[begun : begun + _CHUNK]
        keys = jax.random.split(jax.random.fold_in(running, begun), len(part))
        carried = _train(fixed, deform, carried, data, keys, jnp.asarray(part))
    return Learner(carried[2], shape)


@partial(jax.jit, static_argnums=(0, 1))
def _train(
    lessons: Lessons, deform: Deform | None, carried: Any, data: tuple[Array, Array, Array], keys: Array, rates: Array
) -> Any:
    images, wanted, count = data

    def loss(network: ConvNet, x: Array, y: Array) -> Array:
        return optax.softmax_cross_entropy(logits(network, x), y).mean()

    def step(carried: Any, now: tuple[Array, Array]) -> tuple[Any, None]:
        (network, state, mean), (key, rate) = carried, now
        choosing, moving = jax.random.split(key)
        places = jax.random.randint(choosing, (lessons.batch,), 0, count)
        x, y = _unit(images[places]), wanted[places]
        x = x if deform is None else deform.apply(moving, x)
        if lessons.mixed:  # places are random: so is the one at the same place from the end
            share = jax.random.uniform(jax.random.fold_in(moving, 1), (lessons.batch,))
            x, y = (_mixed(share, part) for part in (x, y))
        updates, state = _ADAM.update(jax.grad(loss)(network, x, y), state)
        network = jax.tree.map(lambda w, u: w - rate * (u + lessons.decay * w), network, updates)
        mean = jax.tree.map(lambda m, w: m + (w - m) / lessons.memory, mean, network)
        return (network, state, mean), None

    return jax.lax.scan(step, carried, (keys, rates))[0]


_logits, _features = jax.jit(logits), jax.jit(features)


def _mixed(share: Array, values: Array) -> Array:
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return share * values + (1 - share) * values[::-1]


def _unit(images: Array) -> Array:
    return images.astype(jnp.float32) / 255 if images.dtype == jnp.uint8 else images
