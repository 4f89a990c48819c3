"""A gate that notes what it is given, and can be made to answer the same again: the private side laid open for tests."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from understudy.privacy import Budget
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.coordinates import release as private_side


@dataclass
class Recorder:
    """Exact counts and noise of every look, and what came out; `replay` holds what is to come out instead."""

    replay: list[list[np.ndarray]] | None = None
    exact: list[list[np.ndarray]] = field(default_factory=list)
    noisy: list[list[np.ndarray]] = field(default_factory=list)
    sigmas: list[float] = field(default_factory=list)

    def wrap(self, gate: private_side.PrivateGate) -> private_side.Gate:
        def look(counts: list[np.ndarray], sigma: float) -> list[np.ndarray]:
            answer = gate(counts, sigma)
            if self.replay is not None:
                answer = self.replay[len(self.exact)]
            self.exact.append([part.copy() for part in counts])
            self.noisy.append(answer)
            self.sigmas.append(sigma)
            return answer

        return look


def recorded(
    monkeypatch: pytest.MonkeyPatch,
    frame: pd.DataFrame,
    rows: int,
    *,
    schema: Schema | None = None,
    replay: Recorder | None = None,
    epsilon: float = 5.0,
) -> tuple[Coordinates, Recorder, Budget]:
    """A release of which everything is noted."""
    notes = Recorder(None if replay is None else replay.noisy)
    real = private_side.PrivateGate
    budget = Budget(epsilon, 1e-5)
    with monkeypatch.context() as patch:
        patch.setattr(private_side, "PrivateGate", lambda budget, *_: notes.wrap(real(budget)))
        made = Coordinates.release(frame, schema, budget, rows=rows, target="class")
    return made, notes, budget


def small_table(rows: int = 300) -> pd.DataFrame:
    """Every kind of column, typed and not, with what is odd in each."""
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, rows).astype(float)
    age[5::20] = np.nan
    mixed = rng.choice(np.array([1, "1", True, "yes", "2020-01-01", None, 2.5], dtype=object), rows)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(rng.random(rows) < 0.4, 0.0, rng.lognormal(8, 1.5, rows)),
            "dose": rng.choice([0.5, 1.0, 2.25], rows),
            "member": rng.random(rows) < 0.3,
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, rows), unit="D"),
            "ward": pd.Series(rng.choice(["north", "south", "east"], rows), dtype="str"),
            "level": pd.Categorical(rng.choice(["a", "b"], rows)),
            "word": pd.Series(rng.choice(["yes", "no"], rows), dtype=object),
            "text": pd.Series([f"{value:.2f}" for value in rng.normal(size=rows)], dtype=object),
            "mixed": pd.Series(mixed, dtype=object),
            "class": rng.integers(0, 3, rows),
        }
    )
