"""NDPDC: no image says more than it paid for, classes are counted in the same release, and images learn from what was released."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from real_digits import digits  # pyright: ignore[reportMissingImports]
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import NDPDC, PSG
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.methods.convnet_gradients import PrivateImages
from understudy.methods.distillation.ndpdc import embedded, embedding_sums
from understudy.privacy import Budget

QUICK: dict[str, Any] = {
    "per_class": 2, "networks": 20, "matching.steps": 50, "network.width": 4, "network.train_steps": 4, "random_state": 0,
}  # fmt: skip


@pytest.mark.parametrize("clip", [1e-3, 0.2, 10.0])
def test_no_image_is_longer_than_it_pays_for(clip: float) -> None:
    data = bars(9)
    pixels = jnp.asarray(data.flat().reshape(-1, 8, 8, 1)).at[0].set(1e6)  # no picture, but nobody stops it
    seen = np.asarray(embedded(((8, 8, 1), 4, clip), jax.random.key(0), pixels), np.float64)
    lengths = np.linalg.norm(seen, axis=1)
    assert (lengths <= clip).all()
    np.testing.assert_allclose(seen[:, -1], clip * np.sqrt(0.05), rtol=1e-4)


def test_an_image_is_in_the_sum_of_its_class_alone() -> None:
    data, form = bars(9), ((8, 8, 1), 4, 0.2)
    private = PrivateImages.of(data)
    slots, held = np.arange(9).reshape(3, 3), np.ones((3, 3), bool)
    key = jax.random.key(0)
    sums = np.asarray(embedding_sums(form, 3, key, private.pixels, private.classes, slots, held)).reshape(3, -1)
    seen = np.asarray(embedded(form, key, private.pixels))
    for c in range(3):
        np.testing.assert_allclose(sums[c], seen[data.labels == c].sum(axis=0), atol=1e-5)


def test_images_match_what_was_released_and_a_class_that_is_not_there_harms_nobody(tmp_path: Path) -> None:
    data = bars(300)
    labels = np.where(data.labels == 2, 0, data.labels)
    made = NDPDC.from_settings(epsilon=8.0, **QUICK).fit(ImageDataset(data.images, labels, data.classes))
    (event, *_) = made.certificate_.body["events"]
    assert (event["sampling_rate"], event["steps"]) == (1, 20)  # all images, for each network
    assert made.distilled_.images.shape == (6, 8, 8)
    assert made.distilled_.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert made.certificate_.verify() <= 8.0
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    np.testing.assert_array_equal(back.predict(data), made.predict(data))


@pytest.mark.parametrize("kind", [NDPDC, PSG])
def test_what_cannot_be_distilled_is_refused_and_costs_nothing(kind: Any) -> None:
    budget = Budget(1.0, 1e-5)
    table = pd.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (bars(300), {"batch": 301}, "larger than the data"),
        (bars(300, side=7), {}, "too small for a network"),
        (table, {"target": "a"}, "learns from images"),
    ]
    for data, how, said in refused:
        batch, target = how.get("batch", 30), {k: v for k, v in how.items() if k == "target"}
        with pytest.raises(InputError, match=said):
            kind.from_settings(per_class=2, batch=batch).fit(data, budget=budget, **target)
    assert not budget.events


@pytest.mark.slow
def test_with_little_noise_distilled_digits_teach() -> None:
    train, test = digits()
    made = NDPDC.from_settings(
        epsilon=100.0, per_class=5, networks=50, random_state=0, unsafe_noise_seed=1,
        **{"matching.steps": 400, "network.width": 16, "network.train_steps": 300},
    )  # fmt: skip
    assert made.fit(train).score(test) > 0.75
