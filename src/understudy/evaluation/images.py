"""How good synthetic images are for learning from: train a convolutional network on them, score it on real ones.

    from understudy.evaluation.images import Training, image_accuracy
    image_accuracy(made, labels, test_images, test_labels, Training("convnet", steps=500))

Pixels are standardised by the mean and deviation of the training images, which are what was released. The real test
images are looked at once, for the accuracy; that figure is as private as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.evaluation.image_networks import Network, network

Loss = Literal["cross-entropy", "squares"]
_CHUNK = 50
_SCORED_AT_ONCE = 500


@dataclass(frozen=True)
class Affine:
    """A random shift (share of the side), turn (degrees) and zoom (share) of each training image at each step.

    The ranges are public: they say what is known of such pictures, and nothing is taken from the data.
    """

    shift: float = 0.08
    turn: float = 10.0
    zoom: float = 0.1


@dataclass(frozen=True)
class Training:
    """How a network is trained: Adam with a cosine that ends at zero, batches drawn with replacement."""

    network: str = "two-layer"
    steps: int = 1000
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    affine: Affine | None = None
    loss: Loss = "cross-entropy"


@dataclass(frozen=True)
class Trained:
    """A trained network with the scale of its pixels."""

    model: Any
    mean: float
    deviation: float

    def logits(self, images: ArrayLike) -> np.ndarray:
        """One score for each image and class."""
        pixels = (as_images(images) - self.mean) / self.deviation
        found = [_scores(self.model, jnp.asarray(part)) for part in _parts(pixels, _SCORED_AT_ONCE)]
        return np.concatenate(found)[: len(pixels)]

    def predict(self, images: ArrayLike) -> np.ndarray:
        return self.logits(images).argmax(axis=1)

    def accuracy(self, images: ArrayLike, labels: ArrayLike) -> float:
        """Touches private data where the images are real: the share that is classified right."""
        return float(np.mean(self.predict(images) == np.asarray(labels)))


def image_accuracy(
    images: ArrayLike,
    labels: ArrayLike,
    test_images: ArrayLike,
    test_labels: ArrayLike,
    training: Training | None = None,
    *,
    seed: int = 0,
) -> float:
    """Touches private data (the real test images): accuracy there of a network trained on `images`."""
    classes = max(_classes(np.asarray(labels)), int(np.asarray(test_labels).max()) + 1)
    return train(images, labels, training, classes=classes, seed=seed).accuracy(test_images, test_labels)


def train(
    images: ArrayLike,
    labels: ArrayLike,
    training: Training | None = None,
    *,
    classes: int | None = None,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> Trained:
    """Train a network on images (n x height x width, or x channels; bytes or floats) and labels.

    Labels are classes (n), or one number for each class (n x classes) as distilled sets have them: a distribution for
    the loss "cross-entropy", anything for "squares". `progress` is told the step and the loss now and then.
    """
    training = Training() if training is None else training
    pixels, wanted = as_images(images), _targets(np.asarray(labels), classes, training.loss)
    if len(pixels) != len(wanted):
        raise InputError(f"there are {len(pixels)} images and {len(wanted)} labels.")
    if training.steps < 1 or training.batch < 1:
        raise InputError(f"`steps` (={training.steps}) and `batch` (={training.batch}) must be at least 1.")
    mean, deviation = float(pixels.mean()), float(pixels.std()) or 1.0
    starting, running = jax.random.split(jax.random.key(seed))
    model = _start(network(training.network), pixels.shape[1:], wanted.shape[1], starting)
    weights, static = eqx.partition(model, eqx.is_inexact_array)
    state = _optimiser(training).init(weights)
    # As arguments, not constants: a closure would copy the images into the compiled program.
    data = (jnp.asarray((pixels - mean) / deviation), jnp.asarray(wanted))
    done = 0
    while done < training.steps:
        steps = min(_CHUNK, training.steps - done)
        running, now = jax.random.split(running)
        weights, state, loss = _run(weights, state, data, now, static, training, steps)
        done += steps
        if progress is not None:
            progress(done, float(loss))
    return Trained(eqx.combine(weights, static), mean, deviation)


@eqx.filter_jit
def _start(make: Network, shape: tuple[int, ...], classes: int, key: PRNGKeyArray) -> Any:
    """A new network, drawn by one compiled program: weight by weight it would take longer than many a training."""
    return make(shape, classes, key=key)


def _optimiser(training: Training) -> optax.GradientTransformation:
    schedule = optax.cosine_decay_schedule(training.learning_rate, training.steps)
    return optax.adamw(schedule, weight_decay=training.weight_decay)


@partial(jax.jit, static_argnums=(4, 5))
def _run(
    weights: Any, state: Any, data: tuple[Array, Array], key: PRNGKeyArray, static: Any, training: Training,
    steps: int | Array,
) -> tuple[Any, Any, Array]:  # fmt: skip
    images, wanted = data
    optimiser = _optimiser(training)
    batch = min(training.batch, len(images))

    def loss(weights: Any, pixels: Array, target: Array, key: PRNGKeyArray) -> Array:
        model = eqx.combine(weights, static)
        found = jax.vmap(model)(pixels, jax.random.split(key, len(pixels)))
        if training.loss == "squares":
            return jnp.mean((found - target) ** 2)
        return optax.softmax_cross_entropy(found, target).mean()

    def step(number: Array, carried: tuple[Any, Any, Array]) -> tuple[Any, Any, Array]:
        weights, state, _ = carried
        choosing, moving, dropping = jax.random.split(jax.random.fold_in(key, number), 3)
        places = jax.random.randint(choosing, (batch,), 0, len(images))
        pixels = images[places]
        if training.affine is not None:
            pixels = jax.vmap(partial(_moved, training.affine))(pixels, jax.random.split(moving, batch))
        value, slope = jax.value_and_grad(loss)(weights, pixels, wanted[places], dropping)
        updates, state = optimiser.update(slope, state, weights)
        return optax.apply_updates(weights, updates), state, value

    # The number of steps is traced, so that a shorter last part does not compile anew.
    return jax.lax.fori_loop(0, steps, step, (weights, state, jnp.zeros(())))


def _moved(affine: Affine, image: Array, key: PRNGKeyArray) -> Array:
    """The image shifted, turned and zoomed at random about its middle; what comes in from outside is its own corner's
    colour."""
    height, width = image.shape[1:]
    low = jnp.array([-affine.shift, -affine.shift, -affine.turn, -affine.zoom])
    down, right, turn, zoom = jax.random.uniform(key, (4,), minval=low, maxval=-low)
    angle, scale = jnp.deg2rad(turn), 1.0 + zoom
    y, x = jnp.meshgrid(jnp.arange(height) - (height - 1) / 2, jnp.arange(width) - (width - 1) / 2, indexing="ij")
    from_y = (jnp.cos(angle) * y - jnp.sin(angle) * x) / scale + (height - 1) / 2 + down * height
    from_x = (jnp.sin(angle) * y + jnp.cos(angle) * x) / scale + (width - 1) / 2 + right * width
    take = partial(jax.scipy.ndimage.map_coordinates, order=1, mode="nearest")
    return jax.vmap(lambda channel: take(channel, [from_y, from_x]))(image)


@eqx.filter_jit
def _scores(model: Any, images: Array) -> Array:
    return jax.vmap(model)(images)


def _parts(pixels: np.ndarray, size: int) -> list[np.ndarray]:
    """Parts of one size, the last filled up with its first image: one shape compiles once."""
    size = min(size, len(pixels))
    parts = [pixels[start : start + size] for start in range(0, len(pixels), size)]
    if len(parts[-1]) < size:
        parts[-1] = np.concatenate([parts[-1], np.repeat(parts[-1][:1], size - len(parts[-1]), axis=0)])
    return parts


def as_images(images: ArrayLike) -> np.ndarray:
    """Images as float32 (n, channels, height, width); bytes become 0 to 1."""
    array = np.asarray(images)
    if array.ndim not in (3, 4) or len(array) == 0:
        raise InputError(f"images must be n x height x width (x channels) with n at least 1, not {array.shape}.")
    if array.ndim == 3:
        array = array[..., None]
    if array.shape[3] not in (1, 3):
        raise InputError(f"images must have 1 or 3 channels on the last axis, not {array.shape[3]}.")
    pixels = np.moveaxis(array, 3, 1).astype(np.float32)
    if array.dtype == np.uint8:
        pixels = pixels / 255
    if not np.isfinite(pixels).all():
        raise InputError("the images hold values that are not finite numbers.")
    return np.ascontiguousarray(pixels)


def _classes(labels: np.ndarray) -> int:
    return labels.shape[1] if labels.ndim == 2 else int(labels.max()) + 1


def _targets(labels: np.ndarray, classes: int | None, loss: Loss) -> np.ndarray:
    if labels.ndim not in (1, 2) or len(labels) == 0:
        raise InputError(f"labels must be n classes or n x classes numbers, not of shape {labels.shape}.")
    count = _classes(labels) if classes is None else classes
    if labels.ndim == 2:
        if labels.shape[1] != count:
            raise InputError(f"the labels have {labels.shape[1]} columns for {count} classes.")
        if loss == "cross-entropy" and (labels.min() < 0 or np.abs(labels.sum(axis=1) - 1).max() > 1e-3):
            raise InputError('labels that are no distributions need the loss "squares".')
        return labels.astype(np.float32)
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0 or labels.max() >= count:
        raise InputError(f"labels must be whole numbers from 0 to {count - 1}.")
    return np.eye(count, dtype=np.float32)[labels]
