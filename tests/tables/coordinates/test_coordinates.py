"""Described tables: what is found, rows in and out, files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gate_recorder import small_table  # pyright: ignore[reportMissingImports]
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.tables import Column, Encoder, Schema, validate_frame
from understudy.tables.coordinates import Coordinates, Described, Marginal

RNG = np.random.default_rng(3)
N = 20_000
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "gain": np.where(RNG.random(N) < 0.9, 0, RNG.integers(100, 99_999, N)),
        "dose": RNG.integers(0, 40, N) / 20,
        "length": RNG.normal(170, 10, N),
        "salary": RNG.integers(20, 200, N) * 1000,
        "change": RNG.normal(0, 3, N).round(1),
        "member": RNG.random(N) < 0.3,
        "since": pd.Timestamp("2015-03-01") + pd.to_timedelta(RNG.integers(0, 3000, N), unit="D"),
        "logged": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 10**6, N), unit="min"),
        "ward": pd.Series(RNG.choice(["north", "south", "east"], N, p=[0.6, 0.3, 0.1]), dtype="str"),
        "zip": pd.Series([f"{code:05d}" for code in RNG.integers(1000, 1010, N)], dtype=object),
        "answer": pd.Series(RNG.choice(["yes", "no"], N), dtype=object),
        "class": RNG.integers(0, 3, N),
    }
)
FRAME.loc[::10, "age"] = np.nan


@pytest.fixture(scope="module")
def found() -> Coordinates:
    return Coordinates.release(FRAME, None, Budget(5.0, 1e-6), target="class")


def test_every_column_gets_its_kind_and_its_grid(found: Coordinates) -> None:
    kinds = {column.name: (column.kind, column.step if column.ordered else None) for column in found}
    assert kinds == {
        "age": ("number", 1.0),
        "gain": ("number", 1.0),
        "dose": ("number", 0.05),
        "length": ("number", 0.0),
        "salary": ("number", 1000.0),
        "change": ("number", 0.1),
        "member": ("boolean", None),
        "since": ("datetime", 86400.0),
        "logged": ("datetime", 60.0),
        "ward": ("categorical", None),
        "zip": ("categorical", None),
        "answer": ("categorical", None),
        "class": ("categorical", None),
    }
    assert found["class"].labels == (0, 1, 2)
    assert found["answer"].labels == ("no", "yes")
    assert found["zip"].labels[0] == "01000"
    assert found["ward"].labels == ("east", "north", "south", "other")


def test_missing_values_spikes_and_bounds_are_found(found: Coordinates) -> None:
    assert found["age"].missing == pytest.approx(0.1, abs=0.02)
    assert found["length"].missing < 0.002
    assert found["gain"].spikes[0] == (0.0, pytest.approx(0.9, abs=0.02))
    for name in ("age", "gain", "dose", "length", "salary", "change"):
        low, high = found[name].bounds
        inside = FRAME[name].dropna().between(low - 1e-9, high + 1e-9)
        assert float(inside.to_numpy().mean()) > 0.98
        assert high - low < 4 * float(np.ptp(FRAME[name].dropna().to_numpy()))


def test_the_spread_is_close_to_that_of_the_rows(found: Coordinates) -> None:
    levels = np.linspace(0.05, 0.95, 19)
    for name in ("age", "length", "salary", "change"):
        column = found[name]
        told = column.marginal.quantiles(levels) * (column.step or 1)
        real = np.quantile(FRAME[name].dropna(), levels)
        assert np.abs(told - real).max() < 0.05 * (real[-1] - real[0])


def test_ranks_are_gaussian_and_equal_values_are_spread(found: Coordinates) -> None:
    ranked = found.ranks(FRAME, np.random.default_rng(0))
    names = [found.columns[place].name for place in found.ordered]
    for at, name in enumerate(names):
        there = ranked.numbers[~ranked.missing[:, at], at]
        assert stats.kstest(there, "norm").statistic < 0.05, name
    gain = ranked.numbers[:, names.index("gain")]
    zero = (FRAME["gain"] == 0).to_numpy()
    assert gain[zero].std() > 0.5
    # Zeros are the lowest values, so they take the lowest ranks.
    assert gain[zero].max() <= gain[~zero].min() + 1e-9
    assert ranked.missing[:, names.index("age")].tolist() == FRAME["age"].isna().tolist()
    assert (ranked.numbers[ranked.missing] == 0).all()


def test_values_come_back_exactly_but_for_what_lies_outside_the_bounds(found: Coordinates) -> None:
    rng = np.random.default_rng(0)
    back = found.values(found.ranks(FRAME, rng))
    assert list(back.columns) == list(FRAME.columns)
    for name in ("age", "gain", "dose", "salary", "change"):
        low, high = found[name].bounds
        inside = FRAME[name].between(low, high).to_numpy()
        same = np.asarray(back[name], dtype=float)[inside] == np.asarray(FRAME[name], dtype=float)[inside]
        # A rank tells a millionth of the rows: in a thin tail it falls between two values of the grid.
        assert same.mean() > 0.999
    assert back["age"].isna().tolist() == FRAME["age"].isna().tolist()
    for name in ("member", "ward", "zip", "answer", "class"):
        assert back[name].tolist() == FRAME[name].tolist()
    assert back["length"].to_numpy() == pytest.approx(FRAME["length"].to_numpy(), abs=25)
    since = FRAME["since"].between(*found["since"].column.bounds)  # type: ignore[misc]
    assert (back["since"].to_numpy() == FRAME["since"].to_numpy())[since.to_numpy()].all()


def test_bins_hold_about_as_many_rows_each_and_come_back(found: Coordinates) -> None:
    rng = np.random.default_rng(0)
    bins = found.bins(10)
    codes = found.codes(FRAME, rng, bins=10)
    assert codes.dtype == np.int32
    length = list(FRAME.columns).index("length")
    shares = np.bincount(codes[:, length], minlength=bins.sizes[length]) / N
    assert shares.max() < 0.25
    cells = bins.decode(codes, rng)
    assert np.array_equal(bins.encode(cells), codes)
    assert bins.sizes[list(FRAME.columns).index("ward")] == 4


def test_settled_rows_fit_the_schema_and_the_encoder(found: Coordinates) -> None:
    hostile = FRAME.copy()
    hostile.loc[3, "ward"] = "nowhere"
    hostile.loc[4, "class"] = 99
    rows = found.settled(hostile, np.random.default_rng(0))
    validate_frame(rows, found.schema)
    assert np.isfinite(Encoder(found.schema).encode(rows)).all()
    assert rows.loc[3, "ward"] == "other"
    assert rows.loc[4, "class"] in (0, 1, 2)


def test_a_description_goes_through_json_whole(found: Coordinates) -> None:
    again = Coordinates.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.columns == found.columns
    assert again.schema == found.schema


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("a lost edge", lambda plain: plain["columns"][0]["edges"].pop()),
        ("falling edges", lambda plain: plain["columns"][0]["edges"].reverse()),
        ("half the mass", lambda plain: plain["columns"][0]["mass"].__setitem__(0, 3.0)),
        ("a lost label", lambda plain: plain["columns"][-1]["labels"].pop()),
        ("an unknown kind", lambda plain: plain["columns"][0].__setitem__("kind", "colour")),
        ("no name", lambda plain: plain["columns"][0].pop("name")),
        ("another version", lambda plain: plain.__setitem__("version", 7)),
        ("no columns", lambda plain: plain.pop("columns")),
    ],
)
def test_a_damaged_description_is_refused(found: Coordinates, name: str, edit: object) -> None:
    plain = json.loads(json.dumps(found.to_dict()))
    edit(plain)  # type: ignore[operator]
    with pytest.raises(InputError):
        Coordinates.from_dict(plain)


def test_what_is_declared_stays_as_it_was_said() -> None:
    schema = Schema(
        (
            Column("age", "integer", bounds=(0, 120), nullable=True),
            Column("gain", "continuous", bounds=(0, 1e6), scale="log"),
            Column("ward", "categorical", categories=("south", "north"), other=True),
            Column("since", "datetime"),
        ),
    )
    made = Coordinates.release(FRAME, schema, Budget(5.0, 1e-6), target="class")
    for name in ("age", "gain", "ward"):
        assert made.schema[name] == schema[name]
    assert made["since"].kind == "datetime"
    assert made["age"].paid == ("spread",)
    assert made["gain"].paid == ("step", "spread")
    assert made["ward"].shares == pytest.approx([0.3, 0.6, 0.1], abs=0.02)
    assert made.schema.names == tuple(FRAME.columns)


def test_a_complete_schema_leaves_more_precision_for_the_spread() -> None:
    frame = FRAME[["age", "ward"]]
    schema = Schema((Column("age", "integer", (0, 120), nullable=True), Column("ward", "categorical", None, ("north",), other=True)))  # fmt: skip
    plans = [Coordinates.release(frame, given, Budget(1.0, 1e-6)).plan for given in (None, schema)]
    assert plans[0] is not None
    assert plans[1] is not None
    assert plans[1].sigma < 0.95 * plans[0].sigma
    assert plans[1].asked == plans[1].publishing == 0


def test_a_file_without_types_is_read_by_its_cells() -> None:
    text = FRAME[["age", "dose", "member", "since", "ward"]].astype(object).where(lambda f: f.notna(), None)
    text = text.map(lambda cell: None if cell is None else str(cell))
    made = Coordinates.release(text.astype("str"), None, Budget(5.0, 1e-6), typed=False)
    assert [column.kind for column in made] == ["number", "number", "boolean", "datetime", "categorical"]
    back = made.settled(text, np.random.default_rng(0))
    assert back["member"].tolist() == FRAME["member"].tolist()
    declared = Coordinates.release(text.astype("str"), None, Budget(5.0, 1e-6))
    assert {column.kind for column in declared} == {"categorical"}


def test_what_drowns_is_left_empty_and_says_so() -> None:
    # One column in a hundred is found where nothing is: the noise is fixed, so that none is here.
    made = Coordinates.release(small_table(40), None, Budget(0.01, 1e-6, unsafe_noise_seed=2), target="class")
    income, ward = made["income"], made["ward"]
    assert not income.found
    assert income.bounds == (0, 0)
    assert ward.labels == ("other",)
    assert {"income", "ward"} <= set(made.empty)
    made.schema.require_complete()
    rows = made.settled(small_table(40), np.random.default_rng(0))
    assert np.all(rows[["income", "ward"]].isna())
    bounded = Schema((Column("income", "continuous", bounds=(0, 1e5)),))
    even = Coordinates.release(small_table(40), bounded, Budget(0.01, 1e-6), target="class")["income"]
    assert even.bounds[1] == pytest.approx(1e5)


@pytest.mark.parametrize(
    ("values", "kind"),
    [((0, 1), "categorical"), (range(10), "categorical"), ((-1, 1), "categorical"), (range(18, 90), "number")],
)
@pytest.mark.parametrize("typed", [True, False])
def test_a_target_of_whole_numbers_is_a_class_where_they_are_small(values: Any, kind: str, typed: bool) -> None:
    frame = pd.DataFrame({"y": np.resize(np.array(values), 4000), "x": np.arange(4000) % 7})
    frame = frame if typed else frame.astype("str")
    made = Coordinates.release(frame, None, Budget(1.0, 1e-6, unsafe_noise_seed=1), target="y", typed=typed)
    assert made["y"].kind == kind
    if kind == "categorical":
        assert made["y"].labels == tuple(sorted(values))
    else:
        assert 0 <= made["y"].bounds[0] <= 22
        assert 85 <= made["y"].bounds[1] <= 110
    assert made.schema.target == "y"


def test_a_target_that_drowned_is_none_and_the_rest_is_learnt() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=60) * 10.0 ** rng.integers(-3, 9, 60), "x": rng.integers(0, 2, 60)})
    made = Coordinates.release(frame, None, Budget(0.5, 1e-6, unsafe_noise_seed=1), target="y")
    assert "y" in made.empty
    assert made.schema.target is None


@given(
    edges=st.lists(st.integers(-1000, 1000), min_size=2, max_size=12, unique=True),
    data=st.data(),
)
def test_a_grid_value_within_the_bounds_always_comes_back(edges: list[int], data: st.DataObject) -> None:
    ends = np.array(sorted(edges), dtype=np.float64)
    mass = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(ends) - 1, max_size=len(ends) - 1)))
    # Shares below the resolution of a rank cannot tell values apart.
    mass = mass + 0.1
    marginal = Marginal(ends, mass / mass.sum(), True)
    places = np.array(data.draw(st.lists(st.integers(int(ends[0]), int(ends[-1]) - 1), min_size=1, max_size=20)), float)
    assert marginal.places(marginal.ranks(places, np.random.default_rng(0))).tolist() == places.tolist()


def test_an_unknown_column_is_named() -> None:
    made = Coordinates((Described("age", "number", edges=(0.0, 1.0), mass=(1.0,)),), 10)
    with pytest.raises(InputError, match="Did you mean 'age'"):
        made["aeg"]
    with pytest.raises(InputError, match="the table lacks 'age'"):
        made.cells(pd.DataFrame({"x": [1]}), np.random.default_rng(0))


def test_zeros_and_ones_codes_from_one_on_and_years_keep_to_their_range() -> None:
    """Noise beside them is no twos, no zeros and no other century."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "flag": (rng.random(1500) < 0.2).astype(int),
            "arm": rng.integers(1, 3, 1500),
            "year": rng.integers(1978, 1994, 1500),
        }
    )
    right = {"flag": 0, "arm": 0, "year": 0}
    for seed in range(10):
        found = Coordinates.release(frame, None, Budget(0.3, 1e-5, unsafe_noise_seed=seed))
        right["flag"] += found["flag"].bounds == (0, 1)
        right["arm"] += found["arm"].bounds[0] == 1
        right["year"] += found["year"].bounds[1] < 2101
    assert min(right.values()) >= 8, right
