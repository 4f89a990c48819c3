"""Distances on public bins, range queries, near-certain rules and tuned boosting, where the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import SCHEMA, patients
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.evaluation import Evaluation, evaluate
from understudy.evaluation.features import Featuriser
from understudy.evaluation.fidelity import fidelity
from understudy.evaluation.public_bins import answers, cells, positions, questions, range_error
from understudy.evaluation.relations import broken
from understudy.evaluation.result import Fidelity
from understudy.evaluation.tuned import TunedBoosting
from understudy.tables import Column, Schema

NUMBER = Column("x", "continuous", (0.0, 10.0), nullable=True)
WHOLE = Column("k", "integer", (1, 4))


def judged(real: pd.DataFrame, made: pd.DataFrame, schema: Schema = SCHEMA) -> Fidelity:
    features = Featuriser(schema, schema.target)
    return fidelity(real, made, schema, features.rows(real), features.rows(made))


# ---- public bins ------------------------------------------------------------------------------------------------


def test_bins_follow_from_the_schema_alone() -> None:
    frame = pd.DataFrame({"x": [0.0, 0.49, 0.5, 9.99, 10.0, np.nan, 99.0], "k": [1, 2, 3, 4, 4, 1, 9]})
    found = positions(frame, Schema((NUMBER, WHOLE)))
    assert cells(NUMBER, found["x"], 20).tolist() == [1, 1, 2, 20, 20, 0, 20]
    assert cells(WHOLE, found["k"], 20).tolist() == [1, 2, 3, 4, 4, 1, 4], "few whole numbers have a bin each"
    assert cells(WHOLE, found["k"], 2).tolist() == [1, 1, 2, 2, 2, 1, 2]


def test_a_declared_scale_is_followed() -> None:
    column = Column("x", "continuous", (1.0, 100.0), scale="log")
    found = positions(pd.DataFrame({"x": [1.0, 9.0, 11.0, 100.0]}), Schema((column,)))
    assert cells(column, found["x"], 2).tolist() == [1, 1, 2, 2]


def test_distances_of_tables_that_differ_in_known_ways() -> None:
    schema = Schema((Column("a", "boolean"), Column("b", "boolean"), Column("c", "boolean")))
    bits = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)] * 50, dtype=bool)
    real = pd.DataFrame(bits, columns=list("abc"))
    even = pd.DataFrame(bits[bits.sum(axis=1) % 2 == 0], columns=list("abc"))
    tied = real.assign(b=real["a"])
    same, parity, pair = (judged(real, made, schema) for made in (real, even, tied))
    assert (same.distance_1, same.distance_2, same.distance_3) == (0, 0, 0)
    assert (parity.distance_1, parity.distance_2, parity.distance_3) == (0, 0, pytest.approx(0.5))
    assert (pair.distance_1, pair.distance_2, pair.distance_3) == (0, pytest.approx(1 / 6), pytest.approx(0.5))
    assert judged(real, real.assign(a=True), schema).distance_1 == pytest.approx(1 / 6)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(-5, 15), min_size=1, max_size=30), st.lists(st.floats(-5, 15), min_size=1, max_size=30))
def test_range_errors_are_shares_and_those_of_a_table_with_itself_are_none(a: list[float], b: list[float]) -> None:
    schema = Schema((NUMBER,))
    one, two = (positions(pd.DataFrame({"x": side}), schema) for side in (a, b))
    assert range_error(one, one, schema) == 0
    assert 0 <= range_error(one, two, schema) == range_error(two, one, schema) <= 1


def test_range_queries_by_hand() -> None:
    schema = Schema((NUMBER, Column("town", "categorical", categories=("n", "s"))))
    places = positions(pd.DataFrame({"x": [1.0, 5.0, 9.0, np.nan], "town": ["n", "s", "n", "s"]}), schema)
    asked = [
        {"x": np.array([0.0, 1.0])},
        {"x": np.array([0.2, 0.6])},
        {"town": np.array([False, True, False, False])},
        {"x": np.array([0.0, 1.0]), "town": np.array([False, False, True, False])},
    ]
    assert answers(places, asked).tolist() == [0.75, 0.25, 0.5, 0.25]
    # All rows at one end against all at the other: an interval holds exactly one end with the chance of holding neither nor both.
    low, high = (positions(pd.DataFrame({"x": [value] * 3}), Schema((NUMBER,))) for value in (2.5, 7.5))
    ends = np.array([one["x"] for one in questions(Schema((NUMBER,)))])
    held = [(ends[:, 0] <= at) & (at <= ends[:, 1]) for at in (0.25, 0.75)]
    assert range_error(low, high, Schema((NUMBER,))) == pytest.approx(np.mean(held[0] != held[1]))


# ---- rules ------------------------------------------------------------------------------------------------------


def routes(rows: int, wrong: float, seed: int = 0) -> pd.DataFrame:
    """A route has its distance; a share `wrong` of the rows has that of the next route."""
    random = np.random.default_rng(seed)
    route = random.integers(0, 6, rows)
    far = np.where(random.random(rows) < wrong, (route + 1) % 6, route)
    other = random.choice(["p", "q"], rows)
    return pd.DataFrame({"route": [f"r{i}" for i in route], "far": far * 100.0 + 50, "other": other})


ROUTES = Schema(
    (
        Column("route", "categorical", categories=tuple(f"r{i}" for i in range(6))),
        Column("far", "continuous", (0.0, 1000.0)),
        Column("other", "categorical", categories=("p", "q")),
    )
)


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.4])
def test_rules_are_found_and_the_share_that_breaks_them_is_counted(wrong: float) -> None:
    found = judged(routes(3000, 0.01), routes(3000, wrong, 1), ROUTES)
    assert found.rules is not None
    assert found.rules >= 6
    # Numbers are told apart by five bins: two neighbours of the six distances lie in one.
    assert found.rules_broken == pytest.approx(wrong, abs=0.2 * wrong + 0.01)
    assert found.rows_breaking is not None
    assert found.rows_breaking <= wrong + 0.02


def test_where_nothing_is_nearly_certain_there_is_no_rule() -> None:
    real, made = (patients(500, seed).drop(columns="sick") for seed in (0, 1))
    found = judged(real, made, Schema(SCHEMA.columns[:-1]))
    assert (found.rules, found.rules_broken, found.rows_breaking) == (0, None, None)
    constant = np.zeros(100, dtype=np.int64)
    pairs = {"a": (np.arange(100) % 4, np.arange(100) % 4), "b": (constant, constant)}
    assert broken(pairs, pairs) is None, "what always holds follows from nothing"
    assert broken({}, {}) is None


def test_a_rule_that_is_read_off_few_rows_is_none() -> None:
    name = np.arange(300) // 3
    side = np.random.default_rng(0).integers(0, 2, 100)[name]
    assert broken({"name": (name, name), "side": (side, side)}, {"name": (name, name), "side": (side, side)}) is None


# ---- tuned boosting ---------------------------------------------------------------------------------------------


def test_boosting_grows_only_as_far_as_held_rows_say() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(1500, 4)).astype(np.float32)
    noise, parity = random.integers(0, 2, 1500), ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(np.int64)
    assert TunedBoosting().fit(x, noise).trees_ < 20
    learnt = TunedBoosting().fit(x, parity)
    assert learnt.leaves_ > 3, "stumps of three leaves do not see what two columns decide together"
    assert (learnt.predict_proba(x).argmax(axis=1) == parity).mean() > 0.97
    assert str(learnt) == str(TunedBoosting(0)), "its settings are its name in a cache"


def test_a_class_of_one_row_is_learnt_from() -> None:
    x = np.arange(40, dtype=np.float32)[:, None]
    y = np.repeat([0, 1, 2], [20, 19, 1])
    assert TunedBoosting().fit(x, y).predict_proba(x).shape == (40, 3)


# ---- evaluate ---------------------------------------------------------------------------------------------------


def test_a_table_without_a_target_is_judged_by_likeness() -> None:
    real, held = (patients(400, seed).drop(columns="sick") for seed in (0, 1))
    schema = Schema(SCHEMA.columns[:-1])
    tables = {"fresh": patients(400, 2).drop(columns="sick"), "old": real.assign(age=90)}
    found = evaluate(real, held, tables, None, schema, jobs=1)
    assert (found.target, found.real, found.tuned, found.classifiers) == (None, None, None, ())
    assert found.held_out is not None
    fresh, old = (found[name].fidelity for name in tables)
    assert fresh is not None
    assert old is not None
    assert (fresh.distance_1 or 0) < 2 * (found.held_out.distance_1 or 0) < (old.distance_1 or 0)
    assert fresh.c2st < 0.6 < 0.9 < old.c2st
    assert found["old"].signals is not None
    assert found["old"].settings == {}
    assert Evaluation.from_json(found.to_json()) == found
    assert evaluate(real, held, tables, None, jobs=1, with_signals=False)["old"].fidelity is not None
    one = pd.DataFrame({"k": [1, 2, 3] * 10})
    with pytest.raises(InputError, match="nothing to learn from"):
        evaluate(one, one, {"s": one}, "k", Schema((WHOLE,)), jobs=1)
    alone = evaluate(one, one, {"s": one}, None, Schema((WHOLE,)), jobs=1)["s"].fidelity
    assert alone is not None
    assert (alone.distance_1, alone.distance_2, alone.rules) == (0, None, 0)
