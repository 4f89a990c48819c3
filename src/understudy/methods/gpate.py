"""G-PATE (Long et al.): teachers tell the generator, through noisy votes on directions, how to move its records.

There is no student. For each fake of a batch every teacher's gradient is projected to a few random dimensions, clipped
and put into bins; Confident-GNMax names the winning bin of each dimension; the midpoints, projected back, are the
direction in which the generator is trained to move that fake. A batch of m records in k dimensions is m x k queries,
and all of them are charged (the paper's theorem counts k).
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
from understudy.learn.adversarial import Design, Learner, Noise, draw_noise, make, make_records, update
from understudy.learn.discriminators import (
    TeacherPlan,
    Teachers,
    choose_slots,
    count_directions,
    deal_rows,
    one_device,
    start_teachers,
    train_teachers,
)
from understudy.learn.partition import shards
from understudy.methods.generator import Mode, Prepared, TableGenerator
from understudy.methods.pategan import n_teachers
from understudy.methods.votes import Voting, plan_votes
from understudy.privacy import Budget, ConfidentGNMax, Sanitised
from understudy.release.driver import Draw


class State(NamedTuple):
    """Private as a whole; `generator` is made of paid answers alone."""

    generator: Learner
    teachers: Teachers
    paid: np.ndarray
    kept: np.ndarray


class GPATE(TableGenerator):
    """Synthetic tables by G-PATE.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used.
    teachers : how many; by default one for every 32 rows, at most 4000.
    iterations, noise : give one; the other follows from the budget. `noise` is sigma_2, that of the winning bin;
        sigma_1, that of the threshold, is `threshold_ratio` times as large.
    threshold : the share of teachers, plus noise, that must agree on a bin.
    answer_share : pay for so many answers of all checks; when they are used up the rest is not answered.
    dimensions, bins, clip : k, B and c of the paper.
    teacher_steps, batch, learning_rate : of each iteration; batch is m.
    conditional : give the class to the generator, in a ratio that costs `ratio_epsilon_share` of epsilon, as published.
    mode, warm_start, schema_epsilon_share, random_state, unsafe_noise_seed, mesh : as in `PATEGAN`.
    """

    method: ClassVar[str] = "gpate"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        teachers: int | None = None,
        iterations: int | None = 20,
        noise: float | None = None,
        mode: Mode = "unconditional",
        *,
        threshold: float = 0.5,
        threshold_ratio: float = 3.0,
        answer_share: float = 1.0,
        dimensions: int = 10,
        bins: int = 10,
        clip: float = 1e-4,
        teacher_steps: int = 1,
        batch: int = 32,
        learning_rate: float = 1e-3,
        teacher_hidden: tuple[int, ...] = (),
        generator_hidden: tuple[int, ...] | None = None,
        conditional: bool = True,
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
        self.mode: Mode = mode
        self.threshold = threshold
        self.threshold_ratio = threshold_ratio
        self.answer_share = answer_share
        self.dimensions = dimensions
        self.bins = bins
        self.clip = clip
        self.teacher_steps = teacher_steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.teacher_hidden = teacher_hidden
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
        if self.bins < 2:
            raise InputError(f"`bins` (={self.bins}) must be at least 2: a vote needs a choice.")
        for name in ("threshold", "answer_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"`{name}` (={getattr(self, name)}) is a share: between 0 and 1.")
        for name in ("clip", "threshold_ratio"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"`{name}` (={getattr(self, name)}) must be a positive number.")
        shards(rows, n_teachers(self.teachers, rows), seed=0)

    def _trainer(self, prepared: Prepared) -> tuple[Trainer, dict[str, Any]]:
        teachers = n_teachers(self.teachers, len(prepared.cube))

        def mechanism(sigma: float) -> ConfidentGNMax:
            return ConfidentGNMax.from_share(
                self.threshold, teachers, sigma_threshold=self.threshold_ratio * sigma, sigma=sigma
            )

        voting = plan_votes(
            mechanism,
            prepared.budget,
            mode=self.mode,
            queries=self.batch * self.dimensions,
            classes=self.bins,
            teachers=teachers,
            noise=self.noise,
            iterations=self.iterations,
            answer_share=self.answer_share,
        )
        dealt = shards(len(prepared.cube), teachers, seed=prepared.seed)
        mesh = one_device() if self.mesh is None else self.mesh
        plan = TeacherPlan(
            teachers,
            prepared.encoder.width,
            tuple(self.teacher_hidden),
            self.batch,
            self.learning_rate,
            dealt.width,
            mesh,
        )
        trainer = Trainer(self, prepared, voting, plan)
        trainer.rows = deal_rows(prepared.cube, prepared.present, dealt, plan)
        facts = {
            "mode": self.mode,
            "mechanism": "confident-gnmax",
            "teachers": teachers,
            "noise": voting.mechanism.sigma,  # type: ignore[union-attr]
            "iterations": voting.iterations,
            "votes_each": voting.queries,
        }
        return trainer, facts

    def _afterwards(
        self, prepared: Prepared, trainer: Any, state: State, release: dict[str, Any]
    ) -> tuple[Sanitised | None, list[str]]:
        return trainer.voting.afterwards(state.kept, release, prepared.run)


class Trainer:
    """G-PATE's iteration: teachers learn, m fakes are voted on in k dimensions each, the generator follows."""

    def __init__(self, settings: GPATE, prepared: Prepared, voting: Voting, plan: TeacherPlan) -> None:
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
        teachers = start_teachers(self.plan, (self.prepared.seed, 4))
        generator = self.prepared.generator(self.settings.warm_steps)
        return State(generator, teachers, np.zeros(2, dtype=np.int64), self.voting.kept(self.settings.bins))

    def restore(self, state: State) -> None:
        self.voting.paid.used, self.voting.paid.answered = (int(n) for n in state.paid)

    def finished(self, state: State) -> bool:
        return self.voting.finished(state.kept)

    def step(self, iteration: int, state: State, draw: Draw) -> tuple[State, dict[str, float]]:
        """Touches private data: the histograms. What goes on from them are the bins that the gate has drawn."""
        s, paid = self.settings, self.voting.paid
        rng, ratio = self.prepared.rng(2, iteration), self.prepared.ratio
        taught = draw_noise(self.design, rng, ratio, s.teacher_steps * s.batch)
        moved = draw_noise(self.design, rng, ratio, s.batch)
        # A fresh N(0, 1/k) projection for each record.
        shape = (s.batch, self.design.heads.width, s.dimensions)
        projections = (rng.standard_normal(shape) / s.dimensions**0.5).astype(np.float32)
        fakes = make_records(self.design, state.generator.network, taught).reshape(s.teacher_steps, s.batch, -1)
        asked = make_records(self.design, state.generator.network, moved)
        slots = choose_slots(self.plan, rng, s.teacher_steps)
        teachers = train_teachers(self.plan, state.teachers, self.rows, fakes, slots)
        counts = count_directions(self.plan, s.bins, teachers, asked, projections, np.float32(s.clip))
        votes = np.asarray(counts).reshape(self.voting.queries, s.bins)
        labels = draw("directions", lambda: paid.answer(votes).astype(np.int16), paid.skip)
        generator, length = _follow(
            self.design, s.bins, state.generator, moved, projections, labels, np.float32(s.clip)
        )
        kept = self.voting.keep(state.kept, votes, labels, iteration)
        used = np.array([paid.used, paid.answered], dtype=np.int64)
        seen = {"answered": float(np.mean(labels >= 0)), "step_length": float(length)}
        return State(generator, teachers, used, kept), seen


@partial(jax.jit, static_argnums=(0, 1))
def _follow(
    design: Design,
    bins: int,
    generator: Learner,
    noise: Noise,
    projections: Array,
    labels: Array,
    clip: Array,
) -> tuple[Learner, Array]:
    """Move the generator towards G(z) + delta (equation 2), from drawn bins alone; an unanswered dimension adds 0."""
    chosen = labels.reshape(design.batch, -1).astype(jnp.float32)
    midpoint = -clip + (chosen + 0.5) * (2 * clip / bins)
    direction = jnp.where(chosen >= 0, midpoint, 0.0)
    delta = jnp.einsum("bk,bfk->bf", direction, projections)
    goal = make(design, generator.network, noise) + delta

    def loss(network: Any) -> Array:
        return jnp.mean(jnp.sum(jnp.square(make(design, network, noise) - goal), axis=1))

    return update(design, generator, jax.grad(loss)(generator.network)), jnp.mean(jnp.linalg.norm(delta, axis=1))
