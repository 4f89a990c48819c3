"""DP-MERF and DP-HP of images: one release, counted classes, resumed runs, and a generator that learns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from real_digits import digits  # pyright: ignore[reportMissingImports]
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import ImageDPHP, ImageDPMERF
from understudy.evaluation.images import Training, image_accuracy

QUICK: dict[str, Any] = {"steps": 60, "batch": 10, "random_state": 0}
METHODS = {ImageDPMERF: {"frequencies": 50}, ImageDPHP: {"order": 3, "products": 50}}
KINDS = pytest.mark.parametrize("kind", METHODS)


@KINDS
def test_no_image_has_features_longer_than_one(kind: Any) -> None:
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.uniform(0, 1, (200, 64)).round(rng.integers(0, 3)), jnp.float32)
    lengths = np.linalg.norm(kind().features(64, rng)(images), axis=1)
    assert lengths.max() <= 1 + 1e-5
    assert lengths.min() > 0.8


def test_products_are_of_two_different_pixels_and_may_be_left_out() -> None:
    pairs = np.asarray(ImageDPHP(products=500).features(3, np.random.default_rng(0)).pairs)
    assert np.all(pairs[0] != pairs[1])
    assert set(np.unique(pairs)) == {0, 1, 2}
    single = ImageDPHP(products=0, order=3).features(3, np.random.default_rng(0))
    assert single(jnp.ones((2, 3))).shape == (2, 12)


@KINDS
def test_one_release_pays_for_all_and_comes_back(kind: Any, tmp_path: Path) -> None:
    data, settings = bars(300), {**QUICK, **METHODS[kind]}

    def kill(progress: Any) -> None:
        if progress.iteration == 2:
            raise MemoryError

    with pytest.raises(MemoryError):
        kind.from_settings(**settings).fit(data, workspace=tmp_path / "run.private", progress=kill)
    made = kind.from_settings(**settings).fit(data, workspace=tmp_path / "run.private", resume=True)
    assert made.certificate_.verify() <= 1.0
    assert {event["mechanism"] for event in made.certificate_.body["events"]} == {"gaussian"}
    distances = [step["distance"] for step in made.history_]
    assert distances[-1] < distances[0]
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    np.testing.assert_array_equal(back.sample(30, 0).images, made.sample(30, 0).images)


@KINDS
def test_classes_are_counted_with_noise_and_bars_are_learnt(kind: Any) -> None:
    data = bars(600)
    settings = {**QUICK, **METHODS[kind], "steps": 200}
    made = kind.from_settings(epsilon=50.0, unsafe_noise_seed=0, **settings).fit(data)
    drawn = made.sample(90, 0)
    columns = np.stack([drawn.images[drawn.labels == c].mean(axis=(0, 1)) for c in range(3)])
    assert [int(one.argmax()) for one in columns[:, [1, 3, 5]]] == [0, 1, 2]


@KINDS
@pytest.mark.slow
def test_with_little_noise_a_network_learns_from_what_is_drawn(kind: Any) -> None:
    train, test = digits()
    more = {"frequencies": 300} if kind is ImageDPMERF else {"products": 300}
    made = kind.from_settings(epsilon=1e4, steps=400, random_state=0, unsafe_noise_seed=1, **more)
    drawn = made.fit(train).sample(1000, 1)
    learnt = image_accuracy(drawn.images, drawn.labels, test.images, test.labels, Training("small", 300))
    assert learnt > 0.75
