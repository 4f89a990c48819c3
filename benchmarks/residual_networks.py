"""Residual networks that judge synthetic images: ResNet, Wide ResNet and ResNeXt, in the sizes that are usual for 32 x 32 pixels.

Three stages of blocks; planes double and sides halve from stage to stage. Blocks of a stage that are alike run as a loop, so that a
network of a hundred layers compiles as quickly as one of ten. Weights and the running statistics of batch norm are two trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

_KEPT, _SOFT = 0.9, 1e-5
_ADAM: Any = optax.scale_by_adam()
_AT_ONCE = 500


@dataclass(frozen=True)
class Design:
    """`blocks` in each stage, planes of the stem and of each stage. `inner`: planes of bottlenecks, cut into `groups` (None: blocks of
    two convolutions). `first`: norm and ReLU stand before each convolution, and `dropped` units between the two."""

    blocks: int
    stem: int
    planes: tuple[int, int, int]
    inner: tuple[int, int, int] | None = None
    groups: int = 1
    first: bool = False
    dropped: float = 0.0

    def start(self, key: Array, colours: int, classes: int) -> tuple[Any, Any]:
        """Weights (He's start) and statistics."""
        keys = iter(jax.random.split(key, 12 * self.blocks + 3))

        def kernel(side: int, into: int, out: int, groups: int = 1) -> Array:
            scale = np.sqrt(2 / (side * side * out / groups))
            return scale * jax.random.normal(next(keys), (side, side, into // groups, out))

        def block(into: int, stage: int, *, head: bool = False) -> tuple[Any, Any]:
            out = self.planes[stage]
            if self.inner is None:
                kernels = [kernel(3, into, out), kernel(3, out, out)]
                normed = [into, out] if self.first else [out, out]
            else:
                inner = self.inner[stage]
                kernels = [kernel(1, into, inner), kernel(3, inner, inner, self.groups), kernel(1, inner, out)]
                normed = [inner, inner, out]
            if into != out or (head and stage):
                kernels.append(kernel(1, into, out))
                normed += [] if self.first else [out]
            return (kernels, [_scale(n) for n in normed]), [_statistics(n) for n in normed]

        weights, statistics, into = [kernel(3, colours, self.stem)], [], self.stem
        stages = []
        for stage, out in enumerate(self.planes):
            head, rest = block(into, stage, head=True), [block(out, stage) for _ in range(self.blocks - 1)]
            stages.append((head[0], _stacked([one[0] for one in rest])))
            statistics.append((head[1], _stacked([one[1] for one in rest])))
            into = out
        normed = into if self.first else self.stem
        head = jax.random.normal(next(keys), (into, classes)) / np.sqrt(into), jnp.zeros(classes)
        return (weights, stages, _scale(normed), head), (statistics, _statistics(normed))

    def __call__(self, weights: Any, statistics: Any, images: Array, key: Array | None = None) -> tuple[Array, Any]:
        """Scores and the statistics after these images. With a key it is training: batch norm is of these images, units are dropped."""
        (stem,), stages, scale, (head, bias) = weights
        known, last = statistics
        x, after = _convolved(images, stem), []
        if not self.first:
            x, last = _normed(x, scale, last, key is not None)
            x = jax.nn.relu(x)
        for number, ((one, rest), (of_one, of_rest)) in enumerate(zip(stages, known, strict=True)):
            x, new = self._block(one, of_one, x, 1 if number == 0 else 2, _part(key, number))
            keys = None if key is None else jax.random.split(jax.random.fold_in(key, 10 + number), self.blocks - 1)

            def step(x: Array, given: Any) -> tuple[Array, Any]:
                weights, statistics, key = given
                return self._block(weights, statistics, x, 1, key)

            x, others = jax.lax.scan(step, x, (rest, of_rest, keys)) if self.blocks > 1 else (x, of_rest)
            after.append((new, others))
        if self.first:
            x, last = _normed(x, scale, last, key is not None)
            x = jax.nn.relu(x)
        return x.mean(axis=(1, 2)) @ head + bias, (after, last)

    def _block(self, weights: Any, statistics: Any, x: Array, stride: int, key: Array | None) -> tuple[Array, Any]:
        kernels, scales = weights
        new, training = list(statistics), key is not None

        def normed(x: Array, number: int) -> Array:
            x, new[number] = _normed(x, scales[number], statistics[number], training)
            return x

        if self.first:
            seen = jax.nn.relu(normed(x, 0))
            around = _convolved(seen, kernels[2], stride) if len(kernels) > 2 else x
            inside = jax.nn.relu(normed(_convolved(seen, kernels[0], stride), 1))
            if key is not None and self.dropped:
                kept = 1 - self.dropped
                inside = jnp.where(jax.random.bernoulli(key, kept, inside.shape), inside / kept, 0.0)
            return around + _convolved(inside, kernels[1]), new
        depth, inside = (2 if self.inner is None else 3), x
        for number in range(depth):
            wide = stride if number == depth - 2 else 1
            groups = self.groups if number == depth - 2 else 1
            inside = normed(_convolved(inside, kernels[number], wide, groups), number)
            inside = jax.nn.relu(inside) if number < depth - 1 else inside
        around = normed(_convolved(x, kernels[depth], stride), depth) if len(kernels) > depth else x
        return jax.nn.relu(around + inside), new


DESIGNS = {
    "resnet": Design(18, 16, (16, 32, 64)),
    "wrn": Design(6, 16, (64, 128, 256), first=True, dropped=0.3),
    "resnext": Design(3, 64, (256, 512, 1024), inner=(512, 1024, 2048), groups=8),
}
SMALL = {
    "resnet": Design(1, 4, (4, 8, 8)),
    "wrn": Design(2, 4, (8, 8, 8), first=True, dropped=0.3),
    "resnext": Design(1, 4, (8, 8, 16), inner=(8, 8, 8), groups=2),
}


@partial(jax.jit, static_argnums=(0, 1))
def epoch(design: Design, batch: int, state: Any, data: tuple[Array, Array], key: Array, rate: Array) -> Any:
    """One pass over all images (bytes) in random order, by Adam; the running mean of the weights has a memory of 10,000 steps, less
    at the beginning."""
    images, labels = data
    ordering, running = jax.random.split(key)
    order = jax.random.permutation(ordering, len(images))

    def loss(weights: Any, statistics: Any, x: Array, y: Array, key: Array) -> tuple[Array, Any]:
        scores, statistics = design(weights, statistics, x, key)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean(), statistics

    def step(number: Array, state: Any) -> Any:
        weights, statistics, opt_state, mean, done = state
        chosen = jax.lax.dynamic_slice_in_dim(order, number * batch, batch)
        now = (_scaled(images[chosen]), labels[chosen], jax.random.fold_in(running, number))
        gradient, statistics = jax.grad(loss, has_aux=True)(weights, statistics, *now)
        updates, opt_state = _ADAM.update(gradient, opt_state)
        weights = jax.tree.map(lambda w, u: w - rate * u, weights, updates)
        kept = jnp.minimum(0.9999, (done + 2) / (done + 11))
        return (
            weights,
            statistics,
            opt_state,
            jax.tree.map(lambda m, w: kept * m + (1 - kept) * w, mean, weights),
            done + 1,
        )

    return jax.lax.fori_loop(0, len(images) // batch, step, state)


def started(design: Design, shape: tuple[int, int, int], classes: int, seed: int) -> Any:
    """What `epoch` goes on from."""
    weights, statistics = jax.jit(design.start, static_argnums=(1, 2))(jax.random.key(seed), shape[2], classes)
    return weights, statistics, _ADAM.init(weights), weights, jnp.zeros(())


def right(design: Design, state: Any, images: np.ndarray, labels: np.ndarray) -> int:
    """How many of the images (bytes) the running mean of the weights tells right. Parts have one size, for one compilation."""
    found = 0
    for start in range(0, len(images), _AT_ONCE):
        part = images[start : start + _AT_ONCE]
        padded = np.zeros((_AT_ONCE, *part.shape[1:]), np.uint8)
        padded[: len(part)] = part
        told = np.asarray(_told(design, state[3], state[1], jnp.asarray(padded)))[: len(part)]
        found += int((told == labels[start : start + _AT_ONCE]).sum())
    return found


@partial(jax.jit, static_argnums=0)
def _told(design: Design, weights: Any, statistics: Any, images: Array) -> Array:
    return design(weights, statistics, _scaled(images))[0].argmax(axis=1)


def _scaled(images: Array) -> Array:
    return images.astype(jnp.float32) / 127.5 - 1


def _convolved(x: Array, kernel: Array, stride: int = 1, groups: int = 1) -> Array:
    near, numbers = kernel.shape[0] // 2, ("NHWC", "HWIO", "NHWC")
    around = ((near, near), (near, near))
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), around, dimension_numbers=numbers, feature_group_count=groups
    )


def _normed(x: Array, scale: Any, known: Any, training: bool) -> tuple[Array, Any]:
    """Batch norm, and the running statistics after it."""
    mean, variance = known
    if training:
        mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
        known = tuple(_KEPT * old + (1 - _KEPT) * new for old, new in zip(known, (mean, variance), strict=True))
    return (x - mean) * jax.lax.rsqrt(variance + _SOFT) * scale[0] + scale[1], known


def _scale(planes: int) -> tuple[Array, Array]:
    return jnp.ones(planes), jnp.zeros(planes)


def _statistics(planes: int) -> tuple[Array, Array]:
    return jnp.zeros(planes), jnp.ones(planes)


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees) if trees else []


def _part(key: Array | None, number: int) -> Array | None:
    return None if key is None else jax.random.fold_in(key, number)
