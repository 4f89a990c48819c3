"""G-PATE (Long et al.): teachers tell the generator, through noisy votes on directions, how to move its records.

There is no student. For each fake of a batch every teacher's gradient is projected to a few random dimensions, clipped
and put into bins; Confident-GNMax names the winning bin of each dimension; the midpoints, projected back, are the
direction in which the generator is trained to move that fake. A batch of m records in k dimensions is m x k queries,
and all of them are charged (the paper's theorem counts k).
"""

# ruff: noqa: F722 (axis names of array annotations)
from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from understudy.learn.adversarial import Design, Latents, NetworkState, draw_latents, make, make_records, update
from understudy.learn.discriminators import choose_slots, start_teachers, train_teachers
from understudy.learn.networks import MLP
from understudy.learn.teachers import TeacherAxis, Teachers
from understudy.methods.adversarial import Prepared
from understudy.methods.paid_votes import VoteState
from understudy.methods.teaching import TaughtGame, TaughtGenerator, TeacherTraining
from understudy.methods.voting import Ballot
from understudy.release.driver import Draw
from understudy.release.settings import positive, setting, share, truth, whole


@dataclass
class GPATETraining(TeacherTraining):
    """`batch`, `dimensions`, `bins` and `clip` are m, k, B and c of the paper."""

    dimensions: int = setting(10, whole())
    bins: int = setting(10, whole(2))
    clip: float = setting(1e-4, positive())


@dataclass(eq=False, repr=False)
class GPATE(TaughtGenerator):
    """Synthetic tables by G-PATE. Settings beside those of `TaughtGenerator`:

    - `threshold`: the share of teachers, plus noise, that must agree on a bin.
    - `threshold_ratio`: `noise` is sigma_2, that of the winning bin; sigma_1, that of the threshold, is so many times as
      large.
    - `answer_share`: pay for so many answers of all checks; when they are used up the rest is not answered.
    """

    method: ClassVar[str] = "gpate"

    _: KW_ONLY
    threshold: float = setting(0.5, share("the teachers", ends="[]"))
    threshold_ratio: float = setting(3.0, positive())
    answer_share: float = setting(1.0, share("the checks", ends="[]"))
    conditional: bool = setting(True, truth())
    training: GPATETraining = field(default_factory=GPATETraining)

    def begin(self, prepared: Prepared) -> GPATEGame:
        """Touches private data: charge the run and deal the rows to the teachers."""
        how, teachers = self.training, self.n_teachers(len(prepared.rows))
        ballot = Ballot("confident-gnmax", teachers, self.threshold, self.threshold_ratio)
        queries = how.batch * how.dimensions
        votes = self.pay(ballot, prepared, queries=queries, options=how.bins, answer_share=self.answer_share)
        return GPATEGame(self, prepared, ballot, votes, how.learning_rate)


class GPATEState(NamedTuple):
    """Private as a whole; `generator` is made of paid answers alone."""

    generator: NetworkState
    teachers: Teachers
    votes: VoteState


class GPATEGame(TaughtGame):
    """Algorithm 1 (training the student generator) and Algorithm 2 (DPGradAgg), for a whole batch of fakes at once.

    Line numbers are those of the revised paper.
    """

    def start(self) -> GPATEState:
        teachers = start_teachers(self.plan, (self.prepared.rows.seed, 4))
        return GPATEState(self.prepared.start_generator(), teachers, self.votes.start(self.how.bins))

    def step(self, iteration: int, state: GPATEState, draw: Draw) -> tuple[GPATEState, dict[str, float]]:
        """Algorithm 1, lines 2 to 15. Touches private data: what goes on from it are the bins that the gate has drawn."""
        how, rng, ratio = self.how, self.prepared.rng(2, iteration), self.prepared.ratio
        # 2, 3: noise samples and fakes, others for the teachers to learn from.
        for_teachers = draw_latents(self.design, rng, ratio, how.teacher_steps * how.batch)
        latents = draw_latents(self.design, rng, ratio, how.batch)
        # Algorithm 2, lines 1 and 2: R from N(0, 1/k), a fresh one for each record.
        shape = (how.batch, self.design.heads.width, how.dimensions)
        projections = (rng.standard_normal(shape) / how.dimensions**0.5).astype(np.float32)
        network = state.generator.network
        fakes = make_records(self.design, network, for_teachers).reshape(how.teacher_steps, how.batch, -1)
        asked = make_records(self.design, network, latents)
        # 4 to 6: every teacher learns from its own rows and the fakes.
        slots = choose_slots(self.plan, rng, how.teacher_steps)
        teachers = train_teachers(self.plan, state.teachers, self.rows, fakes, slots)
        # 7 to 12: DPGradAgg of all teachers' perturbations of each fake.
        clip = np.float32(how.clip)
        counts = count_directions(self.plan.axis, how.bins, teachers, asked, projections, clip)
        histograms = np.asarray(counts).reshape(self.votes.queries, how.bins)
        # Algorithm 2, line 9: Confident-GNMax on each histogram.
        winners, votes = self.votes.ask("directions", histograms, state.votes, iteration, draw)
        # 13 to 15: the generator follows.
        generator, length = follow(self.design, how.bins, state.generator, latents, projections, winners, clip)
        seen = {"answered": float(np.mean(winners >= 0)), "step_length": float(length)}
        return GPATEState(generator, teachers, votes), seen


@partial(jax.jit, static_argnums=(0, 1))
def count_directions(
    axis: TeacherAxis,
    bins: int,
    teachers: Teachers,
    fakes: Float[Array, "batch features"],
    projections: Float[Array, "batch features dimensions"],
    clip: Float[Array, ""],
) -> Int[Array, "batch dimensions bins"]:
    """Touches private data: Algorithm 1, lines 7 to 9, and Algorithm 2, lines 3 to 8."""

    def choose(networks: MLP, fakes: Array, projections: Array) -> Array:
        def directions(teacher: MLP) -> Array:
            # Line 8 of Algorithm 1: the gradient of the teacher's loss at each fake; line 3 of Algorithm 2: times R.
            perturbations = jax.grad(lambda x: jnp.sum(jax.nn.softplus(teacher(x)[:, 0])))(fakes)
            return jnp.einsum("bf,bfk->bk", perturbations, projections)

        # Lines 7 and 8: clip to (-c, c), and the bin of width 2c/B that each element falls into.
        clipped = jnp.clip(jax.vmap(directions)(networks), -clip, clip)
        return jnp.clip(((clipped + clip) * (bins / (2 * clip))).astype(jnp.int32), 0, bins - 1)

    return axis.count(choose, bins, teachers.networks, shared=(fakes, projections))


@partial(jax.jit, static_argnums=(0, 1))
def follow(
    design: Design,
    bins: int,
    generator: NetworkState,
    latents: Latents,
    projections: Float[Array, "batch features dimensions"],
    winners: Int[Array, " queries"],
    clip: Float[Array, ""],
) -> tuple[NetworkState, Float[Array, ""]]:
    """Algorithm 2, lines 10 to 12, and Algorithm 1, lines 13 to 15, from drawn bins alone.

    A dimension that was not answered adds 0. The loss is equation 2.
    """
    chosen = winners.reshape(len(projections), -1).astype(jnp.float32)
    midpoints = -clip + (chosen + 0.5) * (2 * clip / bins)
    perturbation = jnp.einsum("bk,bfk->bf", jnp.where(chosen >= 0, midpoints, 0.0), projections)
    goal = make(design, generator.network, latents) + perturbation

    def loss(network: Any) -> Array:
        return jnp.mean(jnp.sum(jnp.square(make(design, network, latents) - goal), axis=1))

    length = jnp.mean(jnp.linalg.norm(perturbation, axis=1))
    return update(design, generator, jax.grad(loss)(generator.network)), length
