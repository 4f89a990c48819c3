"""Generators that learn from teachers: the settings that PATE-GAN and G-PATE share, and how a game is staffed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from understudy.errors import BudgetExceeded, InputError
from understudy.learn.adversarial import Design, Generator, draw_latents, make_records
from understudy.learn.discriminators import (
    MOST_TEACHERS,
    Discriminators,
    Fakes,
    deal_rows,
    start_teachers,
    train_teachers,
)
from understudy.learn.partition import Shards, shards, shards_by_key
from understudy.learn.teachers import TeacherAxis, Teachers, one_device
from understudy.methods.adversarial import AdversarialGenerator, Game, GameTraining, Prepared, WarmStart
from understudy.methods.paid_vectors import HEARD, PaidVectors
from understudy.methods.paid_votes import MODES, Mode, PaidVotes, check_votes
from understudy.methods.sizing import Sizes
from understudy.methods.voting import at_least_one
from understudy.privacy import Budget, GaussianEvent, compose
from understudy.release.generator import Learnt
from understudy.release.intake import Intake
from understudy.release.settings import layers, one_of, or_none, positive, setting, share, whole


@dataclass
class TeacherTraining(GameTraining):
    """How teachers learn: in each of so many `teacher_steps` an iteration (`first_steps` before the first), from so many
    pairs of a fake and a real row (`teacher_batch`).
    """

    first_steps: int = setting(50, whole())
    teacher_steps: int = setting(5, whole())
    teacher_batch: int = setting(32, whole())
    teacher_hidden: tuple[int, ...] = setting((64,), layers())
    teacher_learning_rate: float = setting(5e-3, positive())


@dataclass(eq=False, repr=False)
class TaughtGenerator(AdversarialGenerator):
    """Settings of a generator that learns from teachers.

    - `epsilon`, `delta`: the budget; all of it is used.
    - `teachers`, `iterations`: how many; by default a rule fixes both from the number of rows, the width of a record and
      the budget (`sizing`). With `noise` given the iterations follow from it.
    - `mode`: "unconditional" (default); of votes also "data-dependent" (the same, plus a sanitised data-dependent
      epsilon) and "as-published" (stops on the raw data-dependent epsilon, as the paper counts it; unsafe, for tables).
    - `start`: what is bought before the first release; nothing but the coordinates by default.
    - `random_state`: initialisation, shards and fakes; never the noise. `unsafe_noise_seed` is for tests.
    - `mesh`: spread the teachers over devices.
    """

    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "dealt"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    teachers: int | None = setting(None, or_none(whole()))
    iterations: int | None = setting(None, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Mode = setting("unconditional", one_of(*MODES))  # noqa: RUF009
    _: KW_ONLY
    start: WarmStart = field(default_factory=WarmStart)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None
    mesh: Mesh | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_taught(self)

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data. Noise that the budget cannot hold is refused before the coordinates are bought."""
        refuse_too_little_noise(self, rows.budget)
        return super().learn(rows)

    def _check_rows(self, rows: int) -> None:
        super()._check_rows(rows)
        if self.teachers is not None:
            shards(rows, self.teachers, seed=0)


def check_taught(settings: Any) -> None:
    """Refuse settings of teachers and votes that do not go together."""
    check_votes(settings)
    if settings.teachers is not None and settings.teachers > MOST_TEACHERS:
        raise InputError(f"`teachers` (={settings.teachers}) must be at most {MOST_TEACHERS}.")


def refuse_too_little_noise(settings: Any, budget: Budget) -> None:
    """Refuse noise of vector releases that the budget cannot hold, before anything else is bought."""
    noise, iterations = settings.noise, settings.iterations
    if noise is None or getattr(settings, "aggregator", "votes") == "votes":
        return
    steps = GaussianEvent(noise, iterations or 1)
    if not budget.affords(steps) and iterations is not None:
        cost, left = compose([steps], budget.delta).epsilon, budget.remaining_epsilon()
        raise BudgetExceeded(requested=cost, remaining=left, what=f"noise {noise:g}")
    fits = int(budget.affords(steps))
    at_least_one(lambda n, k: [*budget.events, GaussianEvent(n, k)], budget, noise, fits, HEARD)


def _dealt(rows: Intake, teachers: int) -> Shards:
    """Which teacher has which rows. A record, a row or a person with all rows, has one teacher."""
    if rows.persons is None:
        return shards(len(rows), teachers, seed=rows.seed)
    return shards_by_key(rows.persons.person_keys, rows.each, teachers)


class TaughtGame(Game):
    """A game with teachers, each with the rows of its own shard. A state has what was `paid` for and drawn so far."""

    def __init__(
        self,
        settings: Any,
        prepared: Prepared,
        paid: PaidVotes | PaidVectors,
        sizes: Sizes,
        published: bool,
    ) -> None:
        """Touches private data: rows are dealt to teachers by position alone, persons with all their rows by their keys."""
        self.how: Any = settings.training
        self.prepared, self.paid, self.iterations = prepared, paid, paid.iterations
        steps = self.iterations * getattr(sizes, "generator_steps", 1)
        self.design: Design = prepared.design(sizes.learning_rate, steps, sizes.caution)
        dealt = _dealt(prepared.rows, sizes.teachers)
        axis = TeacherAxis(sizes.teachers, one_device() if settings.mesh is None else settings.mesh)
        hidden, rate = tuple(self.how.teacher_hidden), self.how.teacher_learning_rate
        self.plan = Discriminators(axis, self.design.heads.width, hidden, rate, published, prepared.picture)
        self.rows = deal_rows(prepared.records, prepared.classes, dealt, axis, self.design.classes)
        self.every_class = np.ones(self.design.classes)
        """Fakes are of each class as often, so that rare ones are learnt too."""

    def start_teachers(self) -> Teachers:
        return start_teachers(self.plan, (self.prepared.rows.seed, 4))

    def train(self, iteration: int, teachers: Teachers, generator: Generator, rng: np.random.Generator) -> Teachers:
        """Touches private data: every teacher learns from its own rows and from the same fakes."""
        how = self.how
        for _ in range(1 if iteration else max(1, how.first_steps // how.teacher_steps)):
            shape = (how.teacher_steps, how.teacher_batch)
            latents = draw_latents(self.design, rng, self.every_class, shape[0] * shape[1])
            values = make_records(self.design, generator, latents).reshape(*shape, -1)
            chances = (jnp.asarray(rng.random(shape, dtype=np.float32)) for _ in range(2))
            teachers = train_teachers(
                self.plan, teachers, self.rows, Fakes(values, latents.classes.reshape(shape), *chances)
            )
        return teachers

    def restore(self, state: Any) -> None:
        self.paid.restore(state.paid)

    def finished(self, state: Any) -> bool:
        return self.paid.finished(state.paid)

    def learnt(self, state: Any, **facts: Any) -> Learnt:
        facts |= {"teachers": self.plan.axis.teachers}
        return self.paid.learnt(state.generator.average, facts, state.paid, self.prepared.rows.run)
