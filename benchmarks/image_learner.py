"""A convolutional network that learns from synthetic images alone, everything on the device, and is scored on real ones."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.learn.convnets import ConvNet, standardised

# Mean and deviation by which pixels are brought to one scale: public numbers.
_PIXELS = (0.3, 0.35)


class Lesson(NamedTuple):
    """Images with their labels (images x classes). A `labeller` that sees an image as it is shown, deformed, has 1 - `trust`."""

    images: ImageDataset
    targets: np.ndarray
    labeller: Any = None
    trust: float = 1.0


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run(static: Any, affine: Affine | None, contrast: bool, batch: int, carried: Any, lesson: Any, key: Any, steps: Any) -> Any:  # fmt: skip
    pixels, targets, labeller, trust = lesson

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy(eqx.combine(weights, static)(x), y).mean()

    def step(number: Any, carried: Any) -> Any:
        weights, opt_state, average = carried
        choosing, moving, stretching = jax.random.split(jax.random.fold_in(key, number), 3)
        places = jax.random.randint(choosing, (batch,), 0, len(pixels))
        x = pixels[places].astype(jnp.float32) / 255
        if affine is not None:
            x = affine.apply(moving, x)
        if contrast:  # samples are greyer than writing: a random stretch of their range, chosen publicly
            floor, ceiling = jax.random.uniform(stretching, (2, batch, 1, 1, 1))
            x = jnp.clip((x - 0.25 * floor) / (1 - 0.25 * floor - 0.35 * ceiling), 0, 1)
        wanted = targets[places]
        if labeller is not None:
            wanted = trust * wanted + (1 - trust) * labeller.shares(x)
        gradient = jax.grad(loss)(weights, standardised(x, _PIXELS), wanted)
        updates, opt_state = optax.scale_by_adam().update(gradient, opt_state)
        rate = 5e-4 * (1 + jnp.cos(jnp.pi * number / steps))
        weights = jax.tree.map(lambda w, u: w - rate * (u + 1e-4 * w), weights, updates)
        return weights, opt_state, jax.tree.map(lambda a, w: 0.99 * a + 0.01 * w, average, weights)

    return jax.lax.fori_loop(0, steps, step, carried)


@partial(jax.jit, static_argnums=0)
def _scores(static: Any, weights: Any, x: Any) -> Any:
    return eqx.combine(weights, static)(standardised(x.astype(jnp.float32) / 255, _PIXELS))


def convnet_accuracy(
    lesson: Lesson, test: ImageDataset, *, steps: int, kernels: int, affine: Affine | None, contrast: bool, seed: int
) -> float:
    """Accuracy on real images of the ConvNet of the distillation papers (3 blocks, 128 kernels), averaged over its last steps."""
    pixels, seen = (one.images.reshape(len(one), *one.shape[:2], -1) for one in (lesson.images, test))
    model = ConvNet(pixels.shape[1:], lesson.targets.shape[1], key=jax.random.key(seed), width=kernels)
    weights, static = eqx.partition(model, eqx.is_inexact_array)
    start = (weights, optax.scale_by_adam().init(weights), weights)
    given = (jnp.asarray(pixels), jnp.asarray(lesson.targets, jnp.float32), lesson.labeller, jnp.float32(lesson.trust))
    batch = min(256, len(pixels))
    _, _, average = _run(static, affine, contrast, batch, start, given, jax.random.key(seed + 1), steps)
    size = 250
    found = [np.asarray(_scores(static, average, jnp.asarray(seen[i : i + size]))) for i in range(0, len(seen), size)]
    return float((np.concatenate(found).argmax(axis=1) == test.labels).mean())
