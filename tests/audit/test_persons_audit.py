"""Persons as canaries: all rows of one come and go, and no look moves by more than was paid for one row.

Every method of tables that takes persons is here, by the registry. Whole attacks, with the epsilon that they prove, are
`python -m benchmarks run persons-audit`.
"""

from __future__ import annotations

from typing import Any

import pytest

from understudy import registry
from understudy.audit import worlds
from understudy.audit.canaries import canaries
from understudy.audit.ratio import ratio
from understudy.audit.replay import replay

EPSILON, DELTA, PERSONS = 2.0, 1e-5, 60
WAYS = {"moments": [{"model": "gaussian"}, {"model": "tables"}, {"model": "both"}]}
ENTRIES = [entry for entry in registry.entries() if entry.load().takes_persons]
TAKEN = [
    pytest.param(entry, settings, id="-".join([entry.name, *map(str, settings.values())]))
    for entry in ENTRIES
    for settings in WAYS.get(entry.name, [{}])
]


def test_every_private_method_of_tables_takes_persons() -> None:
    tables = [entry.name for entry in registry.entries(takes="table") if entry.load().private]
    assert tables == [entry.name for entry in ENTRIES]


@pytest.mark.parametrize(("entry", "settings"), TAKEN)
def test_with_the_same_answers_other_persons_give_the_same_release(entry: registry.Entry, settings: Any) -> None:
    fit = worlds.fit_persons(entry, PERSONS, **settings)
    run = replay(fit, worlds.visits(PERSONS, seed=0), worlds.visits(PERSONS, seed=1), EPSILON, DELTA)
    assert run.differences == ()


@pytest.mark.parametrize(("entry", "settings"), TAKEN)
def test_a_person_moves_the_gate_by_no_more_than_was_paid(entry: registry.Entry, settings: Any) -> None:
    here = worlds.with_person_alone(PERSONS)
    run = replay(worlds.fit_persons(entry, PERSONS, **settings), here, worlds.without_person(here), EPSILON, DELTA)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    assert found.worst > 0.1


@pytest.mark.parametrize("settings", WAYS["moments"])
def test_nor_does_one_whose_rows_are_scattered_in_a_table_without_a_schema(settings: Any) -> None:
    here, entry = worlds.with_scattered_person(worlds.visits()), registry.get("moments")
    schema = worlds.Schema(worlds.SCHEMA.columns[-1:], worlds.TARGET, person=worlds.VISITORS)
    run = replay(worlds.fit_persons(entry, 150, schema, **settings), here, worlds.without_person(here), EPSILON, DELTA)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    assert found.worst > 0.05


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            entry, id=entry.name, marks=[] if entry.name in ("moments", "gpate", "pate") else [pytest.mark.slow]
        )
        for entry in ENTRIES
    ],
)
def test_a_run_that_pretends_rows_is_caught(entry: registry.Entry) -> None:
    """A promise for one row, with persons as neighbours: their four rows move the gate by up to sixteen times the charge."""
    here, there = worlds.as_rows(worlds.with_person_alone(PERSONS))
    run = replay(worlds.fit_persons(entry, len(here), worlds.SCHEMA), here, there, EPSILON, DELTA)
    assert ratio(run).worst > 2


@pytest.mark.parametrize(("name", "settings"), [("moments", {"model": "gaussian"}), ("pate", {})])
def test_canary_persons_stay_below_the_claim(name: str, settings: Any) -> None:
    here = worlds.with_person_alone(PERSONS)
    fit = worlds.fit_persons(registry.get(name), PERSONS, **settings)
    for attack in canaries(fit, here, worlds.without_person(here), EPSILON, DELTA, 8):
        assert attack.at(0.999).holds, attack
