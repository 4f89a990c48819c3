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

from understudy.images import BLANK
from understudy.learn.convnet_training import TrainedNetwork
from understudy.learn.convnets import ConvNet, standardised
from understudy.privacy import PrepaidSteps

# How many samples show the axes, and how much of the mean variance is added to each before it is scaled to one.
_SHOWN, _FLOOR = 3000, 0.01
_AT_ONCE = 1000
# Networks are surer of samples than they should be of records: their opinion is halved before it is corrected.
_HALVED = 2.0

Opinion = Callable[[np.ndarray], np.ndarray]


class Correcting(NamedTuple):
    """How the correction is learnt; all of it public. `axes` features, `steps` of gradient descent at `rate`."""

    steps: int = 30
    axes: int = 256
    rate: float = 8.0
    clip: float = 2.0


@dataclass(frozen=True)
class Committee:
    """Networks with one opinion, perhaps beside others and corrected. As public as all that it was made from.

    `others` are opinions of another kind (images as rows of pixels to logits, half as weighty as the networks').
    """

    learners: Sequence[TrainedNetwork]
    others: tuple[Opinion, ...] = ()
    middle: np.ndarray | None = None
    axes: np.ndarray | None = None
    weights: np.ndarray | None = None

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Logits of each class, centred (images x classes), of images as rows of pixels: from 0 to 1, or bytes."""
        scores = np.mean([one.scores(rows) for one in self.learners], axis=0)
        for other in self.others:
            scores = scores + other(rows) / 2
        if self.weights is not None:
            scores = scores / _HALVED + self.seen(rows) @ self.weights
        return scores - scores.mean(axis=1, keepdims=True)

    def seen(self, rows: np.ndarray) -> np.ndarray:
        """What the networks see of images, along the axes, with a constant at the end (images x axes + 1)."""
        assert self.middle is not None
        assert self.axes is not None
        middle, axes = jnp.asarray(self.middle), jnp.asarray(self.axes)
        networks = [one.network for one in self.learners]
        seen = np.ones((len(rows), self.axes.shape[1] + 1))
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            padded = np.zeros((_AT_ONCE, rows.shape[1]), np.float32)
            padded[: len(part)] = part / np.float32(255) if part.dtype == np.uint8 else part
            with jax.default_matmul_precision("highest"):
                along = _along(networks, padded.reshape(-1, *self.learners[0].shape), middle, axes)
            seen[start : start + len(part), :-1] = np.asarray(along)[: len(part)]
        return seen

    def with_axes(self, samples: np.ndarray, count: int) -> Committee:
        """The same, with axes that `samples` (rows of pixels, public) show; of one spread each."""
        few = samples[:: max(1, len(samples) // _SHOWN)]
        shown = jnp.asarray(np.concatenate([one.features(few) for one in self.learners], axis=1))
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
    sums move the correction.
    """
    seen = committee.seen(rows)
    first = committee.scores(rows).astype(np.float64) / _HALVED
    truth = np.eye(count)[np.maximum(classes, 0)]
    weights = noisy_descent(
        seen,
        lambda scores: special.softmax(first + scores, axis=1) - truth,
        classes != BLANK,
        np.zeros((seen.shape[1], count)),
        paid,
        rate,
    )
    return Committee(committee.learners, committee.others, committee.middle, committee.axes, weights)


def noisy_descent(
    seen: np.ndarray,
    wrong: Callable[[np.ndarray], np.ndarray],
    present: np.ndarray,
    start: np.ndarray,
    paid: PrepaidSteps,
    rate: float,
) -> np.ndarray:
    """Touches private data (`seen`, one row a record, `wrong` and `present`): weights by which what is seen is turned into scores.
    Safe to publish: only `paid` noisy sums of clipped gradients move them.

    `wrong` says of all scores how far each is off; `present` is False for a blank record, which moves nothing. The gradient of one record's loss is the outer product of what is seen of
    it and of how wrong its scores are, so its length is the product of their lengths. What counts is the mean of the later
    half of the steps.
    """
    weights, kept, clip = start, np.zeros_like(start), paid.mechanism.clip
    lengths = np.linalg.norm(seen, axis=1)
    for step in range(paid.steps):
        off = wrong(seen @ weights) * present[:, None]
        long = lengths * np.linalg.norm(off, axis=1)
        # The factor pays for the rounding of the sum.
        shrink = np.minimum(1.0, clip * (1 - 1e-6) / np.maximum(long, clip / 2))
        total = seen.T @ (off * shrink[:, None])
        noisy = paid.release(total.ravel(), len(seen)).reshape(weights.shape)
        weights = weights - rate * noisy / len(seen)
        kept += weights if 2 * step >= paid.steps - 1 else 0
    return kept / (paid.steps - paid.steps // 2)


@jax.jit
def _along(networks: list[ConvNet], images: Array, middle: Array, axes: Array) -> Array:
    """What networks see of images along the axes; there, since features are too many to bring back."""
    pixels = standardised(images)
    return (jnp.concatenate([one.features(pixels) for one in networks], axis=1) - middle) @ axes
