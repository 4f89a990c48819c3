"""Samples of the released mixture of Gaussians, on whatever device there is; public, like all that they come from."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.images.deform import Affine
from understudy.images.straighten import slanted

# Slant, width and height stand beside the coefficients in these units, so that they are of a size with them.
POSE_UNIT = 4.0


@jax.custom_vjp
def within(values: Array) -> Array:
    """Values cut off at 0 and 1, with a gradient that leads back inside: one that is cut off can still be asked to return."""
    return jnp.clip(values, 0, 1)


def _within_forward(values: Array) -> tuple[Array, Array]:
    return within(values), values


def _within_backward(values: Array, g: Array) -> tuple[Array]:
    return (jnp.where(((values < 0) & (g > 0)) | ((values > 1) & (g < 0)), 0.0, g),)


within.defvjp(_within_forward, _within_backward)


class ImageMixture(eqx.Module):
    """Class by class a mixture of Gaussians with one covariance, in a public basis.

    `weights` is classes x components, `means` classes x components x d, `factors` classes x d x d (covariance is F Fᵀ),
    `tail` the variances of the basis' remaining rows. The last `poses` coordinates are not of the basis: none, the slant
    of writing (1), or its slant, width and height (3), which samples get back.
    """

    weights: Array
    means: Array
    factors: Array
    tail: Array
    basis: Array
    shape: tuple[int, ...] = eqx.field(static=True)
    poses: int = eqx.field(static=True, default=0)

    def images(self, key: Array, classes: Array) -> Array:
        """One image for each class number: rows of numbers from 0 to 1."""
        choosing, moving, tailing = jax.random.split(key, 3)
        count = len(classes)
        component = jax.random.categorical(choosing, jnp.log(self.weights)[classes])
        noise = jax.random.normal(moving, (count, self.means.shape[2]))
        # All classes' products, then a choice: one large product is faster than a gather of factors.
        spread = jnp.einsum("cij,nj->cni", self.factors, noise)[classes, jnp.arange(count)]
        point = self.means[classes, component] + spread
        return self.painted(point, jax.random.normal(tailing, (count, len(self.tail))))

    def painted(self, point: Array, rest: Array) -> Array:
        """Rows of numbers from 0 to 1: pictures with those coefficients, the rest by standard normal numbers."""
        known = point.shape[1] - self.poses
        rows = within(jnp.concatenate([point[:, :known], jnp.sqrt(self.tail) * rest], axis=1) @ self.basis)
        if not self.poses:
            return rows
        return slanted(self.pictures(rows), point[:, known:] / POSE_UNIT).reshape(len(rows), -1)

    @property
    def colours(self) -> tuple[int, ...]:
        """Height, width and the number of colours."""
        return self.shape if len(self.shape) == 3 else (*self.shape, 1)

    def pictures(self, rows: Array) -> Array:
        """Rows of numbers as number x height x width x colours."""
        return rows.reshape(len(rows), *self.colours)


class Samples(eqx.Module):
    """Endless labelled samples with public deformations, as distillation asks for them; classes are even."""

    mixture: ImageMixture
    affine: Affine | None = eqx.field(static=True)

    def draw(self, key: Array, count: int) -> tuple[Array, Array]:
        classing, making, moving = jax.random.split(key, 3)
        classes = jax.random.randint(classing, (count,), 0, len(self.mixture.weights))
        rows = self.mixture.images(making, classes)
        if self.affine is not None:
            rows = self.affine.apply(moving, self.mixture.pictures(rows)).reshape(count, -1)
        count = len(self.mixture.weights)
        return rows, jax.nn.one_hot(classes, count) - 1 / count
