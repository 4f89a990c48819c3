"""Generators that learn from votes of teachers: the settings that PATE-GAN and G-PATE share, and how a game is staffed."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from jax.sharding import Mesh

from understudy.learn.discriminators import Discriminators, deal_rows
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.methods.adversarial import AdversarialGenerator, Game, GameTraining, Prepared, WarmStart
from understudy.methods.paid_votes import MODES, Mode, PaidVotes, check_votes, plan_run
from understudy.methods.voting import Ballot
from understudy.release.generator import Learnt
from understudy.release.settings import layers, one_of, or_none, positive, setting, share, truth, whole


@dataclass
class TeacherTraining(GameTraining):
    """Teachers learn from `batch` rows in each of so many steps. They have no hidden layers by default."""

    teacher_steps: int = setting(1, whole())
    batch: int = setting(32, whole())
    teacher_hidden: tuple[int, ...] = setting((), layers())


@dataclass(eq=False, repr=False)
class TaughtGenerator(AdversarialGenerator):
    """Settings of a generator that learns from votes.

    - `epsilon`, `delta`: the budget; all of it is used.
    - `teachers`: how many; by default one for every 32 rows (the number of rows is public), at most 4000.
    - `iterations`, `noise`: give one; the other follows from the budget.
    - `mode`: "unconditional" (default), "data-dependent" (the same, plus a sanitised data-dependent epsilon) or
      "as-published" (stops on the raw data-dependent epsilon; unsafe, for tables).
    - `conditional`: give the class to the generator, in a ratio that costs `ratio_epsilon_share` of epsilon.
    - `schema_epsilon_share`: what may be spent on bounds and categories that the schema does not say.
    - `start`: what is bought before the first vote; nothing, as published.
    - `random_state`: initialisation, shards and fakes; never the noise. `unsafe_noise_seed` is for tests.
    - `mesh`: spread the teachers over devices.
    """

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    teachers: int | None = setting(None, or_none(whole()))
    iterations: int | None = setting(20, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Mode = setting("unconditional", one_of(*MODES))  # noqa: RUF009
    _: KW_ONLY
    conditional: bool = setting(False, truth())
    ratio_epsilon_share: float = setting(0.01, share())
    schema_epsilon_share: float = setting(0.1, share())
    start: WarmStart = field(default_factory=WarmStart)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None
    mesh: Mesh | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_votes(self)

    def _check_rows(self, rows: int) -> None:
        shards(rows, self.n_teachers(rows), seed=0)

    def n_teachers(self, rows: int) -> int:
        return self.teachers if self.teachers is not None else max(2, min(rows // 32, 4000))

    def pay(
        self, ballot: Ballot, prepared: Prepared, *, queries: int, options: int, answer_share: float = 1.0
    ) -> PaidVotes:
        """Fix noise and length of the run, and charge all of it."""
        return plan_run(
            ballot,
            prepared.rows.budget,
            mode=self.mode,
            queries=queries,
            options=options,
            noise=self.noise,
            iterations=self.iterations,
            answer_share=answer_share,
        )


class TaughtGame(Game):
    """A game with teachers, each with the rows of its own shard. A state has the `votes` that were asked so far."""

    def __init__(
        self, settings: TaughtGenerator, prepared: Prepared, ballot: Ballot, votes: PaidVotes, rate: float
    ) -> None:
        """Touches private data: rows are dealt to teachers by position alone."""
        self.how: Any = settings.training
        self.prepared, self.design, self.ballot, self.votes = prepared, prepared.design, ballot, votes
        self.iterations = votes.iterations
        dealt = shards(len(prepared.rows), ballot.teachers, seed=prepared.rows.seed)
        axis = TeacherAxis(ballot.teachers, one_device() if settings.mesh is None else settings.mesh)
        features, hidden = self.design.heads.width, tuple(self.how.teacher_hidden)
        self.plan = Discriminators(axis, features, hidden, self.how.batch, rate, dealt.width)
        self.rows = deal_rows(prepared.cube, prepared.present, dealt, axis)

    def restore(self, state: Any) -> None:
        self.votes.restore(state.votes)

    def finished(self, state: Any) -> bool:
        return self.votes.finished(state.votes)

    def finish(self, state: Any) -> Learnt:
        facts = {"mechanism": self.ballot.aggregator, "teachers": self.ballot.teachers}
        return self.votes.learnt(state.generator.network, facts, state.votes, self.prepared.rows.run)
