"""The tables of the page about DP-KIP are what its results say."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import table_dpkip as tables  # pyright: ignore[reportMissingImports]


def test_the_page_has_the_tables_of_the_results() -> None:
    page = tables.PAGE.read_text("utf-8")
    assert page.count("<!-- dpkip: end -->") == 4
    assert page == tables.filled(page)


def test_fewer_runs_are_marked_and_none_are_shown_as_such() -> None:
    row = {"mean": 74.249, "repeats": 3, "paper": 92.7}
    assert tables.cell(row, 1, 5) == "74.2³"
    assert tables.cell(row, 1, 3) == "74.2"
    assert tables.cell({**row, "mean": None}, 1, 5) == tables.cell(None, 1, 5) == "–"
    found = {("Table 1, mnist, 10 a class", "DP-KIP, epsilon 1", "accuracy"): row}
    assert "| MNIST | 10 | – | – | 92.7 | 74.2³ | – | – |" in tables.images(found, 1, (10,), 5)
    assert "| MNIST | 10 | 74.2³ | – | – |" in tables.starts(found)
    found = {("Table 3, adult", "DP-KIP, 10 a class", "AUROC"): {"mean": 0.77149, "repeats": 5, "paper": 0.662}}
    assert tables.tables(found)[-1] == "| adult | AUROC | 0.662 | 0.771 | – |"
