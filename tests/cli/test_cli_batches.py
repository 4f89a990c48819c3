"""`understudy synthesize` of a table that is read in batches: what is left behind, and what is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from command import run  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from small_generators import table  # pyright: ignore[reportMissingImports]

from understudy.tables.coordinates import tallies


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where rows are written on the way."""
    import tempfile

    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def command(tmp_path: Path) -> list[object]:
    table(300).to_csv(tmp_path / "data.csv", index=False)
    return ["synthesize", tmp_path / "data.csv", "--out-of-core", "--target", "sick", "--out", tmp_path / "s.csv"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--drop", "nothing"], "no column 'nothing'"),
        (["--resume", "--workspace", "other.private"], "no run to resume"),
        (["--ledger", "none.db", "--dataset", "ward"], "none.db"),
        (["--decimal", ","], "--decimal and a table that is read in batches"),
        (["--encoding", "cp1252"], "--encoding and a table that is read in batches"),
    ],
)
def test_a_refused_command_leaves_no_rows_behind(
    more: list[object], message: str, command: list[object], spools: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.private").mkdir()
    (tmp_path / "other.private" / "notes.txt").write_text("somebody's")
    code, _, err = run(capsys, *command, *more)
    assert code == 2
    assert message in " ".join(err.split())
    assert list(spools.iterdir()) == []


def test_a_dry_run_leaves_no_rows_behind(
    command: list[object], spools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *command, "--dry-run")
    assert code == 0, err
    assert list(spools.iterdir()) == []


def test_whoever_stops_a_run_is_told_how_it_goes_on(
    command: list[object], spools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def stop(*of: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(tallies.FirstPass, "__call__", stop)
        code, _, err = run(capsys, *command)
    assert code == 130
    assert "The same command with --resume goes on" in " ".join(err.split())
    assert "Interrupted." in err
    assert list(spools.iterdir()) == []
    code, _, err = run(capsys, *command, "--resume")
    assert code == 0, err
    assert not (tmp_path / "s.csv.private").exists()
