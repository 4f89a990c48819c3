"""`understudy report`, `--report`, `--version`, completion, and answers to mistyped names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from understudy import __version__
from understudy.cli.app import main
from understudy.privacy import Budget, Certificate, NoisyCounts
from understudy.release.bundle import Bundle, write_bundle


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    budget = Budget(1, 0.0)
    NoisyCounts(0.5).release([3, 4], budget)
    certificate = Certificate.from_budget(budget, release={"kind": "classifier"})
    write_bundle(Bundle("classifier", "pate", {}, {"x": np.zeros(2)}, certificate), tmp_path / "release")
    return tmp_path / "release"


def test_report(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert _run("report", str(release), "--out", str(page), "--title", "Ours", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == str(page)
    assert said["bytes"] == page.stat().st_size
    assert "Ours" in page.read_text("utf-8")
    assert _run("report", str(release / "certificate.json"), str(release), "--out", str(page)) == 0
    assert "one file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "page.txt"], ".html"),
        (["--out", "nowhere/page.html"], "no folder"),
        (["--ledger", "ledger.db"], "belong together"),
        (["--evaluation", "none.json"], "cannot read the evaluation"),
    ],
)
def test_report_refuses(
    release: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(release.parent)
    assert _run("report", str(release), *arguments) == 2
    assert words in capsys.readouterr().err
    assert [p.name for p in release.parent.iterdir()] == ["release"]


@pytest.mark.parametrize("command", ["synthesize", "classify"])
def test_a_page_that_cannot_be_written_stops_a_run_before_it_spends(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("x,y\n1,0\n2,1\n")
    more = ["--public", "rows.csv"] if command == "classify" else []
    out = "out" if command == "classify" else "out.csv"
    assert _run(command, "rows.csv", "--target", "y", *more, "--out", out, "--report", "page.pdf") == 2
    assert ".html" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--version") == 0
    assert capsys.readouterr().out == f"understudy {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["sintesize"], "synthesize"),
        (["plan", "--epsilo", "1"], "--epsilon"),
        (["plan", "--method", "gnmx", "--epsilon", "1", "--queries", "5"], "gnmax"),
        (["synthesize", "rows.csv", "--out", "o.csv", "--method", "moment"], "moments"),
        (["synthesize", "rows.csv", "--out", "o.csv", "--target", "sik"], "sick"),
        (["data", "path", "adlt"], "adult"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_mistyped_names_get_a_suggestion(
    arguments: list[str],
    suggestion: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("age,sick\n1,0\n2,1\n")
    assert _run(*arguments) == 2
    assert suggestion in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str) -> None:
    words = {
        "bash": ("COMP_WORDS", "COMP_CWORD"),
        "zsh": ("_TYPER_COMPLETE_ARGS", ""),
        "fish": ("_TYPER_COMPLETE_ARGS", ""),
    }
    name, place = words[shell]
    settings = {
        name: "understudy syn",
        "_UNDERSTUDY_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    if place:
        settings[place] = "1"
    code = "import sys; sys.argv = ['understudy']; from understudy.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True, timeout=1500
    )
    assert "synthesize" in ended.stdout, ended
