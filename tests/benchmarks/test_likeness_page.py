"""The benchmark of likeness: its halves, its declared schemas, and the page that is made of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import likeness
from benchmarks.pages.likeness import likeness_page, reached
from benchmarks.result import RESULTS, Results, read, result_path
from understudy.methods import measured


def run(table: str, method: str, epsilon: float | None, seed: float = 0, **found: Any) -> dict[str, Any]:
    half = "reporting" if table in likeness.REPORTING else "choosing"
    return {"table": table, "half": half, "method": method, "epsilon": epsilon, "seed": seed, "rows": 1000, **found}


def scored(auroc: float, one: float, two: float = 0.2) -> dict[str, float]:
    return {"auroc": auroc, "tuned_auroc": auroc, "distance_1": one, "distance_2": two, "distance_3": 0.3, "c2st": 0.8}


def test_no_table_is_in_both_halves_and_every_method_has_a_part() -> None:
    assert len(likeness.CHOOSING) == len(likeness.REPORTING) == 6
    assert not set(likeness.CHOOSING) & set(likeness.REPORTING)
    parts = likeness.parts("full", 5)
    names = [part.name for part in parts]
    assert len(set(names)) == len(names) == 12 * (1 + 3 * 4)
    assert {part.repeats for part in parts if part.settings["method"] in likeness.OURS} == {5}
    assert {part.repeats for part in parts if part.settings["method"] not in likeness.OURS} == {3}
    assert [name for name in names if "solder, epsilon 1: moments" in name] == ["solder, epsilon 1: moments"]


def test_a_declared_schema_has_round_bounds_and_tells_no_value() -> None:
    frame = pd.DataFrame(
        {
            "age": [18, 34, 97, *range(20, 40)],
            "stage": [1, 2, 4] + [3] * 20,
            "year": [1946, 2008, 1990, *range(1950, 1970)],
            "share": np.linspace(0.013, 0.47, 23),
            "low": np.linspace(-3.2, 7.1, 23),
            "flag": [True, False, True] + [False] * 20,
            "town": ["b", "a", None] + ["c"] * 20,
            "dead": [0.0, 1.0, 1.0] + [0.0] * 20,
        }
    )
    schema = likeness.declared(frame, "dead")
    assert {c.name: c.bounds for c in schema if c.bounds} == {
        "age": (0, 100), "stage": (1, 4), "year": (1940, 2010), "share": (0.0, 0.5), "low": (-10.0, 10.0),
    }  # fmt: skip
    assert (schema["flag"].kind, schema["town"].labels, schema["town"].nullable) == ("boolean", ("a", "b", "c"), True)
    assert (schema.target, schema["dead"].labels) == ("dead", (0, 1))


def test_means_over_seeds_with_their_error_and_what_went_wrong() -> None:
    rows = likeness.summary(
        [
            run("boston", "moments", 1.0, 0, **scored(0.8, 0.02)),
            run("boston", "moments", 1.0, 1, **scored(0.9, 0.04)),
            run("boston", "MST (dpmm)", 1.0, error="did not end"),
        ]
    )
    ours, theirs = rows
    assert (ours["auroc"], ours["auroc_error"], ours["distance_1"], ours["seeds"]) == (0.85, 0.05, 0.03, 2)
    assert (theirs["seeds"], theirs["error"]) == (0, "did not end")
    assert "auroc" not in theirs


def test_the_page_shows_ours_beside_peers_and_counts_where_it_is_first() -> None:
    runs = [
        run("boston", "real", None, **scored(0.95, 0.01)),
        run("boston", "moments", 1.0, 0, **scored(0.8, 0.02), fit_seconds=3.2, peak_memory_mb=400),
        run("boston", "moments", 1.0, 1, **scored(0.9, 0.04), fit_seconds=3.2, peak_memory_mb=400),
        run("boston", "MST (dpmm)", 1.0, **scored(0.88, 0.01, 0.1), fit_seconds=71.0, peak_memory_mb=1225),
        run("boston", "MST (smartnoise)", 1.0, error="did not end"),
        run("solder", "moments", 1.0, **scored(0.7, 0.02)),
        run("dd", "moments", 1.0, error="too few rows"),
        run("dd", "MST (dpmm)", 1.0, **scored(0.6, 0.2)),
    ]
    about = {"created": "2026-01-01T00:00:00", "machine": {"cpu": "a cpu"}, "notes": ["A note."]}
    page = likeness_page(Results(about, {"summary": likeness.summary(runs)}))
    assert "moments (1 to 2)" in page
    assert "| boston, 1,000 rows | 0.950 / 0.950 | 0.850 ± 0.050 / 0.850 | **0.880** / **0.880** | – |" in page
    assert (
        "| boston, 1,000 rows | 0.010 / 0.200 / 0.300 | 0.030 / 0.200 / **0.300** | **0.010** / **0.100** / **0.300** | – |"
        in page
    )
    assert "| boston, 1,000 rows | 3 / 400 | 71 / 1,225 | – |" in page
    assert "| solder, 1,000 rows | – | 0.700 / 0.700 | – | – |" in page, "nothing to be better than"
    # Within a standard error of the best, not within .01 of it; solder has nothing beside it.
    assert "| reporting half, ε = 1 | 1 of 1 | 0 of 1 | 0 of 1 | 1 of 1 |" in page
    assert "| choosing half, ε = 1 | 0 of 1 | 0 of 1 | 0 of 1 | 0 of 1 |" in page, "ours failed where another did not"
    assert "- boston, MST (smartnoise) at ε = 1: did not end" in page


def test_plan_knows_what_the_results_say() -> None:
    path = Path(measured.__file__).with_name("measured.json")
    assert path.read_text("utf-8") == reached(read(result_path(RESULTS, "likeness", "full")))
    assert len(measured.reached()) >= 12
