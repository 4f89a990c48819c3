"""AIM and MST, ours, dpmm's and dpsynth's, on the same bins in the same run: adult and credit at epsilon 1.

Numbers are cut into 20 equal bins between their public bounds, categories are codes, and all of epsilon goes to the method. Workload
error is the mean distance (total variation) of all two-way tables of 20,000 synthetic rows from those of the training rows, on
those bins; AUROC is the mean over five classifiers, trained on the synthetic rows (drawn evenly within a bin) and tested on real ones.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA
from benchmarks.peers.compare import judge, synthesise
from benchmarks.result import Row, grouped
from benchmarks.splits import Split, split
from understudy.tables import Coded, Encoder

WORKER = Path(__file__).parent / "binned_worker.py"
EPSILON, ROWS, BINS = 1.0, 20_000, 20
LIMIT = 3600.0  # processor seconds
LIBRARIES = ("understudy", "dpmm", "dpsynth")
# The largest model of AIM; as ours has it by default.
MEGABYTES = 4


def parts(size: Size, repeats: int) -> list[Part]:
    """MST first, which is quick; the peers' AIM once. SWIFT is dpsynth's own."""
    pairs = [(m, lib) for m in ("mst", "aim") for lib in LIBRARIES] + [("swift", "dpsynth")]
    every = [(m, lib, data) for m, lib in pairs for data in ("adult", "credit")]
    if size == "quick":
        every = [("mst", "understudy", "adult")]
    return [
        Part(
            f"{dataset}, {library}: {method.upper()}",
            "benchmarks.peers.binned:measure",
            {"dataset": dataset, "library": library, "method": method},
            repeats if method == "mst" or library == "understudy" else 1,
        )
        for method, library, dataset in every
    ]


class Codes:
    """A table as codes, and back."""

    def __init__(self, data: Split) -> None:
        self.encoder = Encoder(data.schema)
        coded = self.encoder.encode_codes(data.train)
        self.numbers = coded.numeric.shape[1]
        sizes = [BINS] * self.numbers + [int(size) for size in self.encoder.code_sizes]
        self.sizes = {f"c{place}": size for place, size in enumerate(sizes)}
        binned = np.clip((coded.numeric * BINS).astype(int), 0, BINS - 1)
        self.frame = pd.DataFrame(np.column_stack([binned, coded.codes]), columns=list(self.sizes))

    def decoded(self, made: pd.DataFrame, seed: int) -> pd.DataFrame:
        codes = made[list(self.sizes)].to_numpy()
        numeric = (codes[:, : self.numbers] + np.random.default_rng(seed).random((len(codes), self.numbers))) / BINS
        return self.encoder.decode_codes(Coded(numeric, codes[:, self.numbers :].astype(int)))

    def error(self, made: pd.DataFrame) -> float:
        """The mean distance of all two-way tables."""
        return float(np.mean([self._distance(made, a, b) for a, b in combinations(self.sizes, 2)]))

    def _distance(self, made: pd.DataFrame, a: str, b: str) -> float:
        size = self.sizes[a] * self.sizes[b]
        tables = [
            np.bincount(one[a].to_numpy() * self.sizes[b] + one[b].to_numpy(), minlength=size) / len(one)
            for one in (self.frame, made)
        ]
        return float(np.abs(tables[0] - tables[1]).sum() / 2)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    (seed,) = repeats
    data = split(settings["dataset"], seed)
    codes = Codes(data)
    with tempfile.TemporaryDirectory() as given, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(given)
        codes.frame.to_csv(folder / "codes.csv", index=False)
        meta = {"sizes": codes.sizes, "epsilon": EPSILON, "delta": DELTA, "rows": ROWS, "seed": seed}
        (folder / "meta.json").write_text(json.dumps({**meta, "megabytes": MEGABYTES}))
        facts = synthesise(settings["library"], settings["method"], folder, LIMIT, None, worker=WORKER)
        if "error" in facts:
            return [facts]
        made = pd.read_csv(folder / "made.csv")
        scores = judge(codes.decoded(made, seed), data)
    return [{"workload_error": codes.error(made), **scores, **facts}]


def summary(runs: Sequence[Row]) -> list[Row]:
    """Means over seeds."""
    made: list[Row] = []
    for (dataset, method, library), mine in grouped(runs, "dataset", "method", "library").items():
        whole = [run for run in mine if run.get("auroc") is not None]
        row: Row = {"dataset": dataset, "method": method, "library": library, "seeds": len(whole)}
        for name in ("workload_error", "auroc", "auprc", "fit_seconds", "peak_memory_mb"):
            row[name] = round(float(np.mean([run[name] for run in whole])), 4) if whole else None
        if not whole:
            row["error"] = mine[0].get("error")
        made.append(row)
    return sorted(made, key=lambda r: (r["dataset"], r["method"], r["library"]))


BENCHMARK = Benchmark(
    id="aim-mst",
    title="AIM and MST beside dpmm's and dpsynth's, on the same bins",
    datasets=("adult", "credit"),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "Same codes, same split, same classifiers, all of epsilon 1 to the method; dpmm's models by themselves, without its binning. "
        "dpsynth is Google's (commit cf8075f of 2026-08-20, with mbi 361705d), whose AIM is the variant AIM-GDP; it is on no package index, so its "
        "environment (`benchmarks/peers/.venvs/dpsynth`, Python 3.12) is made by hand. SWIFT is its own and has no limit in MB.",
        f"AIM's model is limited to {MEGABYTES} MB in both. Seconds are processor seconds of fitting, memory is the process' peak. A "
        f"row without scores failed or did not end within {LIMIT:g} processor seconds.",
        "The peers' AIM is measured once.",
    ),
)
