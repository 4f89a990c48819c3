"""One look, then free distillation: the recommended way.

The budget buys one release of moments. Endless samples of that release cost nothing, and neither does any amount of
kernel-inducing-point descent on them, with learned labels and public deformations: all of it is post-processing. Part of
the budget may fit the labels to the real images, or go on with DP-SGD on them from there.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

import jax
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.methods.distillation.distiller import DistilledSet, Distiller, Records
from understudy.methods.distillation.domain import TableDomain
from understudy.methods.distillation.dpkip import check_batch, descend
from understudy.methods.distillation.labels import LabelFitting, fit_labels
from understudy.methods.distillation.released_start import image_start, table_start
from understudy.methods.distillation.training import RATE_OR_ZERO, Descent, Support, distil
from understudy.methods.image_moments import ImageMoments
from understudy.methods.image_moments.sampler import Samples
from understudy.methods.moments import MomentsGenerator
from understudy.privacy.prepaid import pay_for_steps
from understudy.privacy.share import BudgetShare
from understudy.release.intake import Intake
from understudy.release.settings import Settings, or_none, positive, setting, share, truth, whole

# Ten times so many samples show along which axes labels are fitted.
_SHOWN = 1000
_REFINE_CLIP = 1e-6


@dataclass
class ImageLook(Settings):
    """What is looked at in images, as `ImageMoments` has it. It decides what leaves, and what noise that needs."""

    frequencies: int | None = setting(None, or_none(whole()))
    components: int = setting(1, whole())
    straight: bool = setting(False, truth())
    sized: bool = setting(False, truth())

    def affine(self) -> Affine:
        """How far samples are deformed: more for writing than for other images."""
        return Affine() if self.straight else Affine(0.05, 0.05, 0.05, 1.0)


@dataclass
class SampleDescent(Descent):
    """The free descent on samples: `samples` rows of each class of a table; images are endless, and `deform`ed at random.

    `refine_rate` is the learning rate of DP-SGD afterwards.
    """

    ridge: float = setting(1e-4, positive())
    steps: int = setting(3000, whole())
    batch: int = setting(1000, whole())
    learning_rate: float = setting(5e-3, positive())
    label_rate: float = setting(5e-3, RATE_OR_ZERO)
    samples: int = setting(4000, whole())
    deform: bool = setting(True, truth())
    refine_rate: float = setting(1e-3, positive())


@dataclass(eq=False, repr=False)
class OneLook(Distiller):
    """A distilled set from one private look.

    - `epsilon`, `delta`: the budget; all of it is used. `per_class`: records a class. What a table's schema does not say is bought
      with the look, by the rule of `MomentsGenerator`.
    - `look`: what is looked at in images.
    - `label_share`: the share of epsilon for a second look, which fits the labels to the real images.
    - `refine_share`: the share of epsilon for DP-SGD on the real images afterwards, `refine_epochs` of it on Poisson
      batches of `refine_batch` images, expected.
    - `descent`: what is done with samples of the release, for free.
    """

    method: ClassVar[str] = "one-look"
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "weighted"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    per_class: int = setting(10, whole())
    _: KW_ONLY
    look: ImageLook = field(default_factory=ImageLook)
    label_share: float = setting(0.0, share())
    refine_share: float = setting(0.0, share())
    refine_epochs: int = setting(5, whole())
    refine_batch: int = setting(500, whole())
    descent: SampleDescent = field(default_factory=SampleDescent)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.refine_share and self.label_share:
            raise InputError("either `refine_share` or `label_share` may have a part of epsilon: set the other to 0.")

    def _check_records(self, data: Any) -> None:
        if not isinstance(data, ImageDataset) and (self.refine_share or self.label_share):
            raise InputError(
                "`refine_share` and `label_share` are for images; a table's release is distilled as it is. Leave them at 0."
            )
        if self.refine_share:
            check_batch("refine_batch", self.refine_batch, len(data))

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: through one release of moments, and through a second look if a share is left for it."""
        if isinstance(records.data, ImageDataset):
            return self._learn_images(records)
        return self._learn_table(records)

    def _complete(self, rows: Intake) -> Intake:
        """Touches private data: the look of `MomentsGenerator`, which buys what the schema lacks with the rest.

        `generator_` is as public as the set that is distilled from it, and paid for by the same look.
        """
        budget = rows.budget
        start = MomentsGenerator(budget.epsilon, budget.delta, random_state=self.random_state)
        self.generator_ = start.fit_intake(rows)
        coordinates = self.generator_.coordinates_
        assert coordinates is not None
        return replace(rows, frame=coordinates.settled(rows.frame, rows.chances(7)), coordinates=coordinates)

    def _learn_table(self, records: Records) -> DistilledSet:
        """Works on samples of the look alone."""
        assert isinstance(records.domain, TableDomain)
        count = max(self.per_class, self.descent.samples)
        domain, start, rows = table_start(self.generator_, records.domain, self.per_class, count, self.random_state)
        support = distil(rows, start, self.descent, records.key, records.tell)
        facts = {"post_processing_of": "generator/moments", "verdict": self.generator_.verdict_.to_dict()}
        return DistilledSet(domain, support, facts, made_from=self.generator_.certificate_)

    def _learn_images(self, records: Records) -> DistilledSet:
        """Touches private data: the look of `ImageMoments`, and what corrects its labels or its images."""
        budget = records.budget
        share = 1 - self.refine_share - self.label_share
        first = BudgetShare(budget, share * budget.epsilon, budget.delta * (1 - self.refine_share / 2))
        generator = ImageMoments(
            first.epsilon, first.delta, edges=0.0, random_state=self.random_state, **asdict(self.look)
        )
        generator.fit(records.data, budget=first)
        start = image_start(generator, records.domain, self.per_class, self.random_state)
        source = Samples(generator.mixture_, self.look.affine() if self.descent.deform else None)
        support = distil(source, start, self.descent, records.key, records.tell)
        if self.label_share:
            return self._fit_labels(records, support, source)
        if self.refine_share:
            return self._refine(records, support)
        facts = {"mechanism": "moments", "post_processing_of": "generator/image-moments"}
        return DistilledSet(records.domain, support, facts)

    def _fit_labels(self, records: Records, support: Support, source: Samples) -> DistilledSet:
        """Touches private data: a second look, which moves the labels."""
        how, rows = LabelFitting(), len(records)
        shown = [np.asarray(_points(source, jax.random.fold_in(records.key, part))) for part in range(10)]
        paid = pay_for_steps(how.steps, rows, how.clip, rows, records.budget)
        kernel = self.descent.kernel(records.domain.features)
        parts = (np.concatenate(shown), records.points(), records.targets(), records.present)
        fitted = fit_labels(kernel, self.descent.ridge, support, *parts, paid, how.rate)
        return DistilledSet(records.domain, fitted, {"mechanism": "moments, then noisy gradients of the labels"})

    def _refine(self, records: Records, support: Support) -> DistilledSet:
        """Touches private data: DP-SGD, which moves the images."""
        steps = max(1, round(self.refine_epochs * len(records) / self.refine_batch))
        paid = pay_for_steps(steps, self.refine_batch, _REFINE_CLIP, len(records), records.budget)
        refined = descend(self.descent, records.domain, records, support, paid, self.descent.refine_rate)
        facts = {"mechanism": "moments, then dp-sgd", "steps": steps, "noise": paid.mechanism.noise_multiplier}
        return DistilledSet(records.domain, refined, facts)


@jax.jit
def _points(source: Samples, key: jax.Array) -> jax.Array:
    return source.draw(key, _SHOWN)[0]
