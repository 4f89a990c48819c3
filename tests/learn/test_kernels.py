"""Closed-form kernels against wide finite networks, against each other's precision, and ridge regression on them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.learn.kernels import RBF, ReLUKernel, derivatives, gram, own_gram, squares
from understudy.learn.krr import KernelRidge, factorise, one_hot


def _points(count: int, features: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, features)).astype(np.float32)


def _network(weights: list[Any], x: jax.Array, w_std: float, b_std: float) -> jax.Array:
    for place, (w, b) in enumerate(weights):
        x = w_std / math.sqrt(w.shape[1]) * (w @ x) + b_std * b
        if place < len(weights) - 1:
            x = jax.nn.relu(x)
    return x[0]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_wide_networks_kernels_come_close(depth: int) -> None:
    w_std, b_std, width = 1.3, 0.4, 1500
    rng = np.random.default_rng(0)
    sizes = [4, *[width] * depth, 1]
    weights = [
        (jnp.asarray(rng.normal(size=(o, i)), jnp.float32), jnp.asarray(rng.normal(size=o), jnp.float32))
        for i, o in itertools.pairwise(sizes)
    ]
    x = _points(3, 4)
    slope = jax.jit(jax.vmap(jax.grad(lambda w, x: _network(w, x, w_std, b_std)), (None, 0)))
    flat = np.concatenate(
        [np.asarray(leaf).reshape(3, -1) for leaf in jax.tree.leaves(slope(weights, jnp.asarray(x)))], 1
    )
    expected = own_gram(ReLUKernel(4, depth, w_std, b_std), jnp.asarray(x))
    np.testing.assert_allclose(flat @ flat.T, expected, rtol=0.12, atol=0.1)


def test_the_covariance_kernel_is_that_of_random_outputs() -> None:
    w_std, b_std = 1.3, 0.4
    rng = np.random.default_rng(0)
    x = _points(3, 4)
    hidden = np.maximum(w_std / 2 * x @ rng.normal(size=(4, 200_000)) + b_std * rng.normal(size=200_000), 0)
    expected = w_std**2 * hidden @ hidden.T / 200_000 + b_std**2
    np.testing.assert_allclose(own_gram(ReLUKernel(4, 1, w_std, b_std, "nngp"), jnp.asarray(x)), expected, rtol=0.02)


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("depth", [1, 4])
def test_float32_agrees_with_float64(kind: Any, depth: int) -> None:
    x, y = _points(20, 30), _points(15, 30, 1)
    kernel = ReLUKernel(30, depth, kind=kind)
    both = jax.jit(lambda x, y: (gram(kernel, x, y), own_gram(kernel, x)))
    short = both(jnp.asarray(x), jnp.asarray(y))
    with jax.enable_x64(True):
        full = [np.asarray(part) for part in both(jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64))]
    for mine, exact in zip(short, full, strict=True):
        np.testing.assert_allclose(mine, exact, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kernel", [ReLUKernel(3, 2), RBF(1.5)])
def test_derivatives_are_those_of_differences(kernel: Any) -> None:
    with jax.enable_x64(True):
        x, y = (jnp.asarray(_points(4, 3, seed), jnp.float64) for seed in (0, 1))
        dot, left, right = x @ y.T, squares(x)[:, None] * jnp.ones((1, 4)), squares(y)[None] * jnp.ones((4, 1))
        _, by_dot, by_left = derivatives(kernel, dot, left, right)
        h = 1e-6
        around = (kernel.value(dot + h, left, right) - kernel.value(dot - h, left, right)) / (2 * h)
        np.testing.assert_allclose(by_dot, around, rtol=1e-5)
        around = (kernel.value(dot, left + h, right) - kernel.value(dot, left - h, right)) / (2 * h)
        np.testing.assert_allclose(by_left, around, rtol=1e-5)


def test_the_diagonal_is_the_limit_of_the_kernel() -> None:
    kernel = ReLUKernel(3, 2)
    square = jnp.asarray([0.0, 0.5, 4.0])
    np.testing.assert_allclose(kernel.diagonal(square), kernel.value(square, square, square), rtol=1e-3)


@jax.jit
def _all(x: jax.Array) -> tuple[jax.Array, ...]:
    kernel, square = ReLUKernel(4), squares(x)
    matrix = own_gram(kernel, x)
    return matrix, factorise(matrix, 1e-7).factor, *derivatives(kernel, x @ x.T, square[:, None], square[None])


@settings(max_examples=30)
@given(st.floats(0, 1e3), st.integers(0, 2**31))
def test_equal_blank_and_huge_points_give_finite_numbers(size: float, seed: int) -> None:
    x = _points(6, 4, seed) * np.float32(size)
    for part in _all(jnp.asarray(np.concatenate([x, x, np.zeros((2, 4), np.float32)]))):
        assert np.all(np.isfinite(part))


def test_ridge_regression_is_the_textbooks() -> None:
    x, labels = _points(12, 5), one_hot(np.arange(12) % 3, 3)
    kernel = ReLUKernel(5)
    k = np.asarray(own_gram(kernel, jnp.asarray(x)), dtype=np.float64)
    alpha = np.linalg.solve(k + 1e-2 * np.trace(k) / 12 * np.eye(12), labels)
    new = _points(7, 5, 1)
    expected = np.asarray(gram(kernel, jnp.asarray(new), jnp.asarray(x))) @ alpha
    model = KernelRidge(kernel, x, labels, 1e-2)
    np.testing.assert_allclose(model.scores(new), expected, rtol=1e-3, atol=1e-4)
    assert list(model.predict(new)) == list(expected.argmax(1))
    shares = model.predict_proba(new)
    assert shares.shape == (7, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    assert list(shares.argmax(1)) == list(expected.argmax(1))
    assert model.scores(new[:0]).shape == (0, 3)


def test_a_support_of_equal_points_still_predicts() -> None:
    x = np.repeat(_points(2, 5), 4, axis=0)
    model = KernelRidge(ReLUKernel(5), x, one_hot(np.repeat([0, 1], 4), 2), 1e-9)
    assert list(model.predict(x)) == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("settings_", "said"),
    [({"features": 0}, "features"), ({"features": 3, "depth": -1}, "depth"), ({"features": 3, "w_std": 0.0}, "w_std")],
)  # fmt: skip
def test_wrong_settings_are_named(settings_: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ReLUKernel(**settings_)


def test_points_of_another_width_are_refused() -> None:
    with pytest.raises(InputError, match="5 features"):
        KernelRidge(ReLUKernel(5), _points(4, 5), one_hot(np.arange(4) % 2, 2), 1e-3).predict(_points(3, 4))
