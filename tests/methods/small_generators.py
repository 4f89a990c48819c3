"""A small mixed table and the smallest settings of each generator: equal shapes, so that programs are compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from understudy import DPGAN, GAN, GPATE, PATEGAN
from understudy.tables import Column, Schema

SMALL: dict[str, tuple[Any, dict[str, Any]]] = {
    "pategan": (
        PATEGAN,
        {
            "epsilon": 4.0,
            "teachers": 10,
            "iterations": 2,
            "noise": 20.0,
            "batch": 8,
            "teacher_steps": 2,
            "student_steps": 2,
            "random_state": 0,
        },
    ),
    "gpate": (
        GPATE,
        {
            "epsilon": 4.0,
            "teachers": 10,
            "iterations": 2,
            "noise": 20.0,
            "batch": 8,
            "dimensions": 2,
            "bins": 4,
            "random_state": 0,
        },
    ),
    "dpgan": (
        DPGAN,
        {"epsilon": 4.0, "iterations": 2, "noise": 2.0, "critic_steps": 2, "batch": 8, "random_state": 0},
    ),
    "gan": (GAN, {"iterations": 2, "critic_steps": 2, "batch": 8, "random_state": 0}),
}
PRIVATE = ("pategan", "gpate", "dpgan")


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
