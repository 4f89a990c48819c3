"""The ConvNet as functions: shapes, the network of the distillation papers, and that it learns."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.errors import InputError
from understudy.learn import convnet_training
from understudy.learn.convnet_training import Lessons, TrainedNetwork, train_convnet
from understudy.learn.convnets import ConvNet


@pytest.mark.parametrize(("shape", "size"), [((28, 28, 1), 4 * 16), ((9, 13, 3), 4 * 1)])
def test_features_and_logits_have_their_shapes(shape: tuple[int, int, int], size: int) -> None:
    def both(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        network, images = ConvNet(shape, 5, key=key, width=4), jnp.zeros((2, *shape))
        return network.features(images), network(images)

    found, scores = jax.eval_shape(both, jax.random.key(0))
    assert found.shape == (2, size)
    assert scores.shape == (2, 5)


def test_it_is_the_network_of_the_papers_layer_by_layer() -> None:
    """The same weights in Equinox' own layers give the same scores."""
    image = np.random.default_rng(0).uniform(size=(16, 16, 1)).astype(np.float32)

    @jax.jit
    def both(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        ours = ConvNet((16, 16, 1), 3, key=key, width=8)
        norm, pool = eqx.nn.GroupNorm(8, 8), eqx.nn.AvgPool2d(2, 2)
        x = jnp.moveaxis(jnp.asarray(image), 2, 0)
        for kernel, bias in zip(ours.kernels, ours.biases, strict=True):
            conv = eqx.nn.Conv2d(x.shape[0], 8, 3, padding=1, key=key)
            weights = (jnp.transpose(kernel, (3, 2, 0, 1)), bias[:, None, None])
            assert weights[0].shape == conv.weight.shape
            conv = eqx.tree_at(lambda layer: (layer.weight, layer.bias), conv, weights)
            x = pool(jax.nn.relu(norm(conv(x))))
        return ours(jnp.asarray(image)[None])[0], jnp.moveaxis(x, 0, 2).ravel() @ ours.head + ours.head_bias

    np.testing.assert_allclose(*both(jax.random.key(0)), rtol=1e-3, atol=1e-4)


def test_networks_of_two_keys_differ_and_of_one_do_not() -> None:
    first, again, other = (ConvNet((8, 8, 1), 2, key=jax.random.key(k), width=4).kernels[0] for k in (0, 0, 1))
    assert jnp.array_equal(first, again)
    assert not jnp.array_equal(first, other)


def test_images_too_small_are_refused() -> None:
    with pytest.raises(InputError, match="too small"):
        ConvNet((7, 9, 1), 2, key=jax.random.key(0))


@pytest.fixture(scope="module")
def learner() -> TrainedNetwork:
    """Trained on bars, of which the brighter half is the class."""
    points, classes = _halves(40, 0)
    return train_convnet(points, 10 * np.eye(2)[classes], (8, 8, 1), Lessons(100, 20, 1e-2, width=4), None, 0)


def _halves(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    classes = np.arange(count) % 2
    images = rng.integers(0, 80, (count, 8, 8))
    images[classes == 1, :, :4] += 120
    images[classes == 0, :, 4:] += 120
    return images.reshape(count, -1).astype(np.uint8), classes


def test_it_learns_and_takes_bytes_and_shares_alike(learner: TrainedNetwork) -> None:
    points, classes = _halves(33, 1)
    assert (learner.predict(points) == classes).mean() > 0.9
    np.testing.assert_allclose(
        learner.predict_proba(points), learner.predict_proba(points.astype(np.float32) / 255), atol=1e-4
    )
    np.testing.assert_allclose(learner.predict_proba(points).sum(axis=1), 1, rtol=1e-5)
    assert learner.scores(points[:0]).shape == (0, 2)


def test_mixed_images_have_mixed_labels() -> None:
    """A share of 1 leaves a batch as it is, a share of 0 turns it round, and labels go the same way as images."""
    x = jnp.arange(24.0).reshape(3, 2, 2, 2)
    y = jnp.eye(3)
    share = jnp.array([1.0, 0.5, 0.0])
    mixed, labels = (convnet_training._mixed(share, part) for part in (x, y))  # pyright: ignore[reportPrivateUsage]
    np.testing.assert_allclose(mixed[0], x[0])
    np.testing.assert_allclose(mixed[2], x[0])
    np.testing.assert_allclose(labels, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])


@pytest.mark.slow
def test_it_learns_from_mixed_images() -> None:
    points, classes = _halves(40, 0)
    lessons = Lessons(200, 20, 1e-2, width=4, mixed=True)
    learner = train_convnet(points, 10 * np.eye(2)[classes], (8, 8, 1), lessons, None, 0)
    points, classes = _halves(33, 1)
    assert (learner.predict(points) == classes).mean() > 0.9


def test_sharpness_changes_how_sure_it_is_and_not_what_it_says(learner: TrainedNetwork) -> None:
    points, _ = _halves(10, 2)
    sharp = TrainedNetwork(learner.network, learner.shape, 3.0)
    assert (sharp.predict(points) == learner.predict(points)).all()
    assert sharp.predict_proba(points).max(axis=1).mean() > learner.predict_proba(points).max(axis=1).mean()
