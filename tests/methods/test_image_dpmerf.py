"""DP-MERF of images: one release, counted classes, resumed runs, and a generator that learns."""

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
from understudy import ImageDPMERF
from understudy.evaluation.images import Training, image_accuracy
from understudy.methods.image_dpmerf import embedded

QUICK: dict[str, Any] = {"frequencies": 50, "steps": 60, "batch": 10, "random_state": 0}


def test_every_image_has_features_of_norm_one() -> None:
    images = np.random.default_rng(0).uniform(0, 1, (5, 64)).astype(np.float32)
    waves = jnp.asarray(np.random.default_rng(1).normal(size=(64, 30)), jnp.float32)
    np.testing.assert_allclose(np.linalg.norm(embedded(waves, images), axis=1), 1, rtol=1e-5)


def test_one_release_pays_for_all_and_comes_back(tmp_path: Path) -> None:
    data = bars(300)

    def kill(progress: Any) -> None:
        if progress.iteration == 2:
            raise MemoryError

    with pytest.raises(MemoryError):
        ImageDPMERF.from_settings(**QUICK).fit(data, workspace=tmp_path / "run.private", progress=kill)
    made = ImageDPMERF.from_settings(**QUICK).fit(data, workspace=tmp_path / "run.private", resume=True)
    assert made.certificate_.verify() <= 1.0
    assert {event["mechanism"] for event in made.certificate_.body["events"]} == {"gaussian"}
    distances = [step["distance"] for step in made.history_]
    assert distances[-1] < distances[0]
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    np.testing.assert_array_equal(back.sample(30, 0).images, made.sample(30, 0).images)


def test_classes_are_counted_with_noise_and_bars_are_learnt() -> None:
    data = bars(600)
    made = ImageDPMERF.from_settings(epsilon=50.0, unsafe_noise_seed=0, **{**QUICK, "steps": 200}).fit(data)
    drawn = made.sample(90, 0)
    columns = np.stack([drawn.images[drawn.labels == c].mean(axis=(0, 1)) for c in range(3)])
    assert [int(one.argmax()) for one in columns[:, [1, 3, 5]]] == [0, 1, 2]


@pytest.mark.slow
def test_with_little_noise_a_network_learns_from_what_is_drawn() -> None:
    train, test = digits()
    made = ImageDPMERF.from_settings(epsilon=1e4, frequencies=300, steps=400, random_state=0, unsafe_noise_seed=1)
    drawn = made.fit(train).sample(1000, 1)
    learnt = image_accuracy(drawn.images, drawn.labels, test.images, test.labels, Training("small", 300))
    assert learnt > 0.75
