"""The table of the moments generator: what runs found, merged, and how they are summarised."""

from __future__ import annotations

from typing import Any

from benchmarks import moments
from benchmarks.pages.method_tables import moments_table
from benchmarks.result import RESULTS, Results, merge, read


def judged(dataset: str, epsilon: Any, seed: int, *auroc: float | None) -> dict[str, Any]:
    fixed = {"auprc": 0.5, "f1": 0.3, "weighted_f1": 0.7, "accuracy": 0.9}
    scores = {name: [None if a is None else value for a in auroc] for name, value in fixed.items()}
    return {"dataset": dataset, "epsilon": epsilon, "panel": "five", "seed": seed, "auroc": list(auroc), **scores}


def result(*runs: dict[str, Any], command: str = "c") -> Results:
    about = {"benchmark": "moments", "size": "full", "command": command}
    return Results(about, {"runs": list(runs)}, ("dataset", "epsilon", "panel", "seed"))


def test_runs_are_merged_and_the_first_one_counts() -> None:
    first = result(judged("adult", "real", 0, 0.9), judged("adult", 1.0, 0, 0.8))
    second = result(
        judged("adult", 1.0, 0, 0.1), judged("adult", 10.0, 0, 0.85), judged("covtype", "real", 0, 0.9), command="d"
    )
    merged = merge([first, second], moments.BENCHMARK)
    assert [one["command"] for one in merged.about["made_by"]] == ["c", "d"]
    again = merge([merged, first], moments.BENCHMARK)
    assert again.table("runs") == merged.table("runs")
    assert [one["command"] for one in again.about["made_by"]] == ["c", "d"]
    lines = moments_table(merged.table("summary"))
    assert lines[2] == "| adult | five | – | 0.800 / 0.500 (1) | 0.850 / 0.500 (1) | 0.900 / 0.500 |  |"
    assert lines[3] == "| covtype | five | – | – | – | 0.700 / 0.300 |  |"


def test_a_seed_that_lacks_a_classifier_is_not_counted() -> None:
    real = judged("pima", "real", 0, 0.9, 0.9)
    runs = [real, judged("pima", 1.0, 0, 0.8, 0.6), judged("pima", 1.0, 1, 0.2, None)]
    assert "| – | 0.700 / 0.500 (1) | – | 0.900 / 0.500 |" in moments_table(moments.summary(runs))[-1]
    runs = [real, judged("pima", 1.0, 0, 0.8, None)]
    assert "| – | – | – | 0.900 / 0.500 |" in moments_table(moments.summary(runs))[-1]


def test_the_summary_on_disk_follows_from_the_runs_on_disk() -> None:
    stored = read(RESULTS / "moments-full.json")
    for kept, made in zip(stored.table("summary"), moments.summary(stored.table("runs")), strict=True):
        for name, value in made.items():
            close = abs(kept[name] - value) < 1.5e-4 if isinstance(value, float) else kept[name] == value
            assert close, f"{name} of {kept}"
