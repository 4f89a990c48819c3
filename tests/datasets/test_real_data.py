"""The real files: counts, labels, and how little the public bounds cut off."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from local_server import Server

from understudy import datasets
from understudy.datasets import SplitImages, TableDataset
from understudy.datasets.locate import find
from understudy.datasets.openml import fetch
from understudy.datasets.reading import read
from understudy.tables import Encoder

FOLDER = os.environ.get("UNDERSTUDY_DATA", "")
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FOLDER, reason="UNDERSTUDY_DATA does not name a folder of datasets"),
]

TABLES = [name for name in datasets.names() if datasets.info(name).kind == "table"]
IMAGES = [name for name in datasets.names() if datasets.info(name).kind == "image"]

# Every value that lies outside its public bounds, of 8.3 million in credit and none elsewhere: rows a column.
CLIPPED = {"credit": {"V1": 1, "V2": 4, "V5": 1, "V6": 1, "V7": 1, "V8": 4, "V20": 1}}


def loaded(name: str) -> Any:
    if find(datasets.info(name)) is None:
        pytest.skip(f"{name} is not in {FOLDER}")
    return datasets.load(name, download=False)


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest) -> TableDataset:
    return loaded(request.param)


def test_a_table_has_the_published_counts(table: TableDataset) -> None:
    assert len(table.frame) == table.edition.rows
    assert table.frame.shape[1] == table.info.features + 1
    assert tuple(table.frame.columns) == table.schema.names
    assert table.frame[table.target].value_counts().to_dict() == dict(table.edition.classes)
    assert table.split is None or set(table.split) <= {"train", "test"}


def test_the_public_schema_holds_the_real_rows(table: TableDataset) -> None:
    """Every category is listed (the encoder refuses others), and all but a few values lie within the bounds."""
    clipped: dict[str, int] = {}
    for column in table.schema:
        if column.kind in ("continuous", "integer"):
            low, high = column.number_bounds
            values: Any = table.frame[column.name]
            if outside := int(((values < low) | (values > high)).sum()):
                clipped[column.name] = outside
    assert clipped == CLIPPED.get(table.info.name, {})
    coded = Encoder(table.schema).encode_codes(table.frame.head(20000))
    assert np.isfinite(coded.numeric).all()


def test_bounds_are_not_the_datas_own_extremes(table: TableDataset) -> None:
    """A bound that the data happens to touch must be one that the codebook or the instrument gives."""
    documented = {
        "pima": {"Age"},  # the study's youngest
        "adult": {"age", "education_num", "capital_gain", "hours_per_week"},
        "census": {"age", "capital_gains", "dividends_from_stocks", "num_persons_worked_for_employer"}
        | {"weeks_worked_in_year"},
        "covtype": {"Aspect"},
        "epileptic": {f"X{sample}" for sample in range(1, 179)},
        "isolet": {f"f{number}" for number in range(1, 618)},
        "intrusion": {column.name for column in datasets.schema("intrusion")},
    }
    for column in table.schema.features:
        if column.kind not in ("continuous", "integer") or column.name in documented.get(table.info.name, ()):
            continue
        values: Any = table.frame[column.name]
        low, high = column.number_bounds
        assert values.max() != high, column.name
        assert low == 0 or values.min() != low, column.name


def test_adult_is_split_as_at_uci() -> None:
    adult: TableDataset = loaded("adult")
    assert adult.split is not None
    for part, counts in adult.info.parts:
        rows = (adult.split == part).to_numpy()
        assert rows.sum() == counts.rows
        assert (adult.frame["income"] == ">50K").to_numpy()[rows].sum() == counts.positives


def test_isolet_vowels_and_groups() -> None:
    isolet: TableDataset = loaded("isolet")
    assert isolet.groups is not None
    assert isolet.split is not None
    assert isolet.groups.value_counts().to_dict() == {1: 1560, 2: 1560, 3: 1560, 4: 1558, 5: 1559}
    # Five of 26 letters in every group.
    vowels: Any = isolet.frame["vowel"].groupby(isolet.groups).sum()
    assert vowels.tolist() == [300] * 5


def test_pimas_zeros_are_where_the_registry_says() -> None:
    pima: TableDataset = loaded("pima")
    measured = pima.frame.drop(columns=["Pregnancies", "Outcome"])
    zeros = [name for name in measured if 0 in measured[name].tolist()]
    assert tuple(zeros) == pima.info.zero_means_missing


def test_census_says_which_half_it_is() -> None:
    census: TableDataset = loaded("census")
    assert census.edition.note or census.edition.rows == census.info.rows


@pytest.mark.parametrize("name", IMAGES)
def test_images_have_the_published_counts(name: str) -> None:
    images: SplitImages = loaded(name)
    assert images.train_images.shape == (sum(images.info.train), *images.info.shape)
    assert images.train_images.dtype == np.uint8
    assert (images.train_images.min(), images.train_images.max()) == images.value_range
    assert set(images.test_labels.tolist()) == set(range(10))


def as_openml(name: str, frame: Any) -> tuple[pd.DataFrame, str]:
    """The real table as OpenML keeps it: other names, no `?`, adult's test part first."""
    if name == "pima":
        names = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age", "class"]
        there = frame.set_axis(names, axis=1)
        return there.assign(**{"class": there["class"].map({0: "tested_negative", 1: "tested_positive"})}), "class"
    there = pd.concat([frame[frame["split"] == "test"], frame[frame["split"] == "train"]]).drop(columns="split")
    there = there.rename(columns=lambda column: column.replace("_", "-")).rename(columns={"income": "class"})
    return there.astype("object").replace("?", None), "class"


@pytest.mark.parametrize("name", ["pima", "adult"])
def test_a_fetched_table_is_the_local_one(name: str, server: Server, cache: Path) -> None:
    del cache
    entry = datasets.info(name)
    local = Path(FOLDER) / entry.file
    if not local.is_file():
        pytest.skip(f"{name} is not in {FOLDER}")
    there, target = as_openml(name, pd.read_parquet(local))
    server.offer(entry, there, target=target)
    here: Any = read(entry, local, entry.file)
    fetched: Any = read(entry, fetch(entry), entry.file)
    if here.split is not None:
        rows = np.concatenate([np.flatnonzero(here.split == "test"), np.flatnonzero(here.split == "train")])
        assert fetched.split.tolist() == here.split.iloc[rows].tolist()
        assert fetched.frame.astype("object").equals(here.frame.iloc[rows].reset_index(drop=True).astype("object"))
    else:
        assert fetched.frame.astype(float).equals(here.frame.astype(float))
