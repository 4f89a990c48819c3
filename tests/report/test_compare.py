"""Synthetic rows beside real ones: what the figures count, and that names of columns and categories stay text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from html_page import NASTY, Page

from understudy import MomentsGenerator
from understudy.errors import InputError
from understudy.report import Sources, render
from understudy.report.compare import as_schema_says, column_figures, correlations, released_marginals
from understudy.report.text import shown
from understudy.tables import Column, Coordinates, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", (0, 120)),
        Column("dose", "continuous", (0, 1000), scale="log", nullable=True),
        Column("pain", "ordinal", categories=("none", "mild", "strong")),
        Column("ward", "categorical", categories=tuple(f"w{i}" for i in range(12))),
        Column("seen", "datetime", ("2020-01-01", "2021-01-01")),  # type: ignore[arg-type]
        Column("sick", "boolean"),
    ),
    "sick",
)


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.where(rng.random(n) < 0.25, np.nan, rng.lognormal(2, 1, n).clip(0, 1000)),
            "pain": np.array(["none", "mild", "strong"])[np.minimum(age // 34, 2)],
            "ward": rng.choice([f"w{i}" for i in range(12)], n, p=[0.4] + [0.6 / 11] * 11),
            "seen": pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
            "sick": age > 50,
        }
    )


def test_shares_add_up_and_equal_tables_are_equal() -> None:
    frame = as_schema_says(SCHEMA, table())
    figures = column_figures(SCHEMA, frame, frame)
    assert [figure.name for figure in figures] == ["sick", "age", "dose", "pain", "ward", "seen"]
    for figure in figures:
        assert sum(figure.synthetic) == pytest.approx(1)
        assert figure.distance == pytest.approx(0)
    ward = next(figure for figure in figures if figure.name == "ward")
    assert ward.labels is not None
    assert ward.labels[0] == "w0"
    assert ward.labels[-1] == "4 others"
    dose = next(figure for figure in figures if figure.name == "dose")
    assert dose.missing is not None
    assert dose.missing[0] == pytest.approx(np.isnan(frame["dose"].to_numpy(float)).mean())
    assert next(figure for figure in figures if figure.name == "seen").low.startswith("2020-01-0")


def test_a_shift_is_seen() -> None:
    made, real = as_schema_says(SCHEMA, table()), as_schema_says(SCHEMA, table(seed=1))
    near = next(f for f in column_figures(SCHEMA, made, real) if f.name == "age").distance
    real = real.assign(age=(real["age"] // 4).astype(real["age"].dtype))
    far = next(f for f in column_figures(SCHEMA, made, real) if f.name == "age").distance
    assert near is not None
    assert far is not None
    assert near < 0.2 < 0.6 < far


def test_correlations_by_hand() -> None:
    made = as_schema_says(SCHEMA, table())
    found = correlations(SCHEMA, made, made)
    assert found is not None
    assert found.names == ("age", "dose", "pain", "seen", "sick")
    assert found.difference == pytest.approx(0)
    by_hand = np.corrcoef(made["age"].to_numpy(float), made["sick"].to_numpy(float))[0, 1]
    assert found.synthetic[0, 4] == pytest.approx(by_hand)
    assert correlations(Schema((Column("x", "continuous", (0, 1)),)), made, None) is None


def test_columns_without_values() -> None:
    empty = table(5).assign(dose=np.nan)
    figures = column_figures(SCHEMA, as_schema_says(SCHEMA, empty), None)
    assert next(f for f in figures if f.name == "dose").missing == (1.0, None)


def test_names_of_columns_and_categories_stay_text(nasty: tuple[Path, Path]) -> None:
    text = render(Sources([nasty[0]], test=nasty[1]))
    page = Page(text)
    for name in NASTY[:6]:
        assert shown(name) in page.text
    assert "10,000 characters" in page.text
    assert {tag for tag, _ in page.elements} & {"script", "iframe", "b"} == set()
    assert not any(attribute.startswith("on") for _, values in page.elements for attribute in values)
    assert "real rows of the test table" in page.text
    assert len(text) < 500_000


def test_without_test_rows_the_page_shows_no_real_ones(nasty: tuple[Path, Path]) -> None:
    assert "No real rows are shown" in Page(render(Sources([nasty[0]]))).text


def test_test_rows_that_do_not_fit_are_named(nasty: tuple[Path, Path], tmp_path: Path) -> None:
    pd.DataFrame({"other": [1]}).to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(InputError, match="has no column"):
        render(Sources([nasty[0]], test=tmp_path / "test.csv"))


def test_without_test_rows_the_released_marginals_stand_beside_the_synthetic_ones(tmp_path: Path) -> None:
    frame = table(3000).drop(columns=["ward", "seen"])
    generator = MomentsGenerator(epsilon=8.0, random_state=0).fit(frame, "sick")
    told = released_marginals(generator.coordinates_)
    assert told is not None
    assert abs(np.median(told["age"]) - np.median(frame["age"])) < 5
    assert abs(np.mean(told["dose"].isna()) - np.mean(frame["dose"].isna())) < 0.05
    schema = generator.schema_
    figures = {figure.name: figure for figure in column_figures(schema, generator.sample(3000, random_state=0), told)}
    assert figures["age"].distance is not None
    assert figures["age"].distance < 0.2
    generator.save(tmp_path / "release")
    page = Page(render(Sources([tmp_path / "release"])))
    assert "how the private columns are spread" in page.text
    assert "as released" in page.text


def test_a_schema_alone_tells_no_marginals() -> None:
    assert released_marginals(None) is None
    assert released_marginals(Coordinates.declared(SCHEMA, 10)) is None
