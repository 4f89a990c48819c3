"""How writing stands: there and back, and within bounds whatever the image is."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from understudy.images import ImageDataset
from understudy.images.straighten import slant_and_size, slanted, straighten, straightened

SIDE = 16


def _ring(radius: float, across: float = 1.0, lean: float = 0.0) -> np.ndarray:
    """A ring of ink with soft edges, `across` times as wide as tall, leaning by `lean`."""
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    x = (x - lean * y) / across
    return np.clip(0.5 + 0.55 * (1.5 - np.abs(np.hypot(x, y) - radius)), 0, 1).astype(np.float32)


def test_writing_stands_upright_and_of_one_size() -> None:
    images = jnp.asarray(np.stack([_ring(3.0, 0.8, 0.3), _ring(3.5, 1.2, -0.2)])[..., None])
    found = slant_and_size(images)
    assert float(found[0, 0]) > 0.15
    assert float(found[1, 0]) < -0.1
    again = slant_and_size(straightened(images, found))
    np.testing.assert_allclose(np.asarray(again), 0, atol=0.06)


def test_writing_gets_its_slant_and_size_back() -> None:
    images = jnp.asarray(np.stack([_ring(3.0, 0.8, 0.3), _ring(3.5, 1.2, -0.2)])[..., None])
    found = slant_and_size(images)
    back = slanted(straightened(images, found), found)
    assert float(jnp.abs(back - images).mean()) < 0.05


@settings(deadline=None, max_examples=20)
@given(arrays.arrays(np.float32, (2, 8, 8, 1), elements=st.floats(0, 1, width=32)))
def test_slant_and_size_are_bounded_whatever_the_image(images: np.ndarray) -> None:
    found = np.asarray(slant_and_size(jnp.asarray(images)))
    assert np.all(np.abs(found) <= [1.0, 0.5, 0.5])


def test_each_image_stands_by_itself() -> None:
    """One record's row does not depend on the others: chunks are padded with black."""
    images = np.rint(np.stack([_ring(3.0, 0.8, 0.3), _ring(3.5), _ring(4.0)]) * 255).astype(np.uint8)
    data = ImageDataset(images, np.arange(3), ("a", "b", "c"))
    rows, poses = straighten(data, sized=True)
    alone, one = straighten(data.take(slice(1, 2)), sized=True)
    np.testing.assert_allclose(rows[1], alone[0], atol=1e-6)
    np.testing.assert_allclose(poses[1], one[0], atol=1e-6)
