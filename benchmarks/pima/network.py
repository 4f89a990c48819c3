"""The thesis' network (Sections 4.3.3 and 4.4.2): thousands of small ones trained as one program.

A re-run needs the same network on hundreds of splits, folds, shards and noisy label sets. They share one shape here:
a smaller layer is a larger one whose last units have zero weights, which stay zero under every optimiser below,
because a unit that is zero before the ReLU and after it has a gradient of zero.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from understudy.learn.networks import dense

Optimiser = Literal["adam", "sgd", "rmsprop"]

# Keras' defaults at the time of the thesis (TensorFlow 2.0).
_OPTIMISERS = {
    "adam": lambda: optax.adam(1e-3, eps=1e-7),
    "sgd": lambda: optax.sgd(1e-2),
    "rmsprop": lambda: optax.rmsprop(1e-3, decay=0.9, eps=1e-7),
}

# Networks trained by one call of a program, which is compiled for this number: more of them fill the caches, not the
# vector lanes. Slots for rows come in few sizes for the same reason: a compilation costs seconds.
_PLACES = 64
_FEWEST_BATCHES = 4


class Networks(NamedTuple):
    """Many networks: for each layer their weights (networks x outputs x inputs) and biases (networks x outputs)."""

    weights: tuple[Any, ...]
    biases: tuple[Any, ...]


_State = tuple[Any, optax.OptState]


@dataclass(frozen=True)
class Recipe:
    """How a network is trained. The defaults are the thesis' choice (NN 1 of Table 5.2; 25 epochs by Table 5.3)."""

    optimiser: Optimiser = "rmsprop"
    batch: int = 25
    epochs: int = 25


def start(hidden: Sequence[tuple[int, int, int]], features: int, *, seed: int) -> Networks:
    """Untrained networks of the given hidden layers, each padded with zeros to the widest; Glorot uniform as in Keras."""
    generator = np.random.default_rng(seed)
    widest = tuple(max(layer) for layer in zip(*hidden, strict=True))
    sizes = (features, *widest, 1)
    weights = tuple(np.zeros((len(hidden), out, inp), np.float32) for inp, out in pairwise(sizes))
    for net, layers in enumerate(hidden):
        for layer, (inp, out) in enumerate(pairwise((features, *layers, 1))):
            reach = (6.0 / (inp + out)) ** 0.5
            weights[layer][net, :out, :inp] = generator.uniform(-reach, reach, (out, inp))
    return Networks(weights, tuple(np.zeros((len(hidden), size), np.float32) for size in sizes[1:]))


def train(
    networks: Networks,
    X: Float[np.ndarray, "networks rows features"],
    y: Int[np.ndarray, "networks rows"],
    held: Bool[np.ndarray, "networks rows"],
    l2: Float[np.ndarray, " networks"],
    recipe: Recipe,
    *,
    seed: int,
) -> Networks:
    """Touches private data: train each network on the rows that its mask holds, in batches drawn anew every epoch."""
    total, rows = held.shape
    alike = bool(np.all(held == held[:1]))
    slots = recipe.batch * max(_FEWEST_BATCHES, 1 << max(0, -(-rows // recipe.batch) - 1).bit_length())
    X, y, held = (np.pad(a, ((0, 0), (0, slots - rows), (0, 0))[: a.ndim]) for a in (X, y, held))
    length = (recipe.epochs, -(-int(held.sum(axis=1).max()) // recipe.batch))
    parts: list[Networks] = []
    for number, first in enumerate(range(0, total, _PLACES)):
        # Places that are left over train the last network again; they are dropped below.
        part = np.minimum(np.arange(first, first + _PLACES), total - 1)
        some = jax.tree.map(lambda leaf, part=part: leaf[part], networks)
        arrays = (X[part].astype(np.float32), y[part].astype(np.float32), held[part], l2[part].astype(np.float32))
        key = jax.random.key(np.uint32(seed * 100_003 + number))
        parts.append(_train(recipe.optimiser, recipe.batch, alike, some, *arrays, length, key))
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves])[:total], *parts)


def probability(
    networks: Networks, X: Float[np.ndarray, "networks rows features"]
) -> Float[np.ndarray, "networks rows"]:
    """Touches private data: the sigmoid output of each network on its own rows."""
    from scipy.special import expit

    x = np.asarray(X, np.float32)
    last = len(networks.weights) - 1
    for layer, (weight, bias) in enumerate(zip(*networks, strict=True)):
        x = x @ np.swapaxes(weight, 1, 2) + bias[:, None, :]
        x = x if layer == last else np.maximum(x, 0)
    return expit(x[:, :, 0])


def _loss(
    network: Networks,
    x: Float[Array, "batch features"],
    y: Float[Array, " batch"],
    held: Bool[Array, " batch"],
    l2: Array,
) -> Array:
    """Touches private data: binary cross-entropy plus Keras' penalty, l2 times the sum of squared hidden weights."""
    *hidden, (weight, bias) = zip(*network, strict=True)
    for inner, shift in hidden:
        x = jax.nn.relu(dense(x, inner, shift))
    each = optax.sigmoid_binary_cross_entropy(dense(x, weight, bias)[:, 0], y)
    penalty = sum((jnp.sum(inner**2) for inner, _ in hidden), jnp.float32(0))
    return jnp.sum(each * held) / jnp.maximum(held.sum(), 1) + l2 * penalty


@partial(jax.jit, static_argnums=(0, 1, 2))
def _train(
    method: Optimiser,
    batch: int,
    alike: bool,
    networks: Networks,
    X: Float[Array, "networks slots features"],
    y: Float[Array, "networks slots"],
    held: Bool[Array, "networks slots"],
    l2: Float[Array, " networks"],
    length: tuple[int, int],
    key: PRNGKeyArray,
) -> Networks:
    """Touches private data: all epochs of all networks, as one program.

    Where all networks hold the same slots (`alike`) one order serves them all: a batch is then one plain gather, which
    halves the time. Slots that hold no row stand at the end of the order, and a batch without any row is no step.
    """
    optimiser = _OPTIMISERS[method]()
    epochs, steps = length

    def one_step(net: Any, moments: Any, x: Array, y: Array, here: Array, l2: Array) -> _State:
        slope = jax.grad(_loss)(net, x, y, here, l2)
        change, after = optimiser.update(slope, moments, net)
        real = here.any()
        pick = lambda new, old: jnp.where(real, new, old)  # noqa: E731
        return jax.tree.map(pick, optax.apply_updates(net, change), net), jax.tree.map(pick, after, moments)

    def epoch(number: Array, state: _State) -> _State:
        mask = held[0] if alike else held
        drawn = jax.random.uniform(jax.random.fold_in(key, number), mask.shape)
        order = jnp.argsort(drawn + jnp.where(mask, 0.0, 2.0))

        def step(number: Array, state: _State) -> _State:
            chosen = jax.lax.dynamic_slice_in_dim(order, number * batch, batch, axis=-1)
            x, labels, here = (
                a[:, chosen] if alike else jax.vmap(lambda row, c: row[c])(a, chosen) for a in (X, y, held)
            )
            return jax.vmap(one_step)(*state, x, labels, here, l2)

        return jax.lax.fori_loop(0, steps, step, state)

    first: Any = networks
    return jax.lax.fori_loop(0, epochs, epoch, (first, jax.vmap(optimiser.init)(first)))[0]
