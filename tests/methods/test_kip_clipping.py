"""Exact clipping against vmapped gradients, and on records made to break it."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.learn.kernels import Kernel, ReLUKernel, gram, own_gram
from understudy.learn.krr import one_hot
from understudy.methods.distillation import clipping
from understudy.methods.distillation.training import clipped_sum


def _naive(kernel: Kernel, ridge: float, support: Any, labels: Any, points: Any, targets: Any) -> jax.Array:
    """Each record's gradient by automatic differentiation (records x support x features)."""

    def loss(support: Any, x: Any, y: Any) -> Any:
        k = own_gram(kernel, support)
        solved = jnp.linalg.solve(k + ridge * jnp.trace(k) / len(k) * jnp.eye(len(k)), labels)
        return jnp.sum((y - gram(kernel, x[None], support)[0] @ solved) ** 2) / 2

    return jax.vmap(jax.grad(loss), (None, 0, 0))(support, points, targets)


def _case(seed: int, m: int, records: int, features: int, classes: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    labels, targets = (one_hot(rng.integers(0, classes, n), classes) for n in (m, records))
    arrays = (rng.normal(size=(m, features)), labels, rng.normal(size=(records, features)), targets)
    return tuple(jnp.asarray(a, jnp.float64) for a in arrays)


@partial(jax.jit, static_argnums=0)
def _both(kernel: Any, ridge: float, case: tuple[Any, ...], weights: Any) -> tuple[Any, ...]:
    each = _naive(kernel, ridge, *case)
    t = clipping.terms(kernel, ridge, *case)
    ways = (clipping._by_gram(t), clipping._by_rows(t))  # pyright: ignore[reportPrivateUsage]
    return each, jnp.tensordot(weights, each, 1), ways, clipping.norms(t), clipping.weighted_sum(t, weights)


@pytest.mark.parametrize("kernel", [ReLUKernel(4), ReLUKernel(4, 3, kind="nngp")])
@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.01, 10), st.sampled_from([1e-6, 1e-2]))
def test_lengths_and_sums_are_those_of_vmapped_gradients(kernel: Any, seed: int, scale: float, ridge: float) -> None:
    with jax.enable_x64(True):
        support, labels, points, targets = _case(seed, 7, 3, 4, 3)
        weights = np.random.default_rng(seed).uniform(size=3)
        each, total, ways, bound, ours = _both(kernel, ridge, (support, labels, scale * points, targets), weights)
        exact = np.sqrt(np.sum(np.asarray(each) ** 2, axis=(1, 2)))
        for way in ways:
            np.testing.assert_allclose(np.sqrt(np.abs(way)), exact, rtol=1e-5, atol=1e-9)
        assert np.all(np.asarray(bound) >= exact * (1 - 1e-9))
        np.testing.assert_allclose(ours, total, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("way", ["huge", "blank", "a support row", "tiny", "many alike"])
@pytest.mark.parametrize("ridge", [1e-7, 1e-2])
@pytest.mark.parametrize("clip", [1e-6, 1.0])
def test_no_record_can_move_the_sum_by_more_than_the_clip(way: str, ridge: float, clip: float) -> None:
    with jax.enable_x64(True):
        support, labels, points, targets = _case(0, 12, 6, 5, 3)
        if way == "many alike":
            support = support.at[6:].set(support[:6])
        worst = {"huge": 1e6 * points[0], "blank": 0 * points[0], "tiny": 1e-12 * points[0]}.get(way, support[3])
        points = points.at[0].set(worst)
        kernel = ReLUKernel(5)
        slots = jnp.arange(6)

        def total(held: list[bool]) -> np.ndarray:
            return np.asarray(
                clipped_sum(kernel, ridge, support, labels, points, targets, slots, jnp.asarray(held), clip)
            )

        everybody = total([True] * 6)
        assert np.all(np.isfinite(everybody))
        for record in range(6):
            others = total([place != record for place in range(6)])
            assert np.linalg.norm(everybody - others) <= clip * (1 + 1e-6)


def test_a_long_gradient_is_cut_to_the_clip_exactly() -> None:
    with jax.enable_x64(True):
        support, labels, points, targets = _case(1, 12, 1, 5, 3)
        held = jnp.asarray([True])
        args = (support, labels, points, targets, jnp.arange(1), held)
        cut = clipped_sum(ReLUKernel(5), 1e-3, *args, 1e-6)
        whole = clipped_sum(ReLUKernel(5), 1e-3, *args, 1e9)
        assert np.linalg.norm(cut) == pytest.approx(1e-6, rel=1e-5)
        np.testing.assert_allclose(cut / np.linalg.norm(cut), whole / np.linalg.norm(whole), rtol=1e-4)
