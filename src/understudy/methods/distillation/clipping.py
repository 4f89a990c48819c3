"""Exact per-record clipping for kernel inducing points, without per-record gradients.

The gradient of one record's loss with respect to the whole support is G = M X - u xᵀ, where M is a diagonal plus two
diagonally scaled copies of one matrix. Its length follows from Gram matrices, and the sum of clipped gradients is one
product with the summed M: no array of records x support x features is ever formed.

Notation, for a record x with label y (columns of the arrays below): S = K_ss + ridge · tr(K_ss)/m · I, alpha = S⁻¹ Y,
k = k(X, x), r = y - alphaᵀ k, a = alpha r, beta = S⁻¹ k; g, h the derivatives of k by x_i·x and |x_i|²; Kg, Kn those of
K_ss, with zero diagonals; kappa_i = dk(x_i, x_i)/d|x_i|². Then u = a∘g and M = diag(d) + W,

    W = (a betaᵀ + beta aᵀ) ∘ Kg,
    d = 2 [a∘(Kn beta) + beta∘(Kn a)] - 2 a∘h + 2 kappa∘(a∘beta + ridge/m · (a·beta)).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from understudy.learn.kernels import Kernel, derivatives, squares
from understudy.learn.krr import factorise


class Terms(NamedTuple):
    """Private where the records are. All that the gradients of a batch consist of.

    Shapes: support m x d, points b x d, alpha m x c, residual c x b, by_dot (Kg) and gamma (X Xᵀ) m x m, and the rest,
    with cross = X xᵀ, m x b.
    """

    support: Array
    points: Array
    alpha: Array
    residual: Array
    a: Array
    beta: Array
    u: Array
    diagonal: Array
    by_dot: Array
    gamma: Array
    cross: Array


def terms(
    kernel: Kernel,
    ridge: float | Array,
    support: Array,
    labels: Array,
    points: Array,
    targets: Array,
) -> Terms:
    """Touches private data (`points`, `targets`): what each record's gradient is made of."""
    m = len(support)
    square, same = squares(support), jnp.eye(m, dtype=bool)
    gamma = support @ support.T
    value, by_dot, by_left = derivatives(kernel, jnp.where(same, 0, gamma), square[:, None], square[None])
    own, kappa = jax.jvp(kernel.diagonal, (square,), (jnp.ones_like(square),))
    by_dot, by_left = jnp.where(same, 0, by_dot), jnp.where(same, 0, by_left)
    solved = factorise(jnp.where(same, own[:, None], value), ridge)
    cross = support @ points.T
    k, g, h = derivatives(kernel, cross, square[:, None], squares(points)[None])
    alpha = solved.solve(labels)
    residual = targets.T - alpha.T @ k
    a, beta = alpha @ residual, solved.solve(k)
    both = jnp.sum(a * beta, axis=0)
    diagonal = 2 * (a * (by_left @ beta) + beta * (by_left @ a) - a * h)
    diagonal += 2 * kappa[:, None] * (a * beta + solved.ridge / m * both)
    return Terms(support, points, alpha, residual, a, beta, a * g, diagonal, by_dot, gamma, cross)


def norms(t: Terms) -> Array:
    """Touches private data: an upper bound of each record's |G|, above it by rounding alone.

    The sums below cancel where the support is nearly singular, so the most that rounding can have taken away is added
    back: every product has at most `longest` terms, none larger than the same sum over absolute values, which the
    lengths of rows bound.
    """
    m, classes = t.alpha.shape
    records, features = t.points.shape
    by_gram = classes * (classes + 1) * (m + records) < 2 * records * features
    square = _by_gram(t) if by_gram else _by_rows(t)
    longest = 8 * (m + classes + features)
    return jnp.sqrt(jnp.maximum(square, 0) + longest * jnp.finfo(square.dtype).eps * _absolute(t))


def _absolute(t: Terms) -> Array:
    """Touches private data: |G|² with every sum taken over absolute values, bounded row by row."""
    length, kg = jnp.sqrt(squares(t.support))[:, None], jnp.abs(t.by_dot)
    a, beta = jnp.abs(t.alpha) @ jnp.abs(t.residual), jnp.abs(t.beta)
    rows = a * (kg @ (beta * length)) + beta * (kg @ (a * length))
    rows += jnp.abs(t.diagonal) * length + jnp.abs(t.u) * jnp.sqrt(squares(t.points))
    return jnp.sum(rows * rows, axis=0)


def _by_rows(t: Terms) -> Array:
    """Touches private data: |G|² from G itself, one record at a time; the cheaper way where classes are many."""

    def one(part: tuple[Array, ...]) -> Array:
        a, beta, u, d, x = part
        outer = jnp.outer(a, beta)
        gradient = ((outer + outer.T) * t.by_dot + jnp.diag(d)) @ t.support - jnp.outer(u, x)
        return jnp.sum(gradient * gradient)

    return jax.lax.map(one, (t.a.T, t.beta.T, t.u.T, t.diagonal.T, t.points))


def _by_gram(t: Terms) -> Array:
    """Touches private data: |G|² = |u|²|x|² - 2 uᵀ M (X x) + tr(M Γ Mᵀ), from Gram matrices.

    The part tr(W Γ Wᵀ) of the trace is the dear one; a = alpha r lives in C dimensions, so it is a sum of quadratic forms
    whose matrices no record appears in, C(C+1)/2 of them.
    """
    kg, gamma, beta, a, d, alpha = t.by_dot, t.gamma, t.beta, t.a, t.diagonal, t.alpha
    square = jnp.sum(t.u * t.u, axis=0) * squares(t.points)
    square -= 2 * jnp.sum(t.u * d * t.cross, axis=0)
    square -= 2 * jnp.sum(t.u * (a * (kg @ (beta * t.cross)) + beta * (kg @ (a * t.cross))), axis=0)
    square += jnp.sum(d * d * jnp.diag(gamma)[:, None], axis=0)
    h = kg * gamma
    square += 2 * jnp.sum(d * (a * (h @ beta) + beta * (h @ a)), axis=0)
    for c, r in enumerate(t.residual):
        scaled = kg * alpha[:, c]
        spread = scaled @ gamma
        # D_b Kg D_a Γ D_a Kg D_b: row i of Q is alphaᵀ [(Kg_i Kg_iᵀ) ∘ Γ] alpha_c.
        square += r * jnp.sum(beta * beta * (((spread * kg) @ alpha) @ t.residual), axis=0)
        square += 2 * r * jnp.sum(beta * a * ((kg * spread) @ beta), axis=0)
        # D_a Kg D_b Γ D_b Kg D_a, with the classes from c on together.
        forms = ((scaled[None] * alpha.T[c:, None]) @ kg) * gamma
        both = jnp.sum(beta * (forms @ beta), axis=1)
        square += r * (2 * jnp.sum(t.residual[c:] * both, axis=0) - t.residual[c] * both[0])
    return square


def weighted_sum(t: Terms, weights: Array) -> Array:
    """Touches private data: Σ_l weights_l G_l."""
    a = t.a * weights
    outer = a @ t.beta.T
    return ((outer + outer.T) * t.by_dot + jnp.diag(t.diagonal @ weights)) @ t.support - (t.u * weights) @ t.points
