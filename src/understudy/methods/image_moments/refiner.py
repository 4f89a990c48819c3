"""Samples moved until their edges are those that were released, and what class an image's edges speak for; all public.

A plain sample's features lie at some distance from the mean of its class' plain samples. Where records would have them is
known: at the records' mean, at that distance as the covariances relate. The image is moved there by gradient descent.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from understudy.images.edges import EdgeMap
from understudy.methods.image_moments.edge_look import EdgeMoments

STEPS = 200
_RATE = 0.02
# How much a pixel's square move counts beside the squared distance of features along an axis.
_STAY = 1e-4


class Refiner(eqx.Module):
    """What `EdgeMoments` says, ready for use: `aims` are classes' means, `move` the map of distances from them."""

    axes: Array
    before: Array
    aims: Array
    move: Array
    weights: Array
    offsets: Array
    edges: EdgeMap = eqx.field(static=True)

    @classmethod
    def of(cls, moments: EdgeMoments, edges: EdgeMap) -> Refiner:
        parts = (moments.axes, moments.before, moments.means, moments.move(), *moments.judge())
        return cls(*(jnp.asarray(part, jnp.float32) for part in parts), edges=edges)

    def __call__(self, images: Array, classes: Array) -> Array:
        """Images (number x height x width x colours), each moved towards where the edges of its class' records are."""

        def along(pixels: Array) -> Array:
            return self.edges(pixels) @ self.axes

        aims = self.aims[classes] + (along(images) - self.before[classes]) @ self.move.T

        def apart(pixels: Array) -> Array:
            missed = jnp.sum((along(pixels) - aims) ** 2) / aims.shape[1]
            return missed + _STAY * jnp.sum((pixels - images) ** 2)

        descent = optax.adam(optax.cosine_decay_schedule(_RATE, STEPS))

        def step(_: int, state: tuple[Array, optax.OptState]) -> tuple[Array, optax.OptState]:
            pixels, opt_state = state
            updates, opt_state = descent.update(jax.grad(apart)(pixels), opt_state)
            return jnp.clip(optax.apply_updates(pixels, updates), 0, 1), opt_state  # type: ignore[arg-type]

        return jax.lax.fori_loop(0, STEPS, step, (images, descent.init(images)))[0]

    def shares(self, images: Array) -> Array:
        """How much each image is of each class (number x classes), as its edges say."""
        return jax.nn.softmax(self.edges(images) @ self.weights + self.offsets, axis=1)
