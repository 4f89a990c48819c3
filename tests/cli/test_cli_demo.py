"""`understudy demo` makes what it says, twice in a row, and never touches a folder that is not its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from understudy.cli.app import main
from understudy.privacy import Certificate, Ledger


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    result = {}
    for _ in range(2):
        with pytest.raises(SystemExit) as exit_info:
            main(["demo", "--out", str(out), "--json"])
        assert not exit_info.value.code
        result = json.loads(capsys.readouterr().out)
    assert result["accuracy"] > result["majority"] - 0.1
    assert Certificate.load(out / "classifier" / "certificate.json").verify() <= 2
    assert (out / "plan.svg").stat().st_size > 1000
    assert "epsilon" in (out / "report.md").read_text()
    assert float(Ledger(str(out / "ledger.db")).spent("breast-cancer").epsilon) <= 2.5


def test_demo_spares_other_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit) as exit_info:
        main(["demo", "--out", str(tmp_path)])
    assert exit_info.value.code == 2
    assert "not made by the demo" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "keep"
