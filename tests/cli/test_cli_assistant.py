"""`understudy schema init` in a terminal: a scripted session, and what it takes without being asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.cli import schema as _registered  # noqa: F401
from understudy.cli.app import main
from understudy.tables import Schema, write_table

pexpect = pytest.importorskip("pexpect")
ROWS = 400


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient_id": np.arange(7000, 7000 + ROWS),
            "age": rng.integers(21, 88, ROWS),
            "dose": rng.normal(5, 1, ROWS).round(2),
            "stage": rng.choice(["I", "II", "III"], ROWS),
            "notes": [f"seen on day {i}" for i in range(ROWS)],
            "ward": rng.choice(["north", "south"], ROWS),
            "sick": rng.integers(0, 2, ROWS),
        }
    )


@pytest.fixture
def data(frame: pd.DataFrame, tmp_path: Path) -> Path:
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.fixture
def terminal(data: Path) -> Iterator[Any]:
    """`understudy schema init data.csv --out schema.yaml` at a keyboard."""
    code = "from understudy.cli import main; main()"
    child = pexpect.spawn(
        sys.executable,
        ["-c", code, "schema", "init", "data.csv", "--out", "schema.yaml", "--target", "sick"],
        cwd=str(data.parent),
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=1500,
        echo=False,
    )
    child.setwinsize(50, 200)
    yield child
    child.close(force=True)


def answer(child: Any, question: str, text: str) -> str:
    """What was printed before the question."""
    child.expect(question)
    printed = child.before
    child.expect(": ?")
    child.sendline(text)
    return printed


def test_a_session_asks_column_by_column_and_writes_what_was_said(terminal: Any, data: Path) -> None:
    # patient_id: an id by its name; new ones get a pattern, after one that is none
    shown = answer(terminal, r"What is it\? \(n number.*learn it\) \[i\]", "")
    assert "[1 of 7] patient_id" in shown
    assert "for your eyes only" in shown
    answer(terminal, r"How new ones look", "P-")
    terminal.expect(r"must hold one run of #")
    answer(terminal, r"How new ones look", "P-####")
    # age: the range comes from its name, not from the rows, which are shown
    shown = answer(terminal, r"What is it\?.*\[w\]", "")
    assert "whole numbers from 21 to 87" in shown
    assert "by its name: integer, 0 to 120" in shown
    assert "to learn it instead: epsilon " in shown
    answer(terminal, r"\[0 to 120\]", "")
    answer(terminal, r"May it be missing.*\[Y/n\]", "n")
    # dose: nothing but the rows suggests a range, so Enter has it learnt
    answer(terminal, r"What is it\?.*\[n\]", "q")
    terminal.expect("type one of")
    answer(terminal, r"What is it\?.*\[n\]", "n")
    answer(terminal, r"Lowest and highest.*\[-\]", "high")
    terminal.expect("write two values")
    answer(terminal, r"Lowest and highest.*\[-\]", "")
    answer(terminal, r"May it be missing", "")
    # stage: ordered, said with its order
    answer(terminal, r"What is it\?.*\[c\]", "o")
    answer(terminal, r"All its values.*in their order", "I, II, III, IV")
    answer(terminal, r"May it be missing", "n")
    # notes, then a ward that may be another, then the target
    answer(terminal, r"What is it\?.*\[t\]", "")
    answer(terminal, r"What is it\?.*\[c\]", "")
    answer(terminal, r"All its values", "north, south, *")
    answer(terminal, r"May it be missing", "")
    shown = answer(terminal, r"What is it\?.*\[c\]", "")
    assert "(the target)" in shown
    answer(terminal, r"All its values", "0, 1")
    terminal.expect(r"Left to be learnt: dose\. .* epsilon \d")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    made = Schema.read(data.parent / "schema.yaml")
    assert made.names == ("age", "dose", "stage", "ward", "sick")
    assert made.target == "sick"
    assert made.missing() == ["dose"]
    assert (made["age"].bounds, made["age"].nullable) == ((0, 120), False)
    assert (made["stage"].kind, made["stage"].labels) == ("ordinal", ("I", "II", "III", "IV"))
    assert made["ward"].labels == ("north", "south", "other")
    assert made["sick"].categories == (0, 1)
    assert [(column.name, column.kind, column.place, column.pattern) for column in made.aside] == [
        ("patient_id", "id", 0, "P-####"),
        ("notes", "text", 4, None),
    ]


def test_a_session_that_is_ended_writes_nothing(terminal: Any, data: Path) -> None:
    terminal.expect(r"What is it\?")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus != 0
    assert {path.name for path in data.parent.iterdir()} == {"data.csv"}


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as exit:
        main(["schema", "init", *map(str, arguments)])
    return int(exit.value.code or 0)


def test_yes_takes_what_names_suggest_and_nothing_from_the_rows(
    frame: pd.DataFrame, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = data.parent / "a.yaml", data.parent / "b.yaml"
    assert run(data, "--yes", "--out", first) == 0
    made = Schema.read(first)
    assert made.names == ("age",)
    assert [column.name for column in made.aside] == ["patient_id", "notes"]
    other = frame.assign(
        age="unknown", dose=[f"{i} mg" for i in range(ROWS)], ward=np.arange(ROWS), sick=np.linspace(0, 1, ROWS)
    )
    other.to_csv(data, index=False)
    assert run(data, "--yes", "--out", second) == 0
    assert second.read_text() == first.read_text(), "another table of the same names has another schema"
    capsys.readouterr()


def test_yes_also_takes_the_types_that_a_file_says(
    frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(frame, tmp_path / "data.parquet")
    assert run(tmp_path / "data.parquet", "--yes", "--out", tmp_path / "schema.yaml", "--target", "sick") == 0
    made = Schema.read(tmp_path / "schema.yaml")
    assert made.names == ("age", "dose", "stage", "ward", "sick")
    assert made.missing() == ["dose", "stage", "ward", "sick"]
    capsys.readouterr()


def test_yes_with_names_that_say_nothing_is_an_error_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert run(tmp_path / "data.csv", "--yes") == 2
    assert "understudy synthesize" in capsys.readouterr().err
