"""Frame to unit cube and back: the inverse is exact, any array decodes, and nothing is learnt from the rows."""

# pyright: reportArgumentType=false, reportGeneralTypeIssues=false
# (pandas' types say that a column may be a frame, and wrong arguments are given on purpose)
from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.tables import Column, Encoder, Schema
from understudy.tables.column import BOUNDED, KINDS, LISTED, NOMINAL, seconds

MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1)).map(lambda d: d.replace(microsecond=0))


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(KINDS))
    bounds = categories = None
    scale = "linear"
    if kind == "integer":
        scale = draw(st.sampled_from(["linear", "log"]))
        low = draw(st.integers(0 if scale == "log" else -(2**40), 2**40))
        bounds = (low, low + draw(st.integers(0, 2**44 if scale == "linear" else 2**40)))
    elif kind == "continuous":
        scale = draw(st.sampled_from(["linear", "log"]))
        low = draw(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)) if scale == "log" else st.floats(-1e9, 1e9))
        bounds = (low, low + draw(st.floats(0, 1e9)))
    elif kind == "datetime":
        bounds = tuple(sorted([draw(MOMENTS), draw(MOMENTS)]))
    elif kind == "duration":
        bounds = tuple(sorted(dt.timedelta(seconds=draw(st.integers(-(10**8), 10**8))) for _ in range(2)))
    elif kind in LISTED:
        each = draw(
            st.sampled_from([st.text(max_size=3), st.integers(-(2**60), 2**60), st.sampled_from([0.5, 1.5, -2.25])])
        )
        categories = tuple(draw(st.lists(each, min_size=1, max_size=5, unique=True)))
    other = kind in NOMINAL and "other" not in (categories or ()) and draw(st.booleans())
    return Column(name, kind, bounds, categories, draw(st.booleans()), scale, other)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, pd.DataFrame]:
    schema = Schema(tuple(draw(columns(f"c{place}")) for place in range(draw(st.integers(1, 4)))))
    rows = draw(st.integers(1, 5))
    return schema, pd.DataFrame({column.name: draw(valid(column, rows)) for column in schema})


@st.composite
def valid(draw: st.DrawFn, column: Column, rows: int) -> pd.Series:
    """Values that the schema allows, in the type that decoding gives."""
    holes = [column.nullable and draw(st.booleans()) for _ in range(rows)]
    if column.kind in BOUNDED:
        low, high = column.number_bounds
        number = st.floats(low, high) if column.kind == "continuous" else st.integers(int(low), int(high))
    elif column.kind == "boolean":
        number = st.booleans()
    else:
        number = st.sampled_from(column.labels)
    found = [None if hole else draw(number) for hole in holes]
    if column.kind == "datetime":
        return pd.Series([pd.NaT if v is None else dt.datetime(1970, 1, 1) + dt.timedelta(seconds=v) for v in found],
                         dtype="datetime64[us]")  # fmt: skip
    if column.kind == "duration":
        return pd.Series([pd.NaT if v is None else dt.timedelta(seconds=v) for v in found], dtype="timedelta64[us]")
    if column.kind == "continuous":
        return pd.Series(found, dtype="float64")
    if column.kind == "integer":
        return pd.Series(found, dtype="Int64" if column.nullable else "int64")
    if column.kind == "boolean":
        return pd.Series(found, dtype="boolean" if column.nullable else "bool")
    texts = {isinstance(label, str) for label in column.labels}
    if texts == {True}:
        return pd.Series(found, dtype="str")
    if texts == {True, False}:
        return pd.Series([np.nan if v is None else v for v in found], dtype=object)
    whole = all(isinstance(label, int) for label in column.labels)
    return pd.Series(found, dtype=("Int64" if column.nullable else "int64") if whole else "float64")


@settings(max_examples=150, deadline=None)
@given(tables())
def test_decode_inverts_encode_exactly(drawn: tuple[Schema, pd.DataFrame]) -> None:
    schema, frame = drawn
    encoder = Encoder(schema)
    cube = encoder.encode(frame)
    assert cube.shape == (len(frame), encoder.width)
    assert cube.dtype == encoder.dtype
    assert ((cube >= 0) & (cube <= 1)).all()
    back = encoder.decode(cube)
    close = [column.name for column in schema if column.kind == "continuous"]
    exact = [name for name in schema.names if name not in close]
    pd.testing.assert_frame_equal(back[exact], frame[exact])
    for name in close:
        low, high = schema[name].number_bounds
        tolerance = 1e-6 * (high - low) if schema[name].scale == "linear" else 1e-5 * high
        assert (back[name].isna() == frame[name].isna()).all()
        assert ((back[name] - frame[name]).abs().dropna() <= tolerance + 1e-12 * abs(high)).all()
    coded = encoder.encode_codes(frame)
    np.testing.assert_array_equal(encoder.expand(coded), cube)
    pd.testing.assert_frame_equal(encoder.decode_codes(coded), back)


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(0, 2**32), st.floats(0, 1e6))
def test_any_array_decodes_to_rows_that_encode(drawn: tuple[Schema, pd.DataFrame], seed: int, spread: float) -> None:
    encoder = Encoder(drawn[0])
    rows = encoder.decode(np.random.default_rng(seed).normal(scale=spread, size=(7, encoder.width)))
    again = encoder.decode(encoder.encode(rows))
    for column in encoder.schema:
        if column.kind == "continuous":
            low, high = column.number_bounds
            assert rows[column.name].dropna().between(low, high).all()
        else:
            pd.testing.assert_series_equal(again[column.name], rows[column.name])


SMALL = Schema(
    (
        Column("age", "integer", bounds=(0, 100), nullable=True),
        Column("sex", "categorical", categories=("f", "m"), other=True, nullable=True),
        Column("sick", "boolean"),
        Column("grade", "ordinal", categories=("low", "mid", "high")),
    )
)


def small(**changes: object) -> pd.DataFrame:
    plain = {"age": [50, None], "sex": ["m", "f"], "sick": [True, False], "grade": ["low", "high"]}
    return pd.DataFrame(plain | changes)


def test_the_layout_is_what_the_docs_say() -> None:
    encoder = Encoder(SMALL)
    assert encoder.labels == ("age", "age is missing", "sex=f", "sex=m", "sex=other", "sex is missing", "sick", "grade")
    assert [(g.name, g.start, g.stop, g.missing, g.one_hot) for g in encoder.groups] == [
        ("age", 0, 2, 1, False),
        ("sex", 2, 6, 5, True),
        ("sick", 6, 7, None, False),
        ("grade", 7, 8, None, False),
    ]
    np.testing.assert_array_equal(
        encoder.encode(small()), np.array([[0.5, 0, 0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 1]], dtype=np.float32)
    )
    assert encoder.code_columns == ("sex",)
    assert encoder.code_sizes == (4,)
    coded = encoder.encode_codes(small(sex=[None, "x"]))
    assert coded.codes.dtype == np.uint8
    assert coded.codes.tolist() == [[3], [2]]
    assert coded.take([1]).codes.tolist() == [[2]]
    assert len(coded.take(slice(0, 1))) == 1


def test_values_outside_are_clipped_and_unlisted_ones_become_other() -> None:
    back = Encoder(SMALL).decode(Encoder(SMALL).encode(small(age=[-5, 1000], sex=["x", None])))
    assert back["age"].tolist() == [0, 100]
    assert back["sex"].tolist()[0] == "other"
    assert back["sex"].isna().tolist() == [False, True]


def test_encoding_a_row_does_not_depend_on_the_others() -> None:
    encoder = Encoder(SMALL)
    frame = small(age=[10, 90])
    np.testing.assert_array_equal(encoder.encode(frame)[:1], encoder.encode(frame.iloc[:1]))


def test_columns_are_found_by_name_and_others_left_aside() -> None:
    frame = small().assign(extra=1)[["extra", "grade", "sick", "sex", "age"]]
    np.testing.assert_array_equal(Encoder(SMALL).encode(frame), Encoder(SMALL).encode(small()))
    with pytest.raises(InputError, match=r"lacks 'sick'.*Did you mean 'sik'"):
        Encoder(SMALL).encode(small().rename(columns={"sick": "sik"}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"grade": ["low", "top"]},
            r"'grade', row 2 \(the first is row 1\): the value 'top' is none of its categories",
        ),
        ({"grade": ["low", None]}, "'grade' has a missing value in row 2"),
        ({"grade": [1, 2]}, "no text, but the schema's categories are text"),
        ({"sex": [1, 2]}, "no text, but the schema's categories are text"),
        ({"age": [1, math.inf]}, "row 2.*infinite"),
        ({"age": [1, 2.5]}, "row 2.*2.5 is not a whole number"),
        ({"age": ["1", "old"]}, "'old' is not a number"),
        ({"age": [True, False]}, "of type bool"),
        ({"age": pd.to_datetime(["2020-01-01"] * 2)}, "of type datetime64"),
        ({"sick": ["yes", "no"]}, "'yes' is neither true nor false"),
        ({"sick": [0, 2]}, "2 is neither"),
    ],
)
def test_values_that_do_not_fit_are_named(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Encoder(SMALL).encode(small(**changes))


def test_values_in_other_types_are_read_for_what_they_are() -> None:
    encoder = Encoder(SMALL)
    expected = encoder.encode(small())
    for changes in (
        {"age": ["50", None]},
        {"age": pd.array([50, None], dtype="UInt64")},
        {"age": pd.Series([50, None], dtype=object)},
        {"sick": [1, 0]},
        {"sick": pd.Series([True, False], dtype=object)},
        {"sick": [1.0, 0.0]},
        {"sex": pd.Categorical(["m", "f"], categories=["f", "unused", "m"])},
        {"grade": pd.Series(["low", "high"], dtype=object)},
        {"grade": pd.Categorical(["low", "high"], categories=["dropped", "low", "high"])},
    ):
        np.testing.assert_array_equal(encoder.encode(small(**changes)), expected)


def test_dates_come_in_several_forms() -> None:
    schema = Schema((Column("t", "datetime", bounds=("2020-01-01", "2020-01-03"), nullable=True),))
    encoder = Encoder(schema)
    day = pd.Series(["2020-01-02", None])
    for moments in (
        day,
        pd.to_datetime(day),
        pd.to_datetime(day, utc=True),
        pd.Series([dt.date(2020, 1, 2), None], dtype=object),
    ):
        assert encoder.encode(pd.DataFrame({"t": moments})).tolist() == [[0.5, 0], [0, 1]]
    with pytest.raises(InputError, match="'soon' is not a date"):
        encoder.encode(pd.DataFrame({"t": ["soon"]}))
    with pytest.raises(InputError, match="of type int64"):
        encoder.encode(pd.DataFrame({"t": [1]}))
    early = encoder.decode(encoder.encode(pd.DataFrame({"t": [pd.Timestamp("1066-10-14")]})))
    assert early["t"][0] == pd.Timestamp("2020-01-01")


def test_float64_is_chosen_where_float32_would_lose_values() -> None:
    wide = Column("id", "integer", bounds=(0, 2**40))
    assert Encoder(SMALL).dtype == np.float32
    assert Encoder(SMALL, dtype=np.float64).dtype == np.float64
    assert Encoder(Schema((wide,))).dtype == np.float64
    with pytest.raises(InputError, match="float32 cannot tell the values of 'id' apart"):
        Encoder(Schema((wide,)), dtype=np.float32)
    with pytest.raises(InputError, match="so wide"):
        Encoder(Schema((Column("id", "integer", bounds=(0, 2**62)),)))
    with pytest.raises(InputError, match="float32 or float64"):
        Encoder(SMALL, dtype=np.int32)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(("low", "high"), [(0, 2**23), (5, 2**23), (0, 2**19), (2**62, 2**62 + 2**23)])
def test_whole_numbers_survive_up_to_the_limit_of_each_type(low: int, high: int, scale: str) -> None:
    encoder = Encoder(Schema((Column("n", "integer", (low, high), scale=scale),)))
    span = high - low
    near = np.unique(
        np.concatenate([np.arange(4097), span - np.arange(4097), np.linspace(0, span, 20_011).astype(np.int64)])
    )
    frame = pd.DataFrame({"n": near + low})
    pd.testing.assert_frame_equal(encoder.decode(encoder.encode(frame)), frame)


def test_a_log_scale_spreads_small_values() -> None:
    encoder = Encoder(
        Schema((Column("a", "continuous", (1, 100), scale="log"), Column("b", "continuous", (0, 99), scale="log")))
    )
    cube = encoder.encode(pd.DataFrame({"a": [1.0, 10.0, 100.0], "b": [0.0, 9.0, 99.0]}))
    np.testing.assert_allclose(cube, [[0, 0], [0.5, 0.5], [1, 1]], atol=1e-6)


def test_constant_bounds_and_single_categories_encode() -> None:
    schema = Schema((Column("x", "continuous", (2, 2)), Column("o", "ordinal", categories=("only",))))
    frame = pd.DataFrame({"x": [2.0], "o": ["only"]})
    assert Encoder(schema).encode(frame).tolist() == [[0, 0]]
    pd.testing.assert_frame_equal(Encoder(schema).decode([[0.3, 0.9]]), frame)


def test_what_cannot_be_decoded_is_refused() -> None:
    encoder = Encoder(SMALL)
    with pytest.raises(InputError, match=r"shape \(2, 3\); the schema needs \(rows, 8\)"):
        encoder.decode(np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"row 2.*'sex=f'"):
        encoder.decode([[0] * 8, [0, 0, math.nan, 0, 0, 0, 0, 0]])
    assert encoder.decode(np.full((1, 8), math.inf))["age"].isna().all()


def test_an_incomplete_schema_is_refused() -> None:
    with pytest.raises(InputError, match="does not say the bounds of 'x'"):
        Encoder(Schema((Column("x", "continuous"),)))


def test_wide_categories_stay_compact() -> None:
    schema = Schema(tuple(Column(f"c{i}", "categorical", categories=tuple(range(3000))) for i in range(3)))
    frame = pd.DataFrame({f"c{i}": np.arange(2000) for i in range(3)})
    encoder = Encoder(schema)
    coded = encoder.encode_codes(frame)
    assert coded.codes.dtype == np.uint16
    assert coded.codes.nbytes + coded.numeric.nbytes == 2000 * 3 * 2
    assert encoder.expand(coded.take(slice(0, 10))).shape == (10, 9000)
    pd.testing.assert_frame_equal(encoder.decode_codes(coded), frame)


def test_seconds_before_1970_round_down() -> None:
    assert seconds(dt.datetime(1969, 12, 31, 23, 59, 59)) == -1
    schema = Schema((Column("t", "datetime", bounds=("1960-01-01", "1970-01-01")),))
    frame = pd.DataFrame({"t": pd.to_datetime(["1969-12-31 23:59:58.900"])})
    assert Encoder(schema).decode(Encoder(schema).encode(frame))["t"][0] == pd.Timestamp("1969-12-31 23:59:58")
