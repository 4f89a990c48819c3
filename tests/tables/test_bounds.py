"""Private bounds and categories: found where rows allow, paid for always, and as private as they claim."""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false
# (pandas' types say that a column may be a frame, and wrong arguments are given on purpose)
from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Budget, DeltaEvent, LaplaceEvent
from understudy.tables import Column, Encoder, Schema, estimate_schema
from understudy.tables.bounds import tail_count

ROWS = 20_000


def repeatable(epsilon: float, delta: float = 0.0) -> Budget:
    """Real noise stretches some bounds once in a thousand runs, by design; these tests should not fail that often."""
    return Budget(epsilon, delta, unsafe_noise_seed=7)


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 96, ROWS),
            "weight": rng.normal(70, 12, ROWS),
            "change": rng.integers(-40, 41, ROWS),
            "tiny": rng.uniform(0.001, 0.0019, ROWS),
            "zero": np.zeros(ROWS),
            "ward": rng.choice(["north", "south", "east"], ROWS, p=[0.5, 0.3, 0.2]),
            "code": rng.choice([7, 8, 9], ROWS),
            "seen": pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 1000, ROWS), unit="D"),
            "sick": rng.random(ROWS) < 0.3,
        }
    )


def test_bounds_and_categories_are_found_and_paid_for() -> None:
    frame = patients()
    draft = Schema.draft(frame, target="sick").with_column(Column("code", "categorical"))
    budget = repeatable(4.0, 1e-6)
    schema = estimate_schema(frame, draft, budget, epsilon=4.0, delta=1e-6)
    assert schema["age"].bounds == (0, 127)
    assert schema["weight"].bounds == (0.0, 128.0)
    assert schema["change"].bounds == (-63, 63)
    assert schema["tiny"].bounds == (2.0**-10, 2.0**-9)
    assert schema["zero"].bounds == (0.0, 0.0)
    assert schema["seen"].bounds == (dt.datetime(2019, 1, 1), dt.datetime(2021, 12, 31, 23, 59, 59))
    assert schema["ward"].categories == ("east", "north", "south")
    assert schema["code"].categories == (7, 8, 9)
    assert schema["ward"].other
    assert schema["sick"] == draft["sick"]
    assert [type(bound) for bound in schema["age"].bounds or ()] == [int, int]
    schema.require_complete()
    Encoder(schema).encode(frame)
    assert budget.spent().epsilon == pytest.approx(4.0)
    assert set(budget.events) == {
        LaplaceEvent(4.0),
        DeltaEvent(1e-6, "publishing categories that occur in 'ward', 'code'"),
    }


def test_bounds_alone_need_no_delta() -> None:
    budget = repeatable(1.0)
    frame = pd.DataFrame({"x": np.linspace(-3, 3, 5000)})
    schema = estimate_schema(frame, Schema.draft(frame), budget, epsilon=1.0)
    assert schema["x"].bounds == (-4.0, 4.0)
    assert budget.events == (LaplaceEvent(1.0),)


def test_nothing_is_charged_where_nothing_is_missing() -> None:
    budget = repeatable(1.0)
    schema = Schema((Column("x", "continuous", (0, 1)), Column("b", "boolean")))
    assert estimate_schema(pd.DataFrame({"x": [5.0], "b": [True]}), schema, budget, epsilon=1.0) is schema
    assert budget.events == ()


def test_what_drowns_in_noise_stays_missing() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"], "y": [0, 0]})
    draft = Schema((Column("x", "continuous"), Column("s", "categorical"), Column("y", "integer", (0, 1))))
    budget = repeatable(0.1, 1e-6)
    assert estimate_schema(frame, draft, budget, epsilon=0.1, delta=1e-6).missing() == ["x", "s"]
    assert budget.spent().epsilon == pytest.approx(0.1)


def test_missing_values_and_the_word_other_are_no_categories() -> None:
    frame = pd.DataFrame({"s": ["a"] * 500 + ["other"] * 500 + [None] * 500, "x": [5.0] * 500 + [None] * 1000})
    budget = repeatable(8.0, 1e-6)
    schema = estimate_schema(frame, Schema.draft(frame), budget, epsilon=8.0, delta=1e-6)
    assert schema["s"].categories == ("a",)
    assert schema["x"].bounds == (4.0, 8.0)
    nothing = pd.DataFrame({"s": pd.Series([None] * 5, dtype="str")})
    spent = repeatable(1.0, 1e-6)
    assert estimate_schema(nothing, Schema.draft(nothing), spent, epsilon=1.0, delta=1e-6).missing() == ["s"]
    assert spent.spent().epsilon == pytest.approx(1.0)


def test_categories_of_a_type_that_no_row_has_are_not_published() -> None:
    ward = pd.Categorical(["a"] * 500, categories=["a", "secret"])
    frame = pd.DataFrame({"s": ward})
    schema = estimate_schema(frame, Schema.draft(frame), repeatable(5.0, 1e-6), epsilon=5.0, delta=1e-6)
    assert schema["s"].categories == ("a",)


def test_the_target_gets_no_other_class() -> None:
    frame = pd.DataFrame({"y": [0, 1] * 500})
    schema = estimate_schema(frame, Schema.draft(frame, target="y"), repeatable(5.0, 1e-6), epsilon=5.0, delta=1e-6)
    assert schema["y"] == Column("y", "categorical", categories=(0, 1))


def test_numbers_beyond_the_cells_go_to_the_last_one() -> None:
    frame = pd.DataFrame(
        {"x": [-1e30, 1e30] * 500, "n": [2**62, -(2**62)] * 500, "t": [pd.Timestamp("1500-01-01")] * 1000}
    )
    schema = estimate_schema(frame, Schema.draft(frame), repeatable(9.0), epsilon=9.0)
    assert schema["x"].bounds == (-(2.0**40), 2.0**40)
    assert schema["n"].bounds == (-(2**40) + 1, 2**40 - 1)
    assert schema["t"].bounds == (dt.datetime(1800, 1, 1), dt.datetime(1800, 12, 31, 23, 59, 59))


def test_a_log_scale_keeps_its_lower_bound() -> None:
    frame = pd.DataFrame({"x": np.geomspace(0.01, 1000, 5000), "y": [-5.0, 5.0] * 2500})
    draft = Schema((Column("x", "continuous", scale="log"), Column("y", "continuous", scale="log")))
    schema = estimate_schema(frame, draft, repeatable(9.0), epsilon=9.0)
    low, high = schema["x"].number_bounds
    assert 0 < low <= 0.0157
    assert high == 1024
    assert schema["y"].bounds == (0.0, 8.0)


@pytest.mark.parametrize(
    ("column", "values", "arguments", "words"),
    [
        (Column("s", "categorical"), ["a"], {"epsilon": 1.0}, "`delta`"),
        (Column("s", "categorical"), ["a"], {"epsilon": 0.0, "delta": 1e-6}, "`epsilon`"),
        (Column("s", "categorical"), ["a"], {"epsilon": math.nan, "delta": 1e-6}, "`epsilon`"),
        (Column("s", "ordinal"), ["a"], {"epsilon": 1.0, "delta": 1e-6}, "do not say their order"),
        (Column("s", "categorical"), [True], {"epsilon": 1.0, "delta": 1e-6}, "kind: boolean"),
        (Column("s", "categorical"), [dt.date(2020, 1, 1)], {"epsilon": 1.0, "delta": 1e-6}, "to text"),
        (Column("s", "categorical"), [math.inf], {"epsilon": 1.0, "delta": 1e-6}, "Make it missing"),
        (Column("s", "categorical"), [1, "a"], {"epsilon": 1.0, "delta": 1e-6}, "mixes text and numbers"),
        (Column("s", "categorical"), [{}, "a"], {"epsilon": 1.0, "delta": 1e-6}, "neither text nor numbers"),
        (Column("s", "continuous"), [math.inf], {"epsilon": 1.0}, "infinite"),
        (Column("z", "continuous"), [1.0], {"epsilon": 1.0}, "no column 'z'"),
    ],
)
def test_bad_input_costs_nothing(column: Column, values: list, arguments: dict, words: str) -> None:
    budget = repeatable(1.0, 1e-6)
    frame = pd.DataFrame({"s": pd.Series(values, dtype=object) if len(values) > 1 else values})
    with pytest.raises(InputError, match=words):
        estimate_schema(frame, Schema((column,)), budget, **arguments)
    assert budget.events == ()


@pytest.mark.parametrize(("epsilon", "delta", "unit"), [(2.0, 1e-7, "epsilon"), (0.5, 1e-5, "delta")])
def test_an_unaffordable_estimate_charges_neither_part(epsilon: float, delta: float, unit: str) -> None:
    budget = repeatable(1.0, 1e-6)
    frame = pd.DataFrame({"s": ["a"] * 100})
    with pytest.raises(BudgetExceeded, match=f"Requested {unit}"):
        estimate_schema(frame, Schema.draft(frame), budget, epsilon=epsilon, delta=delta)
    assert budget.events == ()


@given(st.floats(1e-4, 20), st.floats(1e-15, 0.9))
def test_the_tail_is_that_of_the_discrete_laplace(rate: float, probability: float) -> None:
    count = tail_count(rate, probability)
    a = math.exp(-rate)
    assert a**count / (1 + a) <= probability
    assert count == 1 or a ** (count - 1) / (1 + a) > probability * (1 - 1e-6)


def test_a_value_of_one_row_is_published_as_often_as_delta_allows() -> None:
    """The case that costs delta: a value occurs once, and blanking its row removes its cell altogether."""
    rows, rate = 7000, 1.0
    # What the discrete tail meets exactly, so that a threshold too low or too high by one shows, and three columns, so
    # that a share which is not divided shows.
    share = math.exp(-3 * rate) / (1 + math.exp(-rate)) * (1 + 1e-8)
    epsilon, delta = 3 * rate, 3 * share
    frame = pd.DataFrame({name: [f"patient {row}" for row in range(rows)] for name in "abc"})
    schema = estimate_schema(frame, Schema.draft(frame), Budget(epsilon, delta), epsilon=epsilon, delta=delta)
    published = sum(len(column.categories or ()) for column in schema)
    deviation = math.sqrt(3 * rows * share * (1 - share))
    # One step of the threshold would be a factor e either way.
    assert abs(published - 3 * rows * share) < 6 * deviation < 3 * rows * share / 2


def test_empty_cells_rarely_stretch_the_bounds() -> None:
    frame = pd.DataFrame({"x": [3.0] * 400})
    draft = Schema.draft(frame)
    found = [estimate_schema(frame, draft, Budget(0.5), epsilon=0.5)["x"].bounds for _ in range(60)]
    # One false cell is expected in a thousand releases: three in sixty would be a chance of about 3e-5.
    assert sum(bounds != (2.0, 4.0) for bounds in found) <= 2
