"""The page of peers is made from the file, and says why a row has no figures."""

from __future__ import annotations

from typing import Any

from benchmarks.pages.comparison import comparison
from benchmarks.result import Results


def run(dataset: str, library: str, method: str, **found: Any) -> dict[str, Any]:
    return {"dataset": dataset, "library": library, "method": method, "label": f"{library}: {method}", **found}


def written(*runs: dict[str, Any]) -> Results:
    about = {"created": "2026-01-01T00:00:00", "machine": {"cpu": "a cpu"}, "notes": ["A note."]}
    return Results(about, {"runs": list(runs)})


def test_methods_are_lines_and_datasets_stand_side_by_side() -> None:
    cost = {"fit_seconds": 1234.4, "peak_memory_mb": 99.6}
    page = comparison(
        written(
            run("adult", "real", "real", auroc=0.99, auprc=0.8),
            run("adult", "ours", "moments", auroc=0.9, auprc=0.7, **cost),
            run("adult", "theirs", "mst", auroc=0.8, auprc=0.6, note="constant predictions", **cost),
            run("credit", "real", "real", auroc=0.95, auprc=0.5),
            run("credit", "ours", "moments", error="did not end"),
            run("credit", "theirs", "mst", auroc=0.7, auprc=0.1, **cost),
        )
    )
    assert "| real: real | 0.990 | 0.800 |  |  | 0.950 | 0.500 |  |  |" in page
    assert "| ours: moments | **0.900** | 0.700 | 1,234 | 100 | – (1) |  |  |  |" in page
    assert "| theirs: mst | 0.800 (2) | 0.600 | 1,234 | 100 | **0.700** | 0.100 | 1,234 | 100 |" in page
    assert "- (1) did not end\n- (2) constant predictions\n- A note." in page


def test_a_row_of_one_dataset_alone_says_so() -> None:
    found = run("credit", "ours", "moments", auroc=0.9, auprc=0.7)
    page = comparison(written(run("adult", "theirs", "mst", auroc=0.8, auprc=0.6), found))
    assert "| ours: moments | – (1) |  |  |  | **0.900** | 0.700 |  |  |" in page
    assert "- (1) not measured" in page
