"""The tables of the page about distilled images are what their results file says."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import table_convnets as tables  # pyright: ignore[reportMissingImports]


def test_the_page_has_the_tables_of_the_results() -> None:
    page = tables.PAGE.read_text("utf-8")
    assert page.count("<!-- distilled: end -->") == 2
    assert page == tables.filled(page)


def test_tables_say_how_many_runs_there_are() -> None:
    row = {
        "part": "ours",
        "dataset": "mnist",
        "epsilon": 1.0,
        "learner": "ConvNet",
        "per_class": 20,
        "labels_by": "pupils",
    }
    many = {**row, "runs": 5, "mean": 98.5, "low": 98.4, "high": 98.61}
    assert "| on 20 | **98.50** (98.40 to 98.61, 5 runs) | – | 97.8, 88.3 |" in tables.final([many])
    one = {**many, "dataset": "fashion", "runs": 1}
    assert "| on 20 | – | **98.50** (one run) | 97.8, 88.3 |" in tables.final([one])


def test_choices_are_named() -> None:
    row = {"part": "choose", "dataset": "fashion", "learner": "ConvNet", "per_class": 50, "mean": 85.22}
    rows = [
        {**row, "labels_by": "teachers", "softness": 2.0, "mixed": True},
        {**row, "learner": "KRR", "what": "one look"},
    ]
    assert tables.chosen(rows)[2:] == [
        "| Fashion-MNIST, a ConvNet on 50 a class: labels by teachers, softness 2, mixed | 85.2 |",
        "| Fashion-MNIST, kernel ridge regression on 50 a class: one look | 85.2 |",
    ]
