"""Runs inside an environment of its own: one synthesiser learns a table and writes synthetic rows. Knows no test row.

    python quality_worker.py LIBRARY METHOD FOLDER

FOLDER holds train.csv (numbers in [0, 1] by their public bounds, categories as whole numbers) and meta.json; this writes
made.csv and facts.json (processor seconds to fit, peak memory). So every library starts from the same public knowledge.
PEER_SECONDS, if set, is the most of a processor that it may have.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BINS = 20


def smartnoise(method: str, rows: pd.DataFrame, meta: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """MST and AIM take categories: numbers go into equal bins, since their bounds are public. The GANs take both."""
    from snsynth import Synthesizer  # pyright: ignore[reportMissingImports]
    from snsynth.transform import (  # pyright: ignore[reportMissingImports]
        ChainTransformer,
        LabelTransformer,
        MinMaxTransformer,
        OneHotEncoder,
        TableTransformer,
    )

    numbers = [c["name"] for c in meta["columns"] if c["kind"] == "number"]
    began = time.process_time()
    if method in ("mst", "aim"):
        binned = rows.copy()
        binned[numbers] = np.clip((binned[numbers] * BINS).astype(int), 0, BINS - 1)
        synthesizer = Synthesizer.create(method, epsilon=meta["epsilon"], delta=meta["delta"])
        synthesizer.fit(binned, categorical_columns=list(binned.columns), preprocessor_eps=0.0)
        fitted = time.process_time() - began
        made = pd.DataFrame(synthesizer.sample(meta["rows"]), columns=rows.columns)
        jitter = np.random.default_rng(meta["seed"]).random((len(made), len(numbers)))
        made[numbers] = (made[numbers].astype(float) + jitter) / BINS
        return made, fitted
    transformer = TableTransformer(
        [
            MinMaxTransformer(lower=0.0, upper=1.0, nullable=False)
            if c["kind"] == "number"
            else ChainTransformer([LabelTransformer(nullable=False), OneHotEncoder()])
            for c in meta["columns"]
        ]
    )
    synthesizer = Synthesizer.create(method, epsilon=meta["epsilon"], delta=meta["delta"])
    synthesizer.fit(rows, transformer=transformer, preprocessor_eps=0.0)
    fitted = time.process_time() - began
    return pd.DataFrame(synthesizer.sample(meta["rows"]), columns=rows.columns), fitted


def dpmm(method: str, rows: pd.DataFrame, meta: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """Its own pipeline; a tenth of epsilon goes to its bins, since its total is `epsilon + proc_epsilon`."""
    from dpmm import pipelines  # pyright: ignore[reportMissingImports]

    kind = {"mst": pipelines.MSTPipeline, "aim": pipelines.AIMPipeline, "privbayes": pipelines.PrivBayesPipeline}[
        method
    ]
    domain: dict[str, Any] = {}
    for column in meta["columns"]:
        if column["kind"] == "number":
            domain[column["name"]] = {"lower": 0.0, "upper": 1.0}
        else:
            rows[column["name"]] = pd.Categorical(rows[column["name"]], categories=list(range(column["size"])))
            domain[column["name"]] = {"categories": list(range(column["size"]))}
    began = time.process_time()
    share = 0.1 * meta["epsilon"]
    pipeline = kind(
        epsilon=meta["epsilon"] - share, delta=meta["delta"], proc_epsilon=share, max_model_size=80, n_jobs=1
    )
    pipeline.fit(rows, domain=domain, random_state=meta["seed"])
    fitted = time.process_time() - began
    return pipeline.generate(n_records=meta["rows"], random_state=meta["seed"]), fitted


def understudy(method: str, meta: dict[str, Any], folder: Path) -> tuple[pd.DataFrame, float]:
    """Ours, in a process of its own like the others; from the table itself, by its public schema."""
    sys.path.append(str(Path(__file__).parents[2]))
    from benchmarks.methods import make
    from understudy.tables import Schema, read_table

    train, schema = read_table(folder / "train.parquet"), Schema.read(folder / "schema.json")
    began = time.process_time()
    generator = make(method, meta["epsilon"], meta["seed"]).fit(train, schema=schema)
    fitted = time.process_time() - began
    return generator.sample(meta["rows"], random_state=meta["seed"]), fitted


def main(library: str, method: str, folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    before = _peak()
    if library == "understudy":
        made, seconds = understudy(method, meta, folder)
        made.to_parquet(folder / "made.parquet")
    else:
        rows = pd.read_csv(folder / "train.csv")
        before = _peak()
        made, seconds = (smartnoise if library == "smartnoise" else dpmm)(method, rows, meta)
        made.to_csv(folder / "made.csv", index=False)
    facts = {"fit_seconds": seconds, "peak_memory_mb": round(_peak()), "memory_before_mb": round(before)}
    (folder / "facts.json").write_text(json.dumps(facts))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if "PEER_SECONDS" in os.environ:
        most = int(os.environ["PEER_SECONDS"])
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
