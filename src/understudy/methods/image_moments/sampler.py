"""Samples of the released mixture of Gaussians, on whatever device there is; public, like all that they come from."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.images.deform import Affine, sheared
from understudy.methods.image_moments.teacher import logits, softened

# The slant stands beside the coefficients in these units, so that it is of a size with them.
SLANT_UNIT = 4.0
# How many nats the class that a sample was drawn for counts beside the teacher's view of it.
TRUST = 2.0


class Mixture(eqx.Module):
    """Class by class a mixture of Gaussians with one covariance, in a public basis; perhaps with a slant to restore.

    `weights` is classes x components, `means` classes x components x d, `factors` classes x d x d (covariance is F Fᵀ),
    `tail` the variances of the basis' remaining rows. `judge` and `offsets` are the teacher's weights (features x classes),
    of no features where there is none.
    """

    weights: Array
    means: Array
    factors: Array
    tail: Array
    basis: Array
    judge: Array
    offsets: Array
    shape: tuple[int, ...] = eqx.field(static=True)
    slanted: bool = eqx.field(static=True)

    def images(self, key: Array, classes: Array) -> Array:
        """One image for each class number: rows of numbers from 0 to 1."""
        choosing, moving, tailing = jax.random.split(key, 3)
        count = len(classes)
        component = jax.random.categorical(choosing, jnp.log(self.weights)[classes])
        noise = jax.random.normal(moving, (count, self.means.shape[2]))
        # All classes' products, then a choice: one large product is faster than a gather of factors.
        spread = jnp.einsum("cij,nj->cni", self.factors, noise)[classes, jnp.arange(count)]
        point = self.means[classes, component] + spread
        rest = jnp.sqrt(self.tail) * jax.random.normal(tailing, (count, len(self.tail)))
        point, slants = (point[:, :-1], point[:, -1] / SLANT_UNIT) if self.slanted else (point, None)
        rows = jnp.clip(jnp.concatenate([point, rest], axis=1) @ self.basis, 0, 1)
        if slants is None:
            return rows
        return sheared(self._pictures(rows), slants).reshape(count, -1)

    def shares(self, rows: Array, classes: Array, trust: float) -> Array:
        """How much each sample is of each class (number x classes): the teacher's view and the class it was drawn for."""
        count = len(self.weights)
        if not self.judge.size:
            return jax.nn.one_hot(classes, count)
        return softened(logits(self.judge, self.offsets, self._pictures(rows)), classes, trust)

    def _pictures(self, rows: Array) -> Array:
        return rows.reshape(len(rows), *(self.shape if len(self.shape) == 3 else (*self.shape, 1)))


class Samples(eqx.Module):
    """Endless labelled samples with public deformations, as distillation asks for them; classes are even."""

    mixture: Mixture
    affine: Affine | None = eqx.field(static=True)
    trust: float = eqx.field(static=True, default=TRUST)

    def draw(self, key: Array, count: int) -> tuple[Array, Array]:
        classing, making, moving = jax.random.split(key, 3)
        classes = jax.random.randint(classing, (count,), 0, len(self.mixture.weights))
        rows = self.mixture.images(making, classes)
        shares = self.mixture.shares(rows, classes, self.trust)
        if self.affine is not None:
            rows = self.affine.apply(moving, self.mixture._pictures(rows)).reshape(count, -1)
        return rows, shares - 1 / shares.shape[1]
