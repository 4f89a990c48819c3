"""DP-GAN (Xie et al. 2018): a Wasserstein GAN whose critic sees real rows through DP-SGD only.

Each critic step takes a true Poisson batch of rows, clips every row's gradient and adds Gaussian noise to their sum.
The gradient on fakes is public already and costs nothing. Weights are clipped after each step, as the paper has it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.adversarial import (
    Design,
    Generator,
    GeneratorState,
    Latents,
    NetworkState,
    climb,
    draw_latents,
    make,
    update,
)
from understudy.learn.networks import MLP
from understudy.methods.adversarial import AdversarialGenerator, Game, GameTraining, Prepared, WarmStart
from understudy.methods.pictures import AdversarialPictures, PictureStart
from understudy.methods.sizing import Sizes, as_set, critic_batch, critic_sizes
from understudy.methods.voting import at_least_one, noise_or_length
from understudy.privacy import Event, PoissonGaussianStep, PrepaidSteps
from understudy.privacy.prepaid import batch_slots, step_events
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import Limit, layers, or_none, positive, setting, share, whole

_ONLY_MODE = Limit(
    'must be "unconditional": DP-SGD has no data-dependent cost', lambda v: isinstance(v, str) and v == "unconditional"
)
_climb = jax.jit(climb, static_argnums=0)


@dataclass
class DPGANTraining(GameTraining):
    """`weight_clip` is the largest weight of the critic; `fakes` are those of a step.

    The critic learns from the mean gradient of each class, and from all classes alike, as long as so many times the noise is
    `heard` over: a class with fewer rows in a batch counts for as much less.
    """

    critic_hidden: tuple[int, ...] = setting((32,), layers())
    critic_learning_rate: float = setting(5e-3, positive())
    weight_clip: float = setting(0.5, positive())
    fakes: int = setting(512, whole())
    heard: float = setting(100.0, positive())


@dataclass(eq=False, repr=False)
class DPGAN(AdversarialGenerator):
    """Synthetic tables by DP-GAN.

    - `epsilon`, `delta`: the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    - `iterations`, `batch`: by default a rule fixes both from the number of rows and the budget (`sizing`). With `noise`,
      the noise multiplier of DP-SGD, given the iterations follow from it.
    - `critic_steps`, `clip`: of each iteration; `batch` is the expected Poisson batch, `clip` the norm of one row's gradient.
    - `start`, `random_state`, `unsafe_noise_seed`: as in `PATEGAN`. There is one `mode` only: DP-SGD has no data-dependent
      cost.
    """

    method: ClassVar[str] = "dpgan"
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "weighted"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    iterations: int | None = setting(None, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Literal["unconditional"] = setting("unconditional", _ONLY_MODE)
    _: KW_ONLY
    critic_steps: int = setting(3, whole())
    batch: int | None = setting(None, or_none(whole()))
    clip: float = setting(1.0, positive())
    start: WarmStart = field(default_factory=WarmStart)
    training: DPGANTraining = field(default_factory=DPGANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_rows(self, rows: int) -> None:
        super()._check_rows(rows)
        if self.batch is not None and self.batch > rows:
            raise InputError(f"`batch` (={self.batch}) is larger than the table ({rows} rows). Use at most {rows}.")

    def begin(self, prepared: Prepared) -> DPGANGame:
        """Fix noise and length, and charge all steps."""
        return _plan(self, prepared)


@dataclass
class ImageDPGANTraining(DPGANTraining):
    """The same for pictures; hidden layers are those of G-PATE's appendix."""

    learning_rate: float | None = setting(1e-3, or_none(positive()))
    caution: float | None = setting(0.1, or_none(share("the rate", ends="(]")))
    critic_hidden: tuple[int, ...] = setting((64, 64), layers(1))
    critic_learning_rate: float = setting(2e-3, positive())


@dataclass(eq=False, repr=False)
class ImageDPGAN(AdversarialPictures):
    """Synthetic images by DP-GAN. Settings are those of `DPGAN`; `start` is what is bought before the first step."""

    method: ClassVar[str] = "image-dpgan"
    published: ClassVar[Literal["deconvolution", "dense"]] = "dense"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    iterations: int | None = setting(None, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Literal["unconditional"] = setting("unconditional", _ONLY_MODE)
    _: KW_ONLY
    critic_steps: int = setting(3, whole())
    batch: int | None = setting(None, or_none(whole()))
    clip: float = setting(1.0, positive())
    start: PictureStart = field(default_factory=PictureStart)
    training: ImageDPGANTraining = field(default_factory=ImageDPGANTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_rows(self, rows: int) -> None:
        super()._check_rows(rows)
        if self.batch is not None and self.batch > rows:
            raise InputError(f"`batch` (={self.batch}) is larger than the set ({rows} images). Use at most {rows}.")

    def begin(self, prepared: Prepared) -> DPGANGame:
        """Fix noise and length, and charge all steps."""
        return _plan(self, prepared)


def _plan(settings: DPGAN | ImageDPGAN, prepared: Prepared) -> DPGANGame:
    rows, budget = len(prepared.rows), prepared.rows.budget
    batch = settings.batch or critic_batch(rows)
    sizes = as_set(critic_sizes(batch * float(prepared.ratio.min())), settings)
    rate = batch / rows

    def slots(iterations: int) -> int:
        return batch_slots(rows, rate, iterations * settings.critic_steps, budget.epsilon, budget.delta)

    def cost(noise: float, iterations: int) -> list[Event]:
        step, steps = PoissonGaussianStep(settings.clip, noise, rate), iterations * settings.critic_steps
        return [*budget.events, *step_events(step, steps, rows, slots(iterations), budget.epsilon)]

    noise, iterations = noise_or_length(cost, budget, settings.noise, sizes.iterations, tolerance=1e-3)
    at_least_one(cost, budget, noise, iterations, "or use a smaller batch")
    step = PoissonGaussianStep(settings.clip, noise, rate)
    paid = PrepaidSteps(step, iterations * settings.critic_steps, rows, slots(iterations), budget)
    return DPGANGame(settings, prepared, paid, iterations, batch, sizes)


class DPGANState(NamedTuple):
    """Public as a whole: critic and generator are made of noisy sums alone."""

    generator: GeneratorState
    critic: NetworkState
    used: np.ndarray


class DPGANGame(Game):
    """A few private critic steps, one generator step."""

    def __init__(
        self,
        settings: DPGAN | ImageDPGAN,
        prepared: Prepared,
        paid: PrepaidSteps,
        iterations: int,
        batch: int,
        sizes: Sizes,
    ) -> None:
        self.settings, self.prepared, self.paid, self.iterations = settings, prepared, paid, iterations
        self.how = settings.training
        self.design = prepared.design(sizes.learning_rate, iterations, sizes.caution)
        self.rows, self.classes = jnp.asarray(prepared.records), jnp.asarray(prepared.classes)
        rows = prepared.rows
        parts = np.ones(int(rows.present.sum())) if rows.weights is None else rows.weights / rows.grid
        self.parts = rows.at_their_places(parts.astype(np.float32))
        """What each row counts of its record: all, or its part of a person's one."""
        # What a batch has of each class, on average, and what it would have if it were heard over the noise.
        expected = prepared.ratio * batch
        heard = np.maximum(expected, self.how.heard * paid.mechanism.noise_multiplier)
        self.scale = (1 / heard / len(expected)).astype(np.float32)
        self.weight = (expected / heard / len(expected)).astype(np.float32)
        self.every_class = np.ones(len(expected))

    def start(self) -> DPGANState:
        critic = self.prepared.start_critic(tuple(self.how.critic_hidden), self.how.critic_learning_rate)
        return DPGANState(self.prepared.start_generator(self.design), critic, np.zeros(1, dtype=np.int64))

    def step(self, iteration: int, state: DPGANState, draw: Draw) -> tuple[DPGANState, dict[str, float]]:
        """Touches private data: the gradients of Poisson batches. What goes on from them are noisy sums."""
        how, critic, rng = self.how, state.critic, self.prepared.rng(2, iteration)
        for _ in range(self.settings.critic_steps):
            noisy = draw("gradient", partial(self._noisy_sum, critic.network), lambda _: self.paid.skip())
            latents = draw_latents(self.design, rng, self.every_class, how.fakes)
            critic = _critic_step(
                self.design,
                (how.weight_clip, how.critic_learning_rate, self.settings.clip),
                critic,
                state.generator.network,
                self.scale @ noisy.reshape(len(self.scale), -1),
                self.weight,
                latents,
            )
        latents = draw_latents(self.design, rng, self.every_class, how.fakes)
        generator, value = _climb(self.design, state.generator, critic.network, latents)
        return DPGANState(generator, critic, np.array([self.paid.used])), {"generator_value": float(value)}

    def _noisy_sum(self, critic: MLP) -> np.ndarray:
        """Touches private data: one Poisson batch, clipped, summed, noised. Safe to publish."""
        chosen, each = self.paid.batch(), self.prepared.rows.each
        seats = (chosen[:, None] * each + np.arange(each)).ravel()
        seats = seats[self.prepared.rows.present[seats]]
        slots = np.zeros(self.paid.slots * each, dtype=np.int32)
        slots[: len(seats)] = seats
        held = np.zeros(len(slots), dtype=np.float32)
        held[: len(seats)] = self.parts[seats]
        total = clipped_sums(critic, self.rows, self.classes, slots, held, self.settings.clip, len(self.scale))
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
        return Learnt(state.generator.average, facts)


@partial(jax.jit, static_argnums=6)
def clipped_sums(
    critic: MLP, rows: Array, classes: Array, slots: Array, held: Array, clip: Array, n_classes: int
) -> Array:
    """Touches private data: for each class the sum over its rows of each row's own gradient, clipped to norm `clip`.

    A row is in one class: all sums together are no longer than its own gradient, or than its part of it: `held` is what a row
    counts. Of a person they are no longer than a mean of clipped gradients, which is at most `clip`.
    """
    mine = held * (classes[slots] == jnp.arange(n_classes)[:, None])
    return ravel_pytree([_clipped(critic, rows[slots], one, clip) for one in mine])[0]


def _clipped(critic: MLP, rows: Array, held: Array, clip: Array) -> MLP:
    """The sum of clipped gradients of -critic, one a row. A layer's own gradient is the outer product of what goes into it
    and what comes back to it, so its norm is the product of theirs: no row's gradient is ever written out.
    """
    zeros = [jnp.zeros((len(rows), len(bias))) for bias in critic.biases]

    def score(moved: list[Array]) -> tuple[Array, list[Array]]:
        scores, inputs = critic.traced(rows, moved)
        return -jnp.sum(scores), inputs

    back, inputs = jax.grad(score, has_aux=True)(zeros)
    squares = sum(
        jnp.sum(jnp.square(g), axis=1) * (1 + jnp.sum(jnp.square(x), axis=1)) for g, x in zip(back, inputs, strict=True)
    )
    # The factor pays for the rounding of float32, so that no row is longer than `clip`.
    shrink = jnp.minimum(1.0, clip * (1 - 1e-5) / jnp.maximum(jnp.sqrt(squares), 1e-30)) * held
    scaled = [g * shrink[:, None] for g in back]
    weights = tuple(g.T @ x for g, x in zip(scaled, inputs, strict=True))
    return eqx.tree_at(lambda m: (m.weights, m.biases), critic, (weights, tuple(g.sum(axis=0) for g in scaled)))


@partial(jax.jit, static_argnums=(0, 1))
def _critic_step(
    design: Design,
    form: tuple[float, float, float],
    critic: NetworkState,
    generator: Generator,
    on_real: Array,
    weight: Array,
    latents: Latents,
) -> NetworkState:
    """Wasserstein: up on real (noisy, given), down on fakes (public, clipped as the rows are), then clip the weights."""
    bound, rate, clip = form
    fakes = make(design, generator, latents)
    each = weight[latents.classes] * len(weight) / len(fakes)
    on_fake = _clipped(critic.network, fakes, each, jnp.asarray(clip))
    gradient = jax.tree.map(jnp.subtract, ravel_pytree(critic.network)[1](on_real), on_fake)
    moved = update(rate, critic, gradient)
    clipped: Any = jax.tree.map(lambda leaf: jnp.clip(leaf, -bound, bound), moved.network)
    return NetworkState(clipped, moved.opt_state)
