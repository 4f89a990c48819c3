"""KIP (Nguyen et al. 2021): kernel inducing points learnt from the real records. Not private: a ceiling to compare with."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from understudy.learn.krr import one_hot
from understudy.methods.distillation.distiller import Distiller, Progress
from understudy.methods.distillation.domain import Domain
from understudy.methods.distillation.training import Rows, Schedule, Support, distil
from understudy.privacy import Certificate
from understudy.tables import Schema


class KIP(Distiller):
    """A distilled set without privacy. Its certificate says so and never verifies.

    Parameters
    ----------
    per_class : records a class. steps, batch, learning_rate : of Adam, falling to zero along a cosine.
    label_rate : the same for the labels; 0 keeps them fixed. ridge : of the regression, in units of the mean of the
    kernel's diagonal. depth : hidden layers of the network whose tangent kernel is used.
    """

    method: ClassVar[str] = "kip"
    private: ClassVar[bool] = False

    def __init__(
        self,
        per_class: int = 10,
        *,
        steps: int = 2000,
        batch: int = 500,
        learning_rate: float = 1e-2,
        label_rate: float = 0.0,
        ridge: float = 1e-6,
        depth: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.per_class = per_class
        self.steps = steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.label_rate = label_rate
        self.ridge = ridge
        self.depth = depth
        self.random_state = random_state

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data, without protection."""
        domain = self._domain(data, schema, None)
        targets = one_hot(domain.numbers(data), len(domain.classes))
        rows = Rows(jnp.asarray(domain.points(data)), jnp.asarray(targets))
        starting, running = jax.random.split(key)
        schedule = Schedule(self.steps, self.batch, self.learning_rate, self.label_rate)
        tell = None if progress is None else lambda done, _: progress(done, self.steps)
        start = self._start(domain, starting)
        support = distil(self._kernel(domain), self.ridge, rows, start, schedule, running, tell)
        reason = "KIP learns from the records directly and without noise"
        kind = "images" if schema is None else "distilled"
        release = {"kind": kind, "method": self.method, "per_class": self.per_class}
        return domain, support, Certificate.not_private(release=release, reason=reason)
