"""`understudy describe`: a private codebook, charged and certified; mistakes spend nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.cli import describe as _registered  # noqa: F401
from understudy.privacy import Certificate, Ledger
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = 4000
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "dose": rng.choice([0.0, 0.5, 1.25], rows),
            "ward": rng.choice(["north", "south"], rows),
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")).astype(str),
            "sick": rng.integers(0, 2, rows),
        }
    )
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def cli(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    return run(capsys, "describe", *arguments)


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code, out, err = cli(capsys, *arguments, "--json")
    assert (code, err) == (0, ""), err
    return json.loads(out)


def test_a_csv_is_described_by_its_cells_and_the_certificate_verifies(
    capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    out = data.with_name("codebook.json")
    found = as_json(capsys, data, "--epsilon", "1", "--target", "sick", "--out", out)
    assert [column["kind"] for column in found["columns"]] == [
        "number",
        "number",
        "categorical",
        "datetime",
        "categorical",
    ]
    assert found["columns"][1]["step"] == 0.25
    assert found["columns"][4]["labels"] == [0, 1]
    certificate = Certificate.parse(json.dumps(found["certificate"]))
    assert certificate.verify() <= 1.0
    assert certificate.body["release"] == {"kind": "description", "columns": 5, "rows": 4000}
    assert found.pop("private_to_the_data_holder") == {"mended": {"rows": {}, "cells": {}}}
    assert json.loads(out.read_text("utf-8")) == found
    assert Coordinates.from_dict(found).schema == Schema.from_dict(found["schema"])


def test_people_get_a_table_with_histograms(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    code, out, err = cli(capsys, data, "--epsilon", "1", "--target", "sick")
    assert (code, err) == (0, "")
    for word in ("whole number", "category", "date", "north", "█", "sick (target)", "Spent epsilon 0.99"):
        assert word in out


def test_what_did_not_stand_out_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("name,size,a,b,c,d\nann,1,1,1,1,1\nbob,2,2,2,2,2\n", encoding="utf-8")
    code, out, _ = cli(capsys, path, "--epsilon", "0.1")
    assert code == 0
    assert "Nothing stood out of the noise in" in out
    assert "ann" not in out


def test_a_table_without_rows_is_described(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("name,size\n", encoding="utf-8")
    assert as_json(capsys, path, "--epsilon", "1")["rows"] == 0


def test_a_stray_cell_in_a_csv_changes_no_kind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One word among a thousand numbers turned the whole column into text where types were told from the rows."""
    path = tmp_path / "stray.csv"
    path.write_text("size\n" + "\n".join([*map(str, range(1000)), "unknown"]) + "\n", encoding="utf-8")
    assert as_json(capsys, path, "--epsilon", "5")["columns"][0]["kind"] == "number"


def test_a_ledger_is_charged_and_a_refusal_spends_nothing(
    capsys: pytest.CaptureFixture[str], data: Path, tmp_path: Path
) -> None:
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("ward", epsilon=1.5, delta=1e-4)
    options = ("--ledger", tmp_path / "ledger.db", "--dataset", "ward")
    as_json(capsys, data, "--epsilon", "1", *options)
    code, _, err = cli(capsys, data, "--epsilon", "1", *options)
    assert code == 3
    assert "remaining" in err.lower()
    code, _, err = cli(capsys, data, "--epsilon", "0.2", "--target", "sicc", *options)
    assert code == 2
    assert "Did you mean 'sick'" in err
    as_json(capsys, data, "--epsilon", "0.4", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "1", "--delta", "0"), "delta"),
        (("--epsilon", "1", "--out", "nowhere/x.json"), "no folder"),
        (("--epsilon", "1", "--ledger", "x.db"), "belong together"),
    ],
)
def test_mistakes_are_refused(
    capsys: pytest.CaptureFixture[str], data: Path, options: tuple[str, ...], message: str
) -> None:
    code, _, err = cli(capsys, data, *options)
    assert code == 2
    assert message in err


def test_one_rule_for_delta_in_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Left out it is safe for so many rows; named too large, the command says so."""
    from understudy.cli.options import delta_for

    assert [delta_for(None, rows) for rows in (100, 99_999, 10**6)] == [1e-5, 1e-5, 1e-7]
    assert capsys.readouterr().err == ""
    assert delta_for(0.1, 100) == 0.1
    assert "not below 1/rows" in capsys.readouterr().err
