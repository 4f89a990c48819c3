"""What peers are given is the table by its public schema, what they give back is read the same way, and failures are rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.tables import Column, Schema

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
SCHEMA = Schema(
    (
        Column("age", "integer", (18, 90)),
        Column("weight", "continuous", (0.0, 200.0)),
        Column("town", "categorical", categories=("north", "south", "west")),
        Column("sick", "categorical", categories=("no", "yes")),
    ),
    "sick",
)


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    if not PEERS.is_dir():
        pytest.skip("the peers' drivers are part of the repository, not of the package")
    monkeypatch.syspath_prepend(str(PEERS))
    import compare as module  # pyright: ignore[reportMissingImports]

    return module


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 91, rows)
    return pd.DataFrame(
        {
            "age": age,
            "weight": random.random(rows) * 200,
            "town": random.choice(["north", "south", "west"], rows),
            "sick": np.where(age + random.normal(0, 10, rows) > 55, "yes", "no"),
        }
    )


def test_a_table_goes_to_a_peer_and_comes_back(compare: Any, tmp_path: Path) -> None:
    frame = people(50)
    encoder = compare.prepare(tmp_path, frame, SCHEMA)
    given = pd.read_csv(tmp_path / "train.csv")
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert {c["name"]: (c["kind"], c["size"]) for c in meta["columns"]} == {
        "age": ("number", None),
        "weight": ("number", None),
        "town": ("category", 3),
        "sick": ("category", 2),
    }
    assert given[["age", "weight"]].to_numpy().min() >= 0
    assert given[["age", "weight"]].to_numpy().max() <= 1
    given.to_csv(tmp_path / "made.csv", index=False)
    back = compare.read_made("a peer", tmp_path, encoder)
    for name in ("age", "town", "sick"):
        assert back[name].tolist() == frame[name].tolist()
    assert back["weight"].to_numpy() == pytest.approx(frame["weight"].to_numpy(), abs=1e-3)
    scores = compare.judge(back, people(200, 1), SCHEMA, "yes")
    assert scores["auroc"] > 0.8
    assert len(scores["classifiers"]) == 5


def test_a_peer_that_is_absent_fails_or_is_slow_is_a_row_that_says_so(
    compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import make_env  # pyright: ignore[reportMissingImports]

    compare.prepare(tmp_path, people(20), SCHEMA)
    monkeypatch.setattr(make_env, "interpreter", lambda name: tmp_path / "nowhere")
    assert "7 GB" in compare.synthesise("synthcity", "pategan", tmp_path, 5)["error"]
    assert "make peers" in compare.synthesise("dpmm", "mst", tmp_path, 5)["error"]
    monkeypatch.setattr(make_env, "interpreter", lambda name: Path(sys.executable))
    assert "s by the clock" in compare.synthesise("dpmm", "mst", tmp_path, 0.001)["error"]
    monkeypatch.setattr(compare, "PATIENCE", 1500)  # a busy machine may stretch one processor second for long
    assert "failed: ModuleNotFoundError" in compare.synthesise("dpmm", "mst", tmp_path, 60)["error"]
    hungry = tmp_path / "hungry.py"
    hungry.write_text((PEERS / "quality_worker.py").read_text().replace("    main(", "    while True: pass\n    main("))
    monkeypatch.setattr(compare, "WORKER", hungry)
    assert compare.synthesise("dpmm", "mst", tmp_path, 1)["error"] == "did not end within 1 processor seconds"


def test_results_make_a_page(compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.benchmarks.comparison import comparison

    monkeypatch.setattr(compare, "RESULT", tmp_path / "comparison-full.json")
    good = {"dataset": "adult", "library": "dpmm", "method": "mst", "label": "dpmm: MST", "auroc": 0.8, "auprc": 0.6}
    good |= {"fit_seconds": 12.0, "peak_memory_mb": 300.0}
    late = {"dataset": "adult", "library": "dpmm", "method": "aim", "label": "dpmm: AIM", "error": "did not end"}
    compare.write({"adult/dpmm/mst": good, "adult/dpmm/aim": late})
    page = comparison(tmp_path)
    assert "| dpmm: MST | **0.800** | 0.600 | 12 | 300 |" in page
    assert "| dpmm: AIM | – (1) |  |  |  |" in page
    assert "- (1) did not end" in page
