"""DP-KIP (Vinaroz and Park 2024): kernel inducing points by DP-SGD.

Where the authors' code departs from the paper's promise, this does not follow: the support starts from a public Gaussian or
from a release that was paid for, never from records; features are scaled by public bounds, not by their own mean and deviation; batches are true Poisson
samples; every step has noise of its own.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import jax
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.krr import one_hot
from understudy.methods.distillation.distiller import Distiller, Progress
from understudy.methods.distillation.domain import Domain, TableDomain
from understudy.methods.distillation.released_start import released_start
from understudy.methods.distillation.training import Support, distil_privately
from understudy.privacy import Budget, Certificate, PoissonGaussianStep, PrepaidSteps
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.pld import has_pld
from understudy.privacy.prepaid import batch_slots, step_events
from understudy.tables import Schema, settle_target

_AHEAD = 8
# Learning rate and clip where none are given. Images: the paper's, for ten of MNIST a class. Tables: the paper prints none; these
# were the best of a few on held-out training rows of adult, where the paper's for images learn next to nothing.
_IMAGES, _TABLES, _TABLES_WARM = (1e-2, 1e-6), (5e-2, 1.0), (1e-2, 1.0)


class DPKIP(Distiller):
    """A distilled set by DP-KIP.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    per_class : records a class. epochs, batch : expected looks at each record, and the expected Poisson batch.
    learning_rate, clip : how far a step goes, and the norm of one record's gradient. None: 1e-2 and 1e-6 for images, where
        every gradient is cut to one length (the paper's Tables 5 and 6 have settings for each image set); for tables 5e-2 and
        1, from a moments start 1e-2 and 1.
    ridge, depth : as in `KIP`.
    warm_start, warm_epsilon_share : "moments" pays that share of epsilon for a release of moments and starts from its samples.
    schema_epsilon_share : the share of epsilon for what a table's schema does not say.
    """

    method: ClassVar[str] = "dpkip"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        per_class: int = 10,
        *,
        epochs: int = 10,
        batch: int = 500,
        learning_rate: float | None = None,
        clip: float | None = None,
        ridge: float = 1e-6,
        depth: int = 1,
        warm_start: Literal["moments"] | None = None,
        warm_epsilon_share: float = 0.5,
        schema_epsilon_share: float = 0.1,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.per_class = per_class
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.clip = clip
        self.ridge = ridge
        self.depth = depth
        self.warm_start: Literal["moments"] | None = warm_start
        self.warm_epsilon_share = warm_epsilon_share
        self.schema_epsilon_share = schema_epsilon_share
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    def _check(self) -> None:
        super()._check()
        if self.warm_start not in (None, "moments"):
            raise InputError(f'`warm_start` (={self.warm_start!r}) must be "moments", or None for a Gaussian start.')
        if self.warm_start is not None and not 0 < self.warm_epsilon_share < 1:
            raise InputError(
                f"`warm_epsilon_share` (={self.warm_epsilon_share}) is a share of epsilon: above 0 and below 1."
            )

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: through noisy sums of clipped gradients, and the release that a warm start pays for."""
        check_batch(self.batch, len(data))
        budget = Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        domain = self._domain(data, schema, budget, self.schema_epsilon_share)
        if isinstance(domain, TableDomain) and schema is not None:
            data = settle_target(data, schema, domain.schema, seed=0)
        if self.warm_start is None:
            start = self._start(domain, key)
        else:
            self.drawn_ = True
            share = self.warm_epsilon_share * self.epsilon
            seed = 0 if self.random_state is None else self.random_state
            domain, start = released_start(data, domain, self.per_class, share, seed, budget)
        steps = max(1, round(self.epochs * len(data) / self.batch))
        rate, clip = self._settings(data)
        paid = pay_for_steps(steps, self.batch, clip, len(data), budget)
        self.drawn_ = True
        support = descend(self, domain, data, start, paid, rate, progress)
        facts: dict[str, Any] = {} if self.warm_start is None else {"warm_start": self.warm_start}
        facts |= {"mechanism": "dp-sgd", "noise": paid.mechanism.noise_multiplier, "clip": clip, "steps": steps}
        return domain, support, self._certify(budget, data, facts)

    def _settings(self, data: Any) -> tuple[float, float]:
        """The learning rate and the clip; what form the records have is public."""
        tables = _TABLES if self.warm_start is None else _TABLES_WARM
        rate, clip = _IMAGES if isinstance(data, ImageDataset) else tables
        return self.learning_rate or rate, self.clip or clip


def descend(
    method: Distiller,
    domain: Domain,
    data: ImageDataset | Any,
    start: Support,
    paid: PrepaidSteps,
    learning_rate: float,
    progress: Progress | None,
) -> Support:
    """Touches private data: DP-SGD on the support, from `start`."""
    return distil_privately(
        method._kernel(domain),  # pyright: ignore[reportPrivateUsage]
        method.ridge,
        domain.points(data),
        one_hot(domain.numbers(data), len(domain.classes)),
        np.ones(len(data), dtype=bool),
        start,
        paid,
        learning_rate,
        None if progress is None else lambda done, _: progress(done, paid.steps),
    )


def check_batch(batch: int, rows: int) -> None:
    if batch > rows:
        raise InputError(f"`batch` (={batch}) is larger than the data ({rows} records). Use at most {rows}.")


def pay_for_steps(steps: int, batch: int, clip: float, rows: int, budget: Budget) -> PrepaidSteps:
    """Charge `steps` with the least noise that what is left of the budget allows."""
    rate = batch / rows
    slots = batch_slots(rows, rate, steps, budget.epsilon, budget.delta)

    def events(noise: float) -> list[Any]:
        step = PoissonGaussianStep(clip, noise, rate)
        return [*budget.events, *step_events(step, steps, rows, slots, budget.epsilon)]

    # Releases of clipped sums have no known privacy loss distribution: there is nothing tighter to look for than Rényi.
    accounting = "tightest" if all(has_pld(event) for event in budget.events) else "rdp"
    noise = smallest_noise(events, budget.epsilon, budget.delta, accounting=accounting, tolerance=1e-3)
    return PrepaidSteps(PoissonGaussianStep(clip, noise, rate), steps, rows, slots, budget, ahead=_AHEAD)
