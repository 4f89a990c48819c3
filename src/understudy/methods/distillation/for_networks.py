"""What distillers for a convolutional network share: who may be distilled, and the network that `predict` trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.convnet_training import Lessons, TrainedNetwork, train_convnet
from understudy.learn.convnets import coloured
from understudy.learn.krr import one_hot
from understudy.methods.distillation.distiller import Distiller
from understudy.methods.distillation.domain import Domain, ImageDomain
from understudy.methods.distillation.training import Support
from understudy.release.settings import Settings, setting, truth, whole

# Three blocks of pooling leave something of images of this side.
_SMALLEST = 8
# Times a one-hot label less its mean: a logit whose softmax is one class alone.
_SURE = 20.0


@dataclass
class NetworkTraining(Settings):
    """The network: `width` kernels a block. `train_steps` of training when `predict` is asked, perhaps on `mixed` images."""

    width: int = setting(128, whole())
    train_steps: int = setting(3000, whole())
    mixed: bool = setting(False, truth())

    def lessons(self) -> Lessons:
        return Lessons(self.train_steps, width=self.width, mixed=self.mixed)


class ConvNetDistiller(Distiller):
    """Base of those whose images train a ConvNet. Labels of its support are logits."""

    network: NetworkTraining

    def _check_records(self, data: Any) -> None:
        if not isinstance(data, ImageDataset):
            raise InputError("a ConvNet learns from images: give an `ImageDataset`, or use `OneLook` for a table.")
        height, width = data.shape[:2]
        if min(height, width) < _SMALLEST:
            raise InputError(
                f"images of {height} x {width} pixels are too small for a network that halves them three times: "
                f"at least {_SMALLEST} are needed. Use `OneLook`."
            )

    def train(self, support: Support, shape: tuple[int, ...], seed: int) -> TrainedNetwork:
        """A network trained on distilled images."""
        points, labels = np.asarray(support.points), np.asarray(support.labels)
        return train_convnet(points, labels, coloured(shape), self.network.lessons(), None, seed)

    def _predictor(self) -> TrainedNetwork:
        self._check_fitted()
        if not hasattr(self, "learner_"):
            assert isinstance(self.domain_, ImageDomain)
            self.learner_ = self.train(self.support_, self.domain_.shape, self.random_state or 0)
        return self.learner_

    def _ready(self, domain: Domain, support: Support) -> None:
        super()._ready(domain, support)
        if hasattr(self, "learner_"):  # of an earlier fit
            del self.learner_


def labelled(images: Array) -> Support:
    """Images of each class (classes x per class x height x width x colours, from 0 to 1) as a support; their classes are sure."""
    classes, per_class = images.shape[:2]
    mine = np.repeat(np.arange(classes), per_class)
    points = np.asarray(images, np.float32).reshape(len(mine), -1)
    return Support(jnp.asarray(points), jnp.asarray(_SURE * one_hot(mine, classes), jnp.float32))
