"""Visits and two tables on the command line: what is written, said to the owner alone, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.audit.worlds import visits
from understudy.privacy import Certificate

QUICK = ("--set", "model=gaussian", "--set", "anyway=true", "--rows", 60, "--epsilon", 3)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    rows: Any = visits(300).rename(columns={"who": "patient"})
    rows["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(range(len(rows)), "D")
    rows["age"] = rows.groupby("patient")["age"].transform("first")
    rows.to_csv(folder / "all.csv", index=False)
    above = rows.groupby("patient", as_index=False)[["age"]].first()
    extra = pd.DataFrame(
        {"patient": [0, 900, 901], "age": [1, 30, 40]}
    )  # a second row of the first person, and two without rows
    pd.concat([above, extra], ignore_index=True).to_csv(folder / "patients.csv", index=False)
    lost = pd.DataFrame({"patient": [5000], "dose": [1.0], "ward": ["north"], "sick": [True], "day": ["2024-01-01"]})
    pd.concat([rows.drop(columns="age"), lost], ignore_index=True).to_csv(folder / "visits.csv", index=False)
    return folder


def test_two_tables_in_and_two_tables_out_with_one_certificate(
    clinic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (clinic / "patients.csv", "--child", clinic / "visits.csv", "--key", "patient", "--order", "day")
    page = tmp_path / "page.html"
    code, text, err = run(
        capsys,
        "synthesize",
        *given,
        "--rows-per-person",
        4,
        "--out",
        tmp_path / "a.csv",
        *QUICK,
        "--report",
        page,
        "--json",
    )
    assert code == 0, err
    said = json.loads(text)
    assert said["persons"] == 60
    assert said["child_out"].endswith("a-child.csv")
    above, below = pd.read_csv(said["out"]), pd.read_csv(said["child_out"])
    assert (len(above), len(below)) == (60, said["rows"])
    assert above.columns.tolist() == ["patient", "age"]
    assert below.columns.tolist() == ["patient", "dose", "ward", "sick", "day"]
    assert set(below["patient"]) <= set(above["patient"])
    left = said["private_to_the_data_holder"]["left_out"]
    assert (left["without_person"], left["second_rows"], left["without_order"]) == (1, 1, 0)
    body = Certificate.load(said["certificate"]).body
    assert (body["unit"], body["release"]["persons"], body["release"]["rows_per_person"]) == ("person", 303, 4)
    assert "which columns belong to persons and which to their rows" in body["assumed_public"]
    assert "and your row in the table of persons" in page.read_text("utf-8")
    code, text, err = run(capsys, "sample", said["release"], "--rows", 7, "--out", tmp_path / "b.csv", "--json")
    assert code == 0, err
    assert json.loads(text)["persons"] == 7
    assert (tmp_path / "b-child.csv").exists()
    code, _, err = run(
        capsys, "synthesize", *given, "--rows-per-person", 4, "--out", tmp_path / "c.csv", *QUICK, "--strict"
    )
    assert code == 2
    assert "1 rows name no person and were left out; 1 persons have the key of another one" in " ".join(err.split())
    _, text, _ = run(capsys, "verify", said["release"])
    assert "Unit: person (of whom at most 4 rows were taken)" in " ".join(text.split())


def test_one_table_in_an_order_and_what_is_told_to_people(
    clinic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--person", "patient", "--rows-per-person", 4, "--order", "day", "--constant", "age")
    code, text, err = run(capsys, "synthesize", clinic / "all.csv", *given, "--out", tmp_path / "a.csv", *QUICK)
    assert code == 0, err
    assert "60 synthetic persons" in text
    assert "rows are beyond those taken of their person" in text
    made: Any = pd.read_csv(tmp_path / "a.csv", parse_dates=["day"])
    assert (made.groupby("patient")["age"].nunique() == 1).all()
    assert (made.groupby("patient")["day"].diff().dropna() >= pd.Timedelta(0)).all()
    _, text, _ = run(capsys, "sample", tmp_path / "a.csv.release", "--rows", 5, "--out", tmp_path / "b.csv")
    assert "Wrote 5 persons with" in " ".join(text.split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--order", "day"), "go with `person`"),
        (("--child", "visits.csv"), "--child and --key belong together"),
        (("--key", "patient"), "--child and --key belong together"),
        (("--child", "visits.csv", "--child", "all.csv", "--key", "patient"), "two tables are learnt together"),
        (("--child", "visits.csv", "--key", "id", "--rows-per-person", 3), "no column 'id' to be the key"),
        (("--child", "visits.csv", "--key", "patient"), "belong together"),
        (
            ("--child", "visits.csv", "--key", "patient", "--person", "age", "--rows-per-person", 3),
            "leave --person age",
        ),
        (("--child", "visits.csv", "--key", "patient", "--rows-per-person", 3, "--drop", "age"), "do not go with"),
        (("--child", "all.csv", "--key", "patient", "--rows-per-person", 3), "both tables have 'age'"),
        (
            ("--child", "visits.csv", "--key", "patient", "--rows-per-person", 3, "--method", "dpgan"),
            "draws row by row",
        ),
        (
            ("--child", "visits.csv", "--key", "patient", "--rows-per-person", 3, "--child-out", "o.csv"),
            "the same file",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    clinic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    given: tuple[object, ...], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(clinic)
    code, _, err = run(capsys, "synthesize", "patients.csv", "--out", "o.csv", *given)
    assert code == 2
    assert message in " ".join(err.split())
    assert not Path("o.csv").exists()
