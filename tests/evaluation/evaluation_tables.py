"""Small tables whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", (18, 90)),
        Column("income", "continuous", (0.0, 100.0), nullable=True),
        Column("town", "categorical", categories=("north", "south", "west")),
        Column("owner", "boolean"),
        Column("sick", "categorical", categories=("no", "yes")),
    ),
    "sick",
)


def patients(rows: int, seed: int = 0, *, shuffled: bool = False) -> pd.DataFrame:
    """Age and town decide most of `sick`; with `shuffled` the labels belong to nobody."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 91, rows)
    town = random.choice(["north", "south", "west"], rows, p=[0.5, 0.3, 0.2])
    income = np.where(random.random(rows) < 0.1, np.nan, np.round(random.random(rows) * 100, 2))
    logit = 0.12 * (age - 55) + 2.0 * (town == "south") - 1.0
    sick = np.where(random.random(rows) < 1 / (1 + np.exp(-logit)), "yes", "no")
    if shuffled:
        sick = random.permutation(sick)
    owner = random.random(rows) < 0.5
    return pd.DataFrame({"age": age, "income": income, "town": town, "owner": owner, "sick": sick})
