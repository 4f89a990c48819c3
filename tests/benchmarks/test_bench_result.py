"""Means, intervals and result files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import registry
from benchmarks.declare import Quote
from benchmarks.result import RESULTS, Results, merge, quoted, read, summary
from understudy.errors import InputError

values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


@given(values)
def test_the_mean_lies_in_its_interval_and_single_runs_lie_around(numbers: list[float]) -> None:
    found = summary(numbers)
    assert found["low"] <= found["mean"] <= found["high"]
    assert min(numbers) - 1e-4 <= found["run_low"] <= found["run_high"] <= max(numbers) + 1e-4
    assert found["repeats"] == len(numbers)


def test_the_interval_is_students() -> None:
    found = summary([1.0, 2.0, 3.0])  # t(0.975, 2) = 4.30265, deviation 1
    assert found["mean"] == 2.0
    assert found["high"] == pytest.approx(2 + 4.30265 / np.sqrt(3), abs=1e-4)


def test_an_interval_of_scores_stays_where_scores_can_be() -> None:
    quotes = tuple(Quote("T", "a row", metric, "part", "key") for metric in ("AUROC", "seconds"))
    benchmark = replace(registry.get("pima"), quotes=quotes)
    score, seconds = quoted(benchmark, [{"part": "part", "name": "key", **summary([0.1, 0.9])}], {})
    assert (score["low"], score["high"]) == (0.0, 1.0)
    assert seconds["low"] < 0 < 1 < seconds["high"]


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    found = [summary(list(random.normal(0.7, 0.03, 10))) for _ in range(400)]
    held = np.mean([f["low"] <= 0.7 <= f["high"] for f in found])
    assert 0.92 < held < 0.98


def test_one_repeat_has_no_interval() -> None:
    assert summary([0.7]) == {
        "mean": 0.7,
        "low": None,
        "high": None,
        "run_low": 0.7,
        "run_high": 0.7,
        "repeats": 1,
    }


def test_curves_are_summarised_point_by_point() -> None:
    found = summary([[1.0, 5.0], [3.0, 5.0]])
    assert found["mean"] == [2.0, 5.0]
    assert found["high"][1] == 5.0 < found["high"][0]


def test_unreadable_results_say_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="python -m benchmarks run"):
        read(tmp_path / "none.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(InputError, match="cannot read"):
        read(broken)
    broken.write_text("[]")
    with pytest.raises(InputError, match="not the result of a benchmark"):
        read(broken)
    broken.write_text(json.dumps({"format": 99, "command": "c", "benchmark": "pima"}))
    with pytest.raises(InputError, match="another format than 2"):
        read(broken)


def test_every_benchmark_is_whole() -> None:
    for name in registry.names():
        benchmark = registry.get(name)
        assert benchmark.id == name
        parts = {part.name: part for size in ("quick", "full") for part in benchmark.parts(size, 3)}
        assert {quote.part for quote in benchmark.quotes} <= set(parts)
        assert len(benchmark.parts("full", 3)) == len({part.name for part in benchmark.parts("full", 3)})
        if not benchmark.quotes:
            assert all(part.together == 1 for part in parts.values()), "a run has one seed"
        for part in parts.values():
            assert [repeat for batch in part.batches() for repeat in batch] == list(
                range(part.first, part.first + part.repeats)
            )
            assert 1 <= part.repeats <= 3, "wide tables may ask for fewer repeats, never for more"
            json.dumps(part.settings)
            assert callable(part.function())
    with pytest.raises(InputError, match="no benchmark 'nothing'"):
        registry.get("nothing")


def test_tables_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": None, "c": [0.5, None]}, {"a": 2, "b": "text", "c": None}]
    Results({"benchmark": "x", "size": "full", "command": "c"}, {"runs": rows}, ("a",)).write(tmp_path / "x.json")
    back = read(tmp_path / "x.json")
    assert back.table("runs") == rows
    assert (back.facts, back.about["command"], back.table("none")) == (("a",), "c", [])
    assert len((tmp_path / "x.json").read_text().splitlines()) == 10, "one row a line"


def test_results_of_two_benchmarks_are_not_one() -> None:
    one, two = (Results({"benchmark": name, "size": "full", "command": "c"}) for name in ("x", "y"))
    with pytest.raises(InputError, match="x and y are not one"):
        merge([one, two])


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_result_on_disk_can_be_read_and_says_how_it_was_made(path: Path) -> None:
    result = read(path)
    assert path.name == f"{result.about['benchmark']}-{result.about['size']}.json"
    assert {"title", "command", "machine"} <= set(result.about)
    assert any(result.tables.values())
    if result.table("measured"):
        made = quoted(
            registry.get(result.about["benchmark"]), result.table("measured"), result.about.get("lacking", {})
        )
        assert [_known(row) for row in made] == [_known(row) for row in result.table("rows")], (
            "what was measured is what is shown"
        )


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_the_library_does_not_know_its_benchmarks() -> None:
    sources = sorted((RESULTS.parents[1] / "src").rglob("*.py"))
    assert sources
    for file in sources:
        assert not re.search(r"^\s*(?:from|import) benchmarks\b", file.read_text("utf-8"), re.MULTILINE), file
