"""Training a convolutional network on labelled images, all of it on the device: those that teach and those that judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array
from scipy import special

from understudy.learn.convnets import USUAL_PIXELS, ConvNet, Network, Shape, standardised

Loss = Literal["cross-entropy", "squares"]
_CHUNK = 100
_SCORED_AT_ONCE = 1000
_SMALL_SET = 2048
_ADAM: Any = optax.scale_by_adam()


@runtime_checkable
class Deform(Protocol):
    """A random deformation of images (number x height x width x colours); hashable."""

    def apply(self, key: Array, images: Array) -> Array: ...


class Lessons(NamedTuple):
    """How a network is trained: Adam, its rate falling to zero along a cosine; batches drawn with replacement.

    The weights that count are the running mean of those that were trained, with `memory` steps of memory (1: the last
    ones). `mixed` trains on weighted means of two images and of their labels (mixup, Zhang et al. 2018), which few images
    ask for. `width` is for a ConvNet: kernels a block.
    """

    steps: int = 1200
    batch: int = 256
    learning_rate: float = 1e-3
    decay: float = 1e-4
    memory: float = 100.0
    width: int = 128
    mixed: bool = False
    loss: Loss = "cross-entropy"


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network with the scale of its pixels. As public as the images it was trained on.

    Images are rows of pixels, or have their shape: from 0 to 1, or bytes. `sharpness` undoes what made labels soft.
    """

    network: Any
    shape: Shape
    sharpness: float = 1.0
    pixels: tuple[float, float] = USUAL_PIXELS

    def scores(self, images: np.ndarray) -> np.ndarray:
        """Logits of each class, centred (images x classes)."""
        scores = self.sharpness * self._in_parts(_scores, images)
        return scores - scores.mean(axis=1, keepdims=True)

    def features(self, images: np.ndarray) -> np.ndarray:
        """What the last layer of a ConvNet sees of each image (images x features)."""
        return self._in_parts(_features, images)

    def predict(self, images: np.ndarray) -> np.ndarray:
        """The number of the class of each image."""
        return self.scores(images).argmax(axis=1)

    def predict_proba(self, images: np.ndarray) -> np.ndarray:
        """Shares of the classes (images x classes)."""
        return special.softmax(self.scores(images), axis=1)

    def _in_parts(self, function: Callable[[Any, Array], Array], images: np.ndarray) -> np.ndarray:
        pictures = images.reshape(len(images), *self.shape)
        return in_parts(lambda part: function(self.network, standardised(part, self.pixels)), pictures)


def in_parts(function: Callable[[Array], Array], images: np.ndarray) -> np.ndarray:
    """What a function says of each image (from 0 to 1, or bytes). All parts have one size, so that it is compiled once."""
    size = max(1, min(_SCORED_AT_ONCE, len(images)))
    parts = []
    for start in range(0, max(1, len(images)), size):
        part = images[start : start + size]
        padded = np.zeros((size, *images.shape[1:]), np.float32)
        padded[: len(part)] = part / np.float32(255) if part.dtype == np.uint8 else part
        parts.append(np.asarray(function(jnp.asarray(padded)))[: len(part)])
    return np.concatenate(parts)


def train_convnet(
    points: np.ndarray, labels: np.ndarray, shape: Shape, lessons: Lessons, deform: Deform | None, seed: int
) -> TrainedNetwork:
    """A ConvNet trained on images (rows of pixels: from 0 to 1, or bytes) and labels: logits, images x classes."""
    make = partial(ConvNet, shape, labels.shape[1], width=lessons.width)
    targets = jax.nn.softmax(jnp.asarray(labels, jnp.float32), axis=1)
    return train_network(make, points, targets, shape, lessons, deform, seed)


def train_network(
    make: Callable[..., Network],
    points: np.ndarray,
    targets: np.ndarray | Array,
    shape: Shape,
    lessons: Lessons,
    deform: Deform | None,
    seed: int,
    *,
    pixels: tuple[float, float] = USUAL_PIXELS,
    progress: Callable[[int, float], None] | None = None,
) -> TrainedNetwork:
    """The network that `make(key=...)` draws, trained on images and targets (images x classes).

    Targets are distributions, or anything for the loss "squares". `progress` is told the step and the loss now and then.
    """
    starting, running = jax.random.split(jax.random.key(seed))
    # Drawn by one compiled program: weight by weight it would take longer than many a training.
    network = jax.jit(lambda key: make(key=key))(starting)
    state = (network, _ADAM.init(network), network, jnp.zeros(()))
    decay = (1 + np.cos(np.pi * np.arange(lessons.steps) / lessons.steps)) / 2
    rates = (lessons.learning_rate * decay).astype(np.float32)
    # Small sets are filled up to one size, of which only the first rows are drawn: they share what was compiled.
    beyond = ((0, max(0, _SMALL_SET - len(points))), (0, 0))
    images = jnp.pad(jnp.asarray(points.reshape(len(points), -1)), beyond).reshape(-1, *shape)
    data = (images, jnp.pad(jnp.asarray(targets), beyond), jnp.asarray(len(points)), jnp.asarray(pixels))
    # A memory that is long against the training would hold on to the random start.
    memory = max(1.0, min(lessons.memory, lessons.steps / 10))
    fixed = lessons._replace(steps=0, learning_rate=0.0, batch=min(lessons.batch, len(points)), memory=memory)
    for begun in range(0, lessons.steps, _CHUNK):
        part = rates[begun : begun + _CHUNK]
        keys = jax.random.split(jax.random.fold_in(running, begun), _CHUNK)
        filled = np.zeros(_CHUNK, np.float32)
        filled[: len(part)] = part
        state = _train(fixed, deform, state, data, keys, jnp.asarray(filled), len(part))
        if progress is not None:
            progress(begun + len(part), float(state[3]))
    return TrainedNetwork(state[2], shape, pixels=pixels)


@partial(jax.jit, static_argnums=(0, 1))
def _train(
    lessons: Lessons,
    deform: Deform | None,
    state: Any,
    data: tuple[Array, ...],
    keys: Array,
    rates: Array,
    steps: int | Array | Array,
) -> Any:
    """Some steps; their number is traced, so that a shorter last part does not compile anew."""
    images, targets, count, pixels = data

    def loss(network: Network, x: Array, y: Array, key: Array) -> Array:
        scores = network(standardised(x, (pixels[0], pixels[1])), key)
        if lessons.loss == "squares":
            return jnp.mean((scores - y) ** 2)
        return optax.softmax_cross_entropy(scores, y).mean()

    def step(number: Array, state: Any) -> Any:
        network, opt_state, mean, _ = state
        choosing, moving = jax.random.split(keys[number])
        chosen = jax.random.randint(choosing, (lessons.batch,), 0, count)
        x, y = _unit(images[chosen]), targets[chosen]
        x = x if deform is None else deform.apply(moving, x)
        if lessons.mixed:  # those chosen are in random order: so is the one as far from the end
            share = jax.random.uniform(jax.random.fold_in(moving, 1), (lessons.batch,))
            x, y = (_mixed(share, part) for part in (x, y))
        value, gradient = jax.value_and_grad(loss)(network, x, y, jax.random.fold_in(moving, 2))
        updates, opt_state = _ADAM.update(gradient, opt_state)
        network = jax.tree.map(lambda w, u: w - rates[number] * (u + lessons.decay * w), network, updates)
        mean = jax.tree.map(lambda m, w: m + (w - m) / lessons.memory, mean, network)
        return network, opt_state, mean, value

    return jax.lax.fori_loop(0, steps, step, state)


@jax.jit
def _scores(network: Network, images: Array) -> Array:
    return network(images)


@jax.jit
def _features(network: ConvNet, images: Array) -> Array:
    return network.features(images)


def _mixed(share: Array, values: Array) -> Array:
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return share * values + (1 - share) * values[::-1]


def _unit(images: Array) -> Array:
    return images.astype(jnp.float32) / 255 if images.dtype == jnp.uint8 else images
