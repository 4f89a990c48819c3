"""Every registered method under replay and ratio, a new one by itself: nothing passes the gate unseen or underpaid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from understudy import registry
from understudy.audit import worlds
from understudy.audit.fitting import fitting
from understudy.audit.ratio import ratio
from understudy.audit.replay import Fit, replay

EPSILON, DELTA = 2.0, 1e-5
WORLDS = {"table": worlds.TABLES, "images": worlds.PICTURES}


# What a method may let out instead of what it does by default.
OTHERS: dict[str, tuple[dict[str, Any], ...]] = {
    "moments": ({"model": "tables"}, {"model": "both"}),
    "gpate": ({"aggregator": "signs"}, {"aggregator": "votes"}),
    "pategan": ({"aggregator": "comparisons"}, {"aggregator": "votes"}, {"aggregator": "votes", "ballot": "gnmax"}),
}


def cases(attack: registry.Attack) -> list[Any]:
    """Each method that this attack is for, in each of its ways, on each kind of data that it takes."""
    return [
        pytest.param(
            replace(entry, quick=(*entry.quick, *changes.items())),
            WORLDS[takes],
            id="-".join([entry.name, *changes.values(), takes]),
        )
        for entry in registry.entries()
        if attack in entry.attacks
        for changes in ({}, *OTHERS.get(entry.name, ()))
        for takes in entry.takes
        if takes in WORLDS
    ]


def quick(entry: registry.Entry) -> Fit:
    return fitting(entry, worlds.SCHEMA, public=worlds.table(60, seed=99), **dict(entry.quick))


@pytest.mark.parametrize(("entry", "world"), cases("replay"))
def test_with_the_same_answers_another_table_gives_the_same_release(entry: registry.Entry, world: Any) -> None:
    assert replay(quick(entry), world.ordinary(0), world.ordinary(1), EPSILON, DELTA).differences == ()


@pytest.mark.parametrize(
    ("neighbourhood", "entry", "world"),
    [
        pytest.param(
            *(name, *case.values),
            id=f"{name}-{case.id}",
            # Where the record stands is a matter of the rooms that all methods share: two of them are asked every time.
            marks=[pytest.mark.slow] if name == "first" and case.values[0].name not in ("moments", "pate") else [],
        )
        for name in ("extreme", "first", "alone")
        for case in cases("ratio")
    ],
)
def test_a_neighbour_moves_the_gate_by_no_more_than_was_paid(
    neighbourhood: str, entry: registry.Entry, world: Any
) -> None:
    here = getattr(world, neighbourhood)()
    run = replay(quick(entry), here, world.blanked(here, 0 if neighbourhood == "first" else -1), EPSILON, DELTA)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    if neighbourhood == "alone":
        assert found.worst > 0, "the record moved nothing: this world is not worth attacking"


def test_a_method_without_a_promise_is_attacked_by_nobody() -> None:
    for entry in registry.entries():
        assert bool(entry.attacks) == entry.load().private
