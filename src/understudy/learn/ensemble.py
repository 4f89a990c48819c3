"""PATE's teachers on the teacher axis: classifiers of one shape, each trained on its own shard."""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree
from numpy.typing import ArrayLike

from understudy.errors import InputError
from understudy.learn import inputs
from understudy.learn.networks import MLP, Initial
from understudy.learn.partition import Shards
from understudy.learn.processes import OwnRows
from understudy.learn.teachers import TeacherAxis, Teachers, check_mesh, one_device, train_steps

# How many activations one voting step may hold on a device. Measured on a CPU: twice as many are two to four times
# slower, whatever the shape of the network. An accelerator wants steps that are large against the cost of a launch.
_CELLS_ON_CPU = 1 << 22
_CELLS_ELSEWHERE = 1 << 27


@dataclass(frozen=True)
class Curriculum:
    """What a training program is compiled for; everything else about a fit is an argument of that program."""

    axis: TeacherAxis
    hidden: tuple[int, ...]
    classes: int
    initial: Initial
    epochs: int
    batch: int
    width: int

    @property
    def steps(self) -> int:
        return -(-self.width // self.batch)

    @property
    def slots(self) -> int:
        """Slots of a padded shard: every batch of an epoch has the same number of them, at most `batch`."""
        return self.steps * -(-self.width // self.steps)


class LabelledRows(NamedTuple):
    """Private: each teacher's rows and labels on the teacher's device, and which slots hold one."""

    x: Float[Array, "teachers slots features"]
    y: Int[Array, "teachers slots"]
    held: Bool[Array, "teachers slots"]


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
        check_mesh(self.mesh)
        self.hidden = tuple(self.hidden)

    def fit(
        self,
        X: ArrayLike | OwnRows,
        y: ArrayLike | OwnRows,
        shards: Shards,
        key: PRNGKeyArray,
        *,
        present: ArrayLike | None = None,
        first: int = 0,
    ) -> Ensemble:
        """Touches private data: train every teacher on its own shard and on nothing else.

        `y` holds class numbers from 0 to `classes` − 1. A shard with rows of one class only is fine: its teacher learns
        to vote for it. Over a mesh of several processes give both as `OwnRows`, so that each holds its own alone.
        A row that is not `present` is blank: nobody learns from it. `first` is the number of the first of these teachers, where
        they are some of a larger ensemble.
        """
        rows = _checked(X, lambda values: inputs.matrix(values, "X"))
        labels = _checked(y, lambda values: inputs.codes(values, range(self.classes)))
        inputs.fits(len(rows), len(labels), shards, self.teachers)
        plan = Curriculum(self._axis, self.hidden, self.classes, self.initial, self.epochs, self.batch, shards.width)
        held = LabelledRows(
            *(plan.axis.deal(part, shards, plan.slots) for part in (rows, labels, _there(present, len(rows))))
        )
        numbers = plan.axis.place((), np.arange(first, first + plan.axis.padded).__getitem__)
        rates = jnp.float32(self.learning_rate), jnp.float32(self.weight_decay)
        self.teachers_ = _train(plan, key, *rates, numbers, held)
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
        axis = self._axis
        cells = _CELLS_ON_CPU if axis.mesh.devices.flat[0].platform == "cpu" else _CELLS_ELSEWHERE
        held = max(bias.size for bias in self.teachers_.biases) // axis.mesh.size
        chunk = 1 << min(max(1, cells // held).bit_length() - 1, (len(queries) - 1).bit_length())
        asked = np.zeros((-(-len(queries) // chunk), queries.shape[1], chunk), np.float32)
        for part, first in zip(asked, range(0, len(queries), chunk), strict=True):
            rows = queries[first : first + chunk]
            part[:, : len(rows)] = rows.T
        replies = [question(axis, self.teachers_, part) for part in asked]
        return np.concatenate([np.asarray(reply) for reply in replies])[: len(queries)]

    @property
    def _axis(self) -> TeacherAxis:
        return TeacherAxis(self.teachers, one_device() if self.mesh is None else self.mesh)


def _there(present: ArrayLike | None, rows: int) -> np.ndarray:
    return np.broadcast_to(True, rows) if present is None else np.asarray(present, dtype=bool)


def _checked(given: ArrayLike | OwnRows, check: Callable[[ArrayLike], np.ndarray]) -> np.ndarray | OwnRows:
    if isinstance(given, OwnRows):
        return OwnRows(check(given.values), given.positions, given.rows)
    return check(given)


def _loss(teacher: MLP, rows: LabelledRows, _: None) -> Float[Array, ""]:
    """Touches private data: mean cross-entropy over the slots that hold a row."""
    log_odds = jax.nn.log_softmax(teacher(rows.x))
    right = (rows.y[:, None] == jnp.arange(log_odds.shape[1])) & rows.held[:, None]
    return -jnp.sum(log_odds * right) / jnp.maximum(rows.held.sum(), 1)


@partial(jax.jit, static_argnums=0)
def _train(
    plan: Curriculum,
    key: PRNGKeyArray,
    learning_rate: Float[Array, ""],
    weight_decay: Float[Array, ""],
    numbers: Int[Array, " teachers"],
    rows: LabelledRows,
) -> MLP:
    """Touches private data: the whole training of all teachers, as one program."""
    optimiser = optax.adamw(learning_rate, weight_decay=weight_decay, mask=_only_weights)
    starting, shuffling = jax.random.split(key)

    def make(number: Array) -> MLP:
        own = jax.random.fold_in(starting, number)
        return MLP(rows.x.shape[-1], plan.hidden, plan.classes, key=own, initial=plan.initial)

    def train_on_one_device(teachers: Teachers, rows: LabelledRows) -> Teachers:
        # One order of slots in each epoch. Empty slots stay at the end, so that no batch is empty.
        orders = jax.vmap(lambda k: jax.random.permutation(k, plan.width))(jax.random.split(shuffling, plan.epochs))
        empty = jnp.broadcast_to(jnp.arange(plan.width, plan.slots), (plan.epochs, plan.slots - plan.width))
        slots = jnp.concatenate([orders, empty], axis=1).reshape(plan.epochs * plan.steps, -1)
        return train_steps(optimiser, _loss, teachers, rows, slots)

    teachers = plan.axis.start(optimiser, make, numbers)
    return plan.axis.split(train_on_one_device, teachers, rows).networks


def _only_weights(teachers: PyTree) -> PyTree:
    decayed = jax.tree.map(lambda _: False, teachers)
    return eqx.tree_at(lambda t: t.weights, decayed, (True,) * len(teachers.weights))


@partial(jax.jit, static_argnums=0)
def _count(axis: TeacherAxis, teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "queries classes"]:
    """Touches private data: the vote counts."""
    return axis.count(_choices, teachers.biases[-1].shape[-1], teachers, shared=(X,))


@partial(jax.jit, static_argnums=0)
def _answer(axis: TeacherAxis, teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "queries teachers"]:
    """Touches private data: every teacher's choice, idle teachers of the padding included."""
    return axis.split(_choices, teachers, shared=(X,)).T


def _choices(teachers: MLP, X: Float[Array, "features queries"]) -> Int[Array, "teachers queries"]:
    logits = jax.vmap(MLP.by_columns, in_axes=(0, None))(teachers, X)
    return jnp.argmax(logits, axis=1).astype(jnp.int32)
