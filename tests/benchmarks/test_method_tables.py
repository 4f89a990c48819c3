"""The tables on the pages are what the results say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import method_tables as tables
from benchmarks.pages.document import documents
from benchmarks.result import RESULTS

DOCS = RESULTS.parents[1] / "docs"


@pytest.mark.parametrize("path", sorted(documents(RESULTS, DOCS)), ids=lambda path: path.name)
def test_the_pages_are_those_of_the_results(path: Path) -> None:
    assert documents(RESULTS, DOCS)[path] == path.read_text("utf-8"), "run `python -m benchmarks document`"


@pytest.mark.parametrize("name", tables.PAGES)
def test_every_table_has_its_place(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text("utf-8")
    assert page.count("<!-- table: end -->") == len(tables.PAGES[name])
    assert all(f"<!-- table: {mark} -->" in page for mark in tables.PAGES[name])


def test_images_say_how_many_runs_there_are() -> None:
    rows: list[dict[str, Any]] = [
        {"part": "final", "data": "fashion", "epsilon": 1.0, "seed": s, "variant": "as recommended", "accuracy": a}
        for s, a in enumerate((0.85, 0.86))
    ]
    assert "| ConvNet on samples, ε = 1 | – | **85.5** (85.0 to 86.0, 2 runs) |" in tables.images_final(rows)
    rows = [{**row, "part": "ablation", "variant": v} for row, v in zip(rows, ("as recommended", "less"), strict=True)]
    assert tables.images_ablation(rows)[-1] == "| less | – | 86.0 (+1.0) |"


def test_fewer_runs_of_dpkip_are_marked_and_none_are_shown_as_such() -> None:
    row: dict[str, Any] = {"mean": 74.249, "repeats": 3, "paper": 92.7}
    assert tables.cell(row, 1, 5) == "74.2³"
    assert tables.cell(row, 1, 3) == "74.2"
    assert tables.cell({**row, "mean": None}, 1, 5) == tables.cell(None, 1, 5) == "–"
    found = [{**row, "table": "Table 1, mnist, 10 a class", "row": "DP-KIP, epsilon 1", "metric": "accuracy"}]
    assert "| MNIST | 10 | – | – | 92.7 | 74.2³ | – | – |" in tables.dpkip_images(found, 1, (10,), 5)
    assert "| MNIST | 10 | 74.2³ | – | – |" in tables.dpkip_starts(found)
    found = [{"table": "Table 3, adult", "row": "DP-KIP, 10 a class", "metric": "AUROC", "mean": 0.77149, "repeats": 5}]
    assert tables.dpkip_tables([{**found[0], "paper": 0.662}])[-1] == "| adult | AUROC | 0.662 | 0.771 | – |"


def test_one_look_says_how_many_runs_there_are() -> None:
    row = {"part": "ours", "dataset": "mnist", "epsilon": 1.0, "learner": "ConvNet", "per_class": 20}
    many = {**row, "labels_by": "pupils", "runs": 5, "mean": 98.5, "low": 98.4, "high": 98.61}
    assert "| a ConvNet on 20 | **98.50** (98.40 to 98.61, 5 runs) | – | 97.8, 88.3 |" in tables.one_look_final([many])
    one = {**many, "dataset": "fashion", "runs": 1}
    assert "| a ConvNet on 20 | – | **98.50** (one run) | 97.8, 88.3 |" in tables.one_look_final([one])


def test_pages_of_images_say_what_was_printed_and_what_is_lacking() -> None:
    row = {"table": "Table 2, mnist", "row": "NDPDC, 10 a class, epsilon 1", "mean": 94.9, "repeats": 1, "paper": 93.1}
    lines = tables.field_images([row], "ndpdc")
    assert lines[2:4] == ["| printed, 10 a class | 93.1 | – | 77.7 | – |", "| ours, 10 a class | 94.9¹ | – | – | – |"]
    row = {"table": "Table 2, mnist", "row": "G-PATE", "mean": 0.965, "repeats": 3, "paper": 0.563, "epsilon": 1.0}
    both = [row, {**row, "table": "Table 2, fashion", "mean": None, "paper": None, "unsafe": "it is"}]
    assert tables.gpate_images(both)[-1] == "| G-PATE | 1 | 0.563 | 0.965 |  | – |"
    known = [{"trainer": "JAX", "dataset": name, "mean": 98.5, "runs": 1} for name in ("mnist", "fashion")]
    assert tables.train_recipes(known)[-1] == "| JAX | 98.5¹ | 98.5¹ |"


def test_choices_are_named() -> None:
    row = {"part": "choose", "dataset": "fashion", "learner": "ConvNet", "per_class": 50, "mean": 85.22}
    rows = [
        {**row, "labels_by": "teachers", "softness": 2.0, "mixed": True},
        {**row, "learner": "KRR", "what": "one look"},
        {**row, "learner": "ConvNet on samples"},
    ]
    assert tables.one_look_chosen(rows)[2:] == [
        "| Fashion-MNIST, a ConvNet on 50 a class: labels by teachers, softness 2, mixed | 85.2 |",
        "| Fashion-MNIST, kernel ridge regression on 50 a class: one look | 85.2 |",
    ]
