"""Networks that judge images: they learn, they are the papers' shape, and pictures are told apart by their distance."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.errors import InputError
from understudy.evaluation.image_fidelity import (
    FEATURES,
    frechet_distance,
    image_features,
    picture_grid,
    precision_recall,
)
from understudy.evaluation.images import Training, as_images, image_accuracy, train
from understudy.images.deform import Affine
from understudy.learn.convnets import ConvNet, TwoLayerCNN


def bars(n: int, seed: int = 0, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Bytes: a lying bar (0) or a standing one (1) somewhere, in noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n)
    images = random.integers(0, 80, (n, side, side), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        place = random.integers(1, side - 2)
        image[(slice(None), slice(place, place + 2)) if label else (slice(place, place + 2), slice(None))] = 220
    return images, labels


@pytest.mark.parametrize("name", ["small", pytest.param("two-layer", marks=pytest.mark.slow)])
def test_networks_learn(name: str) -> None:
    made, labels = bars(150)
    test, truth = bars(300, 1)
    assert image_accuracy(made, labels, test, truth, Training(name, steps=80, batch=32)) > 0.9


@pytest.mark.slow
def test_augmentation_helps_where_pictures_are_few() -> None:
    made, labels = bars(12)
    test, truth = bars(300, 1)
    plain, moved = (
        image_accuracy(made, labels, test, truth, Training("small", steps=150, batch=12, affine=affine))
        for affine in (None, Affine(turn=0.09, scale=0.1, shear=0.0, shift=0.4 * 12))
    )
    assert moved > plain


@pytest.mark.slow
def test_soft_labels_train_with_squares() -> None:
    made, labels = bars(100)
    test, truth = bars(200, 1)
    soft = np.eye(2)[labels] * 1.4 - 0.2
    trained = train(made, soft, Training("small", steps=80, batch=32, loss="squares"))
    assert (trained.predict(test) == truth).mean() > 0.9


def test_the_convnet_is_that_of_the_paper() -> None:
    model = eqx.filter_eval_shape(ConvNet, (28, 28, 1), 10, key=jax.random.key(0))
    assert [kernel.shape for kernel in model.kernels] == [(3, 3, 1, 128), (3, 3, 128, 128), (3, 3, 128, 128)]
    assert [scale.shape for scale in model.scales] == [(128,)] * 3
    assert model.head.shape[0] == 128 * 4 * 4, "28 pixels are padded to 32, and 32 is halved three times"
    assert eqx.filter_eval_shape(model, jnp.zeros((2, 28, 28, 1))).shape == (2, 10)
    assert eqx.filter_eval_shape(ConvNet, (32, 32, 3), 10, key=jax.random.key(0)).head.shape[0] == 2048
    with pytest.raises(InputError, match="too small for 3 blocks"):
        eqx.filter_eval_shape(ConvNet, (4, 4, 1), 10, key=jax.random.key(0))


@pytest.mark.slow
def test_a_convnet_learns() -> None:
    made, labels = bars(60)
    test, truth = bars(100, 1)
    wanted = Training("convnet", steps=15, batch=20)
    assert image_accuracy(made, labels, test, truth, wanted) > 0.8


@pytest.mark.slow
def test_dropout_is_for_training_only() -> None:
    model = eqx.filter_jit(lambda: TwoLayerCNN((12, 12, 1), 2, key=jax.random.key(0)))()
    images = jnp.ones((3, 12, 12, 1))
    scores = eqx.filter_jit(model)
    assert np.array_equal(scores(images), scores(images))
    dropped, otherwise = (scores(images, jax.random.key(k)) for k in (1, 2))
    assert not np.array_equal(dropped, otherwise)
    assert not np.array_equal(dropped[0], dropped[1]), "each image drops units of its own"


def test_seeds_repeat_and_progress_is_told() -> None:
    made, labels = bars(150)
    told: list[int] = []
    one, two, other = (
        train(
            made, labels, Training("small", steps=120, batch=32), seed=seed, progress=lambda step, _: told.append(step)
        )
        for seed in (3, 3, 4)
    )
    assert np.array_equal(one.scores(made), two.scores(made))
    assert not np.array_equal(one.scores(made), other.scores(made))
    assert told[:2] == [100, 120]


def test_wrong_images_are_refused() -> None:
    made, labels = bars(10)
    with pytest.raises(InputError, match="not \\(10, 144\\)"):
        as_images(made.reshape(10, 144))
    with pytest.raises(InputError, match="1 or 3 channels"):
        as_images(np.zeros((2, 8, 8, 2)))
    with pytest.raises(InputError, match="not finite"):
        as_images(np.full((1, 8, 8), np.nan))
    with pytest.raises(InputError, match="10 images and 9 labels"):
        train(made, labels[:9])
    with pytest.raises(InputError, match="from 0 to 1"):
        train(made, labels + 1, classes=2)
    with pytest.raises(InputError, match='need the loss "squares"'):
        train(made, np.eye(2)[labels] * 1.4 - 0.2, Training("small"))
    with pytest.raises(InputError, match="whole numbers"):
        train(made, labels.astype(float))
    with pytest.raises(InputError, match="2 columns for 3 classes"):
        train(made, np.eye(2)[labels], classes=3)
    with pytest.raises(InputError, match="not of shape"):
        train(made, np.zeros((10, 2, 2)))
    with pytest.raises(InputError, match="`steps`"):
        train(made, labels, Training(steps=0))
    with pytest.raises(InputError, match="no network 'resnet'"):
        train(made, labels, Training("resnet"))


def test_the_distance_grows_with_what_is_wrong() -> None:
    real, _ = bars(300)
    again, _ = bars(300, 1)
    noisy = np.clip(again + np.random.default_rng(0).integers(0, 60, again.shape), 0, 255).astype(np.uint8)
    assert image_features(real).shape == (300, FEATURES)
    assert frechet_distance(real, real) == pytest.approx(0, abs=1e-3)
    assert frechet_distance(real, again) < 0.5 * frechet_distance(real, noisy)
    assert frechet_distance(real, np.zeros_like(again)) > frechet_distance(real, noisy)
    with pytest.raises(InputError, match="at least two of each"):
        frechet_distance(real, again[:1])


def test_precision_falls_with_what_is_unlike_and_recall_with_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    real, again = (rng.random((200, 12, 12)) * np.linspace(0.1, 1, 200)[:, None, None] for _ in range(2))
    assert precision_recall(real, real) == (1.0, 1.0)
    precision, recall = precision_recall(real, again)
    assert precision > 0.8
    assert recall > 0.8
    strange = np.concatenate([again[::2], np.round(rng.random((100, 3, 3))).repeat(4, 1).repeat(4, 2)])
    assert precision_recall(real, strange)[0] < 0.7
    dark_only = again[:60]
    precision, recall = precision_recall(real, dark_only)
    assert precision > 0.8
    assert recall < 0.6
    with pytest.raises(InputError, match="more than 5"):
        precision_recall(real, again[:5])


def test_a_grid_of_pictures_is_written(tmp_path: Path) -> None:
    from matplotlib import image as png

    made, _ = bars(7)
    page = png.imread(picture_grid(made, tmp_path / "grid.png", columns=3, zoom=1))
    assert page.shape[:2] == (3 * 13 + 1, 3 * 13 + 1)
    assert page[1:13, 1:13, 0] == pytest.approx(made[0] / 255, abs=0.01)
    coloured = np.random.default_rng(0).normal(size=(2, 8, 8, 3))
    assert picture_grid(coloured, tmp_path / "colour.png").exists()
    with pytest.raises(InputError, match="`columns`"):
        picture_grid(made, tmp_path / "grid.png", columns=0)
