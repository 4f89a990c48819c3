"""What DP-MERF and DP-HP share: the mean of features of the rows is released once, and a generator is trained to have the same. Free.

A record's features are a vector of limited norm, and its class says into which mean it goes. One noisy sum for each class
leaves. How many rows a class has comes with the bought coordinates; ranks are standard Gaussians by construction, so
that widths of kernels are public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import Design, GeneratorState, Heads, Latents, advance, draw_latents, make
from understudy.methods.adversarial import AdversarialGenerator, Game, GameTraining, Prepared
from understudy.privacy import ClippedSum, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import layers, or_none, positive, setting, share, whole

# Features are rounded to so small a part of their norm, for exact noise; rows of a part; steps of an iteration.
_GRID, _ROWS, _AT_ONCE = 2.0**-12, 4096, 50


class Features(Protocol):
    """A public map from records to vectors. Hashable, since programs are compiled for it."""

    @property
    def dimension(self) -> int: ...
    @property
    def norm(self) -> float:
        """No record's vector is longer."""
        ...

    def __call__(self, records: Array) -> Array:
        """Records x dimension."""
        ...


def choices(heads: Heads, label: tuple[int, int] | None) -> tuple[np.ndarray, int]:
    """The columns of a record that say categories, but for the class, and flags; and how many of them are 1 at most."""
    groups = [span for span in heads.one_hot if span != label]
    columns = [c for start, stop in groups for c in range(start, stop)] + [flag for _, flag in heads.missing]
    return np.array(columns, dtype=np.int64), len(groups) + len(heads.missing)


@dataclass
class EmbeddingTraining(GameTraining):
    """How the generator is trained: so many `steps` with so many fakes of each class."""

    learning_rate: float | None = setting(1e-2, or_none(positive()))
    caution: float | None = setting(1.0, or_none(share("the rate", ends="(]")))
    generator_hidden: tuple[int, ...] = setting((64,), layers())
    steps: int = setting(2000, whole())
    batch: int = setting(200, whole())


@dataclass(eq=False, repr=False)
class EmbeddingGenerator(AdversarialGenerator):
    """Base of both. A method says which `features` a record has."""

    method: ClassVar[str]
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "weighted"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    training: EmbeddingTraining = field(default_factory=EmbeddingTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def features(self, prepared: Prepared) -> Features:
        """Public: chosen before the rows are seen."""
        raise NotImplementedError

    def begin(self, prepared: Prepared) -> EmbeddingGame:
        """Touches private data: the mean embedding of each class, charged first."""
        return EmbeddingGame(self, prepared, self.features(prepared))


class EmbeddingState(NamedTuple):
    generator: GeneratorState


class EmbeddingGame(Game):
    """One release, then steps of the generator towards it."""

    def __init__(self, settings: EmbeddingGenerator, prepared: Prepared, features: Features) -> None:
        how = settings.training
        self.how, self.prepared, self.features = how, prepared, features
        self.iterations = -(-how.steps // _AT_ONCE)
        steps = self.iterations * _AT_ONCE
        self.design = prepared.design(how.learning_rate or 1e-2, steps, how.caution or 1.0)
        budget = prepared.rows.budget
        self.noise = smallest_noise(
            lambda n: [*budget.events, GaussianEvent(n, noise="discrete")],
            budget.epsilon,
            budget.delta,
            accounting="rdp",
        )
        self.sum = ClippedSum(features.norm, self.noise, features.norm * _GRID)
        sums = prepared.rows.run.prelude("embedding", budget, self._release)
        ratio = np.asarray(prepared.ratio)
        counts = np.maximum(ratio * len(prepared.rows), 1.0)
        self.goal = (sums / counts[:, None]).astype(np.float32)
        # The mean of a class with few rows is mostly noise, and counts as much less.
        noise = self.noise * self.sum.sensitivity(features.dimension, prepared.rows.each)
        unsure = features.dimension * (noise / counts) ** 2
        self.weights = (1 / (1 + unsure)).astype(np.float32)

    def _release(self) -> np.ndarray:
        """Touches private data: the noisy sum of features of each class. Safe to publish."""
        dimension, classes = self.features.dimension, self.design.classes
        rows = self.prepared.rows
        return self.sum.release_groups(self._parts(), dimension, classes, rows.budget, rows=rows.each)

    def _parts(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Private. Features of the rows, some at a time, with what each counts of its record; a blank row is of no class."""
        records, classes, rows = self.prepared.records, self.prepared.classes, self.prepared.rows
        counting = np.ones(len(rows.frame)) if rows.weights is None else rows.weights / rows.grid
        shares = rows.at_their_places(counting)
        compute = jax.jit(self.features)
        for first in range(0, len(records), _ROWS):
            some = np.zeros((_ROWS, records.shape[1]), dtype=np.float32)
            here = slice(first, first + _ROWS)
            some[: len(records[here])] = records[here]
            yield np.asarray(compute(jnp.asarray(some)))[: len(records[here])], classes[here], shares[here]

    def start(self) -> EmbeddingState:
        return EmbeddingState(self.prepared.start_generator(self.design))

    def step(self, iteration: int, state: EmbeddingState, draw: Draw) -> tuple[EmbeddingState, dict[str, float]]:
        """Free: fakes and what was released."""
        del draw
        classes, batch = self.design.classes, self.how.batch
        latents = draw_latents(
            self.design, self.prepared.rng(2, iteration), np.ones(classes), _AT_ONCE, classes * batch
        )
        each = np.broadcast_to(np.repeat(np.arange(classes, dtype=np.int32), batch), (_AT_ONCE, classes * batch))
        generator, loss = _match(
            self.design, self.features, state.generator, latents._replace(classes=each), self.goal, self.weights
        )  # type: ignore[arg-type]
        return EmbeddingState(generator), {"distance": float(loss)}

    def finish(self, state: EmbeddingState) -> Learnt:
        facts = {"noise": self.noise, "features": self.features.dimension, "norm": self.features.norm}
        return Learnt(state.generator.average, facts)


@partial(jax.jit, static_argnums=(0, 1))
def _match(
    design: Design, features: Any, generator: GeneratorState, latents: Latents, goal: Array, weights: Array
) -> tuple[GeneratorState, Array]:
    """Some steps, each nearer to the released means: squared distances, summed over classes."""

    def step(state: GeneratorState, given: Latents) -> tuple[GeneratorState, Array]:
        def loss(network: Any) -> Array:
            made = features(make(design, network, given))
            means = made.reshape(design.classes, -1, made.shape[1]).mean(axis=1)
            return jnp.sum(weights * jnp.sum(jnp.square(means - goal), axis=1))

        value, gradient = jax.value_and_grad(loss)(state.network)
        return advance(design, state, gradient), value

    generator, values = jax.lax.scan(step, generator, latents)
    return generator, values.mean()
