"""The table of the moments generator: what runs found, merged, and the page that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from understudy.benchmarks import moments
from understudy.benchmarks.moments_table import merge, part, table

ROOT = Path(__file__).resolve().parents[2]


def judged(dataset: str, epsilon: Any, seed: int, auroc: float, classifier: str = "lda") -> dict[str, Any]:
    scores = {"auroc": auroc, "auprc": 0.5, "f1": 0.3, "weighted_f1": 0.7, "accuracy": 0.9, "seconds": 1.0}
    job = {"kind": "judge", "dataset": dataset, "epsilon": epsilon, "seed": seed, "panel": "five"}
    return {**job, "classifier": classifier, "scores": scores}


def body(*results: dict[str, Any]) -> dict[str, Any]:
    known = {"command": "c", "machine": {}, "versions": {}, "limit_seconds": 1.0, "note": "n", "draws": {}}
    return {**known, "papers": moments.PAPERS, "results": list(results), "summary": moments.summary(list(results))}


def test_runs_are_merged_and_the_first_one_counts() -> None:
    first = body(judged("adult", "real", 0, 0.9), judged("adult", 1.0, 0, 0.8))
    second = body(judged("adult", 1.0, 0, 0.1), judged("adult", 10.0, 0, 0.85), judged("covtype", "real", 0, 0.9))
    merged = merge([first, second])
    assert len(merged["runs"]) == 2
    assert len(merge([merged, first])["runs"]) == 3
    assert merge([merged, first])["results"] == merged["results"]
    lines = table(merged).splitlines()
    assert lines[2] == "| adult | five | – | 0.800 / 0.500 (1) | 0.850 / 0.500 (1) | 0.900 / 0.500 |  |"
    assert lines[3] == "| covtype | five | – | – | – | 0.700 / 0.300 |  |"


def test_of_a_run_some_tables_may_be_taken() -> None:
    run = body(judged("adult", 1.0, 0, 0.8), judged("pima", 1.0, 0, 0.7), judged("pima", "real", 0, 0.9))
    command = "python benchmarks/bench_moments.py --jobs 2 --scratch /some/where --out a.json"
    kept = part({**run, "command": command}, ["adult"])
    assert [(one["dataset"], one["epsilon"]) for one in kept["results"]] == [("adult", 1.0), ("pima", "real")]
    assert kept["command"].endswith("--jobs 2 --scratch ROWS --out benchmarks/results/moments.json")
    assert len(part(run, [])["results"]) == 3


def test_a_seed_that_lacks_a_classifier_is_not_counted() -> None:
    real = [judged("pima", "real", 0, 0.9, name) for name in ("lda", "mlp")]
    part = [judged("pima", 1.0, 0, 0.8), judged("pima", 1.0, 0, 0.6, "mlp"), judged("pima", 1.0, 1, 0.2)]
    assert "| – | 0.700 / 0.500 (1) | – | 0.900 / 0.500 |" in table(body(*real, *part))
    assert "| – | – | – | 0.900 / 0.500 |" in table(body(*real, judged("pima", 1.0, 0, 0.8)))


def test_the_page_shows_the_result() -> None:
    result = json.loads((ROOT / "benchmarks" / "results" / "moments.json").read_text("utf-8"))
    assert table(result) in (ROOT / "docs" / "methods" / "moments.md").read_text("utf-8")
