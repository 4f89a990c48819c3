"""Persons as canaries: all rows of one come and go, and no look moves by more than was paid for one row."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import pytest

from understudy import registry
from understudy.audit import worlds
from understudy.audit.canaries import canaries
from understudy.audit.ratio import ratio
from understudy.audit.replay import Fit, replay
from understudy.errors import UnderstudyWarning
from understudy.privacy import Budget

EPSILON, DELTA = 2.0, 1e-5
WAYS = {
    "moments": [{"model": "gaussian"}, {"model": "tables"}, {"model": "both"}],
    "pategan": [{"teachers": 40}],
    "gpate": [{"teachers": 40}],
    "dpgan": [{"batch": 100}],
}


def fit(entry: registry.Entry, schema: Any = worlds.SCHEMA, person: bool = True, **settings: Any) -> Fit:
    def fitted(frame: pd.DataFrame, budget: Budget) -> Any:
        how = {**dict(entry.quick), **settings, "epsilon": budget.epsilon, "delta": budget.delta, "random_state": 0}
        visitors = {"person": worlds.VISITORS.column, "rows_per_person": worlds.VISITORS.rows} if person else {}
        table = frame if person else frame.drop(columns=[worlds.VISITORS.column])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            return entry.load().from_settings(**how).fit(
                table, worlds.TARGET, schema, budget=budget, **visitors
            )  # fmt: skip

    return fitted


def ways() -> list[Any]:
    """Every generator of tables that takes persons, in each of its ways."""
    return [
        pytest.param(entry, settings, id="-".join([entry.name, *map(str, settings.values())]))
        for entry in registry.entries()
        if getattr(entry.load(), "takes_persons", None)
        for settings in WAYS.get(entry.name, [{}])
    ]


_REPLAYED = [
    pytest.param(*way.values, id=way.id, marks=pytest.mark.slow)
    if str(way.id).startswith(("dpgan", "pategan"))
    else way
    for way in ways()
]


@pytest.mark.parametrize(("entry", "settings"), _REPLAYED)
def test_with_the_same_answers_other_persons_give_the_same_release(entry: registry.Entry, settings: Any) -> None:
    run = replay(fit(entry, **settings), worlds.visits(seed=0), worlds.visits(seed=1), EPSILON, DELTA)
    assert run.differences == ()


def neighbourhoods() -> list[Any]:
    """Persons far out; and, of moments, such as are scattered, in a table without a schema."""
    worst = [pytest.param(*way.values, worlds.with_extreme_person, worlds.SCHEMA, id=way.id) for way in ways()]
    scattered = [
        pytest.param(*way.values, worlds.with_scattered_person, None, id=f"{way.id}-scattered")
        for way in ways()
        if way.values[0].name == "moments"
    ]
    return worst + scattered


@pytest.mark.parametrize(("entry", "settings", "planted", "schema"), neighbourhoods())
def test_a_person_moves_the_gate_by_no_more_than_was_paid(
    entry: registry.Entry, settings: Any, planted: Any, schema: Any
) -> None:
    here = planted(worlds.visits())
    run = replay(fit(entry, schema, **settings), here, worlds.without_person(here), EPSILON, DELTA)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    assert found.worst > 0.05


@pytest.mark.parametrize("settings", WAYS["moments"])
def test_a_run_that_pretends_rows_is_caught(settings: Any) -> None:
    """A promise for one row, with persons as neighbours: their four rows move the gate by up to sixteen times the charge."""
    here = worlds.with_extreme_person(worlds.visits())
    there = here.where(here[worlds.VISITORS.column] != 0)
    entry = registry.get("moments", "generator", "table")
    run = replay(fit(entry, person=False, **settings), here, there, EPSILON, DELTA)
    assert ratio(run).worst > 2


def test_canary_persons_stay_below_the_claim() -> None:
    entry = registry.get("moments", "generator", "table")
    here = worlds.with_extreme_person(worlds.visits(40))
    quick = fit(entry, model="gaussian", anyway=True)
    for attack in canaries(quick, here, worlds.without_person(here), EPSILON, DELTA, 12):
        assert attack.holds, attack
