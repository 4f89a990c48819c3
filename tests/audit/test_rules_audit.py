"""Rules and the gate: rows changed by their own cells leave the sensitivity of every look as it was.

A rule that dropped rows, or that looked at real ones to find what determines what, would show here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import registry
from understudy.audit import worlds
from understudy.audit.fitting import fitting
from understudy.audit.ratio import ratio
from understudy.audit.replay import replay
from understudy.tables import Column, Schema
from understudy.tables.rules import parse_rules, taking_in

EPSILON, DELTA = 2.0, 1e-5
RULES = parse_rules(
    [
        "older >= age",
        "both == age + older",
        "dose <= 8",
        "ward determines city",
        'if ward == "north" then sick == true',
    ]
)
SCHEMA = Schema(
    (
        *worlds.SCHEMA.columns,
        Column("older", "integer", bounds=(0, 110)),
        Column("both", "integer", bounds=(0, 210)),
        Column("city", "categorical", categories=("a", "b")),
    ),
    worlds.TARGET,
    rules=RULES,
)
ENTRY = registry.get("moments", "generator", "table")


def widened(frame: pd.DataFrame) -> pd.DataFrame:
    """The world's rows with further columns; the last row breaks every rule, as far out as it can."""
    wide = frame.assign(
        older=frame["age"] + 5, both=2 * frame["age"] + 5, city=np.where(frame["ward"] == "west", "a", "b")
    )
    blank = frame.isna().all(axis=1).to_numpy()
    wide.loc[blank, ["older", "both", "city"]] = None
    if not blank[-1]:
        wide.loc[len(wide) - 1, ["older", "both", "city"]] = [0, 210, "a"]
    return wide


def run(here: pd.DataFrame, there: pd.DataFrame) -> Any:
    return replay(fitting(ENTRY, SCHEMA, model="gaussian"), widened(here), widened(there), EPSILON, DELTA)


def test_a_neighbour_moves_no_more_than_was_paid() -> None:
    here = worlds.alone()
    found = run(here, worlds.TABLES.blanked(here, -1))
    assert found.differences == ()
    moved = ratio(found)
    assert moved.holds, moved
    assert moved.worst > 0, "the record moved nothing: this world is not worth attacking"


def test_with_the_same_answers_another_table_gives_the_same_release() -> None:
    """What `ward determines` comes from released things: other rows, the same answers, the same list."""
    assert run(worlds.table(seed=0), worlds.table(seed=1)).differences == ()


def test_a_rule_that_looks_at_other_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: one row that breaks a rule moves the differences of all."""
    honest = taking_in.RuledTable.learnt_rows

    def leaking(self: Any, frame: pd.DataFrame) -> pd.DataFrame:
        rows = honest(self, frame)
        return rows.assign(older=rows["older"] + 60.0 * bool((frame["older"] < frame["age"]).any()))

    monkeypatch.setattr(taking_in.RuledTable, "learnt_rows", leaking)
    here = worlds.alone()
    assert not ratio(run(here, worlds.TABLES.blanked(here, -1))).holds
