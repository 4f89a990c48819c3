"""Persons together with what else a release may have: rules, a check on held-out persons, a target that is a number."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import load, registry
from understudy.audit import worlds
from understudy.audit.ratio import ratio
from understudy.audit.replay import Fit, replay
from understudy.errors import InputError, UnderstudyWarning
from understudy.evaluation.check import EVERY, Check, held_out_persons, hold_out
from understudy.methods.moments import MomentsGenerator
from understudy.privacy import Budget, GaussianEvent, Ledger
from understudy.tables import Column, Schema
from understudy.tables.persons import Person

RULES = ("dose <= age", "twice == 2 * age")
WHO = Person("who", 4)
SCHEMA = worlds.SCHEMA


def stays(persons: int = 150, seed: int = 0) -> pd.DataFrame:
    frame = worlds.visits(persons, seed)
    return frame.assign(dose=np.minimum(frame["dose"], frame["age"]), twice=2 * frame["age"])


def ruled(frame: Any, budget: Budget | None = None, target: str = "sick", rules: Any = RULES) -> MomentsGenerator:
    made = MomentsGenerator(2.0, 1e-5, model="gaussian", random_state=0, anyway=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return made.fit(frame, target, budget=budget, person="who", rows_per_person=4, rules=rules)


def test_rules_hold_in_every_row_of_a_release_for_persons(tmp_path: Path) -> None:
    made = ruled(stays())
    made.save(tmp_path / "release")
    for one in (made, load(tmp_path / "release")):
        rows: Any = one.sample(400, random_state=1)
        # Noise may make an empty field or two; a rule speaks of fields that are there.
        age, dose, twice = (rows[name].astype(float).to_numpy() for name in ("age", "dose", "twice"))
        assert not (dose > age).any()
        np.testing.assert_array_equal(twice, 2 * age)
        assert set(rows.columns) == {"age", "dose", "ward", "sick", "twice"}
    body = made.certificate_.body
    assert body["unit"] == "person"
    assert body["release"]["rules"]["computed"] == ["twice"]
    assert body["release"]["rows_per_person"] == 4


def _moved(fit: Fit, here: pd.DataFrame) -> float:
    run = replay(fit, here, worlds.without_person(here), 2.0, 1e-5)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    return found.worst


def _extreme(column: str = "twice") -> pd.DataFrame:
    """A person, the first, whose four rows are all at one end."""
    frame: Any = stays()
    rows = [{"age": 100, "dose": 10.0, "ward": "west", "sick": True, column: 200, "who": 0}] * 4
    return pd.concat([frame[frame["who"] != 0], pd.DataFrame(rows)], ignore_index=True)


def test_a_person_moves_what_is_learnt_under_rules_by_no_more_than_was_paid() -> None:
    assert _moved(ruled, _extreme()) > 0.05


def test_nor_where_the_target_is_a_number() -> None:
    assert _moved(lambda frame, budget: ruled(frame, budget, "age", ()), _extreme()) > 0.05


# ---- a check on held-out persons ---------------------------------------------------------------------------------


def _checked(frame: pd.DataFrame, budget: Budget) -> MomentsGenerator:
    made = MomentsGenerator(2.0, 1e-5, model="gaussian", random_state=0, anyway=True)
    learnt, held = hold_out(frame, "sick", 0.2, made, WHO)
    check = Check(*held, budget, 0.2, WHO)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return made.fit(learnt, "sick", budget=budget, check=check, person="who", rows_per_person=4)


def test_whole_persons_are_held_out_by_their_ids_alone() -> None:
    frame: Any = worlds.visits(200)
    aside = held_out_persons(frame["who"])
    by_person = frame.assign(aside=aside).groupby("who")["aside"]
    assert (by_person.nunique() == 1).all()
    assert by_person.first().mean() == pytest.approx(1 / EVERY, abs=0.1)
    gone = frame["who"] != 0
    assert np.array_equal(held_out_persons(frame["who"][gone]), aside[gone])
    with pytest.raises(InputError, match="8 persons are too few"):
        hold_out(worlds.visits(8), "sick", 0.2, MomentsGenerator(), WHO)


@pytest.mark.parametrize("aside", [False, True])
def test_a_person_moves_a_run_with_a_check_by_no_more_than_was_paid(aside: bool) -> None:
    """Whoever is held out, is in the check; whoever is not, in the look: charged are both, for everybody."""
    frame = worlds.visits(150)
    who = next(name for name in range(150) if held_out_persons(pd.Series([name]))[0] == aside)
    names = frame["who"].replace({0: who, who: 0})  # the person that comes and goes is the first
    here = worlds.with_extreme_person(frame.assign(who=names)).assign(who=lambda t: t["who"].replace({0: who, who: 0}))
    there = here.where(here["who"] != who, None).assign(who=here["who"])
    run = replay(_checked, here, there, 2.0, 1e-5)
    assert run.differences == ()
    found = ratio(run)
    assert found.holds, found
    share = 0.2
    assert found.worst > (0.5 * share if aside else 0.05)


def test_a_score_of_persons_says_so() -> None:
    body = _checked(worlds.visits(150), Budget(2.0, 1e-5, unsafe_noise_seed=0)).certificate_.body
    said = body["release"]["check"]
    assert said["persons"] == len({who for who in range(150) if held_out_persons(pd.Series([who]))[0]})
    assert "held-out persons" in said["sentence"]
    assert "rows" not in said
    assert body["release"]["persons"] + said["persons"] == 150
    budget = Budget(2.0, 1e-5)
    Check(worlds.visits(50), "sick", budget, 0.2, WHO)
    event = budget.events[0]
    assert isinstance(event, GaussianEvent)
    assert not event.integer_unit  # a person moves several cells by parts


def test_a_run_goes_on_for_the_unit_and_the_persons_that_it_began_with(tmp_path: Path) -> None:
    """With a ledger, which remembers the unit, and without."""
    entry, frame = registry.get("gpate"), worlds.visits(60)
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("clinic", epsilon=9.0, delta=1e-3)
    place, booked = tmp_path / "run.private", {"ledger": str(tmp_path / "ledger.db"), "dataset": "clinic"}
    how = {**dict(entry.quick), "teachers": 40, "epsilon": 2.0, "delta": 1e-5, "random_state": 0}

    def fit(table: pd.DataFrame, **given: Any) -> Any:
        def stop(_: Any) -> None:
            raise KeyboardInterrupt

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            return entry.load().from_settings(**how).fit(table, "sick", SCHEMA, workspace=place, progress=stop, **given)

    rows, person = frame.drop(columns="who"), {"person": "who", "rows_per_person": 4}
    with pytest.raises(KeyboardInterrupt):
        fit(frame, **person, **booked)
    with pytest.raises(InputError, match="was reserved for one person, and this run is for one row"):
        fit(rows, **booked, resume=True)
    (place / "ledger.json").unlink()
    with pytest.raises(InputError, match=r"of another run|settings it was started with"):
        fit(rows, resume=True)
    with pytest.raises(InputError, match="settings it was started with"):
        fit(frame, person="who", rows_per_person=3, resume=True)
    with pytest.raises(InputError, match="the rows of the table are not the same"):
        fit(frame.assign(who=frame["who"].to_numpy()[::-1]), **person, resume=True)


def test_a_schema_of_one_column_and_a_person_needs_no_more() -> None:
    schema = Schema((Column("sick", "boolean"),), "sick", person=WHO)
    made = MomentsGenerator(4.0, 1e-5, random_state=0, anyway=True, unsafe_noise_seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        made.fit(worlds.visits(150)[["sick", "who"]], schema=schema)
    assert list(made.sample(5).columns) == ["sick"]
