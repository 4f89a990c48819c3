"""Kernel ridge regression on a small support: the model that a distilled set is made for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.kernels import Kernel, gram, own_gram

# Where rounding makes the kernel matrix indefinite (equal support points), this much of its mean diagonal is added.
_RESCUE = 1e-4
_CHUNK = 4096


class Solved(NamedTuple):
    """A factor of S = K_ss + ridge · tr(K_ss)/m · I and the ridge that it holds."""

    factor: Array
    ridge: Array

    def solve(self, right: Array) -> Array:
        return cho_solve((self.factor, True), right)


def factorise(kernel_matrix: Array, ridge: float | Array) -> Solved:
    """Cholesky of K_ss + ridge · tr(K_ss)/m · I, with a larger ridge where rounding leaves no positive matrix."""
    m = len(kernel_matrix)
    scale = jnp.trace(kernel_matrix) / m
    eye = jnp.eye(m, dtype=kernel_matrix.dtype)

    def with_ridge(amount: Array) -> Solved:
        return Solved(jnp.linalg.cholesky(kernel_matrix + amount * scale * eye), amount)

    amount = jnp.asarray(ridge, kernel_matrix.dtype)
    first = with_ridge(amount)
    if isinstance(ridge, float) and ridge >= _RESCUE:
        return first  # the rescue would be the same; and a branch makes an accelerator wait for its host
    return jax.lax.cond(
        jnp.all(jnp.isfinite(first.factor)), lambda: first, lambda: with_ridge(jnp.maximum(amount, _RESCUE))
    )


@dataclass(frozen=True)
class KernelRidge:
    """A predictor: a support, its labels, a kernel and a ridge. As public as the support is."""

    kernel: Kernel
    support: np.ndarray
    labels: np.ndarray
    ridge: float

    def scores(self, points: np.ndarray) -> np.ndarray:
        """Centred scores of each class (points x classes); the largest is the prediction."""
        if points.ndim != 2 or points.shape[1] != self.support.shape[1]:
            raise InputError(
                f"points of shape {points.shape} do not fit a support of {self.support.shape[1]} features."
            )
        alpha = _alpha(self.kernel, jnp.asarray(self.support), jnp.asarray(self.labels), self.ridge)
        # Every chunk has the same shape, so that the kernel is compiled once.
        size = min(_CHUNK, len(points))
        parts = [np.zeros((0, self.labels.shape[1]), dtype=np.float32)]
        for start in range(0, len(points), size or 1):
            chunk = points[start : start + size]
            padded = np.zeros((size, points.shape[1]), dtype=self.support.dtype)
            padded[: len(chunk)] = chunk
            parts.append(np.asarray(_scores(self.kernel, padded, jnp.asarray(self.support), alpha))[: len(chunk)])
        return np.concatenate(parts)

    def predict(self, points: np.ndarray) -> np.ndarray:
        """The number of the class of each point."""
        return self.scores(points).argmax(axis=1)

    def predict_proba(self, points: np.ndarray) -> np.ndarray:
        """Shares of the classes: the regression's estimate of E[one-hot label], cut to [0, 1] and made to sum to one."""
        shares = np.clip(self.scores(points) + 1 / self.labels.shape[1], 1e-6, None)
        return shares / shares.sum(axis=1, keepdims=True)


def one_hot(classes: np.ndarray, count: int) -> np.ndarray:
    """One-hot labels minus 1/C: centred, so that the ridge pulls towards "no class"."""
    return (np.eye(count, dtype=np.float32)[classes] - 1 / count).astype(np.float32)


@partial(jax.jit, static_argnums=0)
def _alpha(kernel: Kernel, support: Array, labels: Array, ridge: float | Array) -> Array:
    return factorise(own_gram(kernel, support), ridge).solve(labels)


@partial(jax.jit, static_argnums=0)
def _scores(kernel: Kernel, points: Array, support: Array, alpha: Array) -> Array:
    return gram(kernel, points, support) @ alpha
