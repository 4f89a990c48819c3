"""`understudy synthesize` with the method that it recommends, from a file to files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import run  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from small_generators import SCHEMA, table  # pyright: ignore[reportMissingImports]

from understudy.privacy import Certificate, Ledger
from understudy.tables import read_table, validate_frame


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    table(600).to_csv(tmp_path / "data.csv", index=False)
    SCHEMA.write(tmp_path / "schema.yaml")
    return [tmp_path / "data.csv", "--schema", tmp_path / "schema.yaml", "--out", tmp_path / "s.csv", "--epsilon", 4]


def test_moments_is_what_synthesize_does(
    options: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, err = run(capsys, "synthesize", *options, "--rows", 200, "--json")
    assert code == 0, err
    found = json.loads(text)
    assert found["method"] == "moments"
    assert found["verdict"]["grade"] in ("good", "thin", "lost")
    assert "predicting 'sick'" in found["verdict"]["sentence"]
    assert Certificate.load(found["certificate"]).verify() <= 4
    rows = read_table(tmp_path / "s.csv")
    validate_frame(rows, SCHEMA)
    assert len(rows) == 200
    more = tmp_path / "more.csv"
    code, _, err = run(capsys, "sample", found["release"], "--rows", 20, "--out", more, "--condition", "sick=true")
    assert code == 0, err
    assert bool(read_table(more)["sick"].to_numpy().all())
    alike = tmp_path / "alike.csv"
    code, _, err = run(capsys, "sample", found["release"], "--rows", 400, "--out", alike, "--balance", 1, "--seed", 0)
    assert code == 0, err
    assert abs(float(read_table(alike)["sick"].to_numpy().mean()) - 0.5) < 0.1
    code, _, err = run(capsys, "sample", found["release"], "--out", tmp_path / "no.csv", "--balance", 2)
    assert code == 2
    assert "from 0 (as released) to 1" in err
    assert not (tmp_path / "no.csv").exists()
    assert not (tmp_path / "s.csv.private").exists()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--teachers", 10], "no setting 'teachers'"),
        (["--set", "model=magic"], "`model`"),
        (["--resume"], "keeps no checkpoints"),
        (["--epsilon", 0.0001], "more than epsilon 0.0001 carries"),
    ],
)
def test_refusals(extra: list[object], message: str, options: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "synthesize", *options, *extra)
    assert code == 2
    assert message in " ".join(err.split())


def test_a_ledger_keeps_what_was_drawn_and_gets_back_what_was_not(
    options: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("patients", epsilon=10.0, delta=1e-3)
    charged = ["--ledger", tmp_path / "ledger.db", "--dataset", "patients"]
    code, _, _ = run(capsys, "synthesize", *options, *charged, "--set", "model=magic")
    assert code == 2
    code, text, err = run(capsys, "synthesize", *options, *charged)
    assert code == 0, err
    assert text.startswith("Verdict: ")
    assert "4" in run(capsys, "ledger", "show", tmp_path / "ledger.db")[1]
