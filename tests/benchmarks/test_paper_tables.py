"""The papers' tables hold together, every row of theirs is measured, and a measurement runs end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import dpkip_tables, gpate, pategan, registry, synthetic
from benchmarks.methods import IMAGES, make, names
from benchmarks.pages.document import documents
from benchmarks.result import Results
from benchmarks.splits import Split, thinned
from understudy.errors import InputError
from understudy.evaluation.classifiers import FOUR, TWELVE
from understudy.tables import Column, Schema

TABLES = ("pategan-1", "pategan-2", "pategan-3", "pategan-4", "pategan-5", "pategan-6", "pategan-eps", "gpate-1", "gpate-2", "gpate-3", "gpate-4", "gpate-6", "dpkip-3")  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_row_belongs_to_a_part_and_quick_parts_are_rows_too(name: str) -> None:
    benchmark = registry.get(name)
    full = {part.name for part in benchmark.parts("full", 1)}
    quoted = {quote.part for quote in benchmark.quotes}
    assert quoted == full
    assert {part.name for part in benchmark.parts("quick", 1)} <= full
    for part in benchmark.parts("full", 1):
        assert part.settings["dataset"] in benchmark.datasets
        assert part.settings["method"] in (*names(), *IMAGES)
        json.dumps(part.settings)


def test_printed_averages_are_those_of_the_printed_rows() -> None:
    for column, average in enumerate(pategan.AVERAGE):
        assert np.mean([row[column] for row in pategan.PRINTED_1.values()]) == pytest.approx(average, abs=1e-3)
    assert set(pategan.PRINTED_1) == set(TWELVE)
    for table in (gpate.PRINTED_1, gpate.PRINTED_4, gpate.PRINTED_6):
        for method, row in table.items():
            if len(row) == 5:
                assert np.mean(row[:4]) == pytest.approx(row[4], abs=1.1e-3), method
    assert set(gpate.FOUR) == set(FOUR)
    assert set(dpkip_tables.DP_HP) == set(dpkip_tables.TABLE_3)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A table of two classes in place of a real dataset."""
    schema = Schema(
        (
            Column("a", "continuous", (0.0, 1.0)),
            Column("b", "continuous", (0.0, 1.0)),
            Column("c", "categorical", categories=("x", "y")),
            Column("label", "categorical", categories=("no", "yes")),
        ),
        "label",
    )

    def frame(rows: int, seed: int) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        a, b = random.random((2, rows))
        label = np.where(a + random.normal(0, 0.2, rows) > 0.7, "yes", "no")
        return pd.DataFrame({"a": a, "b": b, "c": random.choice(["x", "y"], rows), "label": label})

    def install(rows: int) -> None:
        monkeypatch.setattr(
            synthetic, "split", lambda name, seed: Split(frame(rows, seed), frame(400, seed + 1), schema, "yes")
        )
        synthetic._setting_a.cache_clear()

    return install


def test_real_rows_are_measured(small: Callable[[int], None]) -> None:
    small(600)
    part = synthetic.part("toy", "real", "quick", 1, only=("logistic regression", "lda"))
    (found,) = part.function()(part.settings, [0])
    assert found["auroc"] == pytest.approx(np.mean([found["logistic regression/auroc"], found["lda/auroc"]]))  # pyright: ignore
    assert float(found["auroc"]) > 0.85  # pyright: ignore[reportArgumentType]
    assert "epsilon" not in found


@pytest.mark.slow
def test_a_generator_is_measured_with_both_kinds_of_epsilon_and_rankings(small: Callable[[int], None]) -> None:
    small(3000)
    part = synthetic.part(
        "toy", "moments", "quick", 1, epsilon=3.0, only=("logistic regression", "lda"), rankings="classifiers"
    )
    (found,) = part.function()(part.settings, [0])
    assert 2.9 < float(found["epsilon"]) <= 3.0  # pyright: ignore[reportArgumentType]
    assert np.isnan(found["epsilon_data_dependent"])
    assert float(found["auroc"]) > 0.8  # pyright: ignore[reportArgumentType]
    assert {"sra_auroc", "sra_auprc", "features", "fit_seconds"} <= set(found)


def test_rows_are_thinned_with_the_rarer_class_kept() -> None:
    frame = pd.DataFrame({"y": ["no"] * 990 + ["yes"] * 10})
    assert thinned(frame, "y", 100, 0)["y"].value_counts().to_dict() == {"no": 90, "yes": 10}
    assert thinned(frame, "y", 10, 0)["y"].value_counts().to_dict() == {"no": 5, "yes": 5}
    assert len(thinned(frame, "y", None, 0)) == 1000
    three = pd.DataFrame({"y": ["a", "b", "c"] * 100})
    assert len(thinned(three, "y", 50, 0)) == 50


def test_teachers_can_be_a_share_of_the_rows() -> None:
    settings = {"method": "pategan", "epsilon": 0.5, "teachers_share": 100}
    generator = synthetic.generator_of(settings, 3, 5000)
    assert generator.teachers == 50
    assert generator.epsilon == 0.5
    assert generator.random_state == 3
    assert make("gan", 1.0, 0, quick=True).iterations == 100


def test_the_pages_of_results_are_made_from_the_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results"):
        documents(tmp_path, tmp_path)
    row = {"table": "Table 1, averages", "row": "G-PATE", "metric": "AUROC", "paper": 0.87, "mean": 0.9}
    row |= {
        "low": 0.88,
        "high": 0.92,
        "run_low": 0.8,
        "run_high": 0.95,
        "repeats": 3,
        "paper_epsilon": 1.0,
        "epsilon": 0.99,
    }
    rows = [
        row,
        {**row, "row": "moments (ours)", "paper": None, "mean": 0.95},
        {**row, "row": "GAN", "epsilon": None, "paper_epsilon": None, "unsafe": "Without privacy."},
    ]
    about = {
        "benchmark": "gpate-1", "title": "A title", "size": "full", "command": "python -m benchmarks run gpate-1", "notes": [],
        "created": "2026-01-01T00:00:00", "seconds": 10.0, "work_seconds": 18.0, "machine": {"cores": 2, "cpu": "a cpu"},
    }  # fmt: skip
    full = Results(about, {"rows": rows})
    full.write(tmp_path / "gpate-1-full.json")
    Results({**about, "size": "quick", "title": "A quick one", "work_seconds": 7}).write(
        tmp_path / "gpate-1-quick.json"
    )
    Results({**about, "benchmark": "other", "command": "another program"}).write(tmp_path / "other-full.json")
    pages = documents(tmp_path, tmp_path / "docs")
    summary, page, other = (
        pages[tmp_path / "docs" / name] for name in ("results.md", "results/gpate.md", "results/other.md")
    )
    assert "| G-PATE: 0.870 | 1.00 | 0.900 | 0.99 | moments (ours): **0.950** | 0.99 | – |" in summary
    assert "18 s of work, 10 s by the clock on 2 cores (a cpu)" in page
    assert "| G-PATE | 0.870 | 0.900 (0.880 to 0.920) | 1.000 | 0.990 |  |" in page
    assert "GAN *(unsafe)*" in page
    assert f"- {gpate.NOTES[-1]}" in page
    assert "- *Unsafe*: Without privacy." in page
    assert page.count("**Table 1, averages**") == 1, "figures of quick runs are not shown"
    assert "`gpate-4`" in page.split("Not yet measured")[1]
    link = "[A quick one](../../benchmarks/results/gpate-1-quick.json)"
    assert f"| {link} | `python -m benchmarks run gpate-1` | 7 |" in other
    assert "| A title | [other-full.json](../../benchmarks/results/other-full.json) | `another program` |" in other
    for noted, shown in (([0, 1, 2], "averages**: 1 of 3 repeats"), ([0], "| note |")):
        for place, line in enumerate(rows):
            line["note"] = "1 of 3 repeats" if place in noted else ""
        full.write(tmp_path / "gpate-1-full.json")
        page = documents(tmp_path, tmp_path / "docs")[tmp_path / "docs" / "results/gpate.md"]
        assert shown in page, "what is said of every row is said once"
