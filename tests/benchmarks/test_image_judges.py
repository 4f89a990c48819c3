"""Who judges synthetic images: residual networks, and the epoch of each that counts."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

from benchmarks import image_bench
from benchmarks.residual_networks import DESIGNS, SMALL, epoch, right, started


@pytest.mark.parametrize(("name", "millions"), [("resnet", 1.73), ("wrn", 8.95), ("resnext", 34.4)])
def test_networks_have_the_sizes_that_are_printed_of_them(name: str, millions: float) -> None:
    weights, _ = jax.eval_shape(lambda key: DESIGNS[name].start(key, 3, 10), jax.random.key(0))
    size = sum(leaf.size for leaf in jax.tree.leaves(weights))
    assert size / 1e6 == pytest.approx(millions, rel=0.01)


@pytest.mark.parametrize("name", ["wrn", "resnext"])
def test_a_small_network_of_each_kind_learns(name: str) -> None:
    design, train, test = SMALL[name], bars(240), bars(60, seed=1)
    data = (jnp.asarray(train.images[..., None]), jnp.asarray(train.labels))
    state = started(design, (8, 8, 1), 3, 0)
    for number in range(8):
        state = epoch(design, 24, state, data, jax.random.key(number), jnp.float32(0.01))
    assert right(design, state, test.images[..., None], test.labels) > 45
    # Without a key nothing is dropped, and no image changes what is said of another.
    scores = [design(state[0], state[1], jnp.asarray(test.images[:n, ..., None]) / 255.0)[0] for n in (2, 4)]
    np.testing.assert_allclose(scores[0], scores[1][:2], atol=1e-4)


def test_the_epoch_is_chosen_on_images_set_aside_and_not_on_test_images(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([10, 7, 30, 5])  # images set aside, then test images, of each epoch
    monkeypatch.setattr(image_bench, "right", lambda *_: next(told))
    found = image_bench.judged("wrn", bars(24), bars(30), bars(10), 1e9, 0, small=True)
    assert found == {"accuracy": 50.0, "last": 50.0}
    told = iter([30, 7, 10, 9])
    found = image_bench.judged("wrn", bars(24), bars(30), bars(10), 1e9, 0, small=True)
    assert found == {"accuracy": 70.0, "last": 90.0}
