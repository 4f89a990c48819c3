"""`--public-sample`, `--drop` and `--only`: which columns are taken, and what is known of them for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy import load
from understudy.cli.app import load_commands
from understudy.tables import read_table

load_commands()


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    dose = rng.normal(5, 1, rows)
    return pd.DataFrame(
        {
            "patient": np.arange(rows),
            "age": rng.integers(20, 80, rows),
            "dose": dose.round(2),
            "zip": rng.choice(["01067", "04109"], rows),
            "sick": (dose + rng.normal(size=rows) > 5).astype(int),
        }
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    table(1500, 0).to_csv(tmp_path / "data.csv", index=False)
    table(200, 1).drop(columns="patient").to_csv(tmp_path / "sample.csv", index=False)
    return tmp_path / "data.csv"


def told(capsys: pytest.CaptureFixture[str], *arguments: str | int | Path) -> tuple[int, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_what_a_public_sample_says_is_free(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = data.parent / "sample.csv"
    code, found = told(capsys, "describe", data, "--epsilon", 1, "--drop", "patient", "--public-sample", sample)
    assert code == 0
    assert found["certificate"]["events"] == []
    assert found["certificate"]["epsilon"] == 0
    assert any("public sample" in said for said in found["certificate"]["assumed_public"])
    columns = {column["name"]: column for column in found["columns"]}
    assert all(column["paid"] == [] for column in columns.values())
    assert columns["zip"]["labels"] == ["01067", "04109", "other"]
    # a column that the sample lacks is paid for
    code, found = told(capsys, "describe", data, "--epsilon", 1, "--public-sample", sample)
    assert [column["name"] for column in found["columns"] if column["paid"]] == ["patient"]
    assert found["certificate"]["epsilon"] > 0.9


def test_a_release_with_a_public_sample_estimates_nothing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = data.parent / "rows.csv"
    code, found = told(
        capsys, "synthesize", data, "--out", out, "--target", "sick", "--drop", "patient", "--rows", 300,
        "--public-sample", data.parent / "sample.csv",
    )  # fmt: skip
    assert code == 0, found
    model = load(found["release"])
    assert model.certificate_.body["release"]["schema_estimated"] == []
    assert set(pd.read_csv(out, dtype=str)["zip"].dropna()) <= {"01067", "04109", "other"}
    low, high = model.schema_["dose"].bounds
    assert 0 < low <= table(200, 1)["dose"].min() < table(200, 1)["dose"].max() <= high < 20


def test_the_private_table_is_no_public_sample(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("describe", data, "--epsilon", 1), ("synthesize", data, "--out", data.parent / "rows.csv")):
        code, found = told(capsys, *command, "--public-sample", data)
        assert code == 2
        assert "is the private table itself" in found["message"]


def test_a_sample_of_another_table_is_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data.parent / "other.csv").write_text("x\n1\n")
    code, found = told(capsys, "describe", data, "--epsilon", 1, "--public-sample", data.parent / "other.csv")
    assert code == 2
    assert "none of the table's columns" in found["message"]


def test_columns_are_left_out_of_all_three_commands(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = told(capsys, "describe", data, "--epsilon", 1, "--only", "age, zip")
    assert (code, [column["name"] for column in found["columns"]]) == (0, ["age", "zip"])
    out = data.parent / "rows.csv"
    code, found = told(capsys, "synthesize", data, "--out", out, "--target", "sick", "--only", "dose", "--rows", 50)
    assert code == 0
    assert list(read_table(out).columns) == ["dose", "sick"]
    folder = data.parent / "distilled"
    quick = ("--method", "dpkip", "--per-class", 2, "--set", "epochs=1", "--set", "batch=20", "--epsilon", 8)
    code, found = told(capsys, "distill", data, "--out", folder, "--target", "sick", "--drop", "patient,zip", *quick)
    assert code == 0
    assert list(read_table(folder / "records.csv").columns) == ["age", "dose", "sick"]
    code, found = told(capsys, "synthesize", data, "--out", data.parent / "other.csv", "--drop", "agee")
    assert code == 2
    assert "Did you mean 'age'" in found["message"]


def test_a_table_is_read_from_wherever_it_is(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(1500, 0)
    semicolons, tabs = data.parent / "german.csv", data.parent / "data.tsv"
    rows.to_csv(semicolons, index=False, sep=";", decimal=",", encoding="cp1252")
    rows.to_csv(tabs, index=False, sep="\t")
    for place, *how in (
        (semicolons, "--separator", ";", "--decimal", ",", "--encoding", "cp1252"),
        (tabs,),
    ):
        code, found = told(capsys, "describe", place, "--epsilon", 5, "--only", "dose,zip", *how)
        assert code == 0, found
        kinds = {column["name"]: column["kind"] for column in found["columns"]}
        assert kinds == {"dose": "number", "zip": "categorical"}
    code, found = told(capsys, "describe", "breast-cancer", "--epsilon", 1, "--only", "mean radius")
    assert code == 0, found
    code, found = told(capsys, "describe", semicolons, "--epsilon", 1)
    assert code == 2
    assert "--separator ';'" in found["message"]
