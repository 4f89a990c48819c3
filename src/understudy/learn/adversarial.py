"""Generators of table records and what trains them: a student, a critic, or directions to move in.

A generator is a small network whose outputs become records of the unit cube by `records`: categories are drawn and
hard, as real ones are, with a soft gradient behind them (straight-through Gumbel-softmax), so that no discriminator can
tell a record by its fractions of a category. Nothing here sees a private row; `discriminators` does.

The random numbers come from numpy and go into the programs as arguments. A random generator inside a program costs
half a second of compilation wherever it is inlined; without them a first fit starts several times sooner, and fakes
are the same on every device.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from understudy.learn.networks import MLP, weight_count

# Teaching of public rows: steps whose random numbers are held at once, records of a step, Adam's first rate.
_AT_ONCE, _TAUGHT, _TEACHING_RATE = 50, 256, 3e-3


@dataclass(frozen=True)
class Heads:
    """What the outputs of a generator mean: one-hot groups, truth values, values that may be missing, plain numbers."""

    width: int
    one_hot: tuple[tuple[int, int], ...] = ()
    binary: tuple[int, ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    """Pairs of a value's column and the column that says it is missing; a missing value is encoded as 0."""

    @property
    def segments(self) -> np.ndarray:
        """A number for each column, equal within a one-hot group."""
        number = np.arange(self.width)
        for start, stop in self.one_hot:
            number[start:stop] = start
        return number

    def marks(self, *columns: int) -> np.ndarray:
        marked = np.zeros(self.width, dtype=bool)
        marked[list(columns)] = True
        return marked

    @property
    def in_groups(self) -> np.ndarray:
        return self.marks(*(c for start, stop in self.one_hot for c in range(start, stop)))


@dataclass(frozen=True)
class Design:
    """Everything public and fixed about an adversarial run; programs are compiled for it.

    `label` are the columns of the class that a conditional generator is given, `codes` what each class is there.
    """

    heads: Heads
    generator: tuple[int, ...]
    learning_rate: float
    label: tuple[int, int] | None = None
    codes: tuple[tuple[float, ...], ...] = ()

    @property
    def inputs(self) -> int:
        """Latents of the width of a record (PATE-GAN), and the class if it is given."""
        return self.heads.width + (0 if self.label is None else self.label[1] - self.label[0])


class NetworkState(NamedTuple):
    """A network with the state of its optimiser."""

    network: Any
    opt_state: Any


class Latents(NamedTuple):
    """What fakes are made of beside the network: public, and independent of everything."""

    z: Float[Array, "*shape width"]
    u: Float[Array, "*shape width"]
    """Decides between categories."""
    classes: Int[Array, "*shape"]


def draw_latents(
    design: Design, rng: np.random.Generator, ratio: Float[np.ndarray, " classes"], *shape: int
) -> Latents:
    """Latents for so many fakes: z from Unif[0,1]^d (PATE-GAN), classes by their public ratio."""
    chances = np.asarray(ratio, dtype=np.float64)
    width = design.heads.width
    z: Any = rng.random((*shape, width), dtype=np.float32)
    u: Any = rng.random((*shape, width), dtype=np.float32)
    classes: Any = rng.choice(len(chances), shape, p=chances / chances.sum()).astype(np.int32)
    return Latents(z, u, classes)


def start_generator(design: Design, rng: np.random.Generator) -> NetworkState:
    sizes = (design.inputs, design.generator, design.heads.width)
    return _start(sizes, design.learning_rate, _uniform(rng, weight_count(*sizes)))


def start_critic(design: Design, hidden: tuple[int, ...], rng: np.random.Generator) -> NetworkState:
    sizes = (design.heads.width, hidden, 1)
    return _start(sizes, design.learning_rate, _uniform(rng, weight_count(*sizes)))


def _uniform(rng: np.random.Generator, n: int) -> Any:
    return (2 * rng.random(n) - 1).astype(np.float32)


@partial(jax.jit, static_argnums=(0, 1))
def _start(sizes: tuple[int, tuple[int, ...], int], rate: float, drawn: Array) -> NetworkState:
    network: Any = MLP(*sizes, key=drawn)
    return NetworkState(network, _adam(rate).init(network))


def _adam(rate: float) -> optax.GradientTransformation:
    """Adam with little momentum: two networks that learn against each other overshoot with the usual 0.9.

    0.5 is from Radford et al. (2016). It decides between a useless and a useful plain GAN.
    """
    return optax.adam(rate, b1=0.5, b2=0.9)


def update(design: Design, learner: NetworkState, gradient: PyTree) -> NetworkState:
    change, opt_state = _adam(design.learning_rate).update(gradient, learner.opt_state, learner.network)
    return NetworkState(optax.apply_updates(learner.network, change), opt_state)


def records(
    heads: Heads, logits: Float[Array, "rows width"], u: Float[Array, "rows width"]
) -> Float[Array, "rows width"]:
    """Records of the unit cube from raw outputs, hard where the table is, with a gradient everywhere."""
    u = jnp.clip(u, 1e-6, 1 - 1e-6)
    numbers = jax.nn.sigmoid(logits)
    if heads.one_hot:
        segments = heads.segments
        gumbel = logits - jnp.log(-jnp.log(u))
        top = jax.ops.segment_max(gumbel.T, segments, heads.width).T[:, segments]
        weight = jnp.exp(gumbel - jax.lax.stop_gradient(top))
        soft = weight / jax.ops.segment_sum(weight.T, segments, heads.width).T[:, segments]
        hard = (gumbel == top).astype(logits.dtype)
        numbers = jnp.where(heads.in_groups, _straight(hard, soft), numbers)
    if heads.binary:
        odds = jax.nn.sigmoid(logits + jnp.log(u) - jnp.log1p(-u))
        truths = _straight((odds > 0.5).astype(logits.dtype), odds)
        numbers = jnp.where(heads.marks(*heads.binary), truths, numbers)
    if heads.missing:
        flag_of = np.arange(heads.width)
        for value, flag in heads.missing:
            flag_of[value] = flag
        present = jnp.where(flag_of != np.arange(heads.width), 1 - numbers[:, flag_of], 1.0)
        numbers = numbers * present
    return numbers


def _straight(hard: Array, soft: Array) -> Array:
    return soft + jax.lax.stop_gradient(hard - soft)


def logits(
    design: Design, generator: MLP, z: Float[Array, "rows width"], classes: Int[Array, " rows"]
) -> Float[Array, "rows width"]:
    """Raw outputs from z, and from the class where one is given."""
    if design.label is None:
        return generator(z)
    return generator(jnp.concatenate([z, jnp.asarray(design.codes, jnp.float32)[classes]], axis=1))


def make(design: Design, generator: MLP, latents: Latents) -> Float[Array, "rows width"]:
    """Fake records; a conditional generator's carry the class they were asked for."""
    fakes = records(design.heads, logits(design, generator, latents.z, latents.classes), latents.u)
    if design.label is None:
        return fakes
    start, stop = design.label
    return fakes.at[:, start:stop].set(jnp.asarray(design.codes, jnp.float32)[latents.classes])


@partial(jax.jit, static_argnums=0)
def make_records(design: Design, generator: MLP, latents: Latents) -> Float[Array, "rows width"]:
    """`make` as one program, for sampling."""
    return make(design, generator, latents)


# --------------------------------------------------------------------------------------------------------------
# Steps


def bce(logit: Array, real: Array) -> Array:
    """Mean cross-entropy of logits against 1 (real) and 0 (fake)."""
    return jnp.mean(jax.nn.softplus(logit) - real * logit)


def student_step(
    design: Design, student: NetworkState, asked: Float[Array, "rows width"], real: Float[Array, " rows"]
) -> tuple[NetworkState, Float[Array, ""]]:
    """One step of the student on labelled fakes (PATE-GAN, equation 7)."""
    loss, gradient = jax.value_and_grad(lambda s: bce(s(asked)[:, 0], real))(student.network)
    return update(design, student, gradient), loss


def generator_step(
    design: Design, generator: NetworkState, critic: MLP, latents: Latents
) -> tuple[NetworkState, Float[Array, ""]]:
    """One step of the generator against a critic whose logit is high for real.

    The loss is -log S(G(z)), not the log(1 - S(G(z))) of equation 5: its gradient does not vanish where the student is
    sure of a fake, which it is at the start (Goodfellow et al. 2014, Section 3).
    """

    def loss(network: MLP) -> Array:
        return jnp.mean(jax.nn.softplus(-critic(make(design, network, latents))[:, 0]))

    value, gradient = jax.value_and_grad(loss)(generator.network)
    return update(design, generator, gradient), value


def imitate(
    design: Design,
    steps: int,
    generator: NetworkState,
    rng: np.random.Generator,
    rows: Float[np.ndarray, "rows width"],
    classes: Int[np.ndarray, " rows"],
) -> NetworkState:
    """Teach the generator rows that are public already; any number of steps is free.

    Each step lowers the energy distance (Székely and Rizzo 2013) between a batch of fakes and a batch of rows: fakes are
    drawn to the rows and kept apart from each other. There is no second network that could win. A conditional generator
    is taught one class in each step, every class as often as any other.
    """
    optimiser = _teaching(steps)
    state = (generator.network, optimiser.init(generator.network))
    pools = [np.arange(len(rows))]
    if design.label is not None:
        pools = [np.flatnonzero(classes == c) for c in range(len(design.codes))]
    taught = [c for c, pool in enumerate(pools) if len(pool)]
    for first in range(0, steps, _AT_ONCE):
        count = min(_AT_ONCE, steps - first)
        chosen = rng.choice(taught, count).astype(np.int32)
        latents = draw_latents(design, rng, np.ones(1), count, _TAUGHT)
        latents = latents._replace(classes=np.repeat(chosen[:, None], _TAUGHT, axis=1))  # type: ignore[arg-type]
        goals = np.stack([rows[rng.choice(pools[c], _TAUGHT)] for c in chosen])
        state = _imitate(design, steps, state, latents, goals)
    return NetworkState(state[0], generator.opt_state)


def _teaching(steps: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(_TEACHING_RATE, steps))


@partial(jax.jit, static_argnums=(0, 1))
def _imitate(design: Design, steps: int, state: Any, latents: Latents, goals: Array) -> Any:
    """Some steps of `imitate`."""

    def loss(network: MLP, latents: Latents, goal: Array) -> Array:
        fakes = make(design, network, latents)
        apart = jnp.sum(_distances(fakes, fakes)) / (_TAUGHT * (_TAUGHT - 1))
        return 2 * jnp.mean(_distances(fakes, goal)) - apart

    def step(state: Any, given: tuple[Latents, Array]) -> tuple[Any, None]:
        gradient = jax.grad(loss)(state[0], *given)
        change, opt_state = _teaching(steps).update(gradient, state[1], state[0])
        return (optax.apply_updates(state[0], change), opt_state), None

    return jax.lax.scan(step, state, (latents, goals))[0]


def _distances(a: Array, b: Array) -> Array:
    squares = jnp.sum(jnp.square(a), axis=1)[:, None] + jnp.sum(jnp.square(b), axis=1) - 2 * a @ b.T
    return jnp.sqrt(jnp.maximum(squares, 1e-8))
