"""The networks, and the hand-written gradient of their layers."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.errors import InputError
from understudy.learn.networks import MLP, dense


def _layer(seed: int = 0) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(seed)
    return tuple(jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in [(5, 3), (4, 3), (4,)])


def test_the_layers_gradient_is_the_ordinary_one() -> None:
    def curved(layer: Any) -> Any:
        return lambda *parts: jnp.sum(jnp.sin(layer(*parts)))

    ours = jax.jit(jax.grad(curved(dense), argnums=(0, 1, 2)))(*_layer())
    plain = jax.jit(jax.grad(curved(lambda x, w, b: x @ w.T + b), argnums=(0, 1, 2)))(*_layer())
    for mine, theirs in zip(ours, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_a_stack_of_layers_has_the_gradients_of_its_members() -> None:
    stacked = [jnp.stack(parts) for parts in zip(_layer(0), _layer(1), strict=True)]
    slope = jax.jit(jax.grad(lambda x, w, b: jnp.sum(dense(x, w, b) ** 2), argnums=1))
    together = jax.vmap(slope)(*stacked)
    for seed in range(2):
        np.testing.assert_allclose(together[seed], slope(*_layer(seed)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("hidden", [(), (6, 5)])
def test_both_layouts_give_the_same_logits(hidden: tuple[int, ...]) -> None:
    network = MLP(3, hidden, 2, key=jax.random.key(0))
    expected = x = np.random.default_rng(0).normal(size=(11, 3)).astype(np.float32)
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        expected = np.maximum(expected @ np.asarray(weight).T + np.asarray(bias), 0)
    expected = expected @ np.asarray(network.weights[-1]).T + np.asarray(network.biases[-1])
    by_rows, by_columns = jax.jit(lambda x: (network(x), network.by_columns(x.T).T))(x)
    np.testing.assert_allclose(by_rows, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_columns, expected, rtol=1e-5, atol=1e-6)


def test_no_hidden_layer_is_linear() -> None:
    network = MLP(3, (), 2, key=jax.random.key(0))
    assert [weight.shape for weight in network.weights] == [(2, 3)]


@pytest.mark.parametrize(("initial", "reach"), [("xavier", (6 / 300) ** 0.5), ("he", (6 / 100) ** 0.5)])
def test_weights_start_uniform_within_their_reach(initial: Any, reach: float) -> None:
    network = MLP(100, (200,), 2, key=jax.random.key(0), initial=initial)
    weight = np.asarray(network.weights[0])
    assert np.abs(weight).max() <= reach
    assert weight.std() == pytest.approx(reach / 3**0.5, rel=0.02)
    assert all(not np.any(bias) for bias in network.biases)


def test_layers_start_from_different_numbers() -> None:
    first, second = MLP(4, (4,), 4, key=jax.random.key(0)).weights
    assert not np.intersect1d(first, second).size


@pytest.mark.parametrize("hidden", [(0,), (3, -1)])
def test_a_layer_without_units(hidden: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="at least one unit"):
        MLP(3, hidden, 2, key=jax.random.key(0))


def test_an_unknown_start(unchecked: None) -> None:
    unknown: Any = "zeros"
    with pytest.raises(InputError, match=r"`initial` \(='zeros'\) must be 'xavier' or 'he'"):
        MLP(3, (), 2, key=jax.random.key(0), initial=unknown)
