"""What public features are made of: made-up pictures, and filters learnt from them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import image_features


def test_dead_leaves_are_the_same_from_a_seed_and_have_edges() -> None:
    one, two = (image_features.dead_leaves(4, 16, np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert one.min() >= 0
    assert one.max() <= 1
    assert (abs(np.diff(one, axis=2)) > 0.1).mean() > 0.02


def test_filters_are_those_of_a_seed_and_are_made_where_a_program_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_features, "_ROUNDS", 1)
    monkeypatch.setattr(image_features, "FILTERS", 4)
    monkeypatch.setattr(image_features, "_LEAVES", 20)
    image_features.filters.cache_clear()
    seen = image_features.Sight(image_features.leaves)(
        np.random.default_rng(0).random((2, 14, 14, 1)).astype(np.float32)
    )
    assert seen.shape == (2, 2 * 4 * image_features.CELLS**2)
    assert image_features.filters().shape == (36, 4)
    image_features.filters.cache_clear()


@pytest.mark.parametrize("name", list(image_features.MAPS))
def test_public_features_have_length_one_at_most(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(
        image_features, "filters", lambda: np.linalg.qr(np.random.default_rng(0).normal(size=(36, 8)))[0]
    )
    rng = np.random.default_rng(0)
    images = np.concatenate([rng.random((3, 14, 14, 1)), np.zeros((1, 14, 14, 1)), np.ones((1, 14, 14, 1))])
    lengths = np.linalg.norm(image_features.MAPS[name](jnp.asarray(images, jnp.float32)), axis=1)
    assert lengths.max() <= 1 + 1e-5
    assert lengths[0] > 0.9
