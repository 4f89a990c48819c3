"""GAN (Goodfellow et al. 2014) without any privacy: the ceiling in a comparison.

It is the game of G-PATE with one teacher, who knows all rows, and with the exact gradient: a conditional Wasserstein GAN
with a gradient penalty, in the same coordinates, from the same start. Its certificate says that it is not private and never
verifies. Nothing it makes may be handed out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import Design, GeneratorState, Latents, climb, draw_latents, make
from understudy.learn.discriminators import Discriminators, Fakes, deal_rows, start_teachers, train_teachers
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, Teachers, one_device
from understudy.methods.adversarial import AdversarialGenerator, Game, GameTraining, Prepared
from understudy.methods.pictures import AdversarialPictures
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import layers, or_none, positive, setting, whole

REASON = "a GAN trained on the rows themselves, without any protection"


@dataclass
class GANTraining(GameTraining):
    """Steps of the critic in an iteration, and pairs of a row and a fake in a step."""

    learning_rate: float | None = setting(1e-3, or_none(positive()))
    critic_steps: int = setting(5, whole())
    batch: int = setting(256, whole())
    critic_hidden: tuple[int, ...] = setting((128, 128), layers())
    critic_learning_rate: float = setting(2e-3, positive())


@dataclass(eq=False, repr=False)
class GAN(AdversarialGenerator):
    """Synthetic tables without privacy, for comparison. Every class is learnt as often, and drawn in the true ratio."""

    method: ClassVar[str] = "gan"
    private: ClassVar[bool] = False

    iterations: int = setting(1000, whole())
    training: GANTraining = field(default_factory=GANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))

    def begin(self, prepared: Prepared) -> GANGame:
        return GANGame(self, prepared)


@dataclass
class ImageGANTraining(GANTraining):
    """The same for pictures, with the networks of G-PATE's appendix: `kernels` and one dense layer of the critic."""

    learning_rate: float | None = setting(5e-4, or_none(positive()))
    batch: int = setting(128, whole())
    critic_hidden: tuple[int, ...] = setting((256,), layers(1))
    critic_learning_rate: float = setting(5e-4, positive())
    teacher_kernels: int = setting(32, whole())


@dataclass(eq=False, repr=False)
class ImageGAN(AdversarialPictures):
    """Synthetic images without privacy, for comparison."""

    method: ClassVar[str] = "image-gan"
    private: ClassVar[bool] = False

    iterations: int = setting(6000, whole())
    training: ImageGANTraining = field(default_factory=ImageGANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))

    def begin(self, prepared: Prepared) -> GANGame:
        return GANGame(self, prepared)


class GANState(NamedTuple):
    """Private as a whole, the generator too."""

    generator: GeneratorState
    critic: Teachers


class GANGame(Game):
    """Critic steps on real rows and fakes, one generator step."""

    def __init__(self, settings: GAN | ImageGAN, prepared: Prepared) -> None:
        self.how, self.prepared, self.iterations = settings.training, prepared, settings.iterations
        self.design = prepared.design(self.how.learning_rate or 1e-3, self.iterations)
        axis, every_row = TeacherAxis(1, one_device()), shards(len(prepared.rows), 1, seed=0)
        hidden, rate = tuple(self.how.critic_hidden), self.how.critic_learning_rate
        self.plan = Discriminators(axis, self.design.heads.width, hidden, rate, picture=prepared.picture)
        self.rows = deal_rows(prepared.records, prepared.classes, every_row, axis, self.design.classes)

    def start(self) -> GANState:
        critic = start_teachers(self.plan, (self.prepared.rows.seed, 4))
        return GANState(self.prepared.start_generator(self.design), critic)

    def step(self, iteration: int, state: GANState, draw: Draw) -> tuple[GANState, dict[str, float]]:
        """Touches private data and lets it out."""
        del draw
        how, rng, every_class = self.how, self.prepared.rng(2, iteration), np.ones(self.design.classes)
        shape = (how.critic_steps, how.batch)
        latents = draw_latents(self.design, rng, every_class, *shape)
        chances = (rng.random(shape, dtype=np.float32) for _ in range(2))
        fakes = Fakes(
            _make_all(self.design, state.generator.network, latents), latents.classes, *map(jnp.asarray, chances)
        )
        critic = train_teachers(self.plan, state.critic, self.rows, fakes)
        generator, value = _climb(
            self.design, state.generator, critic, draw_latents(self.design, rng, every_class, how.batch)
        )
        return GANState(generator, critic), {"generator_value": float(value)}

    def finish(self, state: GANState) -> Learnt:
        facts = {"mechanism": "none", "iterations": self.iterations}
        return Learnt(state.generator.average, facts, unprotected=REASON)


_make_all = partial(jax.jit, static_argnums=0)(jax.vmap(make, in_axes=(None, None, 0)))


@partial(jax.jit, static_argnums=0)
def _climb(
    design: Design, generator: GeneratorState, critic: Teachers, latents: Latents
) -> tuple[GeneratorState, Array]:
    return climb(design, generator, jax.tree.map(lambda leaf: leaf[0], critic.networks), latents)
