"""DP-KIP (Vinaroz and Park 2024): kernel inducing points by DP-SGD.

Where the authors' code departs from the paper's promise, this does not follow: the support starts from a public Gaussian
or from a release that was paid for, never from records; features are scaled by public bounds, not by their own mean and
deviation; batches are true Poisson samples; every step has noise of its own.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.methods import warmstart
from understudy.methods.distillation.distiller import DistilledSet, Distiller, Records
from understudy.methods.distillation.domain import Domain, TableDomain
from understudy.methods.distillation.released_start import SCALING_ROWS, image_start, table_start
from understudy.methods.distillation.training import Regression, Support, distil_privately
from understudy.privacy import PrepaidSteps
from understudy.privacy.prepaid import pay_for_steps
from understudy.release.settings import one_of, or_none, positive, setting, share, whole

# Learning rate and clip where none are given. Images: the paper's, for ten of MNIST a class. Tables: the paper prints none;
# these were the best of a few on held-out training rows of adult, where the paper's for images learn next to nothing.
_IMAGES, _TABLES, _TABLES_WARM = (1e-2, 1e-6), (5e-2, 1.0), (1e-2, 1.0)


@dataclass
class PrivateDescent(Regression):
    """How far a noisy step goes (None: 1e-2 for images, 5e-2 for tables, 1e-2 from a moments start), and the regression."""

    learning_rate: float | None = setting(None, or_none(positive()))


@dataclass(eq=False, repr=False)
class DPKIP(Distiller):
    """A distilled set by DP-KIP.

    - `epsilon`, `delta`: the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    - `per_class`: records a class. `epochs`, `batch`: expected looks at each record, and the expected Poisson batch.
    - `clip`: the norm of one record's gradient. None: 1e-6 for images, where every gradient is cut to one length (the
      paper's Tables 5 and 6 have settings for each image set); 1 for tables.
    - `warm_start`, `warm_epsilon_share`: "moments" pays that share of epsilon for a release of moments and starts from
      its samples.
    - `schema_epsilon_share`: the share of epsilon for what a table's schema does not say.
    - `descent`: what never meets the accountant.
    """

    method: ClassVar[str] = "dpkip"
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "dealt"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    per_class: int = setting(10, whole())
    _: KW_ONLY
    epochs: int = setting(10, whole())
    batch: int = setting(500, whole())
    clip: float | None = setting(None, or_none(positive()))
    warm_start: Literal["moments"] | None = setting(None, or_none(one_of("moments")))
    warm_epsilon_share: float = setting(0.5, share(ends="()"))
    schema_epsilon_share: float = setting(0.1, share())
    descent: PrivateDescent = field(default_factory=PrivateDescent)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_records(self, data: Any) -> None:
        check_batch("batch", self.batch, len(data))

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: through noisy sums of clipped gradients, and the release that a warm start pays for."""
        domain, start = self._start(records)
        usual = _TABLES if self.warm_start is None else _TABLES_WARM
        usual_rate, usual_clip = _IMAGES if isinstance(records.data, ImageDataset) else usual
        rate, clip = self.descent.learning_rate or usual_rate, self.clip or usual_clip
        steps = max(1, round(self.epochs * len(records) / self.batch))
        paid = pay_for_steps(steps, self.batch, clip, len(records), records.budget)
        support = descend(self.descent, domain, records, start, paid, rate)
        facts: dict[str, Any] = {} if self.warm_start is None else {"warm_start": self.warm_start}
        facts |= {"mechanism": "dp-sgd", "noise": paid.mechanism.noise_multiplier, "clip": clip, "steps": steps}
        return DistilledSet(domain, support, facts)

    def _start(self, records: Records) -> tuple[Domain, Support]:
        """Touches private data where a release of moments is bought; the start is public either way."""
        domain, budget = records.domain, records.budget
        if self.warm_start is None:
            return domain, self._gaussian_start(domain, records.key)
        epsilon, seed = self.warm_epsilon_share * budget.epsilon, self.random_state or 0
        if not isinstance(domain, TableDomain):
            images = warmstart.image_moments_release(records.data, epsilon, seed, budget)
            return domain, image_start(images, domain, self.per_class, seed)
        assert records.rows is not None
        rows = warmstart.moments_release(records.rows, epsilon)
        scaled, start, _ = table_start(rows, domain, self.per_class, max(self.per_class, SCALING_ROWS), seed)
        return scaled, start


def descend(
    regression: Regression, domain: Domain, records: Records, start: Support, paid: PrepaidSteps, learning_rate: float
) -> Support:
    """Touches private data: DP-SGD on the support, from `start`."""
    return distil_privately(
        regression.kernel(domain.features),
        regression.ridge,
        records.points(domain),
        records.targets(),
        records.present,
        start,
        paid,
        learning_rate,
        records.tell,
        records.each,
    )


def check_batch(name: str, batch: int, rows: int) -> None:
    if batch > rows:
        raise InputError(f"`{name}` (={batch}) is larger than the data ({rows} records). Use at most {rows}.")
