"""Images that train a convolutional network, made from public samples: all of it is post-processing, and free.

Distribution matching (Zhao and Bilen 2023): the images of a class are moved until the mean of their features in randomly
drawn networks is that of the class' samples, under the same random deformations. Their labels are not one-hot: they are
what networks that were trained on the samples say of them, softened, which tells a learner more than a class does.

An image may hold several pictures (multi-formation, Kim et al. 2022): a learner cuts it into parts x parts of them and
enlarges each to the image's size, by a fixed rule. Few large pictures are worth less than many coarse ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.images.deform import Affine, warp
from understudy.learn.convnet_training import Lessons, TrainedNetwork, train_convnet
from understudy.learn.convnets import ConvNet, Shape, standardised
from understudy.release.settings import Settings, positive, setting, share, whole

_CHUNK = 50
_ADAM: Any = optax.scale_by_adam()
# A logit whose softmax is one class alone.
_SURE = 20.0


@dataclass(frozen=True)
class Deformation:
    """A random affine map, and a random stretch of contrast: up to `floor` of the range becomes black, `ceiling` white.

    Samples of Gaussians are greyer than pictures. How far is public, and no property of the data.
    """

    affine: Affine
    floor: float = 0.0
    ceiling: float = 0.0

    def apply(self, key: Array, images: Array) -> Array:
        moving, stretching = jax.random.split(key)
        return self.stretched(stretching, self.affine.apply(moving, images))

    def stretched(self, key: Array, images: Array) -> Array:
        low, high = jax.random.uniform(key, (2, len(images), 1, 1, 1))
        low, high = self.floor * low, self.ceiling * high
        return jnp.clip((images - low) / (1 - low - high), 0, 1)


@dataclass
class Matching(Settings):
    """How images are matched; none of it costs privacy. `batch` samples of each class are compared at every step.

    Every image holds `parts` x `parts` pictures, each with labels of its own, which a network learns from enlarged.
    `stretch` is how far the contrast of samples is stretched at random (0: not), since those of Gaussians are grey.
    """

    steps: int = setting(1000, whole())
    batch: int = setting(128, whole())
    learning_rate: float = setting(1e-2, positive())
    parts: int = setting(2, whole())
    stretch: float = setting(0.0, share("the range of pixels"))

    def deformation(self, affine: Affine) -> Deformation:
        return Deformation(affine, 0.4 * self.stretch, 0.6 * self.stretch)


def unfolded(images: Array, parts: int) -> Array:
    """The parts x parts pictures of each image, row by row, enlarged to the image's size (number · parts² x ...)."""
    if parts == 1:
        return images
    number, height, width, colours = images.shape
    down, across = height // parts, width // parts
    pieces = images.reshape(number, parts, down, parts, across, colours).swapaxes(2, 3)
    pieces = pieces.reshape(number * parts**2, down, across, colours)
    return jax.image.resize(pieces, (len(pieces), height, width, colours), "bilinear")


def folded(pictures: np.ndarray, parts: int) -> np.ndarray:
    """Images of the size of one picture that hold parts x parts of them, made smaller by means of their pixels."""
    if parts == 1:
        return pictures
    number, height, width, colours = pictures.shape
    down, across = height // parts, width // parts
    small = pictures.reshape(number, down, parts, across, parts, colours).mean(axis=(2, 4))
    small = small.reshape(number // parts**2, parts, parts, down, across, colours).swapaxes(2, 3)
    return small.reshape(-1, height, width, colours)


def match_samples(
    samples: Array,
    start: np.ndarray,
    deformation: Deformation,
    matching: Matching,
    width: int,
    key: Array,
    progress: Callable[[int, int, float], None] | None = None,
) -> np.ndarray:
    """Images (per class x classes x height x width x colours, from 0 to 1) whose features are those of `samples`.

    `samples` are bytes, classes x number x height x width x colours. The result is as public as they are. Networks have
    `width` kernels a block; `progress` is told the step, of how many, and the loss.
    """
    points = jnp.asarray(start, jnp.float32)
    state = (points, _ADAM.init(points))
    decay = (1 + np.cos(np.pi * np.arange(matching.steps) / matching.steps)) / 2
    rates = (matching.learning_rate * decay).astype(np.float32)
    fixed = (matching.batch, matching.parts, width)
    for begun in range(0, matching.steps, _CHUNK):
        part = jnp.asarray(rates[begun : begun + _CHUNK])
        keys = jax.random.split(jax.random.fold_in(key, begun), len(part))
        state, loss = _match(*fixed, deformation, samples, state, keys, part)
        if progress is not None:
            progress(begun + len(part), matching.steps, float(loss))
    return np.asarray(state[0])


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _match(
    batch: int, parts: int, width: int, deformation: Deformation, samples: Array, state: Any, keys: Array, rates: Array
) -> tuple[Any, Array]:
    classes, _, *sides = samples.shape
    shape: Shape = (sides[0], sides[1], sides[2])

    def step(state: Any, now: tuple[Array, Array]) -> tuple[Any, Array]:
        (points, opt_state), (key, rate) = state, now
        drawing, choosing, stretching, moving = jax.random.split(key, 4)
        network = ConvNet(shape, classes, key=drawing, width=width)
        drawn = jax.random.randint(choosing, (classes, batch), 0, samples.shape[1])
        chosen = samples[jnp.arange(classes)[:, None], drawn].astype(jnp.float32) / 255
        chosen = deformation.stretched(stretching, chosen.reshape(-1, *shape))
        # One map a class, for its samples and its images alike: their difference is then not one of maps.
        maps, shifts = deformation.affine.matrices(moving, classes)

        def features(pictures: Array, whose: Array) -> Array:
            return network.features(standardised(warp(pictures, maps[whose], shifts[whose])))

        wanted = features(chosen, jnp.repeat(jnp.arange(classes), batch)).reshape(classes, batch, -1).mean(axis=1)

        def apart(points: Array) -> Array:
            pictures = unfolded(points.reshape(-1, *shape), parts)
            own = features(pictures, jnp.tile(jnp.repeat(jnp.arange(classes), parts**2), len(points)))
            return jnp.sum((own.reshape(len(points), classes, parts**2, -1).mean(axis=(0, 2)) - wanted) ** 2)

        loss, gradient = jax.value_and_grad(apart)(points)
        updates, opt_state = _ADAM.update(gradient, opt_state)
        return (jnp.clip(points - rate * updates, 0, 1), opt_state), loss

    state, losses = jax.lax.scan(step, state, (keys, rates))
    return state, losses.mean()


def train_teachers(
    samples: np.ndarray, labels: np.ndarray, deformation: Deformation, lessons: Lessons, teachers: int, seed: int
) -> list[TrainedNetwork]:
    """Networks trained on samples (classes x number x height x width x colours, bytes) and labels: logits of each."""
    classes, number, *shape = samples.shape
    where: Shape = (shape[0], shape[1], shape[2])
    rows = samples.reshape(classes * number, -1)
    logits = labels.reshape(len(rows), -1)
    return [train_convnet(rows, logits, where, lessons, deformation, seed + i) for i in range(teachers)]


def drawn_labels(classes: int, number: int) -> np.ndarray:
    """Logits of samples that are of the class that they were drawn for (classes x number x classes)."""
    return _SURE * np.repeat(np.eye(classes, dtype=np.float32)[:, None], number, axis=1)
