"""`understudy synthesize` and `understudy sample`, from a file to files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from small_generators import SCHEMA, table  # pyright: ignore[reportMissingImports]

from understudy import PATEGAN
from understudy.privacy import Certificate, Ledger
from understudy.tables import read_table, validate_frame

SMALL = [
    *("--method", "pategan"),
    *("--teachers", "10", "--iterations", "2", "--epsilon", "4", "--set", "first_steps=2"),
    *("--set", "batch=8", "--set", "teacher_steps=2", "--set", "student_steps=2"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    table().to_csv(tmp_path / "data.csv", index=False)
    SCHEMA.write(tmp_path / "schema.yaml")
    return tmp_path / "data.csv", tmp_path / "schema.yaml"


def test_synthesize_then_sample(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files
    out = tmp_path / "synthetic.csv"
    code, text, err = run(
        capsys, "synthesize", data, "--schema", schema, "--target", "sick", "--rows", 30, "--out", out, *SMALL, "--json"
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(text)
    assert found["epsilon"] <= 4
    assert found["rows"] == 30
    rows = read_table(out)
    assert len(rows) == 30
    assert Certificate.load(found["certificate"]).verify() <= 4
    assert not (tmp_path / "synthetic.csv.private").exists()
    more = tmp_path / "more.parquet"
    code, text, err = run(
        capsys, "sample", found["release"], "--rows", 40, "--out", more, "--condition", "ward=s", "--seed", 1
    )
    assert code == 0, err
    assert "Nothing was spent" in text
    validate_frame(read_table(more), SCHEMA.with_target(None))
    assert set(read_table(more)["ward"]) == {"s"}
    code, _, err = run(capsys, "sample", found["release"], "--out", tmp_path / "no.csv", "--balance", 0.5)
    assert code == 2
    assert "has no way to draw called `balance`" in err
    code, text, _ = run(capsys, "sample", found["release"], "--out", more, "--condition", "ward=x", "--json")
    assert code == 2
    assert "never 'x'" in json.loads(text)["message"]


def test_the_number_of_rows_is_never_the_private_one(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    out = tmp_path / "synthetic.csv"
    code, text, err = run(capsys, "synthesize", data, "--schema", schema, "--out", out, *SMALL)
    assert code == 0, err
    assert "certificate" in text
    assert len(read_table(out)) == 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "magic"], "unknown method 'magic'"),
        (["--set", "teecher_steps=1"], "no setting 'teecher_steps'"),
        (["--set", "batch"], "NAME=VALUE"),
        (["--rows", "0"], "--rows"),
        (["--ledger", "x.db"], "belong together"),
        (["--workspace", "public"], "holds private things"),
        (["--teachers", "61"], "fewer rows"),
        (["--out", "rows.txt"], "suffix"),
    ],
)
def test_bad_options_exit_with_2(
    options: list[str], message: str, files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    out = [] if "--out" in options else ["--out", tmp_path / "s.csv"]
    code, _, err = run(capsys, "synthesize", data, "--schema", schema, *SMALL, *out, *options)
    assert code == 2
    assert message in err


def test_a_budget_that_does_not_hold_exits_with_3(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    code, _, err = run(
        capsys,
        "synthesize",
        data,
        "--schema",
        schema,
        *SMALL,
        "--epsilon",
        "0.5",
        "--set",
        "noise=1",
        "--out",
        tmp_path / "s.csv",
    )
    assert code == 3
    assert "Remaining" in err


def test_the_ledger_is_charged_once(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("patients", epsilon=10.0, delta=1e-3)
    options = ["--schema", schema, "--ledger", tmp_path / "ledger.db", "--dataset", "patients", *SMALL]
    code, text, err = run(capsys, "synthesize", data, *options, "--out", tmp_path / "s.csv", "--json")
    assert code == 0, err
    # What the certificate states was spent, and no more; epsilon 4 was set aside before the first draw.
    stated = Certificate.load(json.loads(text)["certificate"]).epsilon
    assert book.spent("patients").epsilon == stated < 4.0
    code, _, err = run(capsys, "synthesize", data, *options, "--teachers", "61", "--out", tmp_path / "t.csv")
    assert code == 2
    assert book.spent("patients").epsilon == stated


def test_the_ledger_books_what_is_true_or_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("patients", epsilon=5.0, delta=1e-3)
    options = [
        "--schema",
        schema,
        "--ledger",
        tmp_path / "ledger.db",
        "--dataset",
        "patients",
        "--out",
        tmp_path / "s.csv",
    ]
    for wrong, said in (
        (["--epsilon", "0.5", "--set", "epsilon=10"], "--epsilon"),
        (["--method", "gan", "--epsilon", "0.1"], "no epsilon that holds"),
        ([*SMALL, "--mode", "as-published"], "no epsilon that holds"),
    ):
        code, _, err = run(capsys, "synthesize", data, *options, *wrong)
        assert code == 2
        assert said in err
    assert book.spent("patients").epsilon == 0


def test_a_run_begun_without_the_ledger_is_booked_when_it_goes_on_with_it(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    out = tmp_path / "s.csv"
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("patients", epsilon=10.0, delta=1e-3)
    charged = ["--ledger", tmp_path / "ledger.db", "--dataset", "patients"]
    begun = PATEGAN.from_settings(
        epsilon=4.0, teachers=10, iterations=2, first_steps=2, batch=8, teacher_steps=2, student_steps=2, random_state=0
    )
    begun.fit(table(), schema=SCHEMA, workspace=tmp_path / "s.csv.private")
    stated = begun.certificate_.epsilon
    assert 0 < stated < 4.0
    for expected in (0, 2):  # the second time the release is there already
        code, _, err = run(
            capsys, "synthesize", data, "--schema", schema, "--out", out, *SMALL, "--resume", *charged, "--workspace",
            tmp_path / "s.csv.private",
        )  # fmt: skip
        assert code == expected, err
        assert book.spent("patients").epsilon == stated


def test_folders_of_others_are_left_alone(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    kept = tmp_path / "s.csv.private" / "thesis.txt"
    kept.parent.mkdir()
    kept.write_text("years of work")
    code, _, err = run(capsys, "synthesize", data, "--schema", schema, "--epsilon", "50", "--out", tmp_path / "s.csv")
    assert code == 0, err
    assert kept.exists()
    code, _, err = run(
        capsys, "synthesize", data, "--schema", schema, *SMALL, "--bundle", tmp_path / "b", "--out", tmp_path / "s.csv"
    )
    assert code == 2
    assert "thesis.txt" in err
    assert kept.exists()


def test_a_column_that_drowned_is_left_empty_and_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It used to be drawn from the whole ladder of possible bounds: an age of -10222418."""
    rng = np.random.default_rng(0)
    pd.DataFrame(
        {"sick": rng.integers(0, 2, 600), "age": rng.integers(0, 90, 600), "name": [f"n{i}" for i in range(600)]}
    ).to_csv(tmp_path / "few.csv", index=False)
    made = tmp_path / "made.csv"
    data = tmp_path / "few.csv"
    code, out, err = run(capsys, "synthesize", data, "--epsilon", 2, "--target", "sick", "--out", made)
    assert code == 0, err
    assert "Could not be learnt, and left empty: name" in " ".join(out.split())
    rows: Any = read_table(made)
    assert list(rows.columns) == ["sick", "age", "name"]
    assert rows["name"].isna().all()
    assert run(capsys, "verify", str(made) + ".release")[0] == 0
