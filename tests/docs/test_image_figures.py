"""The tables of the page about images are what its results file says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import table_images as tables  # pyright: ignore[reportMissingImports]


def test_the_page_has_the_tables_of_the_results() -> None:
    page = tables.PAGE.read_text("utf-8")
    assert page.count("<!-- images: end -->") == 4
    assert page == tables.filled(page)


def test_tables_say_how_many_runs_there_are() -> None:
    rows = [
        {"part": "final", "data": "fashion", "epsilon": 1.0, "seed": s, "variant": "as recommended", "accuracy": a, "accuracy_of_shares": None}
        for s, a in enumerate((0.85, 0.86))
    ]  # fmt: skip
    assert "| ConvNet on samples, ε = 1 | – | **85.5** (85.0 to 86.0, 2 runs) |" in tables.final(rows)
    rows = [{**row, "part": "ablation", "variant": v} for row, v in zip(rows, ("as recommended", "less"), strict=True)]
    assert tables.ablation(rows)[-1] == "| less | – | 86.0 (+1.0) |"


def test_results_are_joined(tmp_path: Path) -> None:
    for name, accuracy in (("a", 0.8), ("b", 0.9)):
        row = {"part": "final", "data": "mnist", "epsilon": 1.0, "accuracy": accuracy}
        (tmp_path / name).write_text(json.dumps({"commands": [name], "machine": name, "rows": [row]}))
    found = tables.join([tmp_path / "a", tmp_path / "b"])
    assert (found["commands"], found["machine"], len(found["rows"])) == (["a", "b"], "a", 2)
    assert found["summary"] == [{"data": "mnist", "epsilon": 1.0, "runs": 2, "mean": 0.85, "range": [0.8, 0.9]}]
