"""PATE-GAN (Jordon, Yoon and van der Schaar 2019): a GAN whose discriminator learns from the noisy votes of teachers.

Teachers are trained to tell real rows of their own shard from fakes. A student sees fakes alone, labelled by the noisy
majority of the teachers, and the generator learns from the student. Only those labels leave the private side.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from understudy.errors import InputError
from understudy.learn.adversarial import (
    Design,
    Learner,
    Noise,
    draw_noise,
    generator_step,
    make_records,
    start_critic,
    student_step,
)
from understudy.learn.discriminators import (
    TeacherPlan,
    Teachers,
    choose_slots,
    count_votes,
    deal_rows,
    one_device,
    start_teachers,
    train_teachers,
)
from understudy.learn.partition import shards
from understudy.methods.generator import Mode, Prepared, TableGenerator
from understudy.methods.votes import Voting, plan_votes
from understudy.privacy import Budget, GNMax, LNMax, Sanitised
from understudy.release.driver import Draw


class State(NamedTuple):
    """Private as a whole; `generator`, `student`, `asked` and `labels` are made of paid answers alone."""

    generator: Learner
    student: Learner
    teachers: Teachers
    asked: Array
    labels: Array
    paid: np.ndarray
    kept: np.ndarray


class PATEGAN(TableGenerator):
    """Synthetic tables by PATE-GAN.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used.
    teachers : how many; by default one for every 32 rows (the number of rows is public), at most 4000.
    iterations, noise : give one; the other follows from the budget. `noise` is sigma (gnmax) or 1/lambda (lnmax).
    aggregator : "gnmax" (ours: less noise for many votes) or "lnmax" (as published).
    mode : "unconditional" (default), "data-dependent" (the same, plus a sanitised data-dependent epsilon) or
        "as-published" (stops on the raw data-dependent epsilon; unsafe, for tables).
    teacher_steps, student_steps, generator_steps, batch, learning_rate : n_T, n_S, 1, n and Adam's rate in the paper.
    queries : votes asked for in an iteration; by default student_steps x batch, as published.
    memory : of how many iterations the student keeps the labelled fakes; 1 as published. Labels are paid for once and
        may be learnt from for ever.
    teacher_hidden, student_hidden, generator_hidden : hidden layers; by default none, (d, d/2) and (d, d/2).
    conditional : give the class to the generator, in a ratio that costs `ratio_epsilon_share` of epsilon.
    warm_start, warm_epsilon_share, warm_steps : "moments" pays that share of epsilon for a moments release, whose rows
        the generator is taught for so many steps, for free, before the first vote; None as published.
    schema_epsilon_share : what may be spent on bounds and categories that the schema does not say.
    random_state : initialisation, shards and fakes; never the noise. `unsafe_noise_seed` is for tests.
    mesh : spread the teachers over devices.
    """

    method: ClassVar[str] = "pategan"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        teachers: int | None = None,
        iterations: int | None = 20,
        noise: float | None = None,
        aggregator: Literal["gnmax", "lnmax"] = "gnmax",
        mode: Mode = "unconditional",
        *,
        teacher_steps: int = 5,
        student_steps: int = 5,
        generator_steps: int = 1,
        batch: int = 64,
        queries: int | None = None,
        memory: int = 1,
        learning_rate: float = 1e-4,
        teacher_learning_rate: float | None = None,
        teacher_hidden: tuple[int, ...] = (),
        student_hidden: tuple[int, ...] | None = None,
        generator_hidden: tuple[int, ...] | None = None,
        conditional: bool = False,
        ratio_epsilon_share: float = 0.01,
        warm_start: Literal["moments"] | None = None,
        warm_epsilon_share: float = 0.5,
        warm_steps: int = 500,
        schema_epsilon_share: float = 0.1,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
        mesh: Mesh | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.teachers = teachers
        self.iterations = iterations
        self.noise = noise
        self.aggregator: Literal["gnmax", "lnmax"] = aggregator
        self.mode: Mode = mode
        self.teacher_steps = teacher_steps
        self.student_steps = student_steps
        self.generator_steps = generator_steps
        self.batch = batch
        self.queries = queries
        self.memory = memory
        self.learning_rate = learning_rate
        self.teacher_learning_rate = teacher_learning_rate
        self.teacher_hidden = teacher_hidden
        self.student_hidden = student_hidden
        self.generator_hidden = generator_hidden
        self.conditional = conditional
        self.ratio_epsilon_share = ratio_epsilon_share
        self.warm_start: Literal["moments"] | None = warm_start
        self.warm_epsilon_share = warm_epsilon_share
        self.warm_steps = warm_steps
        self.schema_epsilon_share = schema_epsilon_share
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed
        self.mesh = mesh

    def _check_rows(self, rows: int) -> None:
        if self.aggregator not in ("gnmax", "lnmax"):
            raise InputError(f'`aggregator` (={self.aggregator!r}) must be "gnmax" or "lnmax".')
        shards(rows, n_teachers(self.teachers, rows), seed=0)

    def _critic_hidden(self, width: int) -> tuple[int, ...]:
        return super()._critic_hidden(width) if self.student_hidden is None else tuple(self.student_hidden)

    def _trainer(self, prepared: Prepared) -> tuple[Trainer, dict[str, Any]]:
        teachers = n_teachers(self.teachers, len(prepared.cube))
        queries = self.student_steps * self.batch if self.queries is None else self.queries
        voting = plan_votes(
            GNMax if self.aggregator == "gnmax" else lambda scale: LNMax(1 / scale),
            prepared.budget,
            mode=self.mode,
            queries=queries,
            classes=2,
            teachers=teachers,
            noise=self.noise,
            iterations=self.iterations,
        )
        dealt = shards(len(prepared.cube), teachers, seed=prepared.seed)
        rate = self.learning_rate if self.teacher_learning_rate is None else self.teacher_learning_rate
        mesh = one_device() if self.mesh is None else self.mesh
        plan = TeacherPlan(
            teachers, prepared.encoder.width, tuple(self.teacher_hidden), self.batch, rate, dealt.width, mesh
        )
        trainer = Trainer(self, prepared, voting, plan)
        trainer.rows = deal_rows(prepared.cube, prepared.present, dealt, plan)
        facts = {
            "mode": self.mode,
            "mechanism": self.aggregator,
            "teachers": teachers,
            "noise": voting.mechanism.sigma if isinstance(voting.mechanism, GNMax) else 1 / voting.mechanism.gamma,  # type: ignore[union-attr]
            "iterations": voting.iterations,
            "votes_each": queries,
        }
        return trainer, facts

    def _afterwards(
        self, prepared: Prepared, trainer: Any, state: State, release: dict[str, Any]
    ) -> tuple[Sanitised | None, list[str]]:
        return trainer.voting.afterwards(state.kept, release, prepared.run)


def n_teachers(asked: int | None, rows: int) -> int:
    """One teacher for every 32 rows unless told otherwise; the number of rows is public."""
    return asked if asked is not None else max(2, min(rows // 32, 4000))


class Trainer:
    """PATE-GAN's iteration: n_T steps of all teachers, one batch of votes, n_S steps of the student, one generator."""

    def __init__(self, settings: PATEGAN, prepared: Prepared, voting: Voting, plan: TeacherPlan) -> None:
        self.settings = settings
        self.prepared = prepared
        self.design = prepared.design
        self.voting = voting
        self.plan = plan
        self.rows: Any = None
        self.iterations = voting.iterations

    @property
    def budget(self) -> Budget:
        return self.voting.budget

    def start(self) -> State:
        width, room = self.design.heads.width, self.settings.memory * self.voting.queries
        return State(
            self.prepared.generator(self.settings.warm_steps),
            start_critic(self.design, self.prepared.rng(3)),
            start_teachers(self.plan, (self.prepared.seed, 4)),
            jnp.zeros((room, width)),
            jnp.zeros(room),
            np.zeros(2, dtype=np.int64),
            self.voting.kept(2),
        )

    def restore(self, state: State) -> None:
        self.voting.paid.used, self.voting.paid.answered = (int(n) for n in state.paid)

    def finished(self, state: State) -> bool:
        return self.voting.finished(state.kept)

    def step(self, iteration: int, state: State, draw: Draw) -> tuple[State, dict[str, float]]:
        """Touches private data: the votes. What goes on from them are the labels that the gate has drawn."""
        s, paid, queries = self.settings, self.voting.paid, self.voting.queries
        rng, ratio = self.prepared.rng(2, iteration), self.prepared.ratio
        # All fakes of an iteration at once: the generator stands still while teachers and student learn.
        n = s.teacher_steps * s.batch
        made = make_records(self.design, state.generator.network, draw_noise(self.design, rng, ratio, n + queries))
        fakes, asked = made[:n].reshape(s.teacher_steps, s.batch, -1), made[n:]
        slots = choose_slots(self.plan, rng, s.teacher_steps)
        teachers = train_teachers(self.plan, state.teachers, self.rows, fakes, slots)
        votes = np.asarray(count_votes(self.plan, teachers, asked))
        labels = draw("votes", lambda: paid.answer(votes).astype(np.int8), paid.skip)
        generator, student, memory, known, losses = _learn(
            self.design,
            state.generator,
            state.student,
            (state.asked, state.labels),
            (asked, labels.astype(np.float32)),
            iteration % s.memory * queries,
            self._lessons(rng, iteration),
            draw_noise(self.design, rng, ratio, s.generator_steps, s.batch),
        )
        kept = self.voting.keep(state.kept, votes, labels, iteration)
        used = np.array([paid.used, paid.answered], dtype=np.int64)
        seen = {
            "student_loss": float(losses[0]),
            "generator_loss": float(losses[1]),
            "labelled_real": float(np.mean(labels)),
        }
        return State(generator, student, teachers, memory, known, used, kept), seen

    def _lessons(self, rng: np.random.Generator, iteration: int) -> np.ndarray:
        """Which remembered labels the student takes in each step: each once as published, otherwise at random."""
        s, queries = self.settings, self.voting.queries
        if s.memory == 1 and s.student_steps * s.batch == queries:
            return np.arange(queries, dtype=np.int32).reshape(s.student_steps, s.batch)
        filled = min(iteration + 1, s.memory) * queries
        return rng.integers(0, filled, (s.student_steps, s.batch), dtype=np.int32)


@partial(jax.jit, static_argnums=0)
def _learn(
    design: Design,
    generator: Learner,
    student: Learner,
    remembered: tuple[Array, Array],
    fresh: tuple[Array, Array],
    place: Array,
    lessons: Array,
    noise: Noise,
) -> tuple[Learner, Learner, Array, Array, Array]:
    """Student and generator steps, from paid labels and fakes alone. Fresh labels are remembered from `place` on."""
    asked = jax.lax.dynamic_update_slice_in_dim(remembered[0], fresh[0], place, 0)
    labels = jax.lax.dynamic_update_slice_in_dim(remembered[1], fresh[1], place, 0)

    def study(learner: Learner, slots: Array) -> tuple[Learner, Array]:
        return student_step(design, learner, asked[slots], labels[slots])

    student, student_losses = jax.lax.scan(study, student, lessons)

    def generate(learner: Learner, noise: Noise) -> tuple[Learner, Array]:
        return generator_step(design, learner, student.network, noise)

    generator, losses = jax.lax.scan(generate, generator, noise)
    return generator, student, asked, labels, jnp.stack([student_losses.mean(), losses.mean()])
