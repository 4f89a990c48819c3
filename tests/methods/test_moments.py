"""The moments generator: what it releases fits the schema, says what it cost, and survives the disk."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError, UnderstudyWarning
from understudy.privacy import Ledger
from understudy.tables import Column, Schema, read_table, validate_frame

SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 120)),
        Column("ward", "categorical", categories=("n", "s", "w"), nullable=True),
        Column("value", "continuous", bounds=(-40, 40), nullable=True),
        Column("pay", "integer", bounds=(0, 99999), scale="log"),
        Column("grade", "ordinal", categories=("low", "mid", "high")),
        Column("admitted", "datetime", bounds=(datetime(2020, 1, 1), datetime(2024, 1, 1))),
        Column("smokes", "boolean", nullable=True),
        Column("sick", "boolean"),
    ),
    "sick",
)


def table(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    value = rng.normal(np.where(sick, 2.0, -1.0), 1.0)
    frame = pd.DataFrame(
        {
            "age": np.clip(rng.normal(40 + 20 * sick, 10), 0, 120).astype(int),
            "ward": np.where(sick, rng.choice(["n", "s"], rows), rng.choice(["s", "w"], rows)),
            "value": np.where(rng.random(rows) < 0.1, np.nan, value),
            "pay": np.where(rng.random(rows) < 0.6, 0, np.exp(rng.normal(8, 1, rows)).astype(int)),
            "grade": rng.choice(["low", "mid", "high"], rows, p=[0.6, 0.3, 0.1]),
            "admitted": pd.Timestamp("2020-06-01") + pd.to_timedelta(rng.integers(0, 800, rows), unit="D"),
            "smokes": pd.array(rng.random(rows) < 0.3, dtype="boolean"),
            "sick": sick,
        }
    )
    frame.loc[rng.random(rows) < 0.05, "ward"] = None
    frame.loc[rng.random(rows) < 0.05, "smokes"] = pd.NA
    return frame


def small(**changes: Any) -> MomentsGenerator:
    fixed = {"epsilon": 4.0, "steps": 60, "components": 12, "random_state": 0, "unsafe_noise_seed": 0}
    return MomentsGenerator.from_settings(**{**fixed, **changes})


@pytest.fixture(scope="module")
def fitted() -> MomentsGenerator:
    return small(model="tables", unsafe_noise_seed=None).fit(table(), schema=SCHEMA)


def test_rows_fit_the_schema_and_survive_the_disk(fitted: MomentsGenerator, tmp_path: Path) -> None:
    rows = fitted.sample(2000, random_state=1)
    assert list(rows.columns) == list(SCHEMA.names)
    validate_frame(rows, SCHEMA)
    assert fitted.sample(2000, random_state=1).equals(rows)
    assert not fitted.sample(2000, random_state=2).equals(rows)
    fitted.save(tmp_path / "release")
    loaded = load(tmp_path / "release")
    assert loaded.sample(2000, random_state=1).equals(rows)
    assert loaded.certificate_.verify() <= 4.0
    assert loaded.certificate_.delta == 1e-5
    loaded.sample_to(tmp_path / "rows.csv", 30, random_state=1)
    assert len(read_table(tmp_path / "rows.csv")) == 30


def test_what_the_table_says_is_in_the_rows(fitted: MomentsGenerator) -> None:
    real: Any = table(20_000, seed=1)
    made: Any = fitted.sample(20_000, random_state=0)
    assert made["sick"].mean() == pytest.approx(real["sick"].mean(), abs=0.05)
    for sick in (False, True):
        here, there = real[real["sick"] == sick], made[made["sick"] == sick]
        assert there["age"].mean() == pytest.approx(here["age"].mean(), abs=4)
        # The middle: a few rows in a hundred lie in far bins that hold noise alone, and the bounds are wide.
        assert there["value"].median() == pytest.approx(here["value"].median(), abs=0.5)
        assert (there["ward"] == "s").mean() == pytest.approx((here["ward"] == "s").mean(), abs=0.1)
    assert (made["pay"] == 0).mean() == pytest.approx(0.6, abs=0.08)
    assert made["smokes"].isna().mean() == pytest.approx(0.05, abs=0.04)


def test_conditions(fitted: MomentsGenerator) -> None:
    assert set(fitted.sample(40, {"sick": True, "grade": "low"}, 0)["sick"]) == {True}
    ill: Any
    well: Any
    ill, well = (fitted.sample(2000, {"sick": sick}, 0) for sick in (True, False))
    assert ill["age"].mean() - well["age"].mean() > 10
    with pytest.raises(InputError, match="never 'x'"):
        fitted.sample(10, {"ward": "x"})
    with pytest.raises(InputError, match="hardly makes"):
        fitted.sample(10, {"value": 39.0})
    with pytest.raises(InputError, match="whole number"):
        fitted.sample(0)


# ---- the Gaussian model --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elliptical() -> MomentsGenerator:
    return small(model="gaussian").fit(table(), schema=SCHEMA)


def test_the_gaussian_model_keeps_means_and_choices(elliptical: MomentsGenerator, tmp_path: Path) -> None:
    real: Any = table(20_000, seed=1)
    made: Any = elliptical.sample(20_000, random_state=0)
    validate_frame(made, SCHEMA)
    assert made["sick"].mean() == pytest.approx(0.3, abs=0.05)
    for sick in (False, True):
        here, there = real[real["sick"] == sick], made[made["sick"] == sick]
        assert there["value"].mean() == pytest.approx(here["value"].mean(), abs=0.6)
        # The middle half: how far the few outermost rows lie is what noise on their number leaves open.
        width, wanted = (np.subtract(*rows["value"].quantile([0.75, 0.25])) for rows in (there, here))
        assert width == pytest.approx(wanted, rel=0.4)
        assert (there["ward"] == "s").mean() == pytest.approx((here["ward"] == "s").mean(), abs=0.15)
    assert made["smokes"].mean() == pytest.approx(0.3, abs=0.12)
    elliptical.save(tmp_path / "release")
    assert load(tmp_path / "release").sample(500, random_state=3).equals(elliptical.sample(500, random_state=3))
    facts = elliptical.certificate_.body["release"]
    assert all(clip < facts["longest_row_by_schema"] for clip in facts["clips"])


def test_correlations_survive() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=5000)
    frame: Any = pd.DataFrame({f"x{i}": common * (0.9 if i < 2 else 0) + rng.normal(size=5000) * 0.4 for i in range(4)})
    schema = Schema(tuple(Column(name, "continuous", bounds=(-20, 20)) for name in frame))
    made: Any = small().fit(frame, schema=schema).sample(5000, random_state=0)
    # Clipped rows tell directions: what goes together does so in the samples too, though a little less.
    assert 0.5 < np.corrcoef(made["x0"], made["x1"])[0, 1] < 0.9
    assert abs(np.corrcoef(made["x0"], made["x2"])[0, 1]) < 0.2


def test_a_signal_keeps_its_lags() -> None:
    from understudy.learn.shrinkage import low_rank_plus_diagonal

    d = 60
    lag = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    true = 0.9**lag
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.3, (d, d))
    noisy = true + np.triu(noise) + np.triu(noise, 1).T
    error = np.linalg.norm(low_rank_plus_diagonal(noisy, 0.3) - true)
    assert error < 0.5 * np.linalg.norm(noisy - true)


# ---- targets and schemas -------------------------------------------------------------------------------------


def test_without_a_target_there_is_one_class() -> None:
    made: Any = small(model="gaussian").fit(table(), schema=SCHEMA.with_target(None)).sample(3000, random_state=0)
    assert made["sick"].mean() == pytest.approx(0.3, abs=0.08)
    assert made.loc[made["sick"], "value"].mean() > made.loc[~made["sick"], "value"].mean() + 1


@pytest.mark.parametrize("model", ["gaussian", "tables"])
def test_a_target_that_is_a_number(model: Any) -> None:
    made: Any = small(model=model).fit(table(), schema=SCHEMA.with_target("age")).sample(3000, random_state=0)
    assert made["age"].mean() == pytest.approx(46, abs=5)
    assert made.loc[made["sick"], "age"].mean() > made.loc[~made["sick"], "age"].mean() + 5


def test_many_classes_and_one_in_the_noise() -> None:
    rng = np.random.default_rng(0)
    label = rng.choice(6, 4000, p=[0.3, 0.2, 0.2, 0.2, 0.099, 0.001])
    frame = pd.DataFrame({"x": label * 1.0 + rng.normal(size=4000) * 0.2, "y": rng.normal(size=4000), "label": label})
    schema = Schema(
        (
            Column("x", "continuous", bounds=(-10, 10)),
            Column("y", "continuous", bounds=(-10, 10)),
            Column("label", "categorical", categories=tuple(range(6))),
        ),
        "label",
    )
    with pytest.warns(UnderstudyWarning, match=r"'label', 5 did not stand out"):
        generator: Any = small(epsilon=1.0).fit(frame, schema=schema)
    assert generator.certificate_.body["release"]["classes_in_the_noise"] == ["5"]
    rows: Any = generator.sample(5000, random_state=0)
    means = rows.groupby("label")["x"].mean()
    assert [means[c] for c in range(5)] == pytest.approx([0, 1, 2, 3, 4], abs=0.4)


def test_what_the_schema_does_not_say_is_paid_for() -> None:
    draft = Schema((Column("age", "integer"), Column("ward", "categorical"), Column("sick", "boolean")), "sick")
    columns: Any = table()[["age", "ward", "sick"]]
    frame: Any = columns.assign(ward=columns["ward"].fillna("n"))
    generator = small(model="gaussian").fit(frame, schema=draft)
    assert generator.certificate_.epsilon <= 4.0
    assert generator.certificate_.body["release"]["schema_estimated"] == ["age", "ward"]
    alone = frame.assign(ward=[f"w{i}" for i in range(len(frame))])  # no category is found: empty, never refused
    generator = small().fit(alone, schema=draft)
    assert generator.sample(50, random_state=0)["ward"].isna().all()
    assert generator.certificate_.body["release"]["not_learnt"] == ["ward"]


@pytest.mark.filterwarnings("ignore:of the target")  # a class that no row has
def test_a_table_without_a_schema_is_learnt_and_nothing_is_refused_for_what_it_says() -> None:
    frame = table()
    generator = small(model="gaussian", unsafe_noise_seed=None).fit(frame, "sick")
    assert generator.certificate_.verify() <= 4.0
    assert generator.schema_["age"].kind == "integer"
    assert generator.schema_["admitted"].kind == "datetime"
    assert set(generator.schema_["grade"].categories or ()) == {"low", "mid", "high"}
    made: Any = generator.sample(4000, random_state=0)
    assert made["age"].quantile(0.5) == pytest.approx(frame["age"].quantile(0.5), abs=4)
    assert made.loc[made["sick"], "age"].mean() > made.loc[~made["sick"], "age"].mean() + 5
    hostile = frame.assign(age=["?"] * len(frame), sick=True)
    assert len(small(model="gaussian").fit(hostile, "sick").sample(20, random_state=0)) == 20


# ---- refusals ------------------------------------------------------------------------------------------------


def test_what_is_charged_is_what_is_drawn(fitted: MomentsGenerator, elliptical: MomentsGenerator) -> None:
    for generator in (fitted, elliptical):
        assert 3.9 < generator.certificate_.epsilon <= 4.0
        assert all(event.mechanism == "gaussian" for event in generator.certificate_.events)
    one_way, two_way, parities = fitted.certificate_.events[-3:]
    assert (one_way.count, two_way.count, parities.count) == (7, 21, 35)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "magic"}, "`model`"),
        ({"bins": 1}, "`bins`"),
        ({"components": 0}, "`components`"),
        ({"steps": 1.5}, "`steps`"),
        ({"target_bins": True}, "`target_bins`"),
        ({"epsilon": 0.0}, "`epsilon`"),
        ({"delta": 0.0}, "`delta`"),
        ({"epsilon": 0.001, "model": "tables"}, r"more than epsilon 0.001 carries.*epsilon of .* would do"),
        ({"epsilon": 0.0001, "model": "gaussian"}, "more than epsilon"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_spent(changes: dict[str, Any], message: str) -> None:
    generator = small(**changes)
    with pytest.raises(InputError, match=message):
        generator.fit(table(200), schema=SCHEMA)
    assert not hasattr(generator, "certificate_")


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="no checkpoints"):
        small().fit(table(50), schema=SCHEMA, resume=True)
    with pytest.raises(InputError, match="one row"):
        small().fit(table(1), schema=SCHEMA.with_target(None))
    with pytest.raises(InputError, match="learnt nothing"):
        small().sample(10)
    lonely = Schema((Column("sick", "boolean"),), "sick")
    alone: Any = table(50)[["sick"]]
    with pytest.raises(InputError, match="no column beside"):
        small().fit(alone, schema=lonely)


def test_models_are_chosen_from_public_sizes() -> None:
    from understudy.methods.moments.plan import choose
    from understudy.tables.coordinates import Described

    mixed = [Described(f"x{i}", "number" if i else "categorical") for i in range(7)]
    assert choose(30_000, mixed, 2, 1.0, 1e-5) == "tables"
    assert choose(1000, mixed, 2, 1.0, 1e-5) == "gaussian", "most columns are numbers"
    assert choose(1000, [*mixed[:3], *mixed[:1] * 4], 2, 1.0, 1e-5) == "tables"
    assert choose(200, mixed, 2, 1.0, 1e-5) == "gaussian"
    numbers = [Described(f"x{i}", "number") for i in range(7)]
    assert choose(1000, numbers, 2, 1.0, 1e-5) == "gaussian"
    assert choose(10_000, numbers, 2, 1.0, 1e-5) == "tables"
    assert choose(30_000, numbers, 2, 1.0, 1e-5) == "both"
    # Bins of a number are of about one size, and without a target there is one class.
    assert choose(30_000, numbers, 2, 1.0, 1e-5, listed=False) == choose(30_000, numbers, 1, 1.0, 1e-5) == "tables"


@pytest.mark.parametrize("model", ["gaussian", "tables", "both"])
def test_odd_columns(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 1500
    schema = Schema(
        (
            Column("constant", "continuous", bounds=(3, 3)),
            Column("one", "categorical", categories=("only",)),
            Column("never", "continuous", bounds=(0, 1), nullable=True),
            Column("huge", "integer", bounds=(0, 10**12)),
            Column("ranks", "ordinal", categories=tuple(range(40))),
            Column("word", "categorical", categories=(1, 2), other=True),
            Column("y", "categorical", categories=("a", "b")),
        ),
        "y",
    )
    frame = pd.DataFrame(
        {
            "constant": 3.0,
            "one": "only",
            "never": np.nan,
            "huge": rng.integers(0, 10**11, n),
            "ranks": rng.integers(0, 40, n),
            "word": rng.choice([1, 2, 7], n),
            "y": rng.choice(["a", "b"], n),
        }
    )
    generator = small(model=model).fit(frame, schema=schema)
    rows: Any = generator.sample(400, random_state=0)
    validate_frame(rows, schema)
    assert (rows["constant"] == 3).all()
    assert rows["never"].isna().mean() > 0.8
    assert rows["huge"].median() < 2 * 10**11
    generator.save(tmp_path / "release")
    assert load(tmp_path / "release").sample(400, random_state=0).equals(rows)


def test_labels_may_stand_beside_the_table_and_a_fit_may_charge_a_ledger(tmp_path: Any) -> None:
    frame: Any = table()[["age", "ward", "sick"]]
    x, y = frame.drop(columns="sick"), frame["sick"]
    book = Ledger.create(tmp_path / "book.db")
    book.add_dataset("ward", epsilon=10.0, delta=1e-4)
    fitted = small(model="gaussian", unsafe_noise_seed=None).fit(x, y, ledger=str(tmp_path / "book.db"), dataset="ward")
    assert 0 < book.spent("ward").epsilon <= 4
    assert fitted.schema_.target == "sick"
    assert "fitted, 3 columns, target 'sick', epsilon" in repr(fitted)
    assert repr(small()).startswith("MomentsGenerator(")
    assert "fitted, 3 columns" in str(cast(Any, fitted)._repr_html_())
    with pytest.raises(InputError, match="do not go with"):
        small().fit(x, y[:-1])
    with pytest.raises(InputError, match="there is a column"):
        small().fit(frame, y)


def test_conditions_are_values_ranges_lists_or_functions() -> None:
    fitted = small(model="gaussian").fit(table()[["age", "ward", "sick"]], "sick")
    rows: Any = fitted.sample(20, {"age": (30, 60), "ward": lambda ward: ward.notna(), "sick": True}, random_state=0)
    assert rows["age"].between(30, 60).all()
    assert rows["sick"].all()
    ward = rows["ward"].iloc[0]
    assert set(fitted.sample(5, {"ward": [ward]}, random_state=0)["ward"]) == {ward}
    for wrong in ({"age": (10**6, 10**7)}, {"ward": ("a", "b")}, {"ward": ["nowhere"]}):
        with pytest.raises(InputError, match="condition"):
            fitted.sample(5, wrong)
    with pytest.raises(InputError, match="true or false"):
        fitted.sample(5, {"age": lambda age: age})
