"""Rules through whole releases: every row that is written is true, whatever the method, after saving, in streams, with conditions."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load, registry
from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.release import sampling
from understudy.tables import Schema, read_table
from understudy.tables.rules import parse_rules

sys.path.append(str(Path(__file__).parents[1] / "tables"))
from stays import RULES, SCHEMA, broken, stays  # pyright: ignore[reportMissingImports]

ADVERSARIAL = (pytest.param("gpate"), pytest.param("dpgan", marks=pytest.mark.slow))


def moments(**settings: Any) -> MomentsGenerator:
    given = {"epsilon": 4.0, "random_state": 0, "unsafe_noise_seed": 1, "model": "gaussian", **settings}
    return MomentsGenerator.from_settings(**given)


@pytest.fixture(scope="module")
def declared() -> MomentsGenerator:
    return moments().fit(stays(1500), "died", replace(SCHEMA, rules=RULES))


def test_without_rules_most_rows_are_false() -> None:
    found = broken(moments().fit(stays(1500), "died", SCHEMA).sample(1000, random_state=0))
    assert found["order"] > 300
    assert found["month"] > 500
    assert found["tests"] > 500


def test_every_row_is_true_and_says_how(declared: MomentsGenerator) -> None:
    rows = declared.sample(3000, random_state=0)
    assert broken(rows) == {}
    assert tuple(rows.columns) == SCHEMA.names
    facts = declared.certificate_.body["release"]["rules"]
    assert facts["said"] == [str(rule) for rule in RULES]
    assert set(facts["computed"]) == {"discharge", "month", "tests", "city"}
    assert facts["differences"] == ["cost"]
    assert 0 <= facts["drawn_again"] < 0.6
    assert "the rules, which the owner stated" in declared.certificate_.body["assumed_public"]
    # What is learnt is still learnt.
    real = stays(1500)
    assert abs(rows["length"].mean() - real["length"].mean()) < 1.0
    by_ward = rows.groupby("ward")["length"].mean()
    assert by_ward["medicine"] > by_ward["maternity"] + 2


def test_what_is_computed_is_not_bought() -> None:
    """Fewer columns are looked at, so the same budget buys less noise on each."""
    plain, ruled = (moments(model="gaussian").fit(stays(1500), "died", rules=rules) for rules in ((), RULES))
    assert plain.coordinates_ is not None
    assert ruled.coordinates_ is not None
    assert set(plain.coordinates_.names) - set(ruled.coordinates_.names) == {"discharge", "month", "tests"}
    assert ruled.coordinates_["ward"].sigma < plain.coordinates_["ward"].sigma
    assert ruled.certificate_.epsilon <= 4.0
    assert set(ruled.schema_.names) == set(SCHEMA.names)
    assert broken(ruled.sample(500, random_state=0)) == {}


@pytest.mark.parametrize("method", ADVERSARIAL)
def test_an_adversarial_generator_keeps_them_too(method: str, tmp_path: Path) -> None:
    entry = registry.get(method, "generator", "table")
    generator = entry.load().from_settings(epsilon=4.0, random_state=0, **dict(entry.quick))
    generator.fit(stays(400), "died", replace(SCHEMA, rules=RULES))
    generator.save(tmp_path / "release")
    again = load(tmp_path / "release")
    rows = again.sample(200, random_state=3)
    assert len(rows) == 200
    assert broken(rows) == {}
    pd.testing.assert_frame_equal(rows, generator.sample(200, random_state=3))


def test_after_saving_in_streams_and_in_files(
    declared: MomentsGenerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.schema_ == declared.schema_
    assert again.schema_.rules == RULES
    monkeypatch.setattr(sampling, "CHUNK", 700)
    for name in ("rows.csv", "rows.parquet", "rows.feather"):
        drawn = again.sample_to(tmp_path / name, 3000, random_state=0)
        written = read_table(tmp_path / name)
        assert len(written) == drawn.rows == 3000
        assert broken(written) == {}, name
        assert drawn.tried - drawn.broken >= 3000
        assert drawn.drawn_again == pytest.approx(1 - again.rules_.kept, abs=0.05)


@pytest.mark.parametrize(
    ("conditions", "where", "check"),
    [
        ({"died": True}, (), lambda f: f.died),
        ({"length": (5, 7)}, (), lambda f: f["length"].between(5, 7)),
        ({"month": [1, 2], "ward": ["surgery", "medicine"]}, (), lambda f: f.month.isin([1, 2])),
        ({"city": "Bern"}, (), lambda f: f.city == "Bern"),
        ({"tests": 4}, (), lambda f: f.tests == 4),
        ({"discharge": lambda s: s.dt.year == 2020}, (), lambda f: f.discharge.dt.year == 2020),
        ({}, "length >= 5 and discharge - admission <= 9", lambda f: f["length"].between(5, 9)),
        ({"died": True}, ['ward in ("surgery")', "month == 3"], lambda f: f.died & (f.month == 3)),
    ],
)
def test_conditions_and_rules_hold_together(declared: Any, conditions: Any, where: Any, check: Any) -> None:
    rows = declared.sample(150, conditions, random_state=0, where=where)
    assert len(rows) == 150
    assert broken(rows) == {}
    assert check(rows).all()


def test_conditions_that_make_no_sense_are_refused(declared: Any) -> None:
    for where, words in (
        ("lenght > 3", "lenght"),
        ("ward > 3", "no order"),
        ('ward == "north"', "is never"),
        ("length >", "ends too soon"),
    ):
        with pytest.raises(InputError, match=words):
            declared.sample(10, where=where, random_state=0)


def test_rules_that_almost_nothing_keeps_are_given_up_with_words() -> None:
    """They can be true, so nothing is refused before; the release is valid and says so."""
    rules = ["labs == 20 and scans == 20 or labs == 19 and scans == 20"]
    generator = moments().fit(stays(800), "died", SCHEMA, rules=rules)
    assert generator.certificate_.body["release"]["rules"]["drawn_again"] > 0.99
    with pytest.raises(InputError, match=r"almost none. Most break rule 1 .*schema check"):
        generator.sample(100, random_state=0)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["discharge >= admitted"], "rule 1 .*no column 'admitted'"),
        (["ward >= 3"], "text has no order"),
        (["length >= 61"], "can never be true"),
        (["discharge >= admission", "discharge < admission"], "Nothing was spent"),
        (["discharge >"], "ends too soon"),
    ],
)
def test_an_impossible_rule_costs_nothing(rules: list[str], words: str) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match=words):
        moments(unsafe_noise_seed=None).fit(stays(300), "died", SCHEMA, rules=rules, budget=budget)
    assert not budget.events


def test_rows_that_break_a_rule_are_neither_dropped_nor_refused() -> None:
    frame = stays(1500)
    frame.loc[::3, "discharge"] = pd.Timestamp("2018-06-01")
    frame.loc[::5, "sex"] = "male"
    schema = replace(
        SCHEMA, rules=parse_rules(["discharge >= admission", 'if ward == "maternity" then sex == "female"'])
    )
    generator = moments().fit(frame, "died", schema)
    assert generator.certificate_.body["release"]["rows"] == 1500
    rows = generator.sample(1000, random_state=0)
    assert (rows["discharge"] >= rows["admission"]).all()
    assert not ((rows["ward"] == "maternity") & (rows["sex"] == "male")).any()
    assert ((rows["discharge"] == rows["admission"]).mean()) > 0.15  # clipped at zero, and learnt so


def test_a_release_that_lost_its_rules_is_refused(declared: MomentsGenerator, tmp_path: Path) -> None:
    contents = declared._contents()
    parameters = {name: value for name, value in contents.parameters.items() if name != "rules"}
    for bundle in (
        replace(contents, parameters=parameters),
        replace(contents, schema=replace(SCHEMA, rules=())),
        replace(contents, parameters={**contents.parameters, "rules": {"steps": 3}}),
    ):
        with pytest.raises(InputError, match="damaged"):
            MomentsGenerator.from_bundle(bundle)


def test_words_and_formats_of_a_file_are_kept(tmp_path: Path) -> None:
    """A text file with its own dates and nothing but kinds declared."""
    frame = stays(1500)
    for name in ("admission", "discharge"):
        frame[name] = frame[name].dt.strftime("%d.%m.%Y")
    plain: dict[str, Any] = {
        "version": 1,
        "columns": [
            {"name": name, "kind": "datetime", "format": "%d.%m.%Y", "nullable": True}
            for name in ("admission", "discharge")
        ],
        "rules": ["discharge >= admission", "month == month(admission)"],
    }
    generator = moments().fit(frame.astype(str), "died", Schema.from_dict(plain), typed=False)
    rows = generator.sample(1000, random_state=0)
    days = [pd.to_datetime(rows[name], format="%d.%m.%Y") for name in ("admission", "discharge")]
    there = days[0].notna() & days[1].notna()
    assert there.mean() > 0.9
    assert (days[1] >= days[0])[there].all()
    assert np.array_equal(days[0].dt.month[there], rows["month"][there].astype(float))
