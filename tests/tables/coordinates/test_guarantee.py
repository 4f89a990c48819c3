"""The promise: a blanked row moves what is charged and no more, and nothing but the noisy counts decides anything."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from gate_recorder import recorded, small_table  # pyright: ignore[reportMissingImports]

from understudy.errors import BudgetExceeded
from understudy.privacy import Budget, DeltaEvent, GaussianEvent
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.coordinates.tally import tally

ROWS = 300
SCHEMA = Schema((Column("age", "continuous", bounds=(0, 120), nullable=True), Column("ward", "categorical", categories=("north", "south"), other=True)))  # fmt: skip


def common_rows(table: pd.DataFrame) -> list[int]:
    """Rows whose categories many others share, and came before: the cells are then the same without them."""
    return [120, 121, 155, 222, 299]


@pytest.mark.parametrize("row", common_rows(small_table()))
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["no schema", "some schema"])
def test_a_blanked_row_moves_one_cell_of_each_column_by_one(
    monkeypatch: pytest.MonkeyPatch, row: int, schema: Schema | None
) -> None:
    table = small_table()
    _, here, budget = recorded(monkeypatch, table, ROWS, schema=schema)
    _, there, _ = recorded(monkeypatch, table.drop(index=row), ROWS, schema=schema, replay=here)
    charged = Counter[float]()
    for event in budget.events:
        if isinstance(event, GaussianEvent):
            assert event.integer_unit
            charged[event.noise_multiplier] += event.count
    moved = Counter[float]()
    for with_it, without, sigma in zip(here.exact, there.exact, here.sigmas, strict=True):
        for one, other in zip(with_it, without, strict=True):
            change = one - other
            assert set(np.unique(change)) <= {0, 1}
            # Exactly one: the row stands in a cell of every column, and the charge is no larger than it must be.
            assert change.sum() == 1
        moved[_charged_as(sigma, charged)] += len(with_it)
    assert moved == charged


def _charged_as(sigma: float, charged: Counter[float]) -> float:
    """The noise in the books is what was drawn, or the next float above."""
    return next(noise for noise in charged if math.isclose(noise, sigma, rel_tol=1e-12))


@pytest.mark.parametrize("row", common_rows(small_table()))
def test_the_same_answers_make_the_same_description_bit_by_bit(monkeypatch: pytest.MonkeyPatch, row: int) -> None:
    """Kinds, grids, bounds, categories, missing shares: all of it follows from the noisy counts alone."""
    table = small_table()
    found, here, _ = recorded(monkeypatch, table, ROWS)
    blanked, _, _ = recorded(monkeypatch, table.drop(index=row), ROWS, replay=here)
    assert blanked.to_dict() == found.to_dict()
    changed = table.copy()
    changed.loc[row] = changed.loc[7]
    swapped, _, _ = recorded(monkeypatch, changed, ROWS, replay=here)
    assert swapped.to_dict() == found.to_dict()


def test_a_hostile_row_decides_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of 1e300 among ages, text among numbers, a name that only this row has."""
    table = small_table().astype({"age": object, "since": object})
    hostile = table.copy()
    for name, value in {"age": "old", "income": math.inf, "since": "never", "ward": "nowhere", "text": "?"}.items():
        hostile.loc[200, name] = value
    found, here, _ = recorded(monkeypatch, table, ROWS)
    other, there, _ = recorded(monkeypatch, hostile, ROWS, replay=here)
    assert other.to_dict() == found.to_dict()
    for with_it, without in zip(here.exact, there.exact, strict=True):
        for one, two in zip(with_it, without, strict=True):
            assert np.abs(one - two).sum() <= 2


def test_a_value_that_two_rows_hold_is_not_counted_when_one_is_blanked() -> None:
    """Case (B) of the proof in `categories`: one cell more, with count 2, and the others are equal."""
    wards = pd.Series(["north"] * 5 + ["south"] * 4 + ["west"] * 2, dtype="str")
    here, there = tally(wards), tally(wards.iloc[:-1])
    assert here.counts[here.repeated].tolist() == [5, 4, 2]
    assert there.counts[there.repeated].tolist() == [5, 4]


def test_the_noise_that_is_added_is_the_noise_that_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, or with less of it, the deviation of what comes out would be too small."""
    table = small_table()
    off: list[np.ndarray] = []
    for _ in range(12):
        _, notes, _ = recorded(monkeypatch, table, ROWS)
        for exact, noisy, sigma in zip(notes.exact, notes.noisy, notes.sigmas, strict=True):
            off += [(a - b) / sigma for a, b in zip(noisy, exact, strict=True)]
    every = np.concatenate(off)
    assert len(every) > 5000
    assert np.std(every) == pytest.approx(1.0, abs=0.05)
    assert abs(np.mean(every)) < 0.06


class WatchedNoise:
    """A noise source that looks at the books before every draw."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._source = budget, budget.noise
        self.draws: list[float] = []

    def add_discrete_gaussian(self, exact: np.ndarray, sigma: float) -> np.ndarray:
        assert any(
            isinstance(event, GaussianEvent) and event.noise_multiplier == sigma for event in self._budget.events
        ), "drawn before it was charged"
        self.draws.append(sigma)
        return self._source.add_discrete_gaussian(exact, sigma)


def test_everything_is_charged_before_it_is_drawn_and_nothing_else_is() -> None:
    budget = Budget(1.0, 1e-5)
    watched = WatchedNoise(budget)
    budget.noise = watched  # type: ignore[assignment]
    made = Coordinates.release(small_table(), None, budget, target="class")
    assert made.plan is not None
    planned = made.plan.events()
    assert len(watched.draws) == 1 + sum(sorted(set(made.plan.rounds)))
    assert [event for event in budget.events if isinstance(event, DeltaEvent)] == [planned[0]]
    spent = sum(e.count / e.noise_multiplier**2 for e in budget.events if isinstance(e, GaussianEvent))
    said = sum(e.count / e.noise_multiplier**2 for e in planned if isinstance(e, GaussianEvent))
    assert spent == pytest.approx(said, rel=1e-9)
    assert 0.9 < budget.spent().epsilon <= 1.0


def test_the_charge_does_not_depend_on_what_is_found() -> None:
    table = small_table()
    events = []
    for frame in (table, table.iloc[:0].reindex(range(ROWS)).astype(object).astype(_types(table)), table[::-1]):
        budget = Budget(1.0, 1e-5)
        Coordinates.release(frame, None, budget, target="class", rows=ROWS)
        events.append(budget.events)
    assert events[0] == events[1] == events[2]


def _types(table: pd.DataFrame) -> dict[str, object]:
    """The types that pandas gives the same columns once a value is missing."""
    masked = {"member": object, "class": "float64"}
    return {name: masked.get(name, table[name].dtype) for name in table.columns}


def test_a_budget_that_is_too_small_is_refused_before_anything_is_charged() -> None:
    budget = Budget(0.1, 1e-5)
    with pytest.raises(BudgetExceeded):
        Coordinates.release(small_table(), None, budget, epsilon=1.0)
    assert budget.events == ()


def test_a_share_of_a_budget_is_kept() -> None:
    budget = Budget(2.0, 1e-5)
    Coordinates.release(small_table(), None, budget, epsilon=0.2)
    assert budget.spent().epsilon <= 0.2
    assert budget.spent().epsilon > 0.15


def test_a_public_sample_is_free() -> None:
    budget = Budget(1.0, 1e-5)
    table = small_table()
    made = Coordinates.release(table, None, budget, public_sample=table, target="class")
    assert budget.events == ()
    assert made["ward"].labels == ("east", "north", "south", "other")
    assert made["age"].bounds[0] >= 0
    part = Coordinates.release(table, None, budget, public_sample=table[["age", "ward"]], target="class")
    assert part["age"].bounds == made["age"].bounds
    assert part["ward"].shares == pytest.approx(made["ward"].shares)
    assert budget.events != ()
    assert part.plan is not None
    assert len(part.plan.rounds) == len(table.columns) - 2
