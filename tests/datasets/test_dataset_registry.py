"""What is known about each dataset without opening it, and its public schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from understudy import datasets
from understudy.datasets.reading import ATTACKS
from understudy.errors import InputError

TABLES = [name for name in datasets.names() if datasets.info(name).kind == "table"]


def test_all_names_are_there_and_the_embedded_one_is_first() -> None:
    tables = ["pima", "credit", "adult", "cervical", "epileptic", "isolet", "covtype", "intrusion", "census"]
    assert datasets.names() == ["breast-cancer", *tables, "mnist", "fashion", "cifar10", "svhn"]


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_is_complete(name: str) -> None:
    entry = datasets.info(name)
    assert entry.title
    assert entry.licence
    assert entry.citation
    assert entry.label
    assert entry.rows > 0
    assert entry.source.startswith("https://") or entry.embedded
    assert json.loads(json.dumps(entry.to_dict()))["name"] == name
    for edition in entry.editions:
        assert not edition.classes or sum(count for _, count in edition.classes) == edition.rows
    if entry.positive is not None:
        assert entry.positive in dict(entry.editions[0].classes)
    if entry.parts:
        assert entry.positive is not None
        parts = dict(entry.parts)
        assert sum(part.rows for part in parts.values()) == entry.rows
        assert sum(part.positives for part in parts.values()) == dict(entry.editions[0].classes)[entry.positive]


def test_the_papers_tables() -> None:
    """PATE-GAN, Table 5 (rows, features, share of positive rows) and DP-KIP, Table 4 (features)."""
    pategan = {"credit": (284807, 29, 492), "cervical": (858, 35, 55), "isolet": (7797, 617, 1500)}
    # PATE-GAN counts epileptic's label among its 179 features.
    pategan["epileptic"] = (11500, 178, 2300)
    for name, (rows, features, positive) in pategan.items():
        entry = datasets.info(name)
        assert (entry.rows, entry.features, dict(entry.editions[0].classes)[1]) == (rows, features, positive)
    for name, features in {"adult": 6 + 8, "census": 7 + 33, "covtype": 10 + 44}.items():
        assert datasets.info(name).features == features
    assert len(datasets.info("intrusion").editions[0].classes) == 5
    assert len(ATTACKS) == 23


@pytest.mark.parametrize("given", ["mnst", "Pima", "breast cancer", "", 7, None, ["adult"]])
def test_an_unknown_name_is_refused(given: object) -> None:
    with pytest.raises(InputError, match=r"there is no dataset .*Known are"):
        datasets.info(given)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="there is no dataset"):
        datasets.schema(given)  # pyright: ignore[reportArgumentType]


def test_a_near_miss_is_answered_with_the_right_name() -> None:
    with pytest.raises(InputError, match="Did you mean 'adult'"):
        datasets.load("adlut")
    with pytest.raises(InputError, match="Did you mean 'breast-cancer'"):
        datasets.path("breast_cancer")
    with pytest.raises(InputError, match="Did you mean 'mnist'"):
        datasets.schema("nmist")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_a_complete_schema(name: str) -> None:
    entry, schema = datasets.info(name), datasets.schema(name)
    assert entry.target is not None
    assert schema.target == entry.target
    assert len(schema.features) == entry.features
    assert schema.missing() == []
    assert set(schema[entry.target].labels) == set(dict(entry.editions[0].classes))
    assert set(entry.zero_means_missing) <= set(schema.names)


@pytest.mark.parametrize("name", TABLES)
def test_bounds_are_round_public_numbers(name: str) -> None:
    """Few significant digits, or a limit of the codebook or the converter: a minimum of the data would show here."""
    documented = {17, 21, 90, 52, 99, 255, 360, 511, 2047, -2048, 9999, 86400, 99999, 16, 6}
    for column in datasets.schema(name):
        for bound in column.bounds or ():
            assert isinstance(bound, int | float)
            digits = f"{abs(bound):.10g}".replace(".", "").strip("0")
            assert bound in documented or len(digits) <= 2, (column.name, bound)


def test_the_codebooks_missing_mark_is_a_category() -> None:
    adult = datasets.schema("adult")
    assert {column.name for column in adult if "?" in (column.categories or ())} == {
        "workclass",
        "occupation",
        "native_country",
    }
    assert len(datasets.schema("intrusion")["service"].labels) == 70
    assert len(datasets.schema("census")["detailed_household_and_family_stat"].labels) == 38


def test_images_have_no_schema() -> None:
    with pytest.raises(InputError, match=r"set of images.*Schemas exist for breast-cancer, pima"):
        datasets.schema("mnist")


def test_a_dataset_that_is_nowhere_says_where_to_get_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no adult\.parquet in .*Allow the download .*UNDERSTUDY_DATA"):
        datasets.load("adult", download=False)
    for name, file in {
        "cervical": "risk_factors_cervical_cancer.csv",
        "epileptic": "Epileptic Seizure Recognition.csv",
    }.items():
        with pytest.raises(InputError, match=f"no OpenML id is known.*'{file}' from https://.*UNDERSTUDY_DATA"):
            datasets.load(name)
    assert not cache.exists()
    monkeypatch.setenv("UNDERSTUDY_DATA", str(cache / "absent"))
    with pytest.raises(InputError, match=r"UNDERSTUDY_DATA .*is not a folder"):
        datasets.path("adult")


def test_the_users_folder_comes_before_the_cache(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(parents=True)
    (cache / "census.parquet").touch()
    assert datasets.path("census", download=False) == cache / "census.parquet"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "census_test_half.parquet").touch()
    monkeypatch.setenv("UNDERSTUDY_DATA", str(mine))
    assert datasets.path("census", download=False) == mine / "census_test_half.parquet"
    (mine / "census.parquet").touch()
    assert datasets.path("census", download=False) == mine / "census.parquet"


def test_the_usual_cache_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from understudy.datasets.cache import cache_folder

    monkeypatch.delenv("UNDERSTUDY_CACHE", raising=False)
    assert cache_folder().parts[-2:] == ("understudy", "datasets") or "understudy" in cache_folder().parts
    monkeypatch.setenv("UNDERSTUDY_CACHE", "~/somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "somewhere" / "datasets"


@pytest.mark.parametrize("name", datasets.names())
def test_the_guide_says_the_same(name: str) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "datasets.md"
    entry = datasets.info(name)
    (line,) = [line for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    size = f"{entry.rows:,} × {entry.features:,}" if entry.kind == "table" else f"{sum(entry.train):,} + "
    assert size in line
    assert entry.licence in line
    assert entry.openml is None or f"| {entry.openml.id} |" in line
