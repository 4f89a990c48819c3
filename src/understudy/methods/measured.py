"""What moments reached on public tables, for a table of like size and budget: `measured.json`, written by
`python -m benchmarks document` from the benchmark of usefulness and likeness.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# A table whose noise is more than so many times larger or smaller is no guide.
_NEAR = 3.0


@dataclass(frozen=True)
class Reached:
    """Mean AUROC of five classifiers on real rows, trained on real rows and on synthetic ones; distances on public bins."""

    table: str
    rows: int
    columns: int
    width: int
    epsilon: float
    real: float
    auroc: float
    distance_1: float
    distance_2: float
    rules_broken: float | None

    def said(self) -> str:
        rules = "" if self.rules_broken is None else f", near-certain rules broken {self.rules_broken:.1%}"
        return (
            f"On a public table of like size ({self.table}: {self.rows:,} rows, {self.columns} columns) moments at epsilon "
            f"{self.epsilon:g} reached an AUROC of {self.auroc:.3f}, real rows {self.real:.3f}; total variation of one column "
            f"{self.distance_1:.3f}, of two {self.distance_2:.3f}{rules}."
        )


@cache
def reached() -> tuple[Reached, ...]:
    return tuple(
        Reached(**one) for one in json.loads(files("understudy.methods").joinpath("measured.json").read_text())
    )


def nearest(noise: float, noise_of: Callable[[Reached], float]) -> Reached | None:
    """The measured table with the most similar noise on its class means, if one is near enough to be a guide."""

    def apart(one: Reached) -> float:
        return abs(math.log(noise_of(one) / noise))

    best = min(reached(), key=apart, default=None)
    return best if best is not None and apart(best) <= math.log(_NEAR) else None
