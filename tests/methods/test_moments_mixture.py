"""The mixture's loss never makes a table; it must be the one that a table would give."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.methods.moments.margins import code_counts, consistent, likely_counts
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


def test_the_distance_from_the_tables_is_that_of_every_cell() -> None:
    sizes, rng = [3, 1, 9, 2, 7], np.random.default_rng(0)
    chances, weights = product(sizes, 3, 0), rng.random((2, 3))
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
    single = np.array([[510.0, 15.0, 485.0, 1010.0, -20.0]])
    tables = np.zeros((1, 5, 5))
    tables[0][np.diag_indices(5)] = single
    tables[0, :3, 3] = tables[0, 3, :3] = single[0, :3]
    found = fit_mixture(tables, sizes, np.array([1010.0]), 20.0, 20.0, components=4, steps=50, seed=0)
    assert (found.chances[:, [1, 4]] == 0).all()
    assert np.allclose(found.chances[:, 3], 1)
    lost = np.full((1, 5, 5), -3.0)
    assert np.isfinite(fit_mixture(lost, sizes, np.ones(1), 20.0, 20.0, components=4, steps=5, seed=0).chances).all()


def test_every_table_of_a_column_says_how_common_its_codes_are() -> None:
    sizes, (one, two), rng = [3, 4, 2], (30.0, 20.0), np.random.default_rng(0)
    codes = np.column_stack([rng.integers(size, size=2_000) for size in sizes])
    exact = one_hot(codes, sizes).astype(np.float64).T @ one_hot(codes, sizes)
    owner = np.repeat(np.arange(3), sizes)
    found, deviation = [], np.zeros(len(owner))
    for _ in range(300):
        noise = np.triu(rng.normal(0, two, exact.shape), 1)
        noisy = np.where(owner[:, None] == owner, np.diag(rng.normal(0, one, len(owner))), noise + noise.T) + exact
        counts, deviation = code_counts(np.stack([noisy, np.zeros_like(noisy)]), sizes, one, two)
        found.append(counts)
    true = np.diagonal(exact)
    assert np.abs(np.mean(found, axis=0) - true).max() < 4
    # Two classes add up, of which one here has neither rows nor noise.
    assert np.allclose(np.std(found, axis=0) * 2**0.5, deviation, rtol=0.15)
    assert (deviation < 0.9 * one * 2**0.5).all(), "more is known than from a column's own table"


def test_consistent_counts_are_not_negative_and_sum_to_the_rows() -> None:
    owner = np.repeat([0, 1], [3, 2])
    found = consistent(np.array([70.0, 50.0, -9.0, 20.0, 300.0]), np.array([0, 1, 2, 4]), owner, 100.0)
    assert found.tolist() == [60.0, 40.0, 0.0, 0.0, 100.0]


def test_with_few_rows_components_stay_near_the_product_of_the_columns() -> None:
    """Independent columns: what noise seems to say of pairs must not be learnt."""
    sizes, rng = [5, 5, 5, 5], np.random.default_rng(1)
    shares = [np.full(5, 0.2), *(rng.dirichlet(np.full(5, 20.0)) for _ in range(3))]
    product_of = np.concatenate(shares)
    owner = np.repeat(np.arange(4), sizes)
    apart = owner[:, None] != owner
    exact = 800 * np.where(apart, np.outer(product_of, product_of), np.diag(product_of))
    noise = np.triu(rng.normal(0, 25.0, exact.shape))
    noisy = np.where(apart | np.eye(len(owner), dtype=bool), exact + noise + np.triu(noise, 1).T, 0.0)
    found = fit_mixture(
        noisy[None],
        sizes,
        np.array([800.0]),
        25.0,
        25.0,
        components=100,
        steps=200,
        seed=0,
        likely=likely_counts(noisy[None], sizes, 800.0, 25.0, 25.0, listed=np.zeros(20, dtype=bool)),
    )
    made = (found.chances * found.weights[0][:, None]).T @ found.chances * 800
    assert np.abs(made - exact)[apart].mean() < 0.5 * np.abs(noisy - exact)[apart].mean()
    assert (found.chances > 0).all(), "bins of numbers all stay"
