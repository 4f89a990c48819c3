"""GAN (Goodfellow et al. 2014) with PATE-GAN's networks and no privacy at all: the ceiling in a comparison.

Its certificate says that it is not private and never verifies. Nothing it makes may be handed out.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import (
    Design,
    Latents,
    NetworkState,
    bce,
    draw_latents,
    generator_step,
    make,
    start_critic,
    update,
)
from understudy.methods.adversarial import AdversarialGenerator, CriticTraining, Game, Prepared, hidden_layers
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import or_none, setting, truth, whole

REASON = "a GAN trained on the rows themselves, without any protection"


@dataclass
class GANTraining(CriticTraining):
    """Steps of the critic in an iteration, and rows and fakes in a step."""

    critic_steps: int = setting(5, whole())
    batch: int = setting(64, whole())


@dataclass(eq=False, repr=False)
class GAN(AdversarialGenerator):
    """Synthetic tables without privacy, for comparison. The schema must be complete.

    A `conditional` generator learns every class as often as any other, so that it knows the rare ones, and samples in
    the true ratio.
    """

    method: ClassVar[str] = "gan"
    private: ClassVar[bool] = False

    iterations: int = setting(2000, whole())
    _: KW_ONLY
    conditional: bool = setting(False, truth())
    training: GANTraining = field(default_factory=GANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))

    def begin(self, prepared: Prepared) -> GANGame:
        return GANGame(self, prepared)


class GANState(NamedTuple):
    """Private as a whole, the generator too."""

    generator: NetworkState
    critic: NetworkState


class GANGame(Game):
    """Critic steps on real rows and fakes, one generator step."""

    def __init__(self, settings: GAN, prepared: Prepared) -> None:
        self.how, self.prepared, self.design = settings.training, prepared, prepared.design
        self.iterations = settings.iterations
        self.rows = jnp.asarray(prepared.cube)
        self.pools = [np.flatnonzero(prepared.present)]
        label = prepared.label
        if settings.conditional and label is not None:
            classes = np.where(prepared.present, label.classes(prepared.cube), -1)
            self.pools = [pool for c in range(len(label.codes)) if len(pool := np.flatnonzero(classes == c))]

    def start(self) -> GANState:
        hidden = hidden_layers(self.how.critic_hidden, self.design.heads.width)
        return GANState(self.prepared.start_generator(), start_critic(self.design, hidden, self.prepared.rng(3)))

    def step(self, iteration: int, state: GANState, draw: Draw) -> tuple[GANState, dict[str, float]]:
        """Touches private data and lets it out."""
        del draw
        how, ratio = self.how, np.ones_like(self.prepared.ratio)
        rng = self.prepared.rng(2, iteration)
        picked = self.pick(rng, (how.critic_steps, how.batch))
        fakes = draw_latents(self.design, rng, ratio, how.critic_steps, how.batch)
        last = draw_latents(self.design, rng, ratio, how.batch)
        generator, critic, losses = _step(self.design, state.generator, state.critic, self.rows, picked, fakes, last)
        return GANState(generator, critic), {"critic_loss": float(losses[0]), "generator_loss": float(losses[1])}

    def pick(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        """Touches private data: rows to learn from; where the class is given, as many of each class."""
        if len(self.pools) == 1:
            return self.pools[0][rng.integers(0, len(self.pools[0]), shape, dtype=np.int32)].astype(np.int32)
        chosen = rng.integers(0, len(self.pools), shape)
        position = rng.random(shape)
        drawn = [pool[(position * len(pool)).astype(np.int64)] for pool in self.pools]
        return np.choose(chosen, drawn).astype(np.int32)

    def finish(self, state: GANState) -> Learnt:
        facts = {"mechanism": "none", "iterations": self.iterations}
        return Learnt(state.generator.network, facts, unprotected=REASON)


@partial(jax.jit, static_argnums=0)
def _step(
    design: Design,
    generator: NetworkState,
    critic: NetworkState,
    rows: Array,
    picked: Array,
    fakes: Latents,
    last: Latents,
) -> tuple[NetworkState, NetworkState, Array]:
    def criticise(state: NetworkState, given: tuple[Array, Latents]) -> tuple[NetworkState, Array]:
        real = rows[given[0]]
        fake = make(design, generator.network, given[1])

        def loss(network: Any) -> Array:
            return bce(network(real)[:, 0], jnp.ones(len(real))) + bce(network(fake)[:, 0], jnp.zeros(len(fake)))

        value, gradient = jax.value_and_grad(loss)(state.network)
        return update(design, state, gradient), value

    critic, losses = jax.lax.scan(criticise, critic, (picked, fakes))
    generator, value = generator_step(design, generator, critic.network, last)
    return generator, critic, jnp.stack([losses.mean(), value])
