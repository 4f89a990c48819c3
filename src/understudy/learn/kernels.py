"""Kernels of infinitely wide ReLU networks in closed form, and the seam for others.

A kernel here depends on two points through their inner product and their squared lengths alone:
k(x, y) = phi(x·y, |x|², |y|²). That is what exact clipping rests on, and it holds for fully connected networks with
Gaussian weights (Cho and Saul 2009; Jacot et al. 2018), for RBF, and for any of them on fixed public features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.errors import InputError


@runtime_checkable
class Kernel(Protocol):
    """What distillation asks of a kernel. Both functions work elementwise, on arrays of any one shape."""

    def value(self, dot: Array, left: Array, right: Array) -> Array:
        """phi(x·y, |x|², |y|²) for x different from y."""
        ...

    def diagonal(self, square: Array) -> Array:
        """k(x, x) as a function of |x|²; apart, because phi may have a cusp where x = y."""
        ...


@dataclass(frozen=True)
class ReLUKernel:
    """The kernel of a fully connected ReLU network of infinite width in the NTK parameterisation.

    Each layer is w_std / sqrt(fan-in) · W h + b_std · b with standard normal W and b. `kind="ntk"` is the tangent kernel
    (training all layers), `"nngp"` the covariance of the output at the start. One hidden layer with w_std = sqrt(2) and
    b_std = 0.1 is DP-KIP's network.
    """

    features: int
    depth: int = 1
    w_std: float = math.sqrt(2)
    b_std: float = 0.1
    kind: Literal["ntk", "nngp"] = "ntk"

    def __post_init__(self) -> None:
        for name, least in (("features", 1), ("depth", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise InputError(f"`{name}` (={number!r}) must be a whole number, at least {least}.")
        if not (0 < self.w_std < math.inf and 0 <= self.b_std < math.inf):
            raise InputError(f"`w_std` (={self.w_std}) must be above 0 and `b_std` (={self.b_std}) at least 0.")
        if self.kind not in ("ntk", "nngp"):
            raise InputError(f'`kind` (={self.kind!r}) must be "ntk" or "nngp".')

    def value(self, dot: Array, left: Array, right: Array) -> Array:
        weight, bias = self.w_std**2, self.b_std**2
        covariance, first, second = (weight * part / self.features + bias for part in (dot, left, right))
        tangent = covariance
        for _ in range(self.depth):
            root = jnp.sqrt(first * second)
            root = jnp.maximum(root, jnp.finfo(root.dtype).tiny)
            cosine = jnp.clip(covariance / root, -1, 1)
            by_covariance = weight * _step(cosine) / (2 * math.pi)
            covariance = weight * root * _ramp(cosine) / (2 * math.pi) + bias
            first, second = weight * first / 2 + bias, weight * second / 2 + bias
            tangent = covariance + tangent * by_covariance
        return tangent if self.kind == "ntk" else covariance

    def diagonal(self, square: Array) -> Array:
        weight, bias = self.w_std**2, self.b_std**2
        tangent = covariance = weight * square / self.features + bias
        for _ in range(self.depth):
            covariance = weight * covariance / 2 + bias
            tangent = covariance + tangent * weight / 2
        return tangent if self.kind == "ntk" else covariance


@dataclass(frozen=True)
class RBF:
    """exp(-|x - y|² / (2 length²))."""

    length: float

    def value(self, dot: Array, left: Array, right: Array) -> Array:
        return jnp.exp(-jnp.maximum(left + right - 2 * dot, 0) / (2 * self.length**2))

    def diagonal(self, square: Array) -> Array:
        return jnp.ones_like(square)


def gram(kernel: Kernel, x: Array, y: Array) -> Array:
    """k(x_i, y_j) for two sets of points that are not the same."""
    return kernel.value(x @ y.T, squares(x)[:, None], squares(y)[None])


def own_gram(kernel: Kernel, x: Array) -> Array:
    """k(x_i, x_j) within one set, exact on the diagonal."""
    square, same = squares(x), jnp.eye(len(x), dtype=bool)
    # Off the cusp before phi is taken: its derivative there is infinite, and zero times that is no number.
    dot = jnp.where(same, 0, x @ x.T)
    return jnp.where(same, kernel.diagonal(square)[:, None], kernel.value(dot, square[:, None], square[None]))


def squares(x: Array) -> Array:
    return jnp.sum(x * x, axis=1)


def derivatives(kernel: Kernel, dot: Array, left: Array, right: Array) -> tuple[Array, Array, Array]:
    """phi, and its derivatives by x·y and by |x|², elementwise."""
    one = jnp.ones_like(dot)
    left, right = jnp.broadcast_to(left, dot.shape), jnp.broadcast_to(right, dot.shape)
    value, by_dot = jax.jvp(lambda part: kernel.value(part, left, right), (dot,), (one,))
    _, by_left = jax.jvp(lambda part: kernel.value(dot, part, right), (left,), (one,))
    return value, by_dot, by_left


@jax.custom_jvp
def _ramp(cosine: Array) -> Array:
    """sin t + (pi - t) cos t: the arc-cosine kernel of degree one."""
    return jnp.sqrt(1 - cosine * cosine) + _step(cosine) * cosine


@jax.custom_jvp
def _step(cosine: Array) -> Array:
    """pi - t: the arc-cosine kernel of degree zero."""
    return math.pi - jnp.arctan2(jnp.sqrt((1 - cosine) * (1 + cosine)), cosine)


@_ramp.defjvp
def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
    return _ramp(*primals), _step(*primals) * tangents[0]


@_step.defjvp
def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (cosine,) = primals
    # The true derivative is infinite at t = 0; two points that close are one to rounding, and any finite number will do.
    gap = jnp.maximum((1 - cosine) * (1 + cosine), 8 * jnp.finfo(cosine.dtype).eps)
    return _step(cosine), tangents[0] / jnp.sqrt(gap)
