"""PATE-GAN (Jordon, Yoon and van der Schaar 2019): a GAN whose discriminator learns from what teachers say, with noise.

Teachers are trained to tell real rows of their own shard from fakes. A student sees fakes alone, with what the teachers say
of them, and the generator learns from the student. What leaves the private side is one of:

- "scores" (ours, recommended): every teacher scores a batch of fakes, subtracts its mean within each class and scales the
  vector to norm 1; the sum over teachers is one Gaussian release, sensitivity 2. Good teachers agree that every fake is
  fake; what they know beyond that is which fakes are less so.
- "comparisons": the signs of those scores, "above or below my average"; sensitivity 2 sqrt(m).
- "votes": as published. The noisy majority labels each fake real or fake.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import (
    Design,
    GeneratorState,
    Latents,
    NetworkState,
    Student,
    climb,
    draw_latents,
    make_records,
    start_student,
    update,
)
from understudy.learn.discriminators import count_votes, sum_scores
from understudy.learn.teachers import Teachers
from understudy.methods.adversarial import Prepared
from understudy.methods.paid_vectors import PaidVectors, plan_vectors, sign_vectors, unit_vectors
from understudy.methods.paid_votes import PaidVotes, plan_run
from understudy.methods.sizing import StudentSizes, as_set, student_sizes
from understudy.methods.teaching import TaughtGame, TaughtGenerator, TeacherTraining
from understudy.methods.voting import Ballot
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.settings import layers, one_of, or_none, positive, setting, share, whole

Aggregator = Literal["scores", "comparisons", "votes"]


@dataclass
class PATEGANTraining(TeacherTraining):
    """n_T (`teacher_steps`), n_S and n (`student_batch`) of the paper. What is None follows from the rule.

    What was paid for once may be learnt from for ever: the student takes answers of all iterations, those of an earlier one
    `memory` times as often as those of the next. 0 is as published: fresh ones alone. A share of the fakes is `crossed`:
    each column comes from one of two fakes of a class, so that teachers also speak of rows that the generator does not
    make, and the student learns which way leads to them.
    """

    student_steps: int | None = setting(None, or_none(whole()))
    student_batch: int = setting(256, whole())
    student_hidden: tuple[int, ...] = setting((64,), layers())
    student_learning_rate: float = setting(2e-3, positive())
    generator_steps: int | None = setting(None, or_none(whole()))
    memory: float | None = setting(None, or_none(share("the weight", ends="[]")))
    crossed: float | None = setting(None, or_none(share("the share", ends="[]")))


@dataclass(eq=False, repr=False)
class PATEGAN(TaughtGenerator):
    """Synthetic tables by PATE-GAN. Settings beside those of `TaughtGenerator`:

    - `aggregator`: "scores", "comparisons" or "votes"; see the module.
    - `batch`: fakes that the teachers are asked about in an iteration; None: by the rule.
    - `ballot`: of "votes", "lnmax" (as published) or "gnmax" (less noise for many votes). `noise` is 1/lambda or sigma.
    """

    method: ClassVar[str] = "pategan"

    aggregator: Aggregator = setting("scores", one_of("scores", "comparisons", "votes"))  # noqa: RUF009
    _: KW_ONLY
    batch: int | None = setting(None, or_none(whole()))
    ballot: Literal["lnmax", "gnmax"] = setting("lnmax", one_of("lnmax", "gnmax"))
    training: PATEGANTraining = field(default_factory=PATEGANTraining)

    def begin(self, prepared: Prepared) -> PATEGANGame:
        """Touches private data: charge the run and deal the rows to the teachers."""
        budget = prepared.rows.budget
        sizes = as_set(student_sizes(len(prepared.rows), budget.epsilon, budget.delta, self.teachers), self)
        if self.aggregator == "votes":
            sizes = replace(sizes, crossed=self.training.crossed or 0.0)
            ballot = Ballot(self.ballot, sizes.teachers)
            votes = plan_run(ballot, budget, self, sizes, queries=sizes.batch, options=2)
            return PATEGANGame(self, prepared, votes, sizes)
        scores = self.aggregator == "scores"
        mechanism = unit_vectors(sizes.batch) if scores else sign_vectors(sizes.batch, sizes.batch)
        return PATEGANGame(self, prepared, plan_vectors(mechanism, budget, sizes, self.noise), sizes)


class PATEGANState(NamedTuple):
    """Private as a whole; `generator`, `student`, `asked` and `answers` are made of paid answers alone."""

    generator: GeneratorState
    student: NetworkState
    teachers: Teachers
    asked: Array
    answers: Array
    paid: Any


class PATEGANGame(TaughtGame):
    """Algorithm 1 of the paper; its line numbers stand beside the code.

    Line 3, the partition, is made of row numbers alone. Line 4 stops a run in the mode "as-published" only.
    """

    def __init__(
        self, settings: PATEGAN, prepared: Prepared, paid: PaidVotes | PaidVectors, sizes: StudentSizes
    ) -> None:
        super().__init__(settings, prepared, paid, sizes, published=settings.aggregator == "votes")
        self.settings, self.batch, self.sizes = settings, sizes.batch, sizes

    def start(self) -> PATEGANState:
        """Line 2."""
        how, width = self.how, self.design.heads.width
        student = start_student(self.design, tuple(how.student_hidden), how.student_learning_rate, self.prepared.rng(3))
        return PATEGANState(
            self.prepared.start_generator(self.design),
            student,
            self.start_teachers(),
            jnp.zeros((self.iterations, self.batch, width)),
            jnp.zeros((self.iterations, self.batch)),
            self.paid.start(),
        )

    def step(self, iteration: int, state: PATEGANState, draw: Draw) -> tuple[PATEGANState, dict[str, float]]:
        """Touches private data: what teachers say. What goes on from it are the answers that the gate has drawn."""
        rng = self.prepared.rng(2, iteration)
        # 5 to 10: n_T steps of every teacher on its own rows and the same fakes.
        teachers = self.train(iteration, state.teachers, state.generator.network, rng)
        # 12 and 14: fakes for the student.
        latents = draw_latents(self.design, rng, self.every_class, self.batch)
        fakes = make_records(self.design, state.generator.network, latents)
        fakes = self._crossed(fakes, np.asarray(latents.classes), rng)
        # 15 to 19: what the teachers say of each fake, with noise, and accounted for.
        answers, paid = self._ask(iteration, state, teachers, fakes, latents, draw)
        # 20 to 24: n_S steps of the student on answered fakes, then the generator against the student.
        generator, student, asked, answers, losses = _learn(
            self.design,
            (self.settings.aggregator == "votes", self.how.student_learning_rate),
            state.generator,
            state.student,
            state.asked.at[iteration].set(fakes),
            state.answers.at[iteration].set(answers),
            self._lessons(rng, iteration),
            draw_latents(self.design, rng, self.every_class, self.sizes.generator_steps, self.how.student_batch),
        )
        seen = {"student_loss": float(losses[0]), "generator_value": float(losses[1])}
        return PATEGANState(generator, student, teachers, asked, answers, paid), seen

    def _ask(
        self, iteration: int, state: PATEGANState, teachers: Teachers, fakes: Array, latents: Latents, draw: Draw
    ) -> tuple[np.ndarray, Any]:
        """Touches private data: the answers, which come first, are public."""
        given = (teachers, self.rows.counts, fakes, latents.classes)
        if isinstance(self.paid, PaidVotes):
            exact = np.asarray(count_votes(self.plan, *given))
            labels, paid = self.paid.ask("votes", exact, state.paid, iteration, draw)
            return labels.astype(np.float32), paid
        signs = self.settings.aggregator == "comparisons"
        noisy, paid = self.paid.ask("scores", sum_scores(self.plan, signs, *given), draw)
        # Elements of a vector of norm 1 are brought to the size of 1, for the student's sake.
        return noisy * np.float32(1.0 if signs else np.sqrt(len(noisy))), paid

    def _crossed(self, fakes: Array, classes: np.ndarray, rng: np.random.Generator) -> Array:
        """A share of the fakes, each column by even odds from another fake of the same class."""
        if not self.sizes.crossed:
            return fakes
        order = np.argsort(classes, kind="stable")
        shuffled = np.lexsort((rng.random(len(classes)), classes))
        other = np.empty_like(order)
        other[order] = shuffled
        columns = self.design.heads.segments
        for number, flag in self.design.heads.missing:
            columns[flag] = columns[number]
        taken = rng.random((len(classes), len(columns))) < 0.5
        taken &= (rng.random(len(classes)) < self.sizes.crossed)[:, None]
        return jnp.where(jnp.asarray(taken[:, columns]), fakes[other], fakes)

    def _lessons(self, rng: np.random.Generator, iteration: int) -> np.ndarray:
        """Which answers the student takes in each step: an iteration, and one of its fakes."""
        shape = (self.sizes.student_steps, self.how.student_batch)
        age = np.arange(iteration, -1, -1)
        memory = self.sizes.memory
        chances = memory**age if memory else (age == 0).astype(float)
        taken = rng.choice(iteration + 1, shape, p=chances / chances.sum())
        return np.stack([taken, rng.integers(0, self.batch, shape)], axis=-1).astype(np.int32)

    def finish(self, state: PATEGANState) -> Learnt:
        mechanism = self.settings.ballot if isinstance(self.paid, PaidVotes) else "vector-sum"
        return self.learnt(state, mechanism=mechanism, aggregator=self.settings.aggregator)


@partial(jax.jit, static_argnums=(0, 1))
def _learn(
    design: Design,
    form: tuple[bool, float],
    generator: GeneratorState,
    student: NetworkState,
    asked: Array,
    answers: Array,
    lessons: Array,
    latents: Latents,
) -> tuple[GeneratorState, NetworkState, Array, Array, Array]:
    """Student and generator steps, from paid answers and fakes alone.

    A student of votes learns by cross-entropy (equation 7), one of scores by squares. Both are high where the teachers see
    something real, and the generator climbs there: the loss of equation 5 without its logarithm, whose gradient vanishes
    where the student is sure of a fake, as it is at the start (Goodfellow et al. 2014, Section 3).
    """
    labels, rate = form

    def study(state: NetworkState, lesson: Array) -> tuple[NetworkState, Array]:
        x, y = asked[lesson[:, 0], lesson[:, 1]], answers[lesson[:, 0], lesson[:, 1]]

        def loss(network: Student) -> Array:
            said = network(x)[:, 0]
            return jnp.mean(jax.nn.softplus(said) - y * said if labels else jnp.square(said - y))

        value, gradient = jax.value_and_grad(loss)(state.network)
        return update(rate, state, gradient), value

    student, student_losses = jax.lax.scan(study, student, lessons)

    def generate(state: GeneratorState, latents: Latents) -> tuple[GeneratorState, Array]:
        return climb(design, state, student.network, latents)

    generator, values = jax.lax.scan(generate, generator, latents)
    return generator, student, asked, answers, jnp.stack([student_losses.mean(), values.mean()])
