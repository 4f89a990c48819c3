"""The teacher axis: thousands of teachers as one pytree with a leading axis.

They start, train and vote in single compiled steps. Over a `jax.sharding.Mesh` each device holds some of the teachers
and their rows; the sum of the votes is the only thing that crosses between devices.
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.learn import inputs
from understudy.learn.networks import MLP, Initial
from understudy.learn.partition import Shards
from understudy.learn.processes import AXIS, OwnRows

_State = tuple[PyTree, optax.OptState]
_SHARDED = PartitionSpec(AXIS)
_EVERYWHERE = PartitionSpec()

# How many activations one voting step may hold on a device. Measured on a CPU: twice as many are two to four times
# slower, whatever the shape of the network. An accelerator wants steps that are large against the cost of a launch.
_CELLS_ON_CPU = 1 << 22
_CELLS_ELSEWHERE = 1 << 27


@dataclass(frozen=True)
class _Plan:
    """What a training program is compiled for; everything else about a fit is an argument of that program."""

    teachers: int
    hidden: tuple[int, ...]
    classes: int
    initial: Initial
    epochs: int
    batch: int
    width: int
    mesh: Mesh

    @property
    def local(self) -> int:
        """Teachers on one device. The axis is padded with teachers without rows where it does not divide evenly."""
        return -(-self.teachers // self.mesh.size)

    @property
    def steps(self) -> int:
        return -(-self.width // self.batch)

    @property
    def slots(self) -> int:
        """Slots of a padded shard: every batch of an epoch has the same number of them, at most `batch`."""
        return self.steps * -(-self.width // self.steps)


@dataclass(eq=False)
class Ensemble:
    """Networks of one shape, each trained on its own shard. Everything it returns is private.

    `epochs` passes over each shard in batches of at most `batch` rows, with Adam and decoupled weight decay on the
    weights. Equal keys give equal teachers, bit for bit on the same device. `mesh`, of one axis named "teachers",
    spreads the teachers over devices.
    """

    teachers: int
    hidden: tuple[int, ...] = (30,)
    classes: int = 2
    epochs: int = 50
    batch: int = 32
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    initial: Initial = "xavier"
    mesh: Mesh | None = None
    teachers_: MLP | None = field(default=None, init=False, repr=False)
    """Private: the trained teachers, stacked. Padded with idle teachers up to a multiple of the number of devices."""

    def __post_init__(self) -> None:
        for name, least in {"teachers": 1, "classes": 2, "epochs": 1, "batch": 1}.items():
            if getattr(self, name) < least:
                raise InputError(f"`{name}` (={getattr(self, name)}) must be at least {least}.")
        if not 0 < self.learning_rate < float("inf"):
            raise InputError(f"`learning_rate` (={self.learning_rate}) must be a positive number.")
        if not 0 <= self.weight_decay < float("inf"):
            raise InputError(f"`weight_decay` (={self.weight_decay}) must be zero or a positive number.")
        if self.mesh is not None and self.mesh.axis_names != (AXIS,):
            raise InputError(f"`mesh` has the axes {self.mesh.axis_names}, but needs exactly one, named {AXIS!r}.")
        self.hidden = tuple(self.hidden)

    def fit(self, X: ArrayLike | OwnRows, y: ArrayLike | OwnRows, shards: Shards, key: PRNGKeyArray) -> Ensemble:
        """Touches private data: train every teacher on its own shard and on nothing else.

        `y` holds class numbers from 0 to `classes` − 1. A shard with rows of one class only is fine: its teacher learns
        to vote for it. Over a mesh of several processes give both as `OwnRows`, so that each holds its own alone.
        """
        rows = _checked(X, lambda values: inputs.matrix(values, "X"))
        labels = _checked(y, lambda values: inputs.codes(values, range(self.classes)))
        inputs.fits(len(rows), len(labels), shards, self.teachers)
        plan = _Plan(
            self.teachers, self.hidden, self.classes, self.initial, self.epochs, self.batch, shards.width, self._mesh()
        )
        self.teachers_ = _train(
            plan,
            key,
            jnp.float32(self.learning_rate),
            jnp.float32(self.weight_decay),
            _deal(rows, shards, plan),
            _deal(labels, shards, plan),
            _deal(np.broadcast_to(True, len(rows)), shards, plan),
        )
        return self

    def votes(self, X: ArrayLike) -> Int[np.ndarray, "queries classes"]:
        """Touches private data: how many teachers vote for each class, for each query."""
        return self._ask(_count, X, self.classes)

    def predictions(self, X: ArrayLike) -> Int[np.ndarray, "teachers queries"]:
        """Touches private data: the class that each teacher votes for. A diagnostic for the data holder alone."""
        return self._ask(_answer, X, self.teachers)[:, : self.teachers].T

    def _ask(self, question: Callable[..., Array], X: ArrayLike, answers: int) -> Int[np.ndarray, "queries _"]:
        """Ask in equal chunks: memory stays bounded however many queries there are, and one program serves them all."""
        if self.teachers_ is None:
            raise InputError("These teachers have learnt nothing yet. Call `fit` first.")
        queries = inputs.matrix(X, "X", features=self.teachers_.weights[0].shape[-1])
        if len(queries) == 0:
            return np.zeros((0, answers), np.int32)
        mesh = self._mesh()
        cells = _CELLS_ON_CPU if mesh.devices.flat[0].platform == "cpu" else _CELLS_ELSEWHERE
        held = max(bias.size for bias in self.teachers_.biases) // mesh.size
        chunk = 1 << min(max(1, cells // held).bit_length() - 1, (len(queries) - 1).bit_length())
        asked = np.zeros((-(-len(queries) // chunk), queries.shape[1], chunk), np.float32)
        for part, first in zip(asked, range(0, len(queries), chunk), strict=True):
            rows = queries[first : first + chunk]
            part[:, : len(rows)] = rows.T
        replies = [question(mesh, self.teachers, self.teachers_, part) for part in asked]
        return np.concatenate([np.asarray(reply) for reply in replies])[: len(queries)]

    def _mesh(self) -> Mesh:
        return self.mesh if self.mesh is not None else Mesh(np.array(jax.local_devices()[:1]), (AXIS,))


def _checked(given: ArrayLike | OwnRows, check: Callable[[ArrayLike], np.ndarray]) -> np.ndarray | OwnRows:
    if isinstance(given, OwnRows):
        return OwnRows(check(given.values), given.positions, given.rows)
    return check(given)


def _deal(values: np.ndarray | OwnRows, shards: Shards, plan: _Plan) -> Array:
    """Touches private data: put each teacher's rows on the teacher's device, zeros in empty slots.

    A device is given the rows of its own teachers only, and an empty slot is never filled with somebody's row: a value
    times a mask of zero is still NaN where the value is infinite.
    """
    index = np.full((plan.local * plan.mesh.size, plan.slots), shards.rows, dtype=np.int64)
    index[: shards.teachers, : shards.width] = shards.index

    def held_by(where: tuple[slice, ...] | None) -> np.ndarray:
        mine = index if where is None else index[where[0]]
        rows = np.zeros((*mine.shape, *values.shape[1:]), dtype=values.dtype)
        rows[mine < shards.rows] = values[mine[mine < shards.rows]]
        return rows

    shape = (*index.shape, *values.shape[1:])
    return jax.make_array_from_callback(shape, NamedSharding(plan.mesh, _SHARDED), held_by)


def _start(key: PRNGKeyArray, numbers: Int[Array, " teachers"], features: int, plan: _Plan) -> MLP:
    """Untrained teachers. Each is drawn from its own number, so it is the same however the axis is split."""

    def one(number: Array) -> MLP:
        own = jax.random.fold_in(key, number)
        return MLP(features, plan.hidden, plan.classes, key=own, initial=plan.initial)

    return jax.vmap(one)(numbers)


def _loss(
    teacher: MLP, x: Float[Array, "rows features"], y: Int[Array, " rows"], held: Bool[Array, " rows"]
) -> Float[Array, ""]:
    """Touches private data: mean cross-entropy over the slots that hold a row."""
    log_odds = jax.nn.log_softmax(teacher(x))
    right = (y[:, None] == jnp.arange(log_odds.shape[1])) & held[:, None]
    return -jnp.sum(log_odds * right) / jnp.maximum(held.sum(), 1)


@partial(jax.jit, static_argnums=0)
def _train(
    plan: _Plan,
    key: PRNGKeyArray,
    learning_rate: Float[Array, ""],
    weight_decay: Float[Array, ""],
    X: Float[Array, "teachers slots features"],
    y: Int[Array, "teachers slots"],
    held: Bool[Array, "teachers slots"],
) -> MLP:
    """Touches private data: the whole training of all teachers, as one program."""
    optimiser = optax.adamw(learning_rate, weight_decay=weight_decay, mask=_only_weights)
    starting, shuffling = jax.random.split(key)

    def start_on_one_device() -> MLP:
        first = jax.lax.axis_index(AXIS) * plan.local
        return _start(starting, first + jnp.arange(plan.local), X.shape[-1], plan)

    def train_on_one_device(teachers: PyTree, X: Array, y: Array, held: Array) -> MLP:
        def step(state: _State, slots: Array) -> tuple[_State, None]:
            teachers, moments = state
            slope = jax.vmap(jax.grad(_loss))(teachers, X[:, slots], y[:, slots], held[:, slots])
            change, moments = optimiser.update(slope, moments, teachers)
            return (optax.apply_updates(teachers, change), moments), None

        def epoch(state: _State, key: Array) -> tuple[_State, None]:
            # One order of slots serves all teachers: their rows were dealt at random already, and a shared order
            # makes a batch one gather. Empty slots stay at the end, so that no batch is empty.
            order = jax.random.permutation(key, plan.width)
            order = jnp.concatenate([order, jnp.arange(plan.width, plan.slots)])
            return jax.lax.scan(step, state, order.reshape(plan.steps, -1))

        state = (teachers, optimiser.init(teachers))
        (teachers, _), _ = jax.lax.scan(epoch, state, jax.random.split(shuffling, plan.epochs))
        return teachers

    over_devices = partial(jax.shard_map, mesh=plan.mesh, out_specs=_SHARDED)
    teachers = over_devices(start_on_one_device, in_specs=())()
    return over_devices(train_on_one_device, in_specs=_SHARDED)(teachers, X, y, held)


def _only_weights(teachers: PyTree) -> PyTree:
    decayed = jax.tree.map(lambda _: False, teachers)
    return eqx.tree_at(lambda t: t.weights, decayed, (True,) * len(teachers.weights))


@partial(jax.jit, static_argnums=(0, 1))
def _count(mesh: Mesh, n: int, teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "queries classes"]:
    """Touches private data: the vote counts, summed over the devices. Nothing else leaves a device."""

    def on_one_device(teachers: MLP, X: Array) -> Array:
        chosen = _choices(teachers, X)
        number = jax.lax.axis_index(AXIS) * len(chosen) + jnp.arange(len(chosen))
        real = number[:, None] < n
        counts = [jnp.sum((chosen == c) & real, axis=0, dtype=jnp.int32) for c in range(teachers.biases[-1].shape[-1])]
        return jax.lax.psum(jnp.stack(counts, axis=-1), AXIS)

    return jax.shard_map(on_one_device, mesh=mesh, in_specs=(_SHARDED, _EVERYWHERE), out_specs=_EVERYWHERE)(teachers, X)


@partial(jax.jit, static_argnums=(0, 1))
def _answer(mesh: Mesh, _n: int, teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "queries teachers"]:
    """Touches private data: every teacher's choice, idle teachers of the padding included."""
    choices = jax.shard_map(_choices, mesh=mesh, in_specs=(_SHARDED, _EVERYWHERE), out_specs=_SHARDED)(teachers, X)
    return choices.T


def _choices(teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "teachers queries"]:
    logits = jax.vmap(MLP.by_columns, in_axes=(0, None))(teachers, X)
    return jnp.argmax(logits, axis=1).astype(jnp.int32)
