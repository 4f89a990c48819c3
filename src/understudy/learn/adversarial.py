"""Generators of table records and what trains them: a critic, a student, or directions to move in.

Records are in coordinates: a number is a Gaussian rank, a category is one-hot. A generator starts as the independent
table, `G(z, y) = A_y z + b_y + MLP(z, y)` with A_y the identity on numbers, b_y the released log-frequencies of categories
and the last layer of the MLP zero: before the first step every column is drawn as it was released, independently of the
others. What is left to learn is what classes and pairs of columns add. Categories are drawn and hard, as real ones are,
with a soft gradient behind them (straight-through Gumbel-softmax), so that no critic can tell a record by its fractions of
a category. Nothing here sees a private row; `discriminators` does.

The random numbers come from numpy and go into the programs as arguments. A random generator inside a program costs
half a second of compilation wherever it is inlined; without them a first fit starts several times sooner, and fakes
are the same on every device.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from understudy.learn.networks import MLP, weight_count
from understudy.learn.picture_networks import Shape, low_passed

# Teaching of public rows: steps whose random numbers are held at once, records of a step, Adam's first rate.
_AT_ONCE, _TAUGHT, _TEACHING_RATE = 50, 256, 3e-3
# What is left of the generator in its moving average after each step.
_KEPT = 0.95


@dataclass(frozen=True)
class Heads:
    """What the columns of a record are: one-hot groups, flags of missing values, Gaussian ranks."""

    width: int
    one_hot: tuple[tuple[int, int], ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    """Pairs of a number's column and the column that says it is missing; the rank of a missing number is 0."""

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

    @property
    def flags(self) -> np.ndarray:
        return self.marks(*(flag for _, flag in self.missing))

    @property
    def numbers(self) -> np.ndarray:
        """Which columns are Gaussian ranks."""
        return ~(self.in_groups | self.flags)


@dataclass(frozen=True)
class Design:
    """Everything public and fixed about an adversarial run; programs are compiled for it.

    `label` are the columns of the class that the generator is given; None: there is no class. Adam's rate falls from
    `learning_rate` to nothing over so many `steps` of the generator. What is not an offset learns `caution` times as fast:
    noise moves each of many weights a little, and that adds up.
    """

    heads: Heads
    hidden: tuple[int, ...]
    label: tuple[int, int] | None = None
    learning_rate: float = 1e-2
    steps: int = 1
    caution: float = 1.0

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return _adam(optax.cosine_decay_schedule(self.learning_rate, self.steps))

    @property
    def classes(self) -> int:
        return 1 if self.label is None else self.label[1] - self.label[0]

    @property
    def free(self) -> np.ndarray:
        """The columns that the generator decides: all but those of the class."""
        return np.flatnonzero(~self.heads.marks(*range(*(self.label or (0, 0)))))

    @property
    def latent(self) -> tuple[int, int]:
        """How many normal numbers a record is made of, and how many uniform ones."""
        return self.heads.width, self.heads.width

    def records(self, raw: Array, latents: Latents) -> Array:
        """Records from what a generator gives, which carry the class they were asked for."""
        made = records(self.heads, raw, latents.u)
        if self.label is None:
            return made
        return made.at[:, slice(*self.label)].set(jax.nn.one_hot(latents.classes, self.classes))

    def offsets(self, network: Any) -> Any:
        """What learns at the full rate, however cautious the rest is."""
        return network.offset


@dataclass(frozen=True)
class PictureDesign(Design):
    """The same for pictures: a record is the pixels of one, from 0 to 1, then its class, one-hot.

    A generator gives the pixels themselves. `normals` is how many normal numbers it makes them of. With `seen` a record is the
    picture in its lowest cosines, so many a side: then nobody looks at what nobody may say anything about.
    """

    normals: int = 100
    shape: Shape = (1, 1, 1)
    seen: int | None = None

    @property
    def latent(self) -> tuple[int, int]:
        return self.normals, 0

    def records(self, raw: Array, latents: Latents) -> Array:
        shown = raw if self.seen is None else low_passed(raw, self.shape, self.seen)
        return jnp.concatenate([shown, jax.nn.one_hot(latents.classes, self.classes)], axis=1)

    def offsets(self, network: Any) -> Any:
        return network.inner.offset


class Generator(eqx.Module):
    """From latents and classes to raw outputs: an affine map for each class, and a residual network for all."""

    affine: Float[Array, "classes width width"]
    offset: Float[Array, "classes width"]
    residual: MLP

    def __call__(self, z: Float[Array, "rows width"], classes: Int[Array, " rows"]) -> Float[Array, "rows width"]:
        """Raw outputs."""
        given = jax.nn.one_hot(classes, len(self.offset))
        straight = jnp.einsum("rw,cvw->rcv", z, self.affine) + self.offset
        return jnp.einsum("rc,rcv->rv", given, straight) + self.residual(jnp.concatenate([z, given], axis=1))


class NetworkState(NamedTuple):
    """A network with the state of its optimiser."""

    network: Any
    opt_state: Any


class GeneratorState(NamedTuple):
    """A generator, the state of its optimiser, and the moving average of its weights, which is what is released."""

    network: Any
    opt_state: Any
    average: Any


class Latents(NamedTuple):
    """What fakes are made of beside the network: public, and independent of everything."""

    z: Float[Array, "*shape normal"]
    u: Float[Array, "*shape uniform"]
    """Decides between categories."""
    classes: Int[Array, "*shape"]


def draw_latents(
    design: Design, rng: np.random.Generator, ratio: Float[np.ndarray, " classes"], *shape: int
) -> Latents:
    """Latents for so many fakes: z from N(0, 1), classes by their public ratio."""
    chances = np.asarray(ratio, dtype=np.float64)
    normal, uniform = design.latent
    z: Any = rng.standard_normal((*shape, normal), dtype=np.float32)
    u: Any = rng.random((*shape, uniform), dtype=np.float32)
    classes: Any = rng.choice(len(chances), shape, p=chances / chances.sum()).astype(np.int32)
    return Latents(z, u, classes)


def independent_table(design: Design, start: Float[np.ndarray, " width"], rng: np.random.Generator) -> GeneratorState:
    """The generator to start from. `start` are the logits of categories and of flags; 0 for a number."""
    width, classes = design.heads.width, design.classes
    drawn = _uniform(rng, weight_count(width + classes, design.hidden, width))
    return _independent(design, np.asarray(start, np.float32), drawn)


@partial(jax.jit, static_argnums=0)
def _independent(design: Design, start: Array, drawn: Array) -> GeneratorState:
    width, classes = design.heads.width, design.classes
    residual = MLP(width + classes, design.hidden, width, key=drawn)
    residual = eqx.tree_at(lambda mlp: mlp.weights[-1], residual, jnp.zeros_like(residual.weights[-1]))
    identity = jnp.diag(jnp.asarray(design.heads.numbers, jnp.float32))
    network: Any = Generator(jnp.tile(identity, (classes, 1, 1)), jnp.tile(start, (classes, 1)), residual)
    return GeneratorState(network, design.optimiser.init(network), network)


def start_critic(width: int, hidden: tuple[int, ...], rate: float, rng: np.random.Generator) -> NetworkState:
    sizes = (width, hidden, 1)
    return _start(sizes, rate, _uniform(rng, weight_count(*sizes)))


def start_network(design: Design, network: Any) -> GeneratorState:
    """Any other generator, to start from."""
    return GeneratorState(network, design.optimiser.init(network), network)


def start_learner(rate: float, network: Any) -> NetworkState:
    """Any other critic, to start from."""
    return NetworkState(network, _adam(rate).init(network))


class Student(eqx.Module):
    """A score of records: linear for each class, and a residual network for all, which starts at zero."""

    linear: Float[Array, "classes width"]
    residual: MLP
    label: tuple[int, int] | None = eqx.field(static=True)

    def __call__(self, x: Float[Array, "rows width"]) -> Float[Array, "rows 1"]:
        given = jnp.ones((len(x), 1)) if self.label is None else x[:, slice(*self.label)]
        return jnp.sum(given * (x @ self.linear.T), axis=1, keepdims=True) + self.residual(x)


def start_student(design: Design, hidden: tuple[int, ...], rate: float, rng: np.random.Generator) -> NetworkState:
    state = start_critic(design.heads.width, hidden, rate, rng)
    weights = state.network.weights
    residual = eqx.tree_at(lambda mlp: mlp.weights[-1], state.network, jnp.zeros_like(weights[-1]))
    student: Any = Student(jnp.zeros((design.classes, design.heads.width)), residual, design.label)
    return NetworkState(student, _adam(rate).init(student))


def _uniform(rng: np.random.Generator, n: int) -> Any:
    return (2 * rng.random(n) - 1).astype(np.float32)


@partial(jax.jit, static_argnums=(0, 1))
def _start(sizes: tuple[int, tuple[int, ...], int], rate: float, drawn: Array) -> NetworkState:
    network: Any = MLP(*sizes, key=drawn)
    return NetworkState(network, _adam(rate).init(network))


def _adam(rate: Any) -> optax.GradientTransformation:
    """Adam with little momentum: two networks that learn against each other overshoot with the usual 0.9.

    0.5 is from Radford et al. (2016). It decides between a useless and a useful plain GAN.
    """
    return optax.adam(rate, b1=0.5, b2=0.9)


def update(rate: float, learner: NetworkState, gradient: PyTree) -> NetworkState:
    change, opt_state = _adam(rate).update(gradient, learner.opt_state, learner.network)
    return NetworkState(optax.apply_updates(learner.network, change), opt_state)


def advance(design: Design, generator: GeneratorState, gradient: PyTree) -> GeneratorState:
    """One step of the generator and of its moving average."""
    moved, opt_state = design.optimiser.update(gradient, generator.opt_state, generator.network)
    change: Any = moved
    if design.caution != 1:
        slowed = jax.tree.map(lambda leaf: design.caution * leaf, change)
        change = eqx.tree_at(design.offsets, slowed, design.offsets(change))
    network = optax.apply_updates(generator.network, change)
    average = jax.tree.map(lambda old, new: _KEPT * old + (1 - _KEPT) * new, generator.average, network)
    return GeneratorState(network, opt_state, average)


def records(
    heads: Heads, logits: Float[Array, "rows width"], u: Float[Array, "rows width"]
) -> Float[Array, "rows width"]:
    """Records from raw outputs, hard where the table is, with a gradient everywhere."""
    u = jnp.clip(u, 1e-6, 1 - 1e-6)
    made = logits
    if heads.one_hot:
        segments = heads.segments
        gumbel = logits - jnp.log(-jnp.log(u))
        top = jax.ops.segment_max(gumbel.T, segments, heads.width).T[:, segments]
        weight = jnp.exp(gumbel - jax.lax.stop_gradient(top))
        soft = weight / jax.ops.segment_sum(weight.T, segments, heads.width).T[:, segments]
        hard = (gumbel == top).astype(logits.dtype)
        made = jnp.where(heads.in_groups, _straight(hard, soft), made)
    if heads.missing:
        odds = jax.nn.sigmoid(logits + jnp.log(u) - jnp.log1p(-u))
        made = jnp.where(heads.flags, _straight((odds > 0.5).astype(logits.dtype), odds), made)
        flag_of = np.arange(heads.width)
        for value, flag in heads.missing:
            flag_of[value] = flag
        made = made * jnp.where(flag_of != np.arange(heads.width), 1 - made[:, flag_of], 1.0)
    return made


def _straight(hard: Array, soft: Array) -> Array:
    return soft + jax.lax.stop_gradient(hard - soft)


def make(design: Design, generator: Any, latents: Latents) -> Float[Array, "rows width"]:
    """Fake records, which carry the class they were asked for."""
    return design.records(generator(latents.z, latents.classes), latents)


@partial(jax.jit, static_argnums=0)
def make_records(design: Design, generator: Any, latents: Latents) -> Float[Array, "rows width"]:
    """`make` as one program, for sampling."""
    return make(design, generator, latents)


# --------------------------------------------------------------------------------------------------------------
# Steps


def follow(
    design: Design, generator: GeneratorState, latents: Latents, perturbation: Float[Array, "rows width"]
) -> GeneratorState:
    """One step towards fakes that are moved by a perturbation (G-PATE, equation 2)."""
    goal = make(design, generator.network, latents) + perturbation

    def loss(network: Any) -> Array:
        return jnp.mean(jnp.sum(jnp.square(make(design, network, latents) - goal), axis=1))

    return advance(design, generator, jax.grad(loss)(generator.network))


def climb(
    design: Design, generator: GeneratorState, critic: Any, latents: Latents
) -> tuple[GeneratorState, Float[Array, ""]]:
    """One step of the generator to where a critic scores its fakes higher, and the mean score."""

    def loss(network: Any) -> Array:
        return -jnp.mean(critic(make(design, network, latents))[:, 0])

    value, gradient = jax.value_and_grad(loss)(generator.network)
    return advance(design, generator, gradient), -value


def imitate(
    design: Design,
    steps: int,
    generator: GeneratorState,
    rng: np.random.Generator,
    rows: Float[np.ndarray, "rows width"],
    classes: Int[np.ndarray, " rows"],
) -> GeneratorState:
    """Teach the generator rows that are public already; any number of steps is free.

    Each step lowers the energy distance (Székely and Rizzo 2013) between a batch of fakes and a batch of rows: fakes are
    drawn to the rows and kept apart from each other. There is no second network that could win. Where there are classes, one
    of them is taught in each step, every class as often as any other.
    """
    optimiser = _teaching(steps)
    state = (generator.network, optimiser.init(generator.network))
    pools = [np.arange(len(rows))]
    if design.label is not None:
        pools = [np.flatnonzero(classes == c) for c in range(design.classes)]
    taught = [c for c, pool in enumerate(pools) if len(pool)]
    for first in range(0, steps, _AT_ONCE):
        count = min(_AT_ONCE, steps - first)
        chosen = rng.choice(taught, count).astype(np.int32)
        latents = draw_latents(design, rng, np.ones(design.classes), count, _TAUGHT)
        latents = latents._replace(classes=np.repeat(chosen[:, None], _TAUGHT, axis=1))  # type: ignore[arg-type]
        goals = np.stack([rows[rng.choice(pools[c], _TAUGHT)] for c in chosen])
        state = _imitate(design, steps, state, latents, goals)
    return GeneratorState(state[0], generator.opt_state, state[0])


def _teaching(steps: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(_TEACHING_RATE, steps))


@partial(jax.jit, static_argnums=(0, 1))
def _imitate(design: Design, steps: int, state: Any, latents: Latents, goals: Array) -> Any:
    """Some steps of `imitate`."""

    def loss(network: Any, latents: Latents, goal: Array) -> Array:
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
