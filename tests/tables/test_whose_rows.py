"""Whose a row is: what is taken of a person, and what is drawn for it, follows from that person's rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.errors import InputError
from understudy.tables import Column, Schema
from understudy.tables.coordinates import KeyedChances
from understudy.tables.coordinates.tally import tally
from understudy.tables.persons import Person, Persons, count_persons, gather, left_out, repeating_ids

K = 3


def _ids(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pd.Series(rng.permutation(np.repeat([f"p{i}" for i in range(60)], rng.integers(1, 8, 60))))


def _taken(ids: Any, present: np.ndarray) -> dict[tuple[str, int], tuple[np.uint64, float]]:
    """Of each row that is taken (by its person and place in the table) its key and a draw."""
    at, persons = gather(ids, present, Person("id", K), 7)
    draws = KeyedChances(persons.keys, 3).random(len(at))
    return {(ids[row], row): (key, draw) for row, key, draw in zip(at, persons.keys, draws, strict=True)}


def test_at_most_so_many_rows_of_a_person_are_taken_and_all_where_there_are_fewer() -> None:
    ids = _ids()
    at, persons = gather(ids, np.ones(len(ids), bool), Person("id", K), 7)
    taken, there = ids[at].value_counts(), ids.value_counts()
    assert (taken == np.minimum(there, K)[taken.index]).all()
    assert persons.number == 60
    assert (np.diff(persons.owner) >= 0).all()
    assert persons.present.sum() == len(at)
    assert len(persons.present) == 60 * K
    assert (persons.rows_each == taken[ids[at]].to_numpy()).all()


def test_what_is_taken_of_a_person_and_drawn_for_it_no_other_person_moves() -> None:
    ids = _ids()
    whole = _taken(ids, np.ones(len(ids), bool))
    for who in ("p0", "p17", "p59"):
        without = _taken(ids, (ids != who).to_numpy())
        assert without == {row: drawn for row, drawn in whole.items() if row[0] != who}


def test_draws_are_even_and_differ_from_row_to_row_and_turn_to_turn() -> None:
    ids = pd.Series(np.repeat(np.arange(5000), 2))
    _, persons = gather(ids, np.ones(10_000, bool), Person("id", 2), 1)
    chances = KeyedChances(persons.keys, 5)
    first, second = chances.random(10_000), chances.random(10_000)
    for drawn in (first, second):
        assert np.histogram(drawn, 10, (0, 1))[0].std() < 60
        assert len(np.unique(drawn)) == 10_000
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04
    assert abs(np.corrcoef(first[::2], first[1::2])[0, 1]) < 0.06


def test_which_rows_are_left_out_is_random_and_follows_from_the_seed() -> None:
    ids = pd.Series(np.repeat(np.arange(300), 4))
    present = np.ones(len(ids), bool)
    kept = [np.sort(gather(ids, present, Person("id", 1), seed)[0]) % 4 for seed in (1, 1, 2)]
    assert (kept[0] == kept[1]).all()
    assert (kept[0] != kept[2]).any()
    assert np.bincount(kept[0]).min() > 40


def test_a_row_without_an_id_is_nobodys_and_one_number_is_one_person() -> None:
    ids = pd.Series([1.0, np.nan, 2.0, 1.0])
    at, persons = gather(ids, np.ones(4, bool), Person("id", 5), 0)
    assert sorted(at.tolist()) == [0, 2, 3]
    same, again = gather(pd.Series(["1", "2", "1"]), np.ones(3, bool), Person("id", 5), 0)
    assert sorted(same.tolist()) == [0, 1, 2]
    assert (again.person_keys == persons.person_keys).all()
    assert count_persons(pd.DataFrame({"id": ids}), Person("id", 5)) == 2
    assert left_out(pd.DataFrame({"id": ids}), Person("id", 1)) == (1, 1)


def test_a_person_counts_one_in_all_and_a_value_that_one_alone_holds_is_not_counted() -> None:
    persons = Persons(3, 4, np.array([0, 0, 0, 1, 2]), np.zeros(5, np.uint64), np.zeros(3, np.uint64))
    assert persons.weights is not None
    found = tally(pd.Series(["a", "a", "b", "b", "c"], dtype="str"), persons.weights, 5040)
    assert found.counts.tolist() == [3360, 1680 + 5040, 5040]
    assert found.counts[found.repeated].tolist() == [6720]
    numbers = tally(pd.Series([1.0, 1.0, np.nan, 2.0, 3.0]), persons.weights, 5040)
    assert numbers.counts.tolist() == [3360, 5040, 5040]
    assert numbers.missing == 1680
    assert numbers.readings().sum() == 3 * 5040


def test_a_schema_says_whose_a_row_is() -> None:
    schema = Schema((Column("age", "integer", bounds=(0, 120)),), person=Person("patient", 6))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert "person:\n  column: patient\n  rows: 6" in schema.to_yaml()
    plain = schema.to_dict()
    for wrong in ({"column": "patient"}, "patient", {"column": "", "rows": 3}, {"column": "x", "rows": 0}):
        with pytest.raises(InputError, match="person"):
            Schema.from_dict(plain | {"person": wrong})
    with pytest.raises(InputError, match="at most 1000 rows"):
        Person("patient", 10_000)


def test_ids_that_repeat_are_noticed_and_others_are_not() -> None:
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(100), 3)
    frame = pd.DataFrame(
        {
            "patient_id": rng.permutation(ids),
            "code": [f"x{i}" for i in ids],  # by its order alone
            "row_id": np.arange(300),
            "age": rng.integers(0, 90, 300),
            "dose": rng.normal(size=300).round(1),
            "ward": np.repeat(["a", "b", "c"], 100),
        }
    )
    assert repeating_ids(frame) == {"patient_id": (100, 3), "code": (100, 3)}
    frame = frame.rename(columns={"patient_id": "Patient"}).sample(frac=1, random_state=0).reset_index(drop=True)
    assert repeating_ids(frame) == {"Patient": (100, 3)}, "by its name, in any order"
