"""The papers' tables hold together, every row of theirs is measured, and a measurement runs end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.benchmarks import dpkip_tables, gpate_1, gpate_4, gpate_6, pategan_1, pategan_2, registry, synthetic
from understudy.benchmarks.document import document
from understudy.errors import InputError
from understudy.evaluation.classifiers import FOUR, TWELVE
from understudy.tables import Column, Schema

TABLES = ("pategan-1", "pategan-2", "pategan-3", "pategan-4", "pategan-5", "pategan-6", "pategan-eps", "gpate-1", "gpate-4", "gpate-6", "dpkip-3")  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_row_belongs_to_a_part_and_quick_parts_are_rows_too(name: str) -> None:
    benchmark = registry.get(name)
    full = {part.name for part in benchmark.parts("full", 1)}
    quoted = {quote.part for quote in benchmark.quotes}
    assert quoted == full
    assert {part.name for part in benchmark.parts("quick", 1)} <= full
    for part in benchmark.parts("full", 1):
        assert part.settings["dataset"] in benchmark.datasets
        assert part.settings["method"] in (*synthetic.METHODS, "real")
        json.dumps(part.settings)


def test_printed_averages_are_those_of_the_printed_rows() -> None:
    for column, average in enumerate(pategan_1.AVERAGE):
        assert np.mean([row[column] for row in pategan_1.TABLE_1.values()]) == pytest.approx(average, abs=1e-3)
    assert set(pategan_1.TABLE_1) == set(TWELVE)
    assert pategan_2.TABLE_2["credit"][:6] == pategan_1.AVERAGE
    assert pategan_2.TABLE_2["credit"][6:] == pategan_1.REAL
    for table in (gpate_1.TABLE_1, gpate_4.TABLE_4, gpate_6.TABLE_6):
        for method, row in table.items():
            if len(row) == 5:
                assert np.mean(row[:4]) == pytest.approx(row[4], abs=1.1e-3), method
    assert set(gpate_1.FOUR) == set(FOUR)
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
            synthetic, "split", lambda name, seed: (frame(rows, seed), frame(400, seed + 1), schema, "yes")
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
    assert synthetic.thinned(frame, "y", 100, 0)["y"].value_counts().to_dict() == {"no": 90, "yes": 10}
    assert synthetic.thinned(frame, "y", 10, 0)["y"].value_counts().to_dict() == {"no": 5, "yes": 5}
    assert len(synthetic.thinned(frame, "y", None, 0)) == 1000
    three = pd.DataFrame({"y": ["a", "b", "c"] * 100})
    assert len(synthetic.thinned(three, "y", 50, 0)) == 50


def test_teachers_can_be_a_share_of_the_rows() -> None:
    settings = {"method": "pategan", "epsilon": 0.5, "teachers_share": 100}
    generator = synthetic.make(settings, 3, 5000)
    assert generator.teachers == 50
    assert generator.epsilon == 0.5
    assert generator.random_state == 3
    assert synthetic.make({"method": "gan", "epsilon": 1.0, "quick": True}, 0, 10).iterations == 300


def test_the_page_of_results_is_made_from_the_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results"):
        document(tmp_path)
    row = {"table": "T", "row": "PATE-GAN", "metric": "AUROC", "paper": 0.87, "mean": 0.9, "low": 0.88, "high": 0.92}
    row |= {
        "run_low": 0.8,
        "run_high": 0.95,
        "repeats": 3,
        "epsilon": {"paper": 1.0, "unconditional": 0.99, "data_dependent": None},
    }
    body = {
        "format": 1, "benchmark": "gpate-1", "title": "A title", "size": "full", "command": "understudy bench run gpate-1",
        "created": "2026-01-01T00:00:00", "seconds": 10.0, "work_seconds": 18.0, "machine": {"cores": 2, "cpu": "a cpu"}, "notes": ["A note."],
        "rows": [row, {**row, "row": "GAN", "unsafe": "Without privacy."}], "measured": {},
    }  # fmt: skip
    (tmp_path / "gpate-1-full.json").write_text(json.dumps(body))
    (tmp_path / "gpate-1-quick.json").write_text(
        json.dumps({**body, "size": "quick", "title": "A quick one", "work_seconds": 7})
    )
    (tmp_path / "other.json").write_text(json.dumps({"command": "python other.py"}))
    (tmp_path / "comparison-full.json").write_text(json.dumps({**body, "benchmark": "comparison", "title": "Peers"}))
    page = document(tmp_path)
    assert "Peers" not in page, "they have a page of their own"
    assert "18 s of work, 10 s by the clock on 2 cores (a cpu)" in page
    assert "| PATE-GAN | 0.870 | 0.900 (0.880 to 0.920) | 1.000 | 0.990 |  |" in page
    assert "GAN *(unsafe)*" in page
    for noted, shown in (([0, 1], "**T**: 1 of 3 repeats"), ([0], "| note |")):
        for place, line in enumerate(body["rows"]):
            line["note"] = "1 of 3 repeats" if place in noted else ""
        (tmp_path / "gpate-1-full.json").write_text(json.dumps(body))
        assert shown in document(tmp_path), "what is said of every row is said once"
    assert f"- {gpate_1.NOTES[-1]}" in page
    assert "- *Unsafe*: Without privacy." in page
    assert "| [A quick one](../benchmarks/results/gpate-1-quick.json) | `understudy bench run gpate-1` | 7 |" in page
    assert page.count("**T**") == 1, "figures of quick runs are not shown"
    assert "| [other.json](../benchmarks/results/other.json) | `python other.py` |" in page
    assert "`pategan-1`" in page.split("Not yet measured")[1]
