"""PSG: what was released comes back, a run is repeated from its log, and the images learn from gradients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from optax import scale_by_adam

sys.path.append(str(Path(__file__).parent.parent / "images"))
from real_digits import digits  # pyright: ignore[reportMissingImports]
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import PSG
from understudy.learn.convnets import ConvNet
from understudy.methods.convnet_gradients import loss
from understudy.methods.distillation.psg import _round  # pyright: ignore[reportPrivateUsage]

QUICK: dict[str, Any] = {
    "per_class": 2, "networks": 2, "rounds": 2, "batch": 150, "network.width": 4, "network.train_steps": 4,
    "matching.image_steps": 2, "matching.learner_steps": 1, "random_state": 0,
}  # fmt: skip


@pytest.mark.slow
def test_it_is_released_and_a_run_that_was_killed_is_repeated_from_its_log(tmp_path: Path) -> None:
    data, folder = bars(300), tmp_path / "run.private"

    def kill(done: int, total: int) -> None:
        assert total == 4
        if done == 3:
            raise MemoryError

    with pytest.raises(MemoryError):
        PSG.from_settings(**QUICK).fit(data, workspace=folder, progress=kill)
    made = PSG.from_settings(**QUICK).fit(data, workspace=folder, resume=True)
    assert made.certificate_.verify() <= 1.0
    assert made.certificate_.body["release"]["steps"] == 4
    assert made.distilled_.labels.tolist() == [0, 0, 1, 1, 2, 2]
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    np.testing.assert_array_equal(np.asarray(back.support_.points), np.asarray(made.support_.points))
    np.testing.assert_array_equal(back.predict(data), made.predict(data))


def test_a_round_turns_the_images_gradient_towards_the_one_that_was_released() -> None:
    data = bars(60, side=16)
    network = ConvNet((16, 16, 1), 3, key=jax.random.key(0), width=4)
    pixels = jnp.asarray(data.flat().reshape(-1, 16, 16, 1))

    @jax.jit
    def gradients(images: Any) -> jax.Array:
        def of_class(images: Any, c: Any) -> jax.Array:
            target = jnp.broadcast_to(jnp.eye(3)[c], (len(images), 3))
            return ravel_pytree(jax.grad(loss)(network, images, target))[0]

        return jax.vmap(of_class)(images, jnp.arange(3))

    wanted = gradients(jnp.stack([pixels[data.labels == c] for c in range(3)]))
    start = 0.5 + 0.2 * jax.random.normal(jax.random.key(1), (3, 2, 16, 16, 1))
    first = network.kernels[0].size

    def alike(images: Any) -> float:
        """In the first layer, where the pixels are."""
        own, goal = (np.asarray(part)[:, :first] for part in (gradients(images), wanted))
        return float(np.mean((own * goal).sum(axis=1) / np.linalg.norm(own, axis=1) / np.linalg.norm(goal, axis=1)))

    adam: Any = scale_by_adam()
    images, _, taught, _ = _round((20, 3, 1e-3), start, adam.init(start), network, adam.init(network), wanted, 0.02)
    assert alike(images) > alike(start) + 0.1, (alike(images), alike(start))
    assert not np.allclose(taught.head, network.head)


@pytest.mark.slow
def test_with_little_noise_distilled_digits_teach() -> None:
    train, test = digits()
    made = PSG.from_settings(
        epsilon=100.0, per_class=3, networks=10, rounds=10, batch=512, clip=0.5, random_state=0, unsafe_noise_seed=1,
        **{"matching.image_steps": 5, "matching.image_rate": 0.02, "network.width": 8, "network.train_steps": 600},
    )  # fmt: skip
    assert made.fit(train).score(test) > 0.5  # three real digits a class: 0.71
