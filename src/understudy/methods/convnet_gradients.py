"""What DP-SGD and PSG take from private images: the sum over a Poisson batch of the clipped gradients of a ConvNet's loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.images import BLANK, ImageDataset
from understudy.learn.convnets import ConvNet, as_products, coloured, standardised
from understudy.privacy import PrepaidSteps

# Images whose gradients are held at once.
_AT_ONCE = 128


@dataclass(frozen=True)
class PrivateImages:
    """Private: all images with their classes, on the device. A blank one is not `present`, and moves nothing."""

    pixels: Array
    classes: Array
    present: np.ndarray

    @classmethod
    def of(cls, data: ImageDataset) -> PrivateImages:
        """Touches private data: pixels from 0 to 1 (images x height x width x colours)."""
        pixels = data.flat().reshape(len(data), *coloured(data.shape))
        return cls(jnp.asarray(pixels), jnp.asarray(np.maximum(data.labels, 0)), data.labels != BLANK)

    def batch(self, paid: PrepaidSteps, at_once: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Private. Slots of the next Poisson batch, which of them are taken, and how many records it has."""
        chosen = paid.batch()
        here = chosen[self.present[chosen]]
        slots = np.zeros(-(-paid.slots // at_once) * at_once, dtype=np.int32)
        slots[: len(here)] = here
        return slots.reshape(-1, at_once), (np.arange(len(slots)) < len(here)).reshape(-1, at_once), len(chosen)

    def noisy_gradient(self, network: ConvNet, paid: PrepaidSteps, groups: int = 1) -> np.ndarray:
        """Touches private data: the sum over a Poisson batch of each image's own gradient, clipped, plus noise. Safe to publish.

        With as many `groups` as there are classes, one sum for each, in a row.
        """
        slots, held, records = self.batch(paid, min(_AT_ONCE, paid.slots))
        total = clipped_gradients(groups, network, self.pixels, self.classes, slots, held, paid.mechanism.clip)
        return paid.release(np.asarray(total), records).astype(np.float32)


def loss(network: ConvNet, images: Array, targets: Array) -> Array:
    """Mean cross-entropy of images and shares of the classes. No image sees another: norms are those of one instance."""
    scores = network.features(standardised(images), as_products) @ network.head + network.head_bias
    return optax.softmax_cross_entropy(scores, targets).mean()


@partial(jax.jit, static_argnums=0)
def clipped_gradients(
    groups: int, network: ConvNet, pixels: Array, classes: Array, slots: Array, held: Array, clip: float
) -> Array:
    """Touches private data: the sum over slots that are held of each image's own gradient, clipped to norm `clip`, as one vector.

    An image is in one class: the sums of all classes together move by no more than its own gradient.
    """
    names = network.head_bias.shape[0]

    def own(place: Array) -> Array:
        given = jax.nn.one_hot(classes[place], names)[None]
        return ravel_pytree(jax.grad(loss)(network, pixels[place][None], given))[0]

    def part(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        places, taken = now
        gradients = jax.vmap(own)(places)
        length = jnp.sqrt(jnp.sum(jnp.square(gradients), axis=1))
        # The factor pays for the rounding of float32, so that no image is longer than `clip`.
        shrink = jnp.where(taken, jnp.minimum(1.0, clip * (1 - 1e-5) / jnp.maximum(length, 1e-30)), 0.0)
        # No product, since an accelerator would round those.
        mine = classes[places] if groups > 1 else jnp.zeros_like(places)
        return total + jax.ops.segment_sum(gradients * shrink[:, None], mine, groups), None

    start = jnp.zeros((groups, len(ravel_pytree(network)[0])))
    return jax.lax.scan(part, start, (slots, held))[0].ravel()
