"""Whole persons: what stays the same does, dates never go back, rows follow one another as they did, and keys join."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.methods.moments.generator import Fitting
from understudy.tables import Column, Schema
from understudy.tables.persons import Person
from understudy.tables.visits import GAP, Visits

N, K = 1200, 8


def tables(seed: int = 0) -> tuple[Any, Any]:
    """Patients, and visits of them: some have none, the old have more; a weight that hardly changes, and a coin."""
    rng = np.random.default_rng(seed)
    patients = pd.DataFrame(
        {"pid": [f"p{i}" for i in range(N)], "age": rng.integers(18, 90, N), "sex": rng.choice(["f", "m"], N)}
    )
    each = rng.poisson(np.where(patients["age"] > 60, 3.5, 1.5)).clip(0, K)
    owner = np.repeat(np.arange(N), each)
    first = rng.integers(0, 900, N)
    days = first[owner] + pd.Series(rng.integers(20, 120, len(owner))).groupby(owner).cumsum().to_numpy()
    visits = pd.DataFrame(
        {
            "pid": patients["pid"].to_numpy()[owner],
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D"),
            "weight": (rng.normal(70, 15, N)[owner] + rng.normal(0, 3, len(owner))).round(1),
            "coin": rng.choice(["heads", "tails"], len(owner)),
        }
    )
    return patients, visits.sample(frac=1, random_state=seed).reset_index(drop=True)


def quick(epsilon: float = 4.0, **settings: Any) -> MomentsGenerator:
    how = {"fitting": Fitting(40, 150), **settings}
    return MomentsGenerator(epsilon, 1e-6, random_state=0, unsafe_noise_seed=0, **how)


@pytest.fixture(scope="module")
def one() -> tuple[Any, MomentsGenerator]:
    patients, visits = tables()
    flat = visits.merge(patients, on="pid")
    made = quick(20.0, model="gaussian")
    made.fit(flat, person="pid", rows_per_person=K, order="date", constant=["age", "sex"])
    return flat.sort_values(["pid", "date"]), made


@pytest.fixture(scope="module")
def two() -> tuple[Any, Any, MomentsGenerator]:
    patients, visits = tables()
    return patients, visits, quick().fit(visits, parent=patients, person="pid", rows_per_person=K, order="date")


def lag(frame: Any, values: Any) -> float:
    """The correlation of a row's value with that of the row before."""
    before = values.groupby(frame["pid"]).shift(1)
    there = before.notna() & values.notna()
    return float(np.corrcoef(before[there].astype(float), values[there].astype(float))[0, 1])


def test_persons_are_whole_their_constants_stay_and_dates_never_go_back(one: Any) -> None:
    real, made = one
    drawn = made.sample(1500, random_state=1)
    assert list(drawn.columns) == ["pid", "date", "weight", "coin", "age", "sex"]
    assert drawn["pid"].is_monotonic_increasing
    assert drawn["pid"].nunique() == 1500
    assert drawn.groupby("pid")[["age", "sex"]].nunique().to_numpy().max() == 1
    gaps = drawn.groupby("pid")["date"].diff().dropna().dt.days
    assert gaps.min() >= 0
    true = real.groupby("pid")["date"].diff().dropna().dt.days
    assert gaps.mean() == pytest.approx(true.mean(), rel=0.1)
    assert gaps.std() == pytest.approx(true.std(), rel=0.4)
    each, were = drawn.groupby("pid").size(), real.groupby("pid").size()
    assert each.max() <= K
    assert each.mean() == pytest.approx(were.mean(), rel=0.1)


def test_rows_follow_one_another_as_they_did(one: Any) -> None:
    real, made = one
    drawn = made.sample(1500, random_state=2)
    assert lag(real, real["weight"]) > 0.9
    assert lag(drawn, drawn["weight"]) > 0.8
    assert abs(lag(drawn, drawn["coin"] == "heads")) < 0.25
    assert drawn["weight"].std() == pytest.approx(real["weight"].std(), rel=0.25)


@pytest.mark.parametrize("model", ["gaussian", "tables"])
def test_a_release_comes_back_from_disk_and_draws_the_same(model: str, tmp_path: Path) -> None:
    patients, visits = tables()
    made = quick(20.0, model=model, anyway=True)
    made.fit(visits, parent=patients, person="pid", rows_per_person=3, order="date", target="sex")
    made.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.visits_ == made.visits_
    assert again.sample(40, random_state=3).equals(made.sample(40, random_state=3))
    assert again.sample_tables(9, {"sex": "f"}, 1).persons["sex"].tolist() == ["f"] * 9
    again.sample_to(tmp_path / "a.csv", 30, random_state=3, child=tmp_path / "b.csv")
    above, below = pd.read_csv(tmp_path / "a.csv"), pd.read_csv(tmp_path / "b.csv")
    assert len(above) == 30
    assert set(below["pid"]) <= set(above["pid"])
    assert made.certificate_.body["release"]["visits"]["linked"] is True
    assert made.certificate_.body["unit"] == "person"


def test_two_tables_come_out_as_two_that_their_key_joins(two: Any) -> None:
    patients, visits, made = two
    above, below = made.sample_tables(2000, random_state=1)
    assert list(above.columns) == ["pid", "age", "sex"]
    assert list(below.columns) == ["pid", "date", "weight", "coin"]
    assert above["pid"].is_unique
    assert set(below["pid"]) <= set(above["pid"])
    assert below[["date", "weight", "coin"]].notna().all().all(), "only a person without rows has none"
    each = below.groupby("pid").size().reindex(above["pid"], fill_value=0).to_numpy()
    were = visits.groupby("pid").size().reindex(patients["pid"], fill_value=0).to_numpy()
    assert np.mean(each == 0) == pytest.approx(np.mean(were == 0), abs=0.04)
    old, young = above["age"].to_numpy() > 60, above["age"].to_numpy() <= 60
    assert each[old].mean() > 1.3 * each[young].mean()
    assert lag(below, below["weight"]) > 0.8
    assert made.facts_["persons"] == N


def test_rows_without_an_order_are_taken_as_they_stand() -> None:
    patients, visits = tables()
    made = quick(model="gaussian").fit(visits.drop(columns="date"), parent=patients, person="pid", rows_per_person=K)
    below = made.sample_tables(1000, random_state=1).rows
    assert list(below.columns) == ["pid", "weight", "coin"]
    assert lag(below, below["weight"]) > 0.8


def test_a_schema_says_the_order_and_its_bounds_hold() -> None:
    patients, visits = tables()
    flat = visits.merge(patients, on="pid").assign(date=lambda f: f["date"].dt.strftime("%d.%m.%Y"))
    said = Schema(
        (
            Column("date", "datetime", bounds=("2020-01-01", "2023-06-30"), format="%d.%m.%Y"),  # pyright: ignore[reportArgumentType]
            Column("weight", "continuous", bounds=(0, 200)),
            Column("coin", "categorical", categories=("heads", "tails")),
            Column("age", "integer", bounds=(0, 110)),
            Column("sex", "categorical", categories=("f", "m")),
        ),
        person=Person("pid", K, "date", ("age", "sex")),
    )
    assert Schema.from_yaml(said.to_yaml()) == said
    made = quick(model="gaussian").fit(flat, schema=said)
    drawn = made.sample(600, random_state=1)
    dates = pd.to_datetime(drawn["date"], format="%d.%m.%Y")
    assert dates.between("2020-01-01", "2023-06-30").all()
    assert dates.groupby(drawn["pid"]).is_monotonic_increasing.all()
    assert made.facts_["rows_per_person"] == K
    assert made.schema_["date"].bounds == said["date"].bounds
    assert GAP not in made.schema_


def test_rows_without_a_place_are_left_out_and_the_first_are_taken() -> None:
    from understudy.release.visits import check_visits, rows_left_out

    frame = pd.DataFrame(
        {"id": [1, 1, 1, 1, 2, 2, 3], "day": [30, 10, None, 20, 5, 5, None], "x": [3.0, 1.0, 9.0, 2.0, 1.0, 2.0, 7.0]}
    )
    person = Person("id", 2, "day")
    taken = check_visits(frame, None, None, person, 0)
    assert sorted(taken.frame["x"]) == [1.0, 1.0, 2.0, 2.0]
    assert sorted(taken.frame[GAP].dropna()) == [0.0, 10.0]
    assert taken.persons.number == 3
    assert set(taken.frame["day"]) == {10, 5}, "the order is where the first row stands"
    found = rows_left_out(frame, None, person, None)
    assert found == {"beyond_rows_per_person": 1, "without_person": 0, "without_order": 2, "second_rows": 0}
    with pytest.raises(InputError, match=r"2 of 7 rows have no 'day'.*strict"):
        check_visits(frame, None, None, person, 0, strict=True)


def test_of_two_tables_what_has_no_person_is_left_out() -> None:
    from understudy.release.visits import check_visits, rows_left_out

    parent = pd.DataFrame({"id": ["1", "2", "2", None, "5"], "age": [10, 20, 99, 40, None]})
    rows = pd.DataFrame({"id": [1, 1, 2, 9, None], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    taken = check_visits(rows, None, None, Person("id", 3), 0, parent=parent)
    assert taken.persons.number == 5
    assert sorted(taken.frame["age"]) == [10, 10, 20]
    found = rows_left_out(rows, parent, Person("id", 3), None)
    assert (found["without_person"], found["second_rows"]) == (2, 1)
    with pytest.raises(InputError, match="4 rows have a 'id' that no person has, or that another one has too"):
        check_visits(rows, None, None, Person("id", 3), 0, parent=parent, strict=True)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"order": "date"}, "go with `person`"),
        ({"person": "pid", "rows_per_person": 4, "order": "day"}, "no column 'day'"),
        ({"person": "pid", "rows_per_person": 4, "order": "pid"}, "says whose a row is"),
        ({"person": "pid", "rows_per_person": 1, "order": "date"}, "at least 2"),
        ({"person": "pid", "rows_per_person": 4, "order": "date", "constant": ["sexx"]}, "constant: the table has no"),
        ({"person": "pid", "rows_per_person": 4, "order": "date", "constant": ["date"]}, "both stay the same"),
        ({"person": "pid", "rows_per_person": 4, "order": "date", "constant": "age"}, "a list of names"),
        ({"person": "pid", "rows_per_person": 4, "constant": ["age"]}, "`constant` goes with `order`"),
        ({"person": "pid", "rows_per_person": 4, "order": "date", "target": "date"}, "cannot be the target"),
        ({"person": "pid", "rows_per_person": 4, "order": "coin"}, "text by its type"),
        (
            {"person": "pid", "rows_per_person": 4, "order": "date", "rules": ["age > 3"]},
            "rules and persons with their rows in an order do not go",
        ),
        ({"person": "pid", "rows_per_person": 4, "order": "date", "target": "nothing"}, "no column 'nothing'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_spent(said: dict[str, Any], message: str) -> None:
    from understudy.privacy import Budget

    patients, visits = tables()
    flat = visits.merge(patients, on="pid").assign(coin=lambda f: f["coin"].astype("str"))
    budget = Budget(1.0, 1e-6)
    with pytest.raises(InputError, match=message):
        quick().fit(flat, budget=budget, **said)
    assert budget.events == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda above, below: (above.rename(columns={"pid": "id"}), below), "table of persons has no column 'pid'"),
        (lambda above, below: (above, below.rename(columns={"pid": "id"})), "child table has no column 'pid'"),
        (lambda above, below: (above.assign(coin=1), below), "both tables have 'coin'"),
        (lambda above, below: (above[["pid"]], below), "nothing to learn"),
    ],
)
def test_two_tables_that_do_not_go_together_are_refused(change: Any, message: str) -> None:
    above, below = change(*tables())
    with pytest.raises(InputError, match=message):
        quick().fit(below, parent=above, person="pid", rows_per_person=4, order="date")


def test_a_condition_is_on_what_stays_the_same_and_other_ways_are_refused(one: Any) -> None:
    _, made = one
    assert set(made.sample(20, where="age > 60", random_state=0)["age"] > 60) == {True}
    with pytest.raises(InputError, match="'weight' changes from row to row"):
        made.sample(5, {"weight": (60, 80)})
    with pytest.raises(InputError, match="use `sample`"):
        quick(model="gaussian", anyway=True).fit(tables()[0].drop(columns="pid")).sample_tables(3)


def test_a_method_that_draws_row_by_row_refuses() -> None:
    from understudy import PATEGAN

    patients, visits = tables()
    with pytest.raises(InputError, match="draws row by row"):
        PATEGAN().fit(visits.merge(patients, on="pid"), "sex", person="pid", rows_per_person=4, order="date")


def test_a_damaged_release_says_so() -> None:
    plain = Visits(Person("pid", 4, "date"), ("age",)).to_dict()
    assert Visits.from_dict(plain) == Visits(Person("pid", 4, "date"), ("age",))
    for wrong in ({"constant": "age"}, {"linked": 1}, {"person": None}, {"whole": [3]}):
        with pytest.raises(InputError, match=r"damaged|write `person` as"):
            Visits.from_dict(plain | wrong)
