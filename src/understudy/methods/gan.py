"""GAN (Goodfellow et al. 2014) with PATE-GAN's networks and no privacy at all: the ceiling in a comparison.

Its certificate says that it is not private and never verifies. Nothing it makes may be handed out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.adversarial import (
    Design,
    Learner,
    Noise,
    bce,
    draw_noise,
    generator_step,
    make,
    start_critic,
    update,
)
from understudy.methods import layout
from understudy.methods.generator import Prepared, TableGenerator
from understudy.privacy import Budget, Certificate
from understudy.release.driver import Draw

REASON = "a GAN trained on the rows themselves, without any protection"


class State(NamedTuple):
    """Private as a whole, the generator too."""

    generator: Learner
    critic: Learner


class GAN(TableGenerator):
    """Synthetic tables without privacy, for comparison. The schema must be complete.

    Parameters: `iterations`, `critic_steps`, `batch`, `learning_rate` and hidden layers as in `PATEGAN`. A `conditional`
    generator learns every class as often as any other, so that it knows the rare ones, and samples in the true ratio.
    """

    method: ClassVar[str] = "gan"
    private: ClassVar[bool] = False
    epsilon = 1.0
    delta = 1e-5
    schema_epsilon_share = ratio_epsilon_share = warm_epsilon_share = 0.0
    warm_start = None
    warm_steps = 1
    unsafe_noise_seed = None

    def __init__(
        self,
        iterations: int = 2000,
        *,
        critic_steps: int = 5,
        batch: int = 64,
        learning_rate: float = 1e-3,
        critic_hidden: tuple[int, ...] | None = None,
        generator_hidden: tuple[int, ...] | None = None,
        conditional: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.iterations = iterations
        self.critic_steps = critic_steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.critic_hidden = critic_hidden
        self.generator_hidden = generator_hidden
        self.conditional = conditional
        self.random_state = random_state

    def _check_rows(self, rows: int) -> None:
        if rows < 2:
            raise InputError("one row is not a table to learn from.")

    def _critic_hidden(self, width: int) -> tuple[int, ...]:
        return super()._critic_hidden(width) if self.critic_hidden is None else tuple(self.critic_hidden)

    def _trainer(self, prepared: Prepared) -> tuple[Trainer, dict[str, Any]]:
        return Trainer(self, prepared), {"mechanism": "none", "iterations": self.iterations}

    def _certify(
        self, prepared: Prepared, trainer: Any, state: Any, facts: dict[str, Any], estimated: list[str]
    ) -> Certificate:
        return Certificate.not_private(release={"kind": "generator", "method": self.method, **facts}, reason=REASON)


class Trainer:
    """Critic steps on real rows and fakes, one generator step."""

    def __init__(self, settings: GAN, prepared: Prepared) -> None:
        self.settings = settings
        self.prepared = prepared
        self.design = prepared.design
        self.iterations = settings.iterations
        self.rows = jnp.asarray(prepared.cube)
        self.pools = [np.arange(len(prepared.cube))]
        label = layout.label(prepared.encoder)
        if settings.conditional and label is not None:
            classes = label.classes(prepared.cube)
            self.pools = [pool for c in range(len(label.codes)) if len(pool := np.flatnonzero(classes == c))]

    @property
    def budget(self) -> Budget:
        return self.prepared.budget

    def start(self) -> State:
        return State(self.prepared.generator(1), start_critic(self.design, self.prepared.rng(3)))

    def restore(self, state: State) -> None:
        """Nothing is paid for here."""

    def finished(self, state: State) -> bool:
        del state
        return False

    def step(self, iteration: int, state: State, draw: Draw) -> tuple[State, dict[str, float]]:
        """Touches private data and lets it out."""
        del draw
        s, ratio = self.settings, np.ones_like(self.prepared.ratio)
        rng = self.prepared.rng(2, iteration)
        picked = self._pick(rng, (s.critic_steps, s.batch))
        fakes = draw_noise(self.design, rng, ratio, s.critic_steps, s.batch)
        last = draw_noise(self.design, rng, ratio, s.batch)
        generator, critic, losses = _step(self.design, state.generator, state.critic, self.rows, picked, fakes, last)
        return State(generator, critic), {"critic_loss": float(losses[0]), "generator_loss": float(losses[1])}

    def _pick(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        """Touches private data: rows to learn from; where the class is given, as many of each class."""
        if len(self.pools) == 1:
            return rng.integers(0, len(self.rows), shape, dtype=np.int32)
        chosen = rng.integers(0, len(self.pools), shape)
        place = rng.random(shape)
        drawn = [pool[(place * len(pool)).astype(np.int64)] for pool in self.pools]
        return np.choose(chosen, drawn).astype(np.int32)


@partial(jax.jit, static_argnums=0)
def _step(
    design: Design, generator: Learner, critic: Learner, rows: Array, picked: Array, fakes: Noise, last: Noise
) -> tuple[Learner, Learner, Array]:
    def criticise(learner: Learner, given: tuple[Array, Noise]) -> tuple[Learner, Array]:
        real = rows[given[0]]
        fake = make(design, generator.network, given[1])

        def loss(network: Any) -> Array:
            return bce(network(real)[:, 0], jnp.ones(design.batch)) + bce(network(fake)[:, 0], jnp.zeros(design.batch))

        value, slope = jax.value_and_grad(loss)(learner.network)
        return update(design, learner, slope), value

    critic, losses = jax.lax.scan(criticise, critic, (picked, fakes))
    generator, value = generator_step(design, generator, critic.network, last)
    return generator, critic, jnp.stack([losses.mean(), value])
