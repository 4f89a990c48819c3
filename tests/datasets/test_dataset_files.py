"""Files that hold a dataset, and files that only seem to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import datasets
from understudy.datasets import SplitImages, TableDataset
from understudy.errors import InputError
from understudy.tables import Encoder


@pytest.fixture
def folder(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    del cache
    made = tmp_path / "mine"
    made.mkdir()
    monkeypatch.setenv("UNDERSTUDY_DATA", str(made))
    return made


def pima() -> pd.DataFrame:
    """Any 768 rows that fit pima's schema and counts."""
    rng = np.random.default_rng(0)
    columns = {c.name: rng.integers(0, 20, 768) for c in datasets.schema("pima").features}
    return pd.DataFrame(columns | {"Age": 30, "Outcome": np.repeat([0, 1], [500, 268])})


def table(name: str) -> TableDataset:
    loaded = datasets.load(name)
    assert isinstance(loaded, TableDataset)
    return loaded


def test_the_embedded_table_needs_no_folder_and_fits_its_schema(cache: Path) -> None:
    loaded = table("breast-cancer")
    assert loaded.frame.shape == (569, 31)
    assert loaded.frame[loaded.target].tolist().count(loaded.info.positive) == 212
    assert loaded.split is None
    assert datasets.path("breast-cancer").is_file()
    for column in loaded.schema.features:
        assert loaded.frame[column.name].between(*column.number_bounds).all()
    assert Encoder(loaded.schema).encode(loaded.frame).shape == (569, 32)
    assert not cache.exists()


def test_columns_come_in_the_schemas_order_and_others_stay_behind(folder: Path) -> None:
    frame = pima()
    frame[["note", *frame.columns[::-1]]] = frame.assign(note="x")[["note", *frame.columns[::-1]]]
    frame.to_parquet(folder / "pima.parquet")
    assert tuple(table("pima").frame.columns) == datasets.schema("pima").names


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: f.iloc[:-1], r"has 767 rows \(0: 500, 1: 267\), but 'pima' has 768 rows \(0: 500, 1: 268\)"),
        (lambda f: pd.concat([f, f]), "has 1,536 rows"),
        (lambda f: f.assign(Outcome=1 - f["Outcome"]), r"0: 268, 1: 500"),
        (lambda f: f.drop(columns=["BMI", "Age"]), "lacks 'BMI', 'Age', so it is not the dataset 'pima'"),
    ],
    ids=["cut", "doubled", "relabelled", "columns"],
)
def test_a_table_with_other_counts_or_columns_is_refused(folder: Path, spoil: Any, says: str) -> None:
    spoil(pima()).to_parquet(folder / "pima.parquet")
    with pytest.raises(InputError, match=says):
        datasets.load("pima")


@pytest.mark.parametrize("content", [b"", b"not parquet at all", b"PAR1" + b"\0" * 100 + b"PAR1"])
@pytest.mark.parametrize("name", ["pima", "isolet", "mnist"])
def test_a_damaged_file_is_refused_by_name(folder: Path, name: str, content: bytes) -> None:
    file = folder / datasets.info(name).file
    file.write_bytes(content)
    with pytest.raises(InputError, match=f"{file.name} cannot be read as the dataset '{name}'.*Delete it"):
        datasets.load(name)


def test_a_truncated_parquet_file_is_refused(folder: Path) -> None:
    pima().to_parquet(folder / "pima.parquet")
    whole = (folder / "pima.parquet").read_bytes()
    (folder / "pima.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        datasets.load("pima")


def test_a_folder_in_the_files_place_is_not_taken_for_it(folder: Path) -> None:
    (folder / "pima.parquet").mkdir()
    with pytest.raises(InputError, match="is not here"):
        datasets.load("pima", download=False)


def test_pickled_arrays_are_never_opened(folder: Path) -> None:
    np.savez(folder / "epileptic.npz", X=np.array([{"a": 1}], dtype=object), y=np.array([1]))
    with pytest.raises(InputError, match=r"cannot be read.*allow_pickle=False"):
        datasets.load("epileptic")


def test_arrays_that_are_missing_are_named(folder: Path) -> None:
    np.savez(folder / "epileptic.npz", X=np.zeros((3, 178), np.int16))
    with pytest.raises(InputError, match=r"cannot be read.*'y"):
        datasets.load("epileptic")


def test_epileptic_from_arrays_and_from_the_published_csv(folder: Path) -> None:
    rng = np.random.default_rng(0)
    signal = rng.integers(-2048, 2048, (11500, 178)).astype(np.int16)
    state = np.repeat(np.arange(1, 6), 2300)
    np.savez(folder / "epileptic.npz", X=signal, y=state)
    from_arrays = table("epileptic")
    assert from_arrays.frame["seizure"].tolist() == (state == 1).astype(int).tolist()
    assert from_arrays.frame["X178"].tolist() == signal[:, 177].tolist()
    (folder / "epileptic.npz").unlink()
    published = pd.DataFrame(signal, columns=[f"X{i}" for i in range(1, 179)])
    published.insert(0, "Unnamed", [f"X{i}.V1.{i}" for i in range(11500)])
    published.assign(y=state).to_csv(folder / "Epileptic Seizure Recognition.csv", index=False)
    pd.testing.assert_frame_equal(table("epileptic").frame, from_arrays.frame)


def test_cervical_from_the_published_csv(folder: Path) -> None:
    names = [name if name != "Cytology" else "Citology" for name in datasets.schema("cervical").names]
    frame = pd.DataFrame({name: np.ones(858) for name in names}).astype("object")
    frame["Biopsy"] = np.repeat([0, 1], [803, 55])
    frame.loc[3, ["Smokes", "Smokes (years)", "STDs: Time since first diagnosis"]] = "?"
    frame.to_csv(folder / "risk_factors_cervical_cancer.csv", index=False)
    loaded = table("cervical")
    assert loaded.frame.loc[3].isna().sum() == 3
    assert loaded.frame["Cytology"].tolist() == [1] * 858
    assert Encoder(loaded.schema).encode(loaded.frame).shape[0] == 858


def test_isolet_with_and_without_groups(folder: Path) -> None:
    rng = np.random.default_rng(0)
    letters = np.concatenate([np.repeat([1, 5, 9, 15, 21], 300), np.full(6297, 2)]).astype(np.int8)
    arrays = {"X_e4": rng.integers(-10000, 10001, (7797, 617)).astype(np.int16), "y": letters}
    np.savez(folder / "isolet.npz", **arrays)
    loaded = table("isolet")
    assert (loaded.split, loaded.groups) == (None, None)
    assert loaded.frame["vowel"].tolist().count(1) == 1500
    assert loaded.frame["f1"].iloc[0] == np.float32(arrays["X_e4"][0, 0] / 1e4)
    np.savez(folder / "isolet.npz", **arrays, group=np.repeat([1, 5], [6238, 1559]))
    loaded = table("isolet")
    assert loaded.split is not None
    assert loaded.groups is not None
    assert (loaded.split == "test").sum() == 1559
    assert "group" not in loaded.frame.columns


def test_intrusion_groups_the_attacks_and_refuses_strangers(folder: Path) -> None:
    schema = datasets.schema("intrusion")
    frame = pd.DataFrame({c.name: [0] * 3 for c in schema}).assign(label=["normal.", "smurf", "warezclient"])
    frame.to_parquet(folder / "intrusion.parquet")
    with pytest.raises(InputError, match=r"has 3 rows \(dos: 1, normal: 1, r2l: 1\), but 'intrusion' has 494,021"):
        datasets.load("intrusion")
    frame.assign(label="heartbleed").to_parquet(folder / "intrusion.parquet")
    with pytest.raises(InputError, match="'heartbleed' is not one of the connections"):
        datasets.load("intrusion")


def images(**changes: np.ndarray) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "x_train": np.zeros((60000, 28, 28), np.uint8),
        "y_train": np.repeat(np.arange(10), 6000).astype(np.uint8),
        "x_test": np.full((10000, 28, 28), 255, np.uint8),
        "y_test": np.repeat(np.arange(10), 1000).astype(np.uint8),
    }
    return arrays | changes


def test_images(folder: Path) -> None:
    np.savez(folder / "fashion.npz", **images())
    loaded = datasets.load("fashion")
    assert isinstance(loaded, SplitImages)
    assert loaded.train_images.shape == (60000, 28, 28)
    assert loaded.test_images.dtype == np.uint8
    assert loaded.value_range == (0, 255)
    assert loaded.info.class_names[loaded.test_labels[-1]] == "ankle boot"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x_test": np.zeros((9999, 28, 28), np.uint8)}, r"x_test is uint8 of shape \(9999, 28, 28\)"),
        ({"x_test": np.zeros((10000, 28, 28), np.float32)}, "x_test is float32"),
        ({"y_test": np.zeros(10000, np.uint8)}, r"y_test has \(10000, 0, 0"),
        ({"y_test": np.full(10000, 11, np.uint8)}, r"y_test has \(0, 0,"),
    ],
    ids=["fewer", "floats", "labels", "strange label"],
)
def test_images_with_other_counts_are_refused(folder: Path, changes: dict[str, np.ndarray], says: str) -> None:
    np.savez(folder / "fashion.npz", **images(**changes))
    with pytest.raises(InputError, match=says):
        datasets.load("fashion")


def test_one_part_of_an_image_set_is_what_the_methods_take(folder: Path) -> None:
    np.savez(folder / "fashion.npz", **images())
    test = datasets.load_images("fashion", "test")
    assert test.images.shape == (10000, 28, 28)
    assert test.labels.dtype == np.int64
    assert test.classes[9] == "ankle boot"
    with pytest.raises(InputError, match=r"`part` \(='all'\)"):
        datasets.load_images("fashion", "all")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="is a table, not a set of images"):
        datasets.load_images("breast-cancer")
