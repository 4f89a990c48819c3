"""PATE-GAN (Jordon, Yoon and van der Schaar 2019): a GAN whose discriminator learns from the noisy votes of teachers.

Teachers are trained to tell real rows of their own shard from fakes. A student sees fakes alone, labelled by the noisy
majority of the teachers, and the generator learns from the student. Only those labels leave the private side.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import (
    Design,
    Latents,
    NetworkState,
    draw_latents,
    generator_step,
    make_records,
    start_critic,
    student_step,
)
from understudy.learn.discriminators import choose_slots, count_votes, start_teachers, train_teachers
from understudy.learn.teachers import Teachers
from understudy.methods.adversarial import Prepared, hidden_layers
from understudy.methods.paid_votes import VoteState
from understudy.methods.teaching import TaughtGame, TaughtGenerator, TeacherTraining
from understudy.methods.voting import Ballot
from understudy.release.driver import Draw
from understudy.release.settings import layers, one_of, or_none, positive, setting, whole


@dataclass
class PATEGANTraining(TeacherTraining):
    """n_T, n_S and n of the paper, and Adam's rates.

    `memory`: of how many iterations the student keeps the labelled fakes; 1 as published. Labels are paid for once and
    may be learnt from for ever. Hidden layers are by default none for teachers and (d, d/2) for student and generator.
    """

    teacher_steps: int = setting(5, whole())
    student_steps: int = setting(5, whole())
    generator_steps: int = setting(1, whole())
    batch: int = setting(64, whole())
    memory: int = setting(1, whole())
    learning_rate: float = setting(1e-4, positive())
    teacher_learning_rate: float | None = setting(None, or_none(positive()))
    student_hidden: tuple[int, ...] | None = setting(None, or_none(layers()))


@dataclass(eq=False, repr=False)
class PATEGAN(TaughtGenerator):
    """Synthetic tables by PATE-GAN. Settings beside those of `TaughtGenerator`:

    - `aggregator`: "gnmax" (ours: less noise for many votes) or "lnmax" (as published). `noise` is sigma or 1/lambda.
    - `queries`: votes asked for in an iteration; by default student_steps x batch, as published.
    """

    method: ClassVar[str] = "pategan"

    aggregator: Literal["gnmax", "lnmax"] = setting("gnmax", one_of("gnmax", "lnmax"))
    _: KW_ONLY
    queries: int | None = setting(None, or_none(whole()))
    training: PATEGANTraining = field(default_factory=PATEGANTraining)

    def begin(self, prepared: Prepared) -> PATEGANGame:
        """Touches private data: charge the run and deal the rows to the teachers."""
        how, ballot = self.training, Ballot(self.aggregator, self.n_teachers(len(prepared.rows)))
        queries = how.student_steps * how.batch if self.queries is None else self.queries
        votes = self.pay(ballot, prepared, queries=queries, options=2)
        rate = how.learning_rate if how.teacher_learning_rate is None else how.teacher_learning_rate
        return PATEGANGame(self, prepared, ballot, votes, rate)


class PATEGANState(NamedTuple):
    """Private as a whole; `generator`, `student`, `asked` and `labels` are made of paid answers alone."""

    generator: NetworkState
    student: NetworkState
    teachers: Teachers
    asked: Array
    labels: Array
    votes: VoteState


class PATEGANGame(TaughtGame):
    """Algorithm 1 of the paper; its line numbers stand beside the code.

    Line 3, the partition, is made of row numbers alone. Line 4 stops a run in the mode "as-published" only.
    """

    def start(self) -> PATEGANState:
        """Line 2."""
        width, room = self.design.heads.width, self.how.memory * self.votes.queries
        hidden = hidden_layers(self.how.student_hidden, width)
        return PATEGANState(
            self.prepared.start_generator(),
            start_critic(self.design, hidden, self.prepared.rng(3)),
            start_teachers(self.plan, (self.prepared.rows.seed, 4)),
            jnp.zeros((room, width)),
            jnp.zeros(room),
            self.votes.start(2),
        )

    def step(self, iteration: int, state: PATEGANState, draw: Draw) -> tuple[PATEGANState, dict[str, float]]:
        """Touches private data: the votes. What goes on from them are the labels that the gate has drawn."""
        how, rng, ratio = self.how, self.prepared.rng(2, iteration), self.prepared.ratio
        # 6, 12 and 14, all fakes at once: the generator stands still while teachers and student learn.
        n = how.teacher_steps * how.batch
        latents = draw_latents(self.design, rng, ratio, n + self.votes.queries)
        fakes = make_records(self.design, state.generator.network, latents)
        for_teachers, asked = fakes[:n].reshape(how.teacher_steps, how.batch, -1), fakes[n:]
        # 5 to 10: n_T steps of every teacher on its own rows and the same fakes.
        slots = choose_slots(self.plan, rng, how.teacher_steps)
        teachers = train_teachers(self.plan, state.teachers, self.rows, for_teachers, slots)
        # 15 to 19: the noisy majority of the teachers labels each fake, and is accounted for.
        exact = np.asarray(count_votes(self.plan, teachers, asked))
        labels, votes = self.votes.ask("votes", exact, state.votes, iteration, draw)
        # 20 to 24: n_S steps of the student on labelled fakes, then the generator against the student.
        generator, student, asked, known, losses = _learn(
            self.design,
            state.generator,
            state.student,
            (state.asked, state.labels),
            (asked, labels.astype(np.float32)),
            iteration % how.memory * self.votes.queries,
            self._lessons(rng, iteration),
            draw_latents(self.design, rng, ratio, how.generator_steps, how.batch),
        )
        seen = {
            "student_loss": float(losses[0]),
            "generator_loss": float(losses[1]),
            "labelled_real": float(np.mean(labels)),
        }
        return PATEGANState(generator, student, teachers, asked, known, votes), seen

    def _lessons(self, rng: np.random.Generator, iteration: int) -> np.ndarray:
        """Which remembered labels the student takes in each step: each once as published, otherwise at random."""
        how, queries = self.how, self.votes.queries
        if how.memory == 1 and how.student_steps * how.batch == queries:
            return np.arange(queries, dtype=np.int32).reshape(how.student_steps, how.batch)
        filled = min(iteration + 1, how.memory) * queries
        return rng.integers(0, filled, (how.student_steps, how.batch), dtype=np.int32)


@partial(jax.jit, static_argnums=0)
def _learn(
    design: Design,
    generator: NetworkState,
    student: NetworkState,
    remembered: tuple[Array, Array],
    fresh: tuple[Array, Array],
    position: Array,
    lessons: Array,
    latents: Latents,
) -> tuple[NetworkState, NetworkState, Array, Array, Array]:
    """Student and generator steps, from paid labels and fakes alone. Fresh labels are remembered from `position` on."""
    asked = jax.lax.dynamic_update_slice_in_dim(remembered[0], fresh[0], position, 0)
    labels = jax.lax.dynamic_update_slice_in_dim(remembered[1], fresh[1], position, 0)

    def study(state: NetworkState, slots: Array) -> tuple[NetworkState, Array]:
        return student_step(design, state, asked[slots], labels[slots])

    student, student_losses = jax.lax.scan(study, student, lessons)

    def generate(state: NetworkState, latents: Latents) -> tuple[NetworkState, Array]:
        return generator_step(design, state, student.network, latents)

    generator, losses = jax.lax.scan(generate, generator, latents)
    return generator, student, asked, labels, jnp.stack([student_losses.mean(), losses.mean()])
