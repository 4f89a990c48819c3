"""Image sets: what is refused, files, pictures, the public basis and deformations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy import images
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.basis import dct_basis
from understudy.images.dataset import BLANK
from understudy.images.deform import Affine
from understudy.images.straighten import slant_and_size, slanted, straighten

BYTES = np.zeros((3, 4, 5), dtype=np.uint8)


@pytest.mark.parametrize(
    ("pixels", "labels", "classes", "said"),
    [
        ([np.zeros((4, 5), np.uint8), np.zeros((4, 6), np.uint8)], [0, 1], "ab", "image 1 has shape"),
        (np.zeros((3, 4), np.uint8), [0, 1, 0], "ab", "expected"),
        (np.zeros((3, 4, 5, 2), np.uint8), [0, 1, 0], "ab", "1 or 3 colours"),
        (np.full((3, 4, 5), np.nan), [0, 1, 0], "ab", "image 0 has pixels that are not finite"),
        (np.zeros((3, 4, 5)), [0, 1, 0], "ab", "not bytes"),
        (BYTES, [0, 1, 2], "ab", "image 2 has label 2"),
        (BYTES, [0, 1, -2], "ab", "label -2"),
        (BYTES, [0, 1], "ab", "one label an image"),
        (BYTES, [0.0, 1.0, 0.0], "ab", "float64"),
        (BYTES, [0, 0, 0], "a", "1 class"),
        (BYTES, [0, 1, 0], "aa", "twice"),
    ],
)
def test_what_is_no_image_set_is_refused(pixels: Any, labels: Any, classes: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ImageDataset(pixels, np.asarray(labels), tuple(classes))


def test_an_image_may_be_blank() -> None:
    """The label -1 is the place of somebody who is not there."""
    assert ImageDataset(BYTES, np.array([0, 1, BLANK]), ("a", "b")).labels.tolist() == [0, 1, -1]


def test_the_value_range_is_public_and_held_to() -> None:
    with pytest.raises(InputError, match=r"image 1 .* outside the public range 0 to 9"):
        ImageDataset(np.full((2, 2, 2), [[[1]], [[10]]], np.uint8), np.array([0, 1]), ("a", "b"), (0, 9))
    with pytest.raises(InputError, match="value_range"):
        ImageDataset(BYTES, np.array([0, 1, 0]), ("a", "b"), (9, 9))


def test_rows_and_back() -> None:
    rng = np.random.default_rng(0)
    data = ImageDataset(rng.integers(0, 256, (5, 4, 3, 3)).astype(np.uint8), np.arange(5) % 2, ("a", "b"))
    back = ImageDataset.from_flat(data.flat(), data.labels, data.shape, data.classes)
    assert np.array_equal(back.images, data.images)
    outside = ImageDataset.from_flat(np.array([[-1.0, 0.5, 2.0, 0.0]]), np.array([1]), (2, 2), ("a", "b"))
    assert outside.images.ravel().tolist() == [0, 128, 255, 0]


def test_npz_and_png(tmp_path: Path) -> None:
    data = ImageDataset(np.arange(60, dtype=np.uint8).reshape(3, 4, 5), np.array([0, 1, 0]), ("a", "b"))
    images.write_npz(data, tmp_path / "set.npz")
    back = images.read_npz(tmp_path / "set.npz")
    assert np.array_equal(back.images, data.images)
    assert back.classes == ("a", "b")
    images.write_grid(data, tmp_path / "set.png", columns=2, enlarge=3)
    from matplotlib.image import imread

    assert imread(tmp_path / "set.png").shape[:2] == (2 * 4 * 3, 2 * 5 * 3)


def test_files_that_are_no_image_sets(tmp_path: Path) -> None:
    (tmp_path / "broken.npz").write_bytes(b"not a zip")
    with pytest.raises(InputError, match="cannot read"):
        images.read_npz(tmp_path / "broken.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="no array"):
        images.read_npz(tmp_path / "other.npz")
    np.savez(tmp_path / "unnamed.npz", images=BYTES, labels=np.array([0, 1, 0]))
    with pytest.raises(InputError, match="set of classes is public"):
        images.read_npz(tmp_path / "unnamed.npz")
    assert len(images.read_npz(tmp_path / "unnamed.npz", ["a", "b"])) == 3
    with pytest.raises(InputError, match=r"\.npz"):
        images.write_npz(images.read_npz(tmp_path / "unnamed.npz", ["a", "b"]), tmp_path / "x.png")
    with pytest.raises(InputError, match=r"\.png"):
        images.write_grid(images.read_npz(tmp_path / "unnamed.npz", ["a", "b"]), tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(6, 6), (5, 7), (4, 4, 3)])
def test_the_basis_is_orthonormal_and_whole_at_full_size(shape: tuple[int, ...]) -> None:
    low = dct_basis(shape, 3)
    np.testing.assert_allclose(low @ low.T, np.eye(len(low)), atol=1e-6)
    if shape[0] == shape[1]:
        every = dct_basis(shape, shape[0])
        np.testing.assert_allclose(every.T @ every, np.eye(every.shape[1]), atol=1e-5)
    with pytest.raises(InputError, match="frequencies"):
        dct_basis(shape, 8)


def test_straightening_takes_the_slant_away_and_slanting_brings_it_back() -> None:
    upright = np.zeros((1, 21, 21, 1), dtype=np.float32)
    upright[0, 4:17, 9:12] = 1
    leaning = jax.jit(slanted)(jnp.asarray(upright), jnp.asarray([[0.4]]))
    lean = jax.jit(lambda images: slant_and_size(images)[:, 0])
    assert float(lean(leaning)[0]) == pytest.approx(0.4, abs=0.03)
    data = ImageDataset.from_flat(np.asarray(leaning).reshape(1, -1), np.array([0]), (21, 21), ("a", "b"))
    rows, slants = straighten(data, sized=False)
    assert slants.shape == (1, 1)
    assert slants[0, 0] == pytest.approx(0.4, abs=0.03)
    assert abs(float(lean(jnp.asarray(rows.reshape(1, 21, 21, 1)))[0])) < 0.05
    assert np.abs(rows - upright.reshape(1, -1)).mean() < 0.03


def test_blank_images_have_no_slant() -> None:
    assert np.all(np.isfinite(jax.jit(slant_and_size)(jnp.zeros((2, 5, 5, 1)))))


def test_deformations_move_images_a_little_each_its_own_way() -> None:
    image = np.zeros((1, 15, 15, 1), dtype=np.float32)
    image[0, 4:11, 6:9] = 1
    move = jax.jit(lambda affine, images: affine.apply(jax.random.key(0), images), static_argnums=0)
    moved = np.asarray(move(Affine(), jnp.asarray(np.repeat(image, 4, axis=0))))
    assert not np.allclose(moved[0], moved[1])
    assert moved.min() >= 0
    assert moved.max() <= 1.0001
    assert 0.5 < moved.sum() / (4 * image.sum()) < 1.5
    still = move(Affine(0, 0, 0, 0), jnp.asarray(np.repeat(image, 4, axis=0)))
    np.testing.assert_allclose(still[:1], image, atol=1e-5)
