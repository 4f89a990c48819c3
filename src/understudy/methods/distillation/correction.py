"""What networks trained on samples do not know of the records: a second look, through their own eyes.

Samples of a release are not records, and networks that learnt from them err where the two differ. What they *see* is good
all the same: their features, along the principal axes of the features of samples, are a few hundred numbers in which
classes lie apart. A linear correction of the networks' opinion is learnt there from the records, by a few steps of
gradient descent on the logistic loss over all of them. Each record's gradient is clipped, each sum leaves with noise, and
all steps are paid for beforehand. Networks, axes and scales come from samples: they are public, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy import special

from understudy.learn.convnet_training import Learner
from understudy.privacy import PrepaidSteps

# How many samples show the axes, and how much of the mean variance is added to each before it is scaled to one.
_SHOWN, _FLOOR = 4000, 0.01
# Networks are surer of samples than they should be of records: their opinion is halved before it is corrected.
_HALVED = 2.0

Opinion = Callable[[np.ndarray], np.ndarray]


class Correcting(NamedTuple):
    """How the correction is learnt; all of it public. `axes` features, `steps` of gradient descent at `rate`."""

    steps: int = 30
    axes: int = 256
    rate: float = 3.0
    clip: float = 2.0


@dataclass(frozen=True)
class Committee:
    """Networks with one opinion, perhaps beside others and corrected. As public as all that it was made from.

    `others` are opinions of another kind (images as rows of pixels to logits, half as weighty as the networks').
    """

    learners: Sequence[Learner]
    others: tuple[Opinion, ...] = ()
    middle: np.ndarray | None = None
    axes: np.ndarray | None = None
    weights: np.ndarray | None = None

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Logits of each class, centred (images x classes), of images as rows of pixels: from 0 to 1, or bytes."""
        found = np.mean([one.scores(rows) for one in self.learners], axis=0)
        for other in self.others:
            found = found + other(rows) / 2
        if self.weights is not None:
            found = found / _HALVED + self.seen(rows) @ self.weights
        return found - found.mean(axis=1, keepdims=True)

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """What the networks see of images, along the axes, with a constant at the end (images x axes + 1)."""
        assert self.middle is not None
        assert self.axes is not None
        along = _project(self.learners, rows, jnp.asarray(self.middle), jnp.asarray(self.axes))
        return np.concatenate([along, np.ones((len(rows), 1))], axis=1)

    def with_axes(self, samples: np.ndarray, count: int) -> Committee:
        """The same, with axes that `samples` (rows of pixels, public) show; of one spread each."""
        shown = jnp.asarray(_features(self.learners, samples[:: max(1, len(samples) // _SHOWN)]))
        middle = shown.mean(axis=0)
        with jax.default_matmul_precision("highest"):
            inner = (shown - middle) @ (shown - middle).T / len(shown)
            values, vectors = jnp.linalg.eigh(inner)
            count = min(count, len(shown) - 1, shown.shape[1])
            values, vectors = jnp.maximum(values[::-1][:count], 1e-12), vectors[:, ::-1][:, :count]
            axes = (shown - middle).T @ vectors / jnp.sqrt(len(shown) * values)
        scaled = axes / jnp.sqrt(values + _FLOOR * values.mean())
        return Committee(self.learners, self.others, np.asarray(middle), np.asarray(scaled))


def correct(
    committee: Committee, rows: np.ndarray, classes: np.ndarray, count: int, paid: PrepaidSteps, rate: float
) -> Committee:
    """Touches private data (`rows`, `classes` below `count`): the committee, corrected. Safe to publish: only `paid` noisy
    sums of clipped gradients move the correction.

    The gradient of one record's loss is the outer product of what is seen of it and of how wrong the opinion is, so its
    length is the product of their lengths. The correction that counts is the mean of the later half of the steps.
    """
    seen = committee.seen(rows)
    first = committee.scores(rows).astype(np.float64) / _HALVED
    truth = np.eye(count)[classes]
    lengths = np.linalg.norm(seen, axis=1)
    weights = np.zeros((seen.shape[1], count))
    kept = np.zeros_like(weights)
    for step in range(paid.steps):
        wrong = special.softmax(first + seen @ weights, axis=1) - truth
        long = lengths * np.linalg.norm(wrong, axis=1)
        # The factor pays for the rounding of the sum.
        shrink = np.minimum(1.0, paid.mechanism.clip * (1 - 1e-6) / np.maximum(long, np.finfo(float).tiny))
        total = seen.T @ (wrong * shrink[:, None])
        noisy = paid.release(total.ravel(), len(rows)).reshape(weights.shape)
        weights = weights - rate * noisy / len(rows)
        kept += weights if 2 * step >= paid.steps - 1 else 0
    return Committee(
        committee.learners, committee.others, committee.middle, committee.axes, kept / (paid.steps - paid.steps // 2)
    )


def _features(learners: Sequence[Learner], rows: np.ndarray) -> np.ndarray:
    return np.concatenate([one.features(rows) for one in learners], axis=1)


def _project(learners: Sequence[Learner], rows: np.ndarray, middle: Array, axes: Array) -> np.ndarray:
    """Touches private data where the images are: part by part, since features are many."""
    parts = [np.zeros((0, axes.shape[1]))]
    for start in range(0, len(rows), _SHOWN):
        with jax.default_matmul_precision("highest"):
            along = (jnp.asarray(_features(learners, rows[start : start + _SHOWN])) - middle) @ axes
        parts.append(np.asarray(along, np.float64))
    return np.concatenate(parts)
