"""DP-SGD on images: clipped gradients, a run that is resumed, the release, refusals, and that it learns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

sys.path.append(str(Path(__file__).parent.parent / "images"))
from real_digits import digits  # pyright: ignore[reportMissingImports]
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import DPSGD
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.convnets import ConvNet, as_products
from understudy.methods.convnet_gradients import PrivateImages, clipped_gradients, loss
from understudy.privacy import Budget, PrepaidSteps
from understudy.privacy.mechanisms import PoissonGaussianStep

QUICK: dict[str, Any] = {"epochs": 3, "batch": 150, "width": 4, "random_state": 0, "unsafe_noise_seed": 1}


def test_a_convolution_is_the_same_as_a_product() -> None:
    network = ConvNet((8, 8, 3), 2, key=jax.random.key(0), width=4)
    images = jax.random.normal(jax.random.key(1), (2, 8, 8, 3))
    np.testing.assert_allclose(network.features(images), network.features(images, as_products), rtol=1e-4, atol=1e-5)


def test_every_image_has_its_own_gradient_clipped_and_classes_are_summed_apart() -> None:
    data = bars(6)
    network, private = ConvNet((8, 8, 1), 3, key=jax.random.key(0), width=4), PrivateImages.of(data)
    truth = jnp.eye(3)[private.classes]
    gradient = jax.jit(lambda image, target: ravel_pytree(jax.grad(loss)(network, image, target))[0])
    own = [np.asarray(gradient(private.pixels[i : i + 1], truth[i : i + 1])) for i in range(6)]
    clip = float(np.median([np.linalg.norm(one) for one in own]))  # so that some are clipped and some are not
    slots, held = np.arange(6).reshape(2, 3), np.array([[True, True, True], [True, True, False]])
    apart = np.asarray(
        clipped_gradients(3, network, private.pixels, private.classes, slots, held, clip)
    ).reshape(3, -1)  # fmt: skip
    wanted = np.zeros_like(apart)
    for place, one in enumerate(own[:5]):
        wanted[data.labels[place]] += one * min(1.0, clip / float(np.linalg.norm(one)))
    np.testing.assert_allclose(apart, wanted, rtol=2e-3, atol=1e-4)
    together = clipped_gradients(1, network, private.pixels, private.classes, slots, held, clip)
    np.testing.assert_allclose(together, wanted.sum(axis=0), rtol=2e-3, atol=1e-4)
    for place in range(6):  # none is longer than it was paid for
        alone = clipped_gradients(
            3, network, private.pixels, private.classes, np.full((2, 3), place), np.arange(6).reshape(2, 3) == 1, clip
        )
        assert np.linalg.norm(np.asarray(alone, np.float64)) <= clip


def test_a_blank_image_moves_nothing() -> None:
    data = bars(30)
    labels = data.labels.copy()
    labels[:] = -1
    blank = PrivateImages.of(ImageDataset(data.images, labels, data.classes))
    paid = PrepaidSteps(PoissonGaussianStep(1.0, 1.0, 1.0), 1, 30, 30, Budget(10.0, 1e-5, unsafe_noise_seed=0))
    slots, held, records = blank.batch(paid, 7)
    assert slots.shape == held.shape == (5, 7)
    assert records == 30
    assert not held.any()


def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    data, folder = bars(300), tmp_path / "run.private"
    whole = DPSGD.from_settings(**QUICK).fit(data)

    def kill(progress: Any) -> None:
        if progress.iteration == 4:
            raise MemoryError

    with pytest.raises(MemoryError):
        DPSGD.from_settings(**QUICK).fit(data, workspace=folder, progress=kill)
    again = DPSGD.from_settings(**QUICK).fit(data, workspace=folder, resume=True)
    np.testing.assert_allclose(again.predict_proba(data), whole.predict_proba(data), atol=1e-5)
    assert again.certificate_.epsilon == whole.certificate_.epsilon <= 1.0
    with pytest.raises(InputError, match="random_state"):
        DPSGD().set_params(batch=150).fit(data, workspace=tmp_path / "other.private")


def test_what_is_released_predicts_the_same(tmp_path: Path) -> None:
    data = bars(300)
    made = DPSGD.from_settings(**{**QUICK, "unsafe_noise_seed": None}).fit(data)
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert isinstance(back, DPSGD)
    np.testing.assert_allclose(back.predict_proba(data), made.predict_proba(data), atol=1e-6)
    assert set(back.predict(data)) <= set(data.classes)
    assert back.certificate_.verify() <= 1.0
    with pytest.raises(InputError, match="images of shape"):
        back.predict(bars(9, side=12))


@pytest.mark.parametrize(
    ("data", "settings", "said"),
    [
        (bars(300), {"batch": 301}, "larger than the data"),
        (bars(300, side=7), {}, "too small for 3 blocks"),
        (np.zeros((3, 8, 8)), {}, "ImageDataset"),
    ],
)
def test_what_cannot_be_learnt_is_refused_and_costs_nothing(data: Any, settings: dict[str, Any], said: str) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match=said):
        DPSGD.from_settings(**{**QUICK, **settings, "unsafe_noise_seed": None}).fit(data, budget=budget)
    assert not budget.events


@pytest.mark.slow
def test_with_little_noise_digits_are_learnt() -> None:
    train, test = digits()
    made = DPSGD.from_settings(
        epsilon=100.0, epochs=10, batch=256, width=16, learning_rate=1e-2, random_state=0, unsafe_noise_seed=1
    )
    assert made.fit(train).score(test) > 0.85
