"""Labels of a distilled set, fitted to the records: a second look, through the kernel's eyes.

With its points fixed, kernel ridge regression is linear in its labels: a record's score is beta(x)ᵀ Y, beta = S⁻¹ k(X, x).
Points and labels that were distilled from samples are good for samples; the labels that are good for records are a linear
regression away. It is learnt by a few noisy steps over all records, in coordinates where samples have one spread along
each axis, so that noise of one size costs the least. Points, axes and samples are public, and cost nothing.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.kernels import Kernel, gram, own_gram
from understudy.learn.krr import factorise
from understudy.methods.distillation.correction import noisy_descent
from understudy.methods.distillation.training import Support
from understudy.privacy import PrepaidSteps

_AT_ONCE = 4000
# Of the mean variance: axes along which samples hardly spread are not stretched beyond this.
_FLOOR = 1e-2


class LabelFitting(NamedTuple):
    """How labels are fitted; all of it public.

    Records spread further than samples along some axes, up to twenty or thirty times their variance along the first: hence
    many small steps.
    """

    steps: int = 60
    rate: float = 0.2
    clip: float = 6.0


def fit_labels(
    kernel: Kernel,
    ridge: float,
    support: Support,
    shown: np.ndarray,
    rows: np.ndarray,
    targets: np.ndarray,
    present: np.ndarray,
    paid: PrepaidSteps,
    rate: float,
) -> Support:
    """Touches private data (`rows`, `targets`: centred labels, `present`): the support with fitted labels. Safe to publish: only
    `paid` noisy sums of clipped gradients move them. `shown` are samples, which are public.
    """
    betas = _betas(kernel, ridge, support, shown)
    values, vectors = np.linalg.eigh(betas.T @ betas / len(betas))
    values = np.maximum(values, 0)
    axes = vectors / np.sqrt(values + _FLOOR * values.mean())
    start = np.linalg.solve(axes, np.asarray(support.labels, np.float64))
    seen = _betas(kernel, ridge, support, rows) @ axes
    weights = noisy_descent(seen, lambda scores: scores - targets, present, start, paid, rate)
    return Support(support.points, jnp.asarray(axes @ weights, jnp.float32))


def _betas(kernel: Kernel, ridge: float, support: Support, rows: np.ndarray) -> np.ndarray:
    """Touches private data where the rows are: S⁻¹ k(X, x) of each (rows x support)."""
    size, betas = min(_AT_ONCE, len(rows)), np.zeros((len(rows), len(support.points)))
    for start in range(0, len(rows), size):
        part = rows[np.arange(start, start + size) % len(rows)]  # all of one size, so that it compiles once
        with jax.default_matmul_precision("highest"):
            beta = _solved(kernel, ridge, support.points, jnp.asarray(part))
        betas[start : start + size] = np.asarray(beta)[: len(rows) - start]
    return betas


@partial(jax.jit, static_argnums=0)
def _solved(kernel: Kernel, ridge: float, points: Array, part: Array) -> Array:
    return factorise(own_gram(kernel, points), ridge).solve(gram(kernel, points, part)).T
