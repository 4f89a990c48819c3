"""Small fully connected networks, written so that thousands of them train as one."""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from understudy.errors import InputError

Initial = Literal["xavier", "he"]


@jax.custom_vjp
def dense(
    x: Float[Array, "rows inputs"], weight: Float[Array, "outputs inputs"], bias: Float[Array, " outputs"]
) -> Float[Array, "rows outputs"]:
    """A linear layer whose weight gradient is laid out for many tiny layers at once.

    The usual gradient contracts the leading axis of both factors. Under `vmap` over teachers XLA's CPU kernels take
    that three times slower than a plain product of a transposed copy, which made it the most expensive line of a
    training step; the barrier keeps the compiler from folding the copy back in.
    """
    return x @ weight.T + bias


def _dense_forward(x: Array, weight: Array, bias: Array) -> tuple[Array, tuple[Array, Array]]:
    return dense(x, weight, bias), (x, weight)


def _dense_backward(saved: tuple[Array, Array], g: Array) -> tuple[Array, Array, Array]:
    x, weight = saved
    return g @ weight, jax.lax.optimization_barrier(g.T) @ x, g.sum(axis=0)


dense.defvjp(_dense_forward, _dense_backward)


def weight_count(features: int, hidden: Sequence[int], outputs: int) -> int:
    """How many weights, biases left out, an MLP of this shape has."""
    sizes = (features, *hidden, outputs)
    return sum(a * b for a, b in pairwise(sizes))


class MLP(eqx.Module):
    """ReLU layers and a linear output. `hidden=()` leaves a single linear layer, the depth-1 teacher of PATE-GAN."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def __init__(
        self,
        features: int,
        hidden: Sequence[int],
        outputs: int,
        *,
        key: PRNGKeyArray | Float[Array, " weights"],
        initial: Initial = "xavier",
    ) -> None:
        """Xavier (Glorot and Bengio 2010) or He (He et al. 2015) uniform weights, and biases of zero.

        `key` may be the drawn numbers themselves: `weight_count` of them, uniform on [-1, 1].
        """
        sizes = (features, *hidden, outputs)
        if min(sizes) < 1:
            raise InputError(f"Every layer needs at least one unit; the sizes asked for are {sizes}.")
        if initial not in ("xavier", "he"):
            raise InputError(f"`initial` (={initial!r}) must be 'xavier' or 'he'.")
        shapes = tuple(zip(sizes[1:], sizes[:-1], strict=True))
        # One draw for all layers: each generator that is inlined costs half a second of compilation.
        ends = np.cumsum([fan_out * fan_in for fan_out, fan_in in shapes])
        is_key = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        numbers = jax.random.uniform(key, (int(ends[-1]),), jnp.float32, -1.0, 1.0) if is_key else key
        drawn = jnp.split(numbers, ends[:-1])
        reach = [(6.0 / (fan_in + (fan_out if initial == "xavier" else 0))) ** 0.5 for fan_out, fan_in in shapes]
        self.weights = tuple(d.reshape(shape) * r for d, shape, r in zip(drawn, shapes, reach, strict=True))
        self.biases = tuple(jnp.zeros(size, jnp.float32) for size in sizes[1:])

    def __call__(self, x: Float[Array, "rows features"]) -> Float[Array, "rows outputs"]:
        """Logits of a batch of rows; the layout to train in."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(dense(x, weight, bias))
        return dense(x, self.weights[-1], self.biases[-1])

    def traced(self, x: Float[Array, "rows features"], moved: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The output with each layer moved by so much before its activation, and what went into each layer."""
        inputs = []
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            inputs.append(x)
            x = x @ weight.T + bias + moved[layer]
            x = jax.nn.relu(x) if layer < len(self.weights) - 1 else x
        return x, inputs

    def by_columns(self, x: Float[Array, "features rows"]) -> Float[Array, "outputs rows"]:
        """Logits with the rows on the last axis; the layout to ask in.

        Rows that all teachers are asked about fill the vector lanes here, whatever the width of the layers: two to
        three times the votes per second of the other layout on a CPU.
        """
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(weight @ x + bias[:, None])
        return self.weights[-1] @ x + self.biases[-1][:, None]
