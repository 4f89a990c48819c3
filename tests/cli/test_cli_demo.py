"""`understudy demo` makes what it says, and never touches a folder that is not its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from understudy import load
from understudy.cli.app import main
from understudy.demo import _fresh  # pyright: ignore[reportPrivateUsage]
from understudy.privacy import Certificate, Ledger


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_info:
        main(["demo", *arguments])
    return int(exit_info.value.code or 0)


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    assert _run("--out", str(out)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "report.html" in said
    assert "Every certificate verifies" in said
    result = json.loads((out / "summary.json").read_text())
    releases = {release["what"]: release for release in result["releases"]}
    assert set(releases) == {"synthetic rows", "distilled set", "classifier"}
    for release in releases.values():
        assert Certificate.load(Path(release["folder"]) / "certificate.json").verify() <= release["epsilon"] + 1e-9
        assert load(release["folder"]) is not None
    assert releases["synthetic rows"]["score"] > 0.85
    assert releases["distilled set"]["score"] > result["majority"]
    assert releases["classifier"]["score"] > result["majority"] - 0.1
    spent = Ledger(str(out / "ledger.db")).spent("breast-cancer")
    assert float(spent.epsilon) == pytest.approx(result["spent"]["epsilon"])
    assert float(spent.epsilon) <= 3 + 1e-9
    first = Path(result["report"]).read_text("utf-8")
    assert first.count("promise recomputed") == 1
    assert "Verdict:" in first
    assert "of 350 rows" in first
    page = Path(result["report_of_all"]).read_text("utf-8")
    assert "In one breath" in page
    assert page.count("promise recomputed") == len(releases)
    assert "cost nothing more" in page
    assert page.count("Predictions of") == 2


def test_demo_replaces_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / ".understudy-demo").write_text("made by understudy demo\n")
    (tmp_path / "old").mkdir()
    assert sorted(p.name for p in _fresh(tmp_path).iterdir()) == [".understudy-demo"]


def test_demo_spares_other_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    assert _run("--out", str(tmp_path)) == 2
    assert "not made by the demo" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "keep"
