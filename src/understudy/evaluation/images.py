"""How good images are for learning from: train a convolutional network on them, score it on real ones.

    from understudy.evaluation.images import Training, image_accuracy
    image_accuracy(made, labels, test_images, test_labels, Training("convnet", steps=500))

Pixels are standardised by the mean and deviation of the training images, which are what was released. The real test
images are looked at once, for the accuracy; that figure is as private as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.images.deform import Affine
from understudy.learn.convnet_training import Lessons, Loss, TrainedNetwork, train_network
from understudy.learn.convnets import NETWORKS


@dataclass(frozen=True)
class Training:
    """How a network (small, two-layer or convnet) is trained; `affine` moves each training image at random at each step."""

    network: str = "two-layer"
    steps: int = 1000
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    affine: Affine | None = None
    loss: Loss = "cross-entropy"

    def lessons(self) -> Lessons:
        """The same for the trainer: the weights of the last step count."""
        if self.network not in NETWORKS:
            raise InputError(f"there is no network {self.network!r}; known are {', '.join(NETWORKS)}.")
        if self.steps < 1 or self.batch < 1:
            raise InputError(f"`steps` (={self.steps}) and `batch` (={self.batch}) must be at least 1.")
        return Lessons(self.steps, self.batch, self.learning_rate, self.weight_decay, memory=1.0, loss=self.loss)


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
    truth = np.asarray(test_labels)
    classes = max(_classes(np.asarray(labels)), int(truth.max()) + 1)
    trained = train(images, labels, training, classes=classes, seed=seed)
    return float(np.mean(trained.predict(as_images(test_images)) == truth))


def train(
    images: ArrayLike,
    labels: ArrayLike,
    training: Training | None = None,
    *,
    classes: int | None = None,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> TrainedNetwork:
    """Train a network on images (n x height x width, or x channels; bytes or floats) and labels.

    Labels are classes (n), or one number for each class (n x classes) as distilled sets have them: a distribution for
    the loss "cross-entropy", anything for "squares". `progress` is told the step and the loss now and then.
    """
    training = Training() if training is None else training
    lessons = training.lessons()
    points, targets = as_images(images), _targets(np.asarray(labels), classes, training.loss)
    if len(points) != len(targets):
        raise InputError(f"there are {len(points)} images and {len(targets)} labels.")
    height, width, channels = points.shape[1:]
    make = partial(NETWORKS[training.network], (height, width, channels), targets.shape[1])
    return train_network(
        make,
        points,
        targets,
        (height, width, channels),
        lessons,
        training.affine,
        seed,
        pixels=(float(points.mean()), float(points.std()) or 1.0),
        progress=progress,
    )


def as_images(images: ArrayLike) -> np.ndarray:
    """Images as float32 (n, height, width, channels); bytes become 0 to 1."""
    array = np.asarray(images)
    if array.ndim not in (3, 4) or len(array) == 0:
        raise InputError(f"images must be n x height x width (x channels) with n at least 1, not {array.shape}.")
    if array.ndim == 3:
        array = array[..., None]
    if array.shape[3] not in (1, 3):
        raise InputError(f"images must have 1 or 3 channels on the last axis, not {array.shape[3]}.")
    pixels = array.astype(np.float32)
    if array.dtype == np.uint8:
        pixels = pixels / 255
    if not np.isfinite(pixels).all():
        raise InputError("the images hold values that are not finite numbers.")
    return pixels


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
