"""Whole fits with teachers that record what they learn from: on one device and on four. Prints JSON.

A recording teacher has one weight for each row of the table, and its loss has a gradient at the weights of the rows it is
given: whatever it learnt from, in whichever step, has moved. Everything else of a fit is as it is.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array

sys.path.insert(0, str(Path(__file__).parent))

from small_generators import VOTES, small  # pyright: ignore[reportMissingImports]

from understudy.learn import discriminators
from understudy.learn.partition import shards
from understudy.learn.processes import AXIS
from understudy.methods.moments import space
from understudy.tables import Column, Schema

ROWS, TEACHERS = 157, 11
SCHEMA = Schema((Column("place", "continuous", bounds=(0, 1)), Column("y", "boolean")), "y")
MODES = {
    "unconditional": {},
    "data-dependent": {"epsilon": 6.0},
    "as-published": {"epsilon": 6.0},
}
WAYS = [("pategan", "unconditional"), ("gpate", "unconditional"), *((m, o) for m in VOTES for o in MODES)]


class Recorder(eqx.Module):
    """A teacher in place of the network."""

    touched: Array

    def __init__(self, features: int, hidden: Any, outputs: int, *, key: Any) -> None:
        del features, hidden, outputs, key
        self.touched = jnp.zeros(ROWS)

    def __call__(self, x: Array) -> Array:
        return x.sum(axis=1, keepdims=True) + 0 * self.touched.sum()

    def by_columns(self, x: Array) -> Array:
        return x.sum(axis=0, keepdims=True) - 1


def recording_loss(
    published: bool, teacher: Recorder, rows: discriminators.RealRows, fakes: discriminators.Fakes
) -> Array:
    """Each row says its position by its first column, a Gaussian rank."""
    del published, fakes
    position = jnp.floor(jax.scipy.stats.norm.cdf(rows.values[:, 0]) * ROWS).astype(jnp.int32)
    held = jnp.arange(len(position)) < rows.counts.sum()
    return jnp.sum(teacher.touched[jnp.clip(position, 0, ROWS - 1)] * held)


def main() -> None:
    warnings.simplefilter("ignore")
    space._ENOUGH_NUMBERS = math.inf  # no marginal is bought: a rank then says a row's position
    discriminators.MLP = Recorder  # type: ignore[misc, assignment]
    discriminators._loss = recording_loss  # type: ignore[assignment]
    frame = pd.DataFrame({"place": (np.arange(ROWS) + 0.5) / ROWS, "y": np.arange(ROWS) % 2 == 0})
    four = jax.make_mesh((4,), (AXIS,))
    found: dict[str, Any] = {}
    for method, mode in WAYS:
        for devices, mesh in ((1, None), (4, four)):
            fitted = small(method, mode=mode, teachers=TEACHERS, iterations=4, mesh=mesh, **MODES[mode])
            fitted.fit(frame, schema=SCHEMA)
            state = fitted.private_["state"]
            touched = np.asarray(state.teachers.networks.touched)[:TEACHERS] != 0
            found[f"{method} {mode} {devices}"] = [np.flatnonzero(row).tolist() for row in touched]
    seed = int(np.random.SeedSequence(0).generate_state(1)[0] >> 1)  # as a fit derives it from `random_state`
    dealt = shards(ROWS, TEACHERS, seed=seed)
    print(json.dumps({"found": found, "shards": [sorted(dealt.of(t).tolist()) for t in range(TEACHERS)]}))


if __name__ == "__main__":
    main()
