"""The page of peers is made from the file, and says why a row has no figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from understudy.benchmarks.comparison import FILE, comparison
from understudy.errors import InputError


def run(dataset: str, library: str, method: str, **found: Any) -> dict[str, Any]:
    return {"dataset": dataset, "library": library, "method": method, "label": f"{library}: {method}", **found}


def written(folder: Path, *runs: dict[str, Any]) -> Path:
    body = {
        "command": "python compare.py", "created": "2026-01-01T00:00:00", "machine": {"cpu": "a cpu"}, "notes": ["A note."],
        "runs": {f"{r['dataset']}/{r['library']}/{r['method']}": r for r in runs},
    }  # fmt: skip
    (folder / FILE).write_text(json.dumps(body))
    return folder


def test_methods_are_lines_and_datasets_stand_side_by_side(tmp_path: Path) -> None:
    cost = {"fit_seconds": 1234.4, "peak_memory_mb": 99.6}
    page = comparison(
        written(
            tmp_path,
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


def test_a_row_of_one_dataset_alone_says_so(tmp_path: Path) -> None:
    found = run("credit", "ours", "moments", auroc=0.9, auprc=0.7)
    page = comparison(written(tmp_path, run("adult", "theirs", "mst", auroc=0.8, auprc=0.6), found))
    assert "| ours: moments | – (1) |  |  |  | **0.900** | 0.700 |  |  |" in page
    assert "- (1) not measured" in page


def test_what_is_no_comparison_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        comparison(tmp_path)
    for text in ("{", "[]", "{}"):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(InputError, match="as a comparison"):
            comparison(tmp_path)
