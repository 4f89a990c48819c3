"""G-PATE (Long et al.): teachers tell the generator, through noisy directions, how to move its records.

There is no student. Every teacher says in which direction each fake of a batch would look more real to it, and the generator
is trained to move there. What leaves is an aggregate of those directions:

- "vector" (ours, recommended): a teacher's directions for the whole batch are one vector of norm 1, and the sum over
  teachers is one Gaussian release. A row changes one teacher, which may turn round: sensitivity 2.
- "signs": of that vector the signs of its largest elements (as DataLens, Wang et al. 2021): sensitivity 2 sqrt(k).
- "votes": the paper's DPGradAgg. Each fake's direction is projected to a few random dimensions, clipped and put into bins;
  Confident-GNMax names the winning bin of each. A batch of m records in k dimensions is m x k queries, and all of them are
  charged (the paper's theorem counts k).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from understudy.images import ImageDataset
from understudy.learn.adversarial import GeneratorState, Latents, draw_latents, follow, make_records
from understudy.learn.discriminators import count_directions, sum_directions
from understudy.learn.partition import shards
from understudy.learn.teachers import Teachers
from understudy.methods.adversarial import Prepared
from understudy.methods.paid_vectors import PaidVectors, plan_vectors, sign_vectors, unit_vectors
from understudy.methods.paid_votes import MODES, Mode, PaidVotes, plan_run
from understudy.methods.pictures import AdversarialPictures, PictureStart
from understudy.methods.sizing import Sizes, as_set, direction_sizes
from understudy.methods.teaching import (
    TaughtGame,
    TaughtGenerator,
    TeacherTraining,
    check_taught,
    refuse_too_little_noise,
)
from understudy.methods.voting import Ballot
from understudy.release.driver import Draw
from understudy.release.generator import Learnt
from understudy.release.intake import Intake
from understudy.release.settings import layers, one_of, or_none, positive, setting, share, truth, whole

Aggregator = Literal["vector", "signs", "votes"]
_follow = jax.jit(follow, static_argnums=0)


@dataclass
class GPATETraining(TeacherTraining):
    """`dimensions`, `bins` and `clip` are k, B and c of the paper, for votes."""

    dimensions: int = setting(10, whole())
    bins: int = setting(10, whole(2))
    clip: float = setting(1e-4, positive())


@dataclass(eq=False, repr=False)
class GPATE(TaughtGenerator):
    """Synthetic tables by G-PATE. Settings beside those of `TaughtGenerator`:

    - `aggregator`: "vector", "signs" or "votes"; see the module.
    - `batch`: fakes of an iteration, m of the paper.
    - `kept_share`: of "signs", the share of the elements of a vector that are kept.
    - `threshold`, `threshold_ratio`, `answer_share`: of "votes". The share of teachers, plus noise, that must agree on a
      bin. `noise` is sigma_2, that of the winning bin; sigma_1, that of the threshold, is so many times as large. And
      pay for so many answers of all checks; when they are used up the rest is not answered.
    """

    method: ClassVar[str] = "gpate"

    aggregator: Aggregator = setting("vector", one_of("vector", "signs", "votes"))  # noqa: RUF009
    _: KW_ONLY
    batch: int = setting(64, whole())
    kept_share: float = setting(0.1, share("the elements", ends="(]"))
    threshold: float = setting(0.5, share("the teachers", ends="[]"))
    threshold_ratio: float = setting(3.0, positive())
    answer_share: float = setting(1.0, share("the checks", ends="[]"))
    training: GPATETraining = field(default_factory=GPATETraining)

    def begin(self, prepared: Prepared) -> GPATEGame:
        """Touches private data: charge the run and deal the rows to the teachers."""
        return _plan(self, prepared)


@dataclass
class ImageGPATETraining(GPATETraining):
    """The same for pictures. Teachers have `teacher_kernels` and one dense layer; directions leave in the lowest
    `released_frequencies` cosines a side, and from a bought start teachers see those in `seen_frequencies` alone (None: all):
    what they cannot ask for does not distract them. `light_moments`: the teachers' Adam keeps bfloat16, which is half the memory.
    """

    learning_rate: float | None = setting(1e-3, or_none(positive()))
    caution: float | None = setting(0.1, or_none(share("the rate", ends="(]")))
    teacher_batch: int = setting(16, whole())
    teacher_hidden: tuple[int, ...] = setting((64,), layers(1))
    teacher_learning_rate: float = setting(1e-3, positive())
    teacher_kernels: int = setting(16, whole())
    released_frequencies: int = setting(8, whole())
    seen_frequencies: int | None = setting(None, or_none(whole()))
    light_moments: bool = setting(False, truth())


@dataclass(eq=False, repr=False)
class ImageGPATE(AdversarialPictures):
    """Synthetic images by G-PATE. Settings are those of `GPATE`, `start` is what is bought before the first release.

    The paper's own is `PUBLISHED_IMAGES`: its networks from a random start, votes on random projections.
    """

    method: ClassVar[str] = "image-gpate"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability"))
    teachers: int | None = setting(None, or_none(whole()))
    iterations: int | None = setting(None, or_none(whole()))
    noise: float | None = setting(None, or_none(positive()))
    mode: Mode = setting("unconditional", one_of(*MODES))  # noqa: RUF009
    aggregator: Aggregator = setting("vector", one_of("vector", "signs", "votes"))  # noqa: RUF009
    _: KW_ONLY
    batch: int = setting(64, whole())
    kept_share: float = setting(0.1, share("the elements", ends="(]"))
    threshold: float = setting(0.5, share("the teachers", ends="[]"))
    threshold_ratio: float = setting(3.0, positive())
    answer_share: float = setting(1.0, share("the checks", ends="[]"))
    start: PictureStart = field(default_factory=PictureStart)
    training: ImageGPATETraining = field(default_factory=ImageGPATETraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None
    mesh: Mesh | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_taught(self)

    def _check_rows(self, rows: int) -> None:
        super()._check_rows(rows)
        if self.teachers is not None:
            shards(rows, self.teachers, seed=0)

    def learn(self, rows: Intake, data: ImageDataset) -> Learnt:
        """Touches private data. Noise that the budget cannot hold is refused before the start is bought."""
        refuse_too_little_noise(self, rows.budget)
        return super().learn(rows, data)

    def begin(self, prepared: Prepared) -> GPATEGame:
        """Touches private data: charge the run and deal the images to the teachers."""
        return _plan(self, prepared)


PUBLISHED_IMAGES: dict[str, Any] = {
    "aggregator": "votes",
    "start.networks": "published",
    "first_steps": 1,
    "teacher_steps": 1,
    "teacher_kernels": 32,
    "teacher_hidden": (256,),
    "teacher_learning_rate": 1e-3,
    "learning_rate": 1e-3,
    "caution": 1.0,
}
"""What the paper's appendix says of images, but for teachers, batch and noise, which it gives for each epsilon."""


def _plan(settings: GPATE | ImageGPATE, prepared: Prepared) -> GPATEGame:
    """Touches private data: charge the run and deal the records to the teachers."""
    batch, how = settings.batch, settings.training
    dimension, budget = batch * prepared.width, prepared.rows.budget
    rule = direction_sizes(len(prepared.rows), dimension, budget.epsilon, budget.delta, settings.teachers)
    sizes = as_set(rule, settings)
    if settings.aggregator == "votes":
        ballot = Ballot("confident-gnmax", sizes.teachers, settings.threshold, settings.threshold_ratio)
        votes = plan_run(
            ballot, budget, settings, sizes, queries=batch * how.dimensions, options=how.bins,
            answer_share=settings.answer_share, counted=1 / batch,
        )  # fmt: skip
        return GPATEGame(settings, prepared, votes, sizes)
    keep = max(1, round(settings.kept_share * dimension))
    mechanism = unit_vectors(dimension) if settings.aggregator == "vector" else sign_vectors(dimension, keep)
    vectors = plan_vectors(mechanism, budget, sizes, settings.noise)
    return GPATEGame(settings, prepared, vectors, sizes, None if settings.aggregator == "vector" else keep)


class GPATEState(NamedTuple):
    """Private as a whole; `generator` is made of paid answers alone."""

    generator: GeneratorState
    teachers: Teachers
    paid: Any


class GPATEGame(TaughtGame):
    """Algorithm 1 (training the student generator) and Algorithm 2 (DPGradAgg), for a whole batch of fakes at once.

    Line numbers are those of the revised paper.
    """

    def __init__(
        self,
        settings: GPATE | ImageGPATE,
        prepared: Prepared,
        paid: PaidVotes | PaidVectors,
        sizes: Sizes,
        keep: int | None = None,
    ) -> None:
        super().__init__(settings, prepared, paid, sizes, published=settings.aggregator == "votes")
        self.settings, self.keep = settings, keep
        self.lens = None if prepared.lens is None else jnp.asarray(prepared.lens)

    def start(self) -> GPATEState:
        return GPATEState(self.prepared.start_generator(self.design), self.start_teachers(), self.paid.start())

    def step(self, iteration: int, state: GPATEState, draw: Draw) -> tuple[GPATEState, dict[str, float]]:
        """Algorithm 1, lines 2 to 15. Touches private data: what goes on from it is what the gate has drawn."""
        rng, network = self.prepared.rng(2, iteration), state.generator.network
        # 2 to 6: every teacher learns from its own rows and fakes.
        teachers = self.train(iteration, state.teachers, network, rng)
        # 2, 3: noise samples and fakes.
        latents = draw_latents(self.design, rng, self.every_class, self.settings.batch)
        fakes = make_records(self.design, network, latents)
        # 7 to 12: all teachers' perturbations of each fake, aggregated.
        aggregate = self._dp_grad_agg if isinstance(self.paid, PaidVotes) else self._sum
        perturbation, paid, seen = aggregate(iteration, state, teachers, fakes, latents, rng, draw)
        # 13 to 15: the generator follows.
        generator = _follow(self.design, state.generator, latents, perturbation)
        return GPATEState(generator, teachers, paid), seen

    def _sum(
        self, iteration: int, state: GPATEState, teachers: Teachers, fakes: Any, latents: Latents, rng: Any, draw: Draw
    ) -> tuple[Any, Any, dict[str, float]]:
        """Touches private data: one release of the sum of the teachers' vectors."""
        del iteration, state, rng
        assert isinstance(self.paid, PaidVectors)
        free = self.design.free
        form = (self.keep, tuple(free.tolist()))
        total = sum_directions(self.plan, form, teachers, self.rows.counts, fakes, latents.classes, self.lens)
        noisy, paid = self.paid.ask("directions", total, draw)
        moved = noisy.reshape(len(fakes), -1)
        moved = moved if self.lens is None else moved @ self.lens
        perturbation = jnp.zeros(fakes.shape).at[:, free].set(moved)
        return perturbation, paid, {"step_length": float(np.linalg.norm(noisy))}

    def _dp_grad_agg(
        self, iteration: int, state: GPATEState, teachers: Teachers, fakes: Any, latents: Latents, rng: Any, draw: Draw
    ) -> tuple[Any, Any, dict[str, float]]:
        """Algorithm 2. Touches private data: what comes back are bins that the gate has drawn."""
        assert isinstance(self.paid, PaidVotes)
        how, clip = self.how, np.float32(self.how.clip)
        # 1, 2: R from N(0, 1/k), a fresh one for each record.
        shape = (len(fakes), fakes.shape[1], how.dimensions)
        projections = (rng.standard_normal(shape) / how.dimensions**0.5).astype(np.float32)
        if self.lens is not None:  # what a picture's class says is not to be moved
            projections[:, len(self.design.free) :] = 0
        counts = count_directions(
            self.plan, how.bins, teachers, self.rows.counts, fakes, latents.classes, projections, clip
        )
        # 9: Confident-GNMax on each histogram.
        histograms = np.asarray(counts).reshape(self.paid.queries, how.bins)
        winners, paid = self.paid.ask("directions", histograms, state.paid, iteration, draw)
        perturbation = _project_back(how.bins, winners, projections, clip)
        seen = {
            "answered": float(np.mean(winners >= 0)),
            "step_length": float(jnp.mean(jnp.linalg.norm(perturbation, axis=1))),
        }
        return perturbation, paid, seen

    def finish(self, state: GPATEState) -> Learnt:
        mechanism = "confident-gnmax" if isinstance(self.paid, PaidVotes) else "vector-sum"
        return self.learnt(state, mechanism=mechanism, aggregator=self.settings.aggregator)


@partial(jax.jit, static_argnums=0)
def _project_back(bins: int, winners: Any, projections: Any, clip: Any) -> Any:
    """Algorithm 2, lines 10 to 12, from drawn bins alone. A dimension that was not answered adds 0."""
    chosen = winners.reshape(len(projections), -1).astype(jnp.float32)
    midpoints = -clip + (chosen + 0.5) * (2 * clip / bins)
    return jnp.einsum("bk,bfk->bf", jnp.where(chosen >= 0, midpoints, 0.0), projections)
