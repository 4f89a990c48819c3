"""DP-GAN (Xie et al. 2018): a Wasserstein GAN whose critic sees real rows through DP-SGD only.

Each critic step takes a true Poisson batch of rows, clips every row's gradient and adds Gaussian noise to their sum.
The gradient on fakes is public already and costs nothing. Weights are clipped after each step, as the paper has it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.adversarial import Design, Latents, NetworkState, draw_latents, make, start_critic, update
from understudy.learn.networks import MLP
from understudy.methods.adversarial import (
    AdversarialGenerator,
    CriticTraining,
    Game,
    Prepared,
    WarmStart,
    hidden_layers,
)
from understudy.methods.voting import at_least_one, noise_or_length
from understudy.privacy import Event, PoissonGaussianStep, PrepaidSteps
from understudy.privacy.prepaid import batch_slots, step_events
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import Limit, or_none, positive, setting, share, truth, whole

_ONLY_MODE = Limit(
    'must be "unconditional": DP-SGD has no data-dependent cost', lambda v: isinstance(v, str) and v == "unconditional"
)


@dataclass
class DPGANTraining(CriticTraining):
    """`weight_clip` is the largest weight of the critic."""

    weight_clip: float = setting(0.1, positive())


@dataclass(eq=False, repr=False)
class DPGAN(AdversarialGenerator):
    """Synthetic tables by DP-GAN.

    - `epsilon`, `delta`: the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    - `iterations`, `noise`: give one; the other follows from the budget. `noise` is the noise multiplier of DP-SGD.
    - `critic_steps`, `batch`, `clip`: of each iteration; `batch` is the expected Poisson batch, `clip` the norm of one
      row's gradient.
    - `conditional`, `ratio_epsilon_share`, `start`, `schema_epsilon_share`, `random_state`, `unsafe_noise_seed`: as in
      `PATEGAN`. There is one `mode` only: DP-SGD has no data-dependent cost.
    """

    method: ClassVar[str] = "dpgan"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    iterations: int | None = setting(500, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Literal["unconditional"] = setting("unconditional", _ONLY_MODE)
    _: KW_ONLY
    critic_steps: int = setting(5, whole())
    batch: int = setting(64, whole())
    clip: float = setting(1.0, positive())
    conditional: bool = setting(False, truth())
    ratio_epsilon_share: float = setting(0.01, share())
    schema_epsilon_share: float = setting(0.1, share())
    start: WarmStart = field(default_factory=WarmStart)
    training: DPGANTraining = field(default_factory=DPGANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.noise is None and self.iterations is None:
            raise InputError("give `iterations` (the noise is then computed), or `noise` (then the iterations are).")

    def _check_rows(self, rows: int) -> None:
        if self.batch > rows:
            raise InputError(f"`batch` (={self.batch}) is larger than the table ({rows} rows). Use at most {rows}.")

    def begin(self, prepared: Prepared) -> DPGANGame:
        """Fix noise and length, and charge all steps."""
        rows, budget = len(prepared.rows), prepared.rows.budget
        rate = self.batch / rows

        def slots(iterations: int) -> int:
            return batch_slots(rows, rate, iterations * self.critic_steps, budget.epsilon, budget.delta)

        def cost(noise: float, iterations: int) -> list[Event]:
            step, steps = PoissonGaussianStep(self.clip, noise, rate), iterations * self.critic_steps
            return [*budget.events, *step_events(step, steps, rows, slots(iterations), budget.epsilon)]

        noise, iterations = noise_or_length(cost, budget, self.noise, self.iterations, tolerance=1e-3)
        at_least_one(cost, budget, noise, iterations, "or use a smaller batch")
        step = PoissonGaussianStep(self.clip, noise, rate)
        paid = PrepaidSteps(step, iterations * self.critic_steps, rows, slots(iterations), budget)
        return DPGANGame(self, prepared, paid, iterations)


class DPGANState(NamedTuple):
    """Public as a whole: critic and generator are made of noisy sums alone."""

    generator: NetworkState
    critic: NetworkState
    used: np.ndarray


class DPGANGame(Game):
    """A few private critic steps, one generator step."""

    def __init__(self, settings: DPGAN, prepared: Prepared, paid: PrepaidSteps, iterations: int) -> None:
        self.settings, self.prepared, self.design = settings, prepared, prepared.design
        self.paid, self.iterations = paid, iterations
        self.rows = jnp.asarray(prepared.cube)

    def start(self) -> DPGANState:
        hidden = hidden_layers(self.settings.training.critic_hidden, self.design.heads.width)
        critic = start_critic(self.design, hidden, self.prepared.rng(3))
        return DPGANState(self.prepared.start_generator(), critic, np.zeros(1, dtype=np.int64))

    def step(self, iteration: int, state: DPGANState, draw: Draw) -> tuple[DPGANState, dict[str, float]]:
        """Touches private data: the gradients of Poisson batches. What goes on from them are noisy sums."""
        s, critic = self.settings, state.critic
        rng, ratio = self.prepared.rng(2, iteration), self.prepared.ratio
        for _ in range(s.critic_steps):
            noisy = draw("gradient", partial(self._noisy_sum, critic.network), lambda _: self.paid.skip())
            on_real = noisy / np.float32(s.batch)
            latents = draw_latents(self.design, rng, ratio, s.batch)
            critic = _critic_step(
                self.design, s.training.weight_clip, critic, state.generator.network, on_real, latents
            )
        latents = draw_latents(self.design, rng, ratio, s.batch)
        generator, value = _generator_step(self.design, state.generator, critic.network, latents)
        return DPGANState(generator, critic, np.array([self.paid.used])), {"generator_value": float(value)}

    def _noisy_sum(self, critic: MLP) -> np.ndarray:
        """Touches private data: one Poisson batch, clipped, summed, noised. Safe to publish."""
        chosen = self.paid.batch()
        chosen = chosen[self.prepared.present[chosen]]
        slots = np.zeros(self.paid.slots, dtype=np.int32)
        slots[: len(chosen)] = chosen
        total = clipped_sum(critic, self.rows, slots, np.arange(self.paid.slots) < len(chosen), self.settings.clip)
        return self.paid.release(np.asarray(total), len(chosen)).astype(np.float32)

    def restore(self, state: DPGANState) -> None:
        self.paid.used = int(state.used[0])

    def finish(self, state: DPGANState) -> Learnt:
        step = self.paid.mechanism
        facts = {
            "mode": self.settings.mode,
            "mechanism": "dp-sgd",
            "noise": step.noise_multiplier,
            "clip": step.clip,
            "sampling_rate": step.sampling_rate,
            "iterations": self.iterations,
        }
        return Learnt(state.generator.network, facts)


@jax.jit
def clipped_sum(critic: MLP, rows: Array, slots: Array, held: Array, clip: Array) -> Array:
    """Touches private data: the sum over the batch of each row's own gradient, clipped to norm `clip`."""

    def gradient(row: Array) -> MLP:
        return jax.grad(lambda network: -network(row[None])[0, 0])(critic)

    each = jax.vmap(gradient)(rows[slots])
    squares = sum(jnp.sum(jnp.square(leaf.reshape(len(slots), -1)), axis=1) for leaf in jax.tree.leaves(each))
    # The factor pays for the rounding of float32, so that no row is longer than `clip`.
    shrink = jnp.minimum(1.0, clip * (1 - 1e-5) / jnp.maximum(jnp.sqrt(squares), 1e-30)) * held
    total = jax.tree.map(lambda leaf: jnp.tensordot(shrink, leaf, axes=1), each)
    return ravel_pytree(total)[0]


@partial(jax.jit, static_argnums=(0, 1))
def _critic_step(
    design: Design, bound: float, critic: NetworkState, generator: MLP, on_real: Array, latents: Latents
) -> NetworkState:
    """Wasserstein: down on real (noisy, given), up on fakes (public), then clip the weights."""
    fakes = make(design, generator, latents)
    on_fake = jax.grad(lambda network: jnp.mean(network(fakes)[:, 0]))(critic.network)
    gradient = jax.tree.map(jnp.add, ravel_pytree(critic.network)[1](on_real), on_fake)
    moved = update(design, critic, gradient)
    return NetworkState(jax.tree.map(lambda leaf: jnp.clip(leaf, -bound, bound), moved.network), moved.opt_state)


@partial(jax.jit, static_argnums=0)
def _generator_step(
    design: Design, generator: NetworkState, critic: MLP, latents: Latents
) -> tuple[NetworkState, Array]:
    def loss(network: MLP) -> Array:
        return -jnp.mean(critic(make(design, network, latents))[:, 0])

    value, gradient = jax.value_and_grad(loss)(generator.network)
    return update(design, generator, gradient), value
