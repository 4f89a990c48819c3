"""Rows of a person in their order, and two tables: no look moves by more than was paid, and a mistake in it is found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator
from understudy.audit import worlds
from understudy.audit.listening import Recorder
from understudy.audit.ratio import moved, precision, ratio
from understudy.audit.replay import Fit, replay
from understudy.errors import UnderstudyWarning
from understudy.methods.moments import lags
from understudy.methods.moments.generator import Fitting
from understudy.privacy import Budget
from understudy.privacy.noise import SystemNoise
from understudy.release.driver import Run
from understudy.release.intake import Intake
from understudy.release.visits import check_visits
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.persons import Person

EPSILON, DELTA = 2.0, 1e-5
SCHEMA = Schema((*worlds.SCHEMA.columns, Column("day", "integer", bounds=(0, 1000))))
WHO = worlds.VISITORS


def visits(seed: int = 0) -> pd.DataFrame:
    """Rows with a day; who there is does not depend on `seed`."""
    frame = worlds.visits(120, seed)
    return frame.assign(day=np.random.default_rng([seed, 1]).integers(0, 1000, len(frame)))


def fit(schema: Any = SCHEMA, **settings: Any) -> Fit:
    def fitted(data: Any, budget: Budget) -> Any:
        how = {"model": "gaussian", "anyway": True, "random_state": 0, "fitting": Fitting(10, 20), **settings}
        generator = MomentsGenerator(budget.epsilon, budget.delta, **how)
        rows, parent = data if isinstance(data, tuple) else (data, None)
        said = {"person": WHO.column, "rows_per_person": WHO.rows, "order": "day"}
        constant = {"constant": ["age", "ward"]} if parent is None else {"parent": parent}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            return generator.fit(rows, schema=schema, budget=budget, **said, **constant)

    return fitted


def extreme(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a person, the first, with as many rows as are taken, at both ends in turn: no two that follow are alike."""
    ends = [worlds.worst(SCHEMA) | {"day": 1000}, worlds.worst(SCHEMA, lowest=True)] * (WHO.rows // 2)
    return worlds.plant_person(frame, ends, WHO.column, 0)


def linked(frame: pd.DataFrame, *, blank: bool = False) -> tuple[Any, Any]:
    """The rows without age and ward, and a table of those; the last three persons have no rows."""
    parent: Any = frame.groupby(WHO.column, as_index=False)[["age", "ward"]].first()
    more = pd.DataFrame({WHO.column: [997, 998, 999], "age": [1, 50, 100], "ward": ["north", "west", "south"]})
    parent = pd.concat([parent, more], ignore_index=True)
    if blank:
        parent.loc[parent[WHO.column] == 0, ["age", "ward"]] = np.nan
    return frame.drop(columns=["age", "ward"]), parent


WAYS = [
    pytest.param(SCHEMA, {}, id="gaussian"),
    pytest.param(None, {}, id="no schema"),
    pytest.param(SCHEMA, {"model": "tables"}, id="tables"),
]


@pytest.mark.parametrize("model", ["gaussian", "tables"])
def test_with_the_same_answers_other_visits_give_the_same_release(model: str) -> None:
    run = replay(fit(model=model), visits(0), visits(1), EPSILON, DELTA)
    assert run.differences == ()


@pytest.mark.parametrize(("schema", "settings"), WAYS)
def test_a_person_moves_the_gate_by_no_more_than_was_paid(schema: Any, settings: Any) -> None:
    here = extreme(visits())
    run = replay(fit(schema, **settings), here, worlds.without_person(here), EPSILON, DELTA)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    assert found.worst > 0.05


def test_in_two_tables_neither_a_person_with_rows_nor_one_without_moves_more() -> None:
    here = extreme(visits())
    run = replay(fit(), linked(here), linked(worlds.without_person(here), blank=True), EPSILON, DELTA)
    assert run.differences == ()
    assert ratio(run).holds
    rows, parent = linked(here)
    gone = parent.where(parent[WHO.column] != 999).assign(**{WHO.column: parent[WHO.column]})
    run = replay(fit(), (rows, parent), (rows, gone), EPSILON, DELTA)
    assert run.differences == ()
    assert ratio(run).holds


def _moved_by_a_person(k: int, alike: bool) -> tuple[float, float]:
    """How far a person with `k` rows moves the look at pairs of rows, in squared deviations of the noise, and what was charged."""
    person = Person("who", 40, "day")
    frame = pd.DataFrame(
        {"who": np.repeat(np.arange(30), 3), "day": np.tile([1, 2, 3], 30), "x": np.tile([0.0, 9.0, 1.0], 30)}
    )
    ends = np.zeros(k) if alike else np.arange(k) % 2 * 10.0
    theirs = pd.DataFrame({"who": np.full(k, 99), "day": np.arange(k), "x": ends})
    said = Schema((Column("day", "integer", bounds=(0, 50)), Column("x", "continuous", bounds=(0, 10))))
    exits: list[Any] = []
    events: Any = ()
    for shown in (theirs, theirs.assign(day=np.nan, x=np.nan)):
        taken = check_visits(pd.concat([frame, shown], ignore_index=True), None, said, person, 0)
        budget = Budget(EPSILON, DELTA)
        budget.noise = recorder = Recorder(SystemNoise())
        known = Coordinates.declared(taken.declared, 31)  # pyright: ignore[reportArgumentType]
        present = taken.persons.present
        rows = Intake(
            taken.frame,
            present,
            taken.declared,
            None,
            0,
            budget,
            Run(None, None, 60.0),
            persons=taken.persons,
            visits=taken.visits,
        )
        lags.look_back(rows, known)
        exits.append(recorder.exits)
        events = budget.events
    return moved(*exits)[0], precision(events)


@pytest.mark.parametrize("k", [2, 3, 8, 40])
def test_all_pairs_of_a_person_together_move_the_look_by_no_more_than_one(k: int) -> None:
    for alike in (True, False):
        shift, charged = _moved_by_a_person(k, alike)
        assert 0 < shift <= charged * (1 + 1e-9)


def test_pairs_that_count_in_full_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: seven pairs of a person, each counted as a person's, move the look by up to 49 times its charge."""
    monkeypatch.setattr(lags, "person_weights", lambda owner, grid: np.full(len(owner), grid))
    shift, charged = _moved_by_a_person(8, True)
    assert shift > 10 * charged
