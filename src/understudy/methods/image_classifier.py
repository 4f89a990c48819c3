"""What a fitted classifier of images does: tell the classes of images, and keep its network on disk. All of it is public, and free."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import special

from understudy.errors import InputError
from understudy.images import ImageDataset, check_form
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.estimator import Estimator


class ImageClassifier(Estimator):
    """Base of the methods whose release is a network. Fitted: `shape_`, `classes_` and `value_range_` say what images it takes."""

    shape_: tuple[int, ...]
    classes_: tuple[str, ...]
    value_range_: tuple[int, int]

    def network(self, shape: tuple[int, ...], classes: int, seed: int) -> Any:
        """The network before it has learnt anything. Public."""
        raise NotImplementedError

    def _released(self) -> Any:
        """The network as it has learnt."""
        raise NotImplementedError

    def _scored(self, data: ImageDataset) -> np.ndarray:
        """Logits (images x classes) of images of the right shape."""
        raise NotImplementedError

    def _shapes(self, shape: tuple[int, ...], classes: int) -> Any:
        """The shapes of the network's weights. Refuses images that are too small for it."""
        return jax.eval_shape(lambda: self.network(shape, classes, 0))

    def _ready(
        self, network: Any, shape: tuple[int, ...], classes: tuple[str, ...], value_range: tuple[int, int]
    ) -> None:
        """Take up a network that has learnt; a method keeps it under a name of its own."""
        del network
        self.shape_, self.classes_, self.value_range_ = shape, classes, value_range

    def predict(self, data: ImageDataset) -> np.ndarray:
        """The class of each image."""
        return np.asarray(self.classes_, dtype=object)[self._scores(data).argmax(axis=1)]

    def predict_proba(self, data: ImageDataset) -> np.ndarray:
        """Shares of the classes in the order of `classes_` (images x classes)."""
        return special.softmax(self._scores(data), axis=1)

    def score(self, data: ImageDataset) -> float:
        """Touches private data where `data` is: the share of images whose class is predicted right."""
        return float(np.mean(self._scores(data).argmax(axis=1) == data.labels))

    def _scores(self, data: ImageDataset) -> np.ndarray:
        self._check_fitted()
        if not isinstance(data, ImageDataset) or data.shape != self.shape_:
            raise InputError(f"`data` must be an `ImageDataset` of images of shape {self.shape_}.")
        return self._scored(data)

    def _contents(self) -> Bundle:
        form = {"shape": list(self.shape_), "classes": list(self.classes_), "value_range": list(self.value_range_)}
        weights = {"weights": np.asarray(ravel_pytree(self._released())[0])}
        return Bundle("classifier", self.method, {"settings": self._settings(), **form}, weights, self.certificate_)

    def _restore(self, bundle: Bundle) -> None:
        form = check_form(*(bundle.parameters[name] for name in ("shape", "classes", "value_range")))
        leaves, tree = jax.tree.flatten(self._shapes(form[0], len(form[1])))
        ends = np.cumsum([leaf.size for leaf in leaves])
        weights = fitting(bundle.arrays, "weights", int(ends[-1])).astype(np.float32)
        parts = zip(leaves, np.split(weights, ends[:-1]), strict=True)
        self._ready(jax.tree.unflatten(tree, [jnp.asarray(part.reshape(leaf.shape)) for leaf, part in parts]), *form)
