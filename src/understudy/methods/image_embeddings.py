"""What DP-MERF and DP-HP of images share: the mean embedding of each class, released once, and a generator that is trained to have
the same. Free.

A public map makes a vector of norm 1 at most of every image. Where the authors' code takes shares of the classes from the data, classes
are counted with noise here, in the same release.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from functools import partial, reduce
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import Design, GeneratorState, Latents, advance, draw_latents
from understudy.methods.adversarial import Game, GameTraining, Prepared
from understudy.methods.pictures import AdversarialPictures
from understudy.privacy import ClippedMoments, Event
from understudy.privacy.calibration import smallest_noise
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import or_none, positive, setting, share, whole

# Of the precision: for counts, for sums.
_SHARES = (0.05, 0.95, 0.0)
# Images that are embedded together; steps of an iteration.
_ROWS, _AT_ONCE = 4096, 20


@dataclass
class ImageEmbeddingTraining(GameTraining):
    """How the generator is trained, for free: so many `steps`, each with `batch` fakes of each class."""

    learning_rate: float | None = setting(2e-3, or_none(positive()))
    steps: int = setting(3000, whole())
    batch: int = setting(50, whole())


class ImageFeatures(eqx.Module):
    """A public map from images to vectors."""

    @abstractmethod
    def __call__(self, images: Array) -> Array:
        """Of rows of pixels from 0 to 1: images x numbers, each row of norm 1 at most."""


@dataclass(eq=False, repr=False)
class ImageEmbeddingGenerator(AdversarialPictures):
    """Base of both. A method says which `features` an image has."""

    published: ClassVar[Literal["deconvolution", "dense"]] = "dense"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    training: ImageEmbeddingTraining = field(default_factory=ImageEmbeddingTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def features(self, pixels: int, rng: np.random.Generator) -> ImageFeatures:
        """Public: chosen before the images are seen."""
        raise NotImplementedError

    def begin(self, prepared: Prepared) -> PictureEmbeddingGame:
        """Touches private data: the mean embedding of each class, charged first."""
        return PictureEmbeddingGame(self, prepared)


class PictureEmbeddingState(NamedTuple):
    generator: GeneratorState


class PictureEmbeddingGame(Game):
    """One release, then steps of the generator towards it."""

    def __init__(self, settings: ImageEmbeddingGenerator, prepared: Prepared) -> None:
        """Touches private data: through the release alone."""
        how, self.prepared = settings.training, prepared
        self.batch, self.iterations = how.batch, -(-how.steps // _AT_ONCE)
        self.design = prepared.design(how.learning_rate or 2e-3, self.iterations * _AT_ONCE)
        self.pixels = len(self.design.free)
        self.features = settings.features(self.pixels, prepared.rng(4))
        budget = prepared.rows.budget

        def moments(noise: float) -> ClippedMoments:
            return ClippedMoments((1.0,) * self.design.classes, noise, _SHARES, "none")

        def events(noise: float) -> list[Event]:
            return [*budget.events, *moments(noise).events()]

        self.mechanism = moments(smallest_noise(events, budget.epsilon, budget.delta))
        released = prepared.rows.run.prelude("embedding", budget, self._release)
        least = self.mechanism.multipliers()[0]  # a class that is hardly there is not divided by next to nothing
        counts = np.maximum(released[:, :1], least)
        self.goal = (released[:, 1:] / counts).astype(np.float32)
        # The mean of a class with few images is mostly noise, and counts as much less.
        unsure = self.goal.shape[1] * (self.mechanism.multipliers()[1] / counts[:, 0]) ** 2
        self.weights = (1 / (1 + unsure)).astype(np.float32)

    def _release(self) -> np.ndarray:
        """Touches private data: the noisy count, and the noisy sum of embeddings, of each class. Safe to publish."""
        records, compute = self.prepared.records[:, : self.pixels], eqx.filter_jit(self.features)
        classes = self.prepared.classes.astype(np.int64)
        places = [slice(first, first + _ROWS) for first in range(0, len(records), _ROWS)]
        each = (self.mechanism.add_up(np.asarray(compute(jnp.asarray(records[at]))), classes[at]) for at in places)
        totals = reduce(lambda one, other: (one[0] + other[0], one[1] + other[1], one[2] + other[2]), each)
        found = self.mechanism.release_totals(totals, self.prepared.rows.budget)
        return np.concatenate([found.counts[:, None], found.sums], axis=1)

    def start(self) -> PictureEmbeddingState:
        return PictureEmbeddingState(self.prepared.start_generator(self.design))

    def step(
        self, iteration: int, state: PictureEmbeddingState, draw: Draw
    ) -> tuple[PictureEmbeddingState, dict[str, float]]:
        """Free: fakes and what was released."""
        del draw
        classes = self.design.classes
        shape = (_AT_ONCE, classes * self.batch)
        latents = draw_latents(self.design, self.prepared.rng(2, iteration), np.ones(classes), *shape)
        each = np.broadcast_to(np.repeat(np.arange(classes, dtype=np.int32), self.batch), shape)
        latents = Latents(latents.z, latents.u, jnp.asarray(each))
        generator, distance = _match(self.design, state.generator, latents, self.features, self.goal, self.weights)
        return PictureEmbeddingState(generator), {"distance": float(distance)}

    def finish(self, state: PictureEmbeddingState) -> Learnt:
        facts = {
            "mechanism": "mean embeddings",
            "noise": self.mechanism.noise_multiplier,
            "features": self.goal.shape[1],
        }
        return Learnt(state.generator.average, facts)


@partial(jax.jit, static_argnums=0)
def _match(
    design: Design, generator: GeneratorState, latents: Latents, features: ImageFeatures, goal: Array, weights: Array
) -> tuple[GeneratorState, Array]:
    """Some steps, each nearer to the released means: squared distances, summed over classes."""

    def step(state: GeneratorState, given: Latents) -> tuple[GeneratorState, Array]:
        def distance(network: Any) -> Array:
            made = features(network(given.z, given.classes))
            means = made.reshape(design.classes, -1, made.shape[1]).mean(axis=1)
            return jnp.sum(weights * jnp.sum(jnp.square(means - goal), axis=1))

        value, gradient = jax.value_and_grad(distance)(state.network)
        return advance(design, state, gradient), value

    generator, values = jax.lax.scan(step, generator, latents)
    return generator, values.mean()
