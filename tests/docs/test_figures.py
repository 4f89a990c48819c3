"""Figures in the documentation are those in benchmarks/results/, or follow from a formula that is tested elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.privacy import GaussianEvent
from understudy.privacy.calibration import gaussian_noise_multiplier
from understudy.privacy.tradeoff import trade_off
from understudy.report import Odds
from understudy.report.text import at_most

ROOT = Path(__file__).resolve().parents[2]
_FILE = re.compile(r"\]\(((?:\.\./)*benchmarks/results/[^)]+\.json)\)")
_BOLD = re.compile(r"\*\*(\d+\.\d+)\*\*")


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _numbers(one)
    elif isinstance(value, list):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _rows(page: Path) -> Iterator[tuple[str, list[Path]]]:
    """Rows of tables with a figure in bold, and the files that they, or the rows above them, name."""
    files: list[Path] = []
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            files = []
            continue
        if found := _FILE.findall(line):
            files = [(page.parent / name).resolve() for name in found]
        if _BOLD.search(line):
            yield line, files


@pytest.mark.parametrize("name", ["README.md", "docs/guides/choose.md", "docs/methods/one-look.md"])
def test_bold_figures_come_from_the_results(name: str) -> None:
    page = ROOT / name
    for line, files in _rows(page):
        assert files, f"no file in benchmarks/results/ is named for: {line}"
        known = [number for file in files for number in _numbers(json.loads(file.read_text("utf-8")))]
        for text in _BOLD.findall(line):
            digits = len(text.split(".")[1])
            assert any(f"{number:.{digits}f}" == text for number in known), f"{text} is in none of {files}: {line}"


def test_readme_has_measured_figures() -> None:
    assert len(list(_rows(ROOT / "README.md"))) >= 3


def test_the_promise_in_numbers() -> None:
    text = (ROOT / "docs" / "promise.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+)" + r" \| ([\d.]+ %)" * 5 + r" \|$", text, re.MULTILINE)
    assert len(rows) == 6
    for epsilon, _, *said in rows:
        odds = Odds(float(epsilon), 1e-5)
        curve = trade_off([GaussianEvent(gaussian_noise_multiplier(float(epsilon), 1e-5))])
        drawn = [curve.found(0.01), curve.found(0.1)]
        expected = [odds.posterior(), *drawn, odds.found(0.01), odds.found(0.1)]
        assert said == [at_most(share).replace("\N{NARROW NO-BREAK SPACE}", " ") for share in expected]
