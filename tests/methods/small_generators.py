"""A small mixed table and the smallest settings of each generator: equal shapes, so that programs are compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from understudy import DPGAN, GAN, GPATE, PATEGAN
from understudy.tables import Column, Schema

_TAUGHT: dict[str, Any] = {
    "epsilon": 4.0,
    "teachers": 10,
    "iterations": 2,
    "batch": 8,
    "first_steps": 2,
    "teacher_steps": 2,
    "teacher_batch": 4,
    "teacher_hidden": (4,),
    "generator_hidden": (4,),
    "random_state": 0,
}
_STUDENT = {"student_steps": 2, "student_batch": 8, "student_hidden": (4,)}
SMALL: dict[str, tuple[Any, dict[str, Any]]] = {
    "pategan": (PATEGAN, {**_TAUGHT, **_STUDENT}),
    "pategan votes": (PATEGAN, {**_TAUGHT, **_STUDENT, "aggregator": "votes", "ballot": "gnmax", "noise": 20.0}),
    "gpate": (GPATE, dict(_TAUGHT)),
    "gpate signs": (GPATE, {**_TAUGHT, "aggregator": "signs"}),
    "gpate votes": (GPATE, {**_TAUGHT, "aggregator": "votes", "noise": 20.0, "dimensions": 2, "bins": 4}),
    "dpgan": (
        DPGAN,
        {
            **{"epsilon": 4.0, "iterations": 2, "noise": 2.0, "critic_steps": 2, "batch": 8, "fakes": 8},
            **{"critic_hidden": (4,), "generator_hidden": (4,), "random_state": 0},
        },
    ),
    "gan": (
        GAN,
        {
            **{"iterations": 2, "critic_steps": 2, "batch": 8, "random_state": 0},
            **{"critic_hidden": (4,), "generator_hidden": (4,)},
        },
    ),
}
PRIVATE = tuple(name for name in SMALL if name != "gan")
VOTES = ("pategan votes", "gpate votes")


def small(method: str, **changes: Any) -> Any:
    kind, settings = SMALL[method]
    return kind.from_settings(**{**settings, **changes})


def table(rows: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=rows).round(3)
    value[::7] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "ward": rng.choice(["n", "s", "w"], rows),
            "value": value,
            "sick": rng.random(rows) < 0.4,
        }
    )


SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 120)),
        Column("ward", "categorical", categories=("n", "s", "w")),
        Column("value", "continuous", bounds=(-4, 4), nullable=True),
        Column("sick", "boolean"),
    ),
    "sick",
)
