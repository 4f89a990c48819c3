"""KIP (Nguyen et al. 2021): kernel inducing points learnt from the real records. Not private: a ceiling to compare with."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp

from understudy.methods.distillation.distiller import DistilledSet, Distiller, Records
from understudy.methods.distillation.training import Descent, KnownRows, distil
from understudy.release.settings import or_none, setting, whole


@dataclass(eq=False, repr=False)
class KIP(Distiller):
    """A distilled set without privacy. Its certificate says so and never verifies.

    `per_class` records a class; `descent` says how they are found.
    """

    method: ClassVar[str] = "kip"
    private: ClassVar[bool] = False
    unprotected: ClassVar[str] = "KIP learns from the records directly and without noise"

    per_class: int = setting(10, whole())
    _: KW_ONLY
    descent: Descent = field(default_factory=Descent)
    random_state: int | None = setting(None, or_none(whole(0)))

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data, without protection."""
        rows = KnownRows(jnp.asarray(records.points()), jnp.asarray(records.targets()))
        starting, running = jax.random.split(records.key)
        start = self._gaussian_start(records.domain, starting)
        return DistilledSet(records.domain, distil(rows, start, self.descent, running, records.tell), {})
