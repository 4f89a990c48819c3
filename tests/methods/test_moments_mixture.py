"""The mixture's loss never makes a table; it must be the one that a table would give."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.methods.moments.mixture import (
    Mixture,
    _along,
    _overlaps,
    _padded,
    fit_mixture,
    one_hot,
)


def product(sizes: list[int], components: int, seed: int) -> np.ndarray:
    """Chances D x components that sum to one over the codes of each column."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.dirichlet(np.ones(size), components).T for size in sizes])


@settings(deadline=None, max_examples=5)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.integers(0, 99))
def test_the_distance_from_the_tables_is_that_of_every_cell(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances, weights = product(sizes, 3, seed), rng.random((2, 3))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    apart = owner[:, None] != owner[None, :]
    tables = rng.normal(size=(2, len(owner), len(owner)))
    tables = (tables + tables.transpose(0, 2, 1)) * apart

    def quick(x: jax.Array) -> jax.Array:
        padded = [jnp.asarray(places) for places in _padded(sizes)]
        fitted = jnp.einsum("ck,kl,cl->", weights, _overlaps(x, padded), weights)
        return fitted - 2 * jnp.sum(weights * _along(x, jnp.asarray(tables, jnp.float32))) + (tables**2).sum()

    def direct(x: jax.Array) -> jax.Array:
        made = jnp.einsum("ik,ck,jk->cij", x, weights, x)
        return jnp.sum(((made - tables) * apart) ** 2)

    x = jnp.asarray(chances, jnp.float32)
    assert float(quick(x)) == pytest.approx(float(direct(x)), rel=1e-4, abs=1e-3)
    assert np.allclose(jax.grad(quick)(x), jax.grad(direct)(x), rtol=1e-3, atol=1e-3)


def test_columns_are_padded_to_their_like() -> None:
    sizes = [2, 20, 2, 17, 1]
    places = _padded(sizes)
    assert [p.shape for p in places] == [(1, 1), (2, 2), (2, 20)]
    ends = np.cumsum([0, *sizes]).tolist()
    wanted = [set(range(low, high)) for low, high in pairwise(ends)]
    found = [set(row.tolist()) - {sum(sizes)} for group in places for row in group]
    assert sorted(found, key=min) == wanted


def test_a_mixture_is_found_again() -> None:
    sizes = [4, 3, 5, 2]
    true = Mixture(product(sizes, 2, 1).T, np.array([[0.7, 0.3], [0.2, 0.8]]), tuple(sizes))
    codes = [true.draw(np.full(40_000, c), np.random.default_rng(c)) for c in range(2)]
    tables = np.stack([(h := one_hot(each, sizes).astype(np.float64)).T @ h for each in codes])
    found = fit_mixture(tables, sizes, np.full(2, 40_000.0), 50.0, 50.0, components=8, steps=300, seed=0)
    for c in range(2):
        made = (found.chances * found.weights[c][:, None]).T @ found.chances * 40_000
        owner = np.repeat(np.arange(len(sizes)), sizes)
        assert np.abs((made - tables[c])[owner[:, None] != owner]).max() < 400


def test_codes_that_drown_in_the_noise_are_never_drawn() -> None:
    sizes = [3, 2]
    single = np.array([[500.0, 30.0, 480.0, 1010.0, -20.0]])
    tables = np.zeros((1, 5, 5))
    tables[0][np.diag_indices(5)] = single
    tables[0, :3, 3] = tables[0, 3, :3] = single[0, :3]
    found = fit_mixture(tables, sizes, np.array([1010.0]), 20.0, 20.0, components=4, steps=50, seed=0)
    assert (found.chances[:, [1, 4]] == 0).all()
    assert np.allclose(found.chances[:, 3], 1)
    lost = np.full((1, 5, 5), -3.0)
    assert np.isfinite(fit_mixture(lost, sizes, np.ones(1), 20.0, 20.0, components=4, steps=5, seed=0).chances).all()
