"""DP-GAN (Xie et al. 2018): a Wasserstein GAN whose critic sees real rows through DP-SGD only.

Each critic step takes a true Poisson batch of rows, clips every row's gradient and adds Gaussian noise to their sum.
The gradient on fakes is public already and costs nothing. Weights are clipped after each step, as the paper has it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.adversarial import Design, Learner, Noise, draw_noise, make, start_critic, update
from understudy.learn.networks import MLP
from understudy.methods.generator import Mode, Prepared, TableGenerator
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps, compose
from understudy.privacy.calibration import largest_count, smallest_noise
from understudy.privacy.prepaid import batch_slots, step_events
from understudy.release.driver import Draw


class State(NamedTuple):
    """Public as a whole: critic and generator are made of noisy sums alone."""

    generator: Learner
    critic: Learner
    used: np.ndarray


class DPGAN(TableGenerator):
    """Synthetic tables by DP-GAN.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    iterations, noise : give one; the other follows from the budget. `noise` is the noise multiplier of DP-SGD.
    critic_steps, batch, clip, weight_clip, learning_rate : of each iteration; `batch` is the expected Poisson batch,
        `clip` the norm of one row's gradient, `weight_clip` the largest weight of the critic.
    critic_hidden, generator_hidden : hidden layers; by default (d, d/2).
    conditional, ratio_epsilon_share, warm_start, schema_epsilon_share, random_state, unsafe_noise_seed : as in
        `PATEGAN`. There is no data-dependent mode: DP-SGD has no data-dependent cost.
    """

    method: ClassVar[str] = "dpgan"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        iterations: int | None = 500,
        noise: float | None = None,
        mode: Mode = "unconditional",
        *,
        critic_steps: int = 5,
        batch: int = 64,
        clip: float = 1.0,
        weight_clip: float = 0.1,
        learning_rate: float = 1e-3,
        critic_hidden: tuple[int, ...] | None = None,
        generator_hidden: tuple[int, ...] | None = None,
        conditional: bool = False,
        ratio_epsilon_share: float = 0.01,
        warm_start: Literal["moments"] | None = None,
        warm_epsilon_share: float = 0.5,
        warm_steps: int = 500,
        schema_epsilon_share: float = 0.1,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.iterations = iterations
        self.noise = noise
        self.mode: Mode = mode
        self.critic_steps = critic_steps
        self.batch = batch
        self.clip = clip
        self.weight_clip = weight_clip
        self.learning_rate = learning_rate
        self.critic_hidden = critic_hidden
        self.generator_hidden = generator_hidden
        self.conditional = conditional
        self.ratio_epsilon_share = ratio_epsilon_share
        self.warm_start: Literal["moments"] | None = warm_start
        self.warm_epsilon_share = warm_epsilon_share
        self.warm_steps = warm_steps
        self.schema_epsilon_share = schema_epsilon_share
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    def _check_rows(self, rows: int) -> None:
        if self.mode != "unconditional":
            raise InputError(f'`mode` (={self.mode!r}): DP-SGD has no data-dependent cost; only "unconditional" fits.')
        if self.batch > rows:
            raise InputError(f"`batch` (={self.batch}) is larger than the table ({rows} rows). Use at most {rows}.")
        for name in ("clip", "weight_clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"`{name}` (={getattr(self, name)}) must be a positive number.")

    def _critic_hidden(self, width: int) -> tuple[int, ...]:
        return super()._critic_hidden(width) if self.critic_hidden is None else tuple(self.critic_hidden)

    def _trainer(self, prepared: Prepared) -> tuple[Trainer, dict[str, Any]]:
        rows, budget = len(prepared.cube), prepared.budget
        rate = self.batch / rows

        def run(noise: float, iterations: int) -> list[Any]:
            steps = iterations * self.critic_steps
            slots = batch_slots(rows, rate, steps, budget.epsilon, budget.delta)
            return [*budget.events, *step_events(self._step(noise, rate), steps, rows, slots, budget.epsilon)]

        noise, iterations = self.noise, self.iterations
        if noise is None:
            if iterations is None:
                raise InputError(
                    "give `iterations` (the noise is then computed), or `noise` (then the iterations are)."
                )
            wanted = iterations
            noise = smallest_noise(lambda s: run(s, wanted), budget.epsilon, budget.delta, tolerance=1e-3)
        elif iterations is None:
            scale = noise
            iterations = largest_count(lambda n: run(scale, n), budget.epsilon, budget.delta)
            if iterations == 0:
                one = compose(run(noise, 1), budget.delta).epsilon
                raise InputError(
                    f"not even one iteration fits: with noise {noise:g} it costs epsilon {one:.4g}, and the budget is "
                    f"{budget.epsilon:g}. Raise epsilon to {one:.4g}, raise the noise, or use a smaller batch."
                )
        steps = iterations * self.critic_steps
        slots = batch_slots(rows, rate, steps, budget.epsilon, budget.delta)
        paid = PrepaidSteps(self._step(noise, rate), steps, rows, slots, budget)
        facts = {
            "mode": self.mode,
            "mechanism": "dp-sgd",
            "noise": noise,
            "clip": self.clip,
            "sampling_rate": rate,
            "iterations": iterations,
        }
        return Trainer(self, prepared, paid, iterations), facts

    def _step(self, noise: float, rate: float) -> PoissonGaussianStep:
        return PoissonGaussianStep(self.clip, noise, rate)


class Trainer:
    """DP-GAN's iteration: a few private critic steps, one generator step."""

    def __init__(self, settings: DPGAN, prepared: Prepared, paid: PrepaidSteps, iterations: int) -> None:
        self.settings = settings
        self.prepared = prepared
        self.design = prepared.design
        self.paid = paid
        self.iterations = iterations
        self.rows = jnp.asarray(prepared.cube)

    @property
    def budget(self) -> Budget:
        return self.prepared.budget

    def start(self) -> State:
        critic = start_critic(self.design, self.prepared.rng(3))
        return State(self.prepared.generator(self.settings.warm_steps), critic, np.zeros(1, dtype=np.int64))

    def restore(self, state: State) -> None:
        self.paid.used = int(state.used[0])

    def finished(self, state: State) -> bool:
        del state
        return False

    def step(self, iteration: int, state: State, draw: Draw) -> tuple[State, dict[str, float]]:
        """Touches private data: the gradients of Poisson batches. What goes on from them are noisy sums."""
        s, critic = self.settings, state.critic
        rng, ratio = self.prepared.rng(2, iteration), self.prepared.ratio
        for _ in range(s.critic_steps):
            noisy = draw("gradient", partial(self._noisy, critic.network), lambda _: self.paid.skip())
            noise = draw_noise(self.design, rng, ratio, s.batch)
            critic = _critic_step(
                self.design, s.weight_clip, critic, state.generator.network, noisy / np.float32(s.batch), noise
            )
        noise = draw_noise(self.design, rng, ratio, s.batch)
        generator, value = _generator_step(self.design, state.generator, critic.network, noise)
        return State(generator, critic, np.array([self.paid.used])), {"generator_value": float(value)}

    def _noisy(self, critic: MLP) -> np.ndarray:
        """Touches private data: one Poisson batch, clipped, summed, noised. Safe to publish."""
        chosen = self.paid.batch()
        chosen = chosen[self.prepared.present[chosen]]
        slots = np.zeros(self.paid.slots, dtype=np.int32)
        slots[: len(chosen)] = chosen
        total = clipped_sum(critic, self.rows, slots, np.arange(self.paid.slots) < len(chosen), self.settings.clip)
        return self.paid.release(np.asarray(total), len(chosen)).astype(np.float32)


@jax.jit
def clipped_sum(critic: MLP, rows: Array, slots: Array, held: Array, clip: Array) -> Array:
    """Touches private data: the sum over the batch of each row's own gradient, clipped to norm `clip`."""

    def slope(row: Array) -> MLP:
        return jax.grad(lambda network: -network(row[None])[0, 0])(critic)

    each = jax.vmap(slope)(rows[slots])
    squares = sum(jnp.sum(jnp.square(leaf.reshape(len(slots), -1)), axis=1) for leaf in jax.tree.leaves(each))
    # The factor pays for the rounding of float32, so that no row is longer than `clip`.
    shrink = jnp.minimum(1.0, clip * (1 - 1e-5) / jnp.maximum(jnp.sqrt(squares), 1e-30)) * held
    total = jax.tree.map(lambda leaf: jnp.tensordot(shrink, leaf, axes=1), each)
    return ravel_pytree(total)[0]


@partial(jax.jit, static_argnums=(0, 1))
def _critic_step(
    design: Design, bound: float, critic: Learner, generator: MLP, on_real: Array, noise: Noise
) -> Learner:
    """Wasserstein: down on real (noisy, given), up on fakes (public), then clip the weights."""
    fakes = make(design, generator, noise)
    on_fake = jax.grad(lambda network: jnp.mean(network(fakes)[:, 0]))(critic.network)
    slope = jax.tree.map(jnp.add, ravel_pytree(critic.network)[1](on_real), on_fake)
    moved = update(design, critic, slope)
    return Learner(jax.tree.map(lambda leaf: jnp.clip(leaf, -bound, bound), moved.network), moved.moments)


@partial(jax.jit, static_argnums=0)
def _generator_step(design: Design, generator: Learner, critic: MLP, noise: Noise) -> tuple[Learner, Array]:
    def loss(network: MLP) -> Array:
        return -jnp.mean(critic(make(design, network, noise))[:, 0])

    value, slope = jax.value_and_grad(loss)(generator.network)
    return update(design, generator, slope), value
