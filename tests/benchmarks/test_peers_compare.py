"""What peers are given is the table by its public schema, what they give back is read the same way, and failures are rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers import compare, make_env
from benchmarks.splits import Split
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", (18, 90)),
        Column("weight", "continuous", (0.0, 200.0)),
        Column("town", "categorical", categories=("north", "south", "west")),
        Column("sick", "categorical", categories=("no", "yes")),
    ),
    "sick",
)


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


def test_a_table_goes_to_a_peer_and_comes_back(tmp_path: Path) -> None:
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
    scores = compare.judge(back, Split(frame, people(200, 1), SCHEMA, "yes"))
    assert scores["auroc"] > 0.8
    assert len(scores["each_auroc"]) == 5


def test_a_peer_that_is_absent_or_fails_is_a_row_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare.prepare(tmp_path, people(20), SCHEMA)
    monkeypatch.setattr(make_env, "interpreter", lambda name: tmp_path / "nowhere")
    assert "7 GB" in compare.synthesise("synthcity", "pategan", tmp_path, 5)["error"]
    assert "make peers" in compare.synthesise("dpmm", "mst", tmp_path, 5)["error"]
    monkeypatch.setattr(make_env, "interpreter", lambda name: Path(sys.executable))
    said = compare.synthesise("dpmm", "mst", tmp_path, 600, patience=None)["error"]
    assert "failed: ModuleNotFoundError" in said


def test_a_peer_that_is_slow_is_a_row_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither limit depends on how busy the machine is: one counts processor seconds, the other waits for a sleeper."""
    monkeypatch.setattr(make_env, "interpreter", lambda name: Path(sys.executable))
    worker = tmp_path / "worker.py"
    monkeypatch.setattr(compare, "WORKER", worker)
    usual = (Path(compare.__file__).parent / "quality_worker.py").read_text()
    worker.write_text(usual.replace("    main(", "    while True: pass\n    main("))
    found = compare.synthesise("dpmm", "mst", tmp_path, 1, patience=None)
    assert found == {"error": "did not end within 1 processor seconds"}
    worker.write_text("import time\nwhile True: time.sleep(1)\n")
    assert compare.synthesise("dpmm", "mst", tmp_path, 100, 0.01) == {"error": "did not end within 1 s by the clock"}


def test_every_synthesiser_has_a_part_of_its_own() -> None:
    parts = compare.parts("full", 1)
    assert len({part.name for part in parts}) == len(parts) == 2 * (1 + len(compare.OURS) + 11)
