"""One table: our methods and every peer that runs here, at an honest epsilon of 1, on the same split of the same data.

Each synthesiser is a process with a limit of processor seconds, its peak memory is its own, and one that fails or does not
end in time is a row that says so. Scores are means over the five classifiers of `understudy.evaluation`, trained on the
synthetic rows and tested on the real test rows. `make peers` builds the environments.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA, label
from benchmarks.peers import make_env
from benchmarks.splits import Split, split
from benchmarks.synthetic import frame_scores, means
from understudy.tables import Coded, Encoder

WORKER = Path(__file__).parent / "quality_worker.py"
EPSILON, ROWS = 1.0, 20_000
LIMIT = 600.0  # processor seconds
PATIENCE = 4.0  # by the clock, a run may take so many times its limit of processor seconds: it may share its core
OURS = ("moments", "pategan", "pategan, moments start", "gpate", "dpgan", "gan")
PEERS = {
    "smartnoise": ("mst", "aim", "pategan", "dpgan", "patectgan", "dpctgan"),
    "dpmm": ("mst", "aim", "privbayes"),
    "synthcity": ("pategan", "dpgan"),
}


def parts(size: Size, repeats: int) -> list[Part]:
    """Every run: dataset, library, method, and what its row is called."""
    every = [("real", "real", label("real"))]
    every += [("understudy", m, f"understudy: {label(m)}" + (" (no privacy)" if m == "gan" else "")) for m in OURS]
    every += [(library, m, f"{library}: {m.upper()}") for library, methods in PEERS.items() for m in methods]
    return [
        Part(
            f"{dataset}, {said}",
            "benchmarks.peers.compare:measure",
            {"dataset": dataset, "library": library, "method": method, "label": said},
            repeats,
        )
        for dataset in (("adult",) if size == "quick" else ("adult", "credit"))
        for library, method, said in (every[:1] if size == "quick" else every)
    ]


@cache
def _prepared(dataset: str) -> tuple[Any, Path, Any, Split]:
    """The split of a dataset, and the folder that its workers read; it goes with this process."""
    folder = tempfile.TemporaryDirectory()
    data = split(dataset)
    return folder, Path(folder.name), prepare(Path(folder.name), data.train, data.schema), data


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One synthesiser on one dataset: scores, or what went wrong."""
    del repeats
    _, folder, encoder, data = _prepared(settings["dataset"])
    library = settings["library"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if library == "real":
            return [judge(data.train.sample(min(ROWS, len(data.train)), random_state=0), data)]
        facts = synthesise(library, settings["method"], folder, LIMIT)
        return [facts if "error" in facts else facts | judge(read_made(library, folder, encoder), data)]


def prepare(folder: Path, train: Any, schema: Any, epsilon: float = EPSILON, rows: int = ROWS, seed: int = 0) -> Any:
    """The training rows as a peer gets them, and as ours do."""
    encoder = Encoder(schema)
    coded = encoder.encode_codes(train)
    frame = pd.DataFrame(coded.numeric, columns=_numbers(encoder)).round(7)
    for place, name in enumerate(encoder.code_columns):
        frame[name] = coded.codes[:, place].astype(int)
    sizes = dict(zip(encoder.code_columns, encoder.code_sizes, strict=True))
    columns = [{"name": n, "kind": "category" if n in sizes else "number", "size": sizes.get(n)} for n in frame.columns]
    meta = {"columns": columns, "epsilon": epsilon, "delta": DELTA, "rows": rows, "seed": seed}
    frame.to_csv(folder / "train.csv", index=False)
    train.to_parquet(folder / "train.parquet")
    schema.write(folder / "schema.json")
    (folder / "meta.json").write_text(json.dumps(meta))
    return encoder


def _numbers(encoder: Any) -> Any:
    return [name for group in encoder.groups if not group.one_hot for name in group.labels]


def synthesise(
    library: str,
    method: str,
    folder: Path,
    limit: float,
    patience: float | None = PATIENCE,
    *,
    worker: Path | None = None,
) -> dict[str, Any]:
    """Run one worker; what went wrong comes back as text. Without `patience` the clock does not count."""
    python = Path(sys.executable) if library == "understudy" else make_env.interpreter(library)
    if not python.exists():
        why = "7 GB with its CUDA parts" if library == "synthcity" else "run `make peers`"
        return {"error": f"not installed here: {why}"}
    for old in ("made.csv", "made.parquet", "facts.json"):
        (folder / old).unlink(missing_ok=True)
    command = [str(python), str(worker or WORKER), library, method, str(folder)]
    # The worker limits itself: a limit set on its way in would need a fork of this process, whose threads do not like that.
    environment = os.environ | {"PEER_SECONDS": str(math.ceil(limit))}
    clock = None if patience is None else patience * limit
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=clock, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {clock:g} s by the clock"}
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"did not end within {limit:g} processor seconds"}
    if done.returncode != 0 or not (folder / "facts.json").exists():
        last = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"error": "failed: " + (last[-1][:200] if last else f"exit {done.returncode}")}
    return json.loads((folder / "facts.json").read_text())


def read_made(library: str, folder: Path, encoder: Any) -> Any:
    if library == "understudy":
        return pd.read_parquet(folder / "made.parquet")
    made = pd.read_csv(folder / "made.csv")
    numeric = made[_numbers(encoder)].to_numpy(float).clip(0, 1)
    sizes = zip(encoder.code_columns, encoder.code_sizes, strict=True)
    codes = [made[name].to_numpy(float).round().clip(0, size - 1) for name, size in sizes]
    return encoder.decode_codes(Coded(np.nan_to_num(numeric), np.column_stack(codes).astype(int)))


def judge(made: Any, data: Split) -> dict[str, Any]:
    """Means over the five classifiers, and each of them in their order."""
    scores = frame_scores("five", made, data)
    notes = sorted({one["note"] for one in scores.values() if "constant" in one["note"]})
    each = {f"each_{metric}": [one[metric] for one in scores.values()] for metric in ("auroc", "auprc")}
    return {**means(scores, ("auroc", "auprc")), **each, **({"note": notes[0]} if notes else {})}


BENCHMARK = Benchmark(
    id="peers",
    title="Understudy and its peers at epsilon 1",
    datasets=("adult", "credit"),
    parts=parts,
    alone=True,
    notes=(
        "Same split, same seed, same classifiers; one setting of each method for both datasets. One run each.",
        "20,000 synthetic rows in the classes' own mix as each method draws them (here nobody draws classes in equal numbers).",
        "Peers get the public bounds: numbers come to them in [0, 1], categories as codes. smartnoise's MST and AIM bin numbers "
        "into 20 equal bins; dpmm spends a tenth of epsilon on bins of its own.",
        "smartnoise's GANs and PATE-GANs state the epsilon that their own accountants give; others have measured leaks in some "
        "of them (docs/sharp-edges.md), and nothing here vouches for it.",
        "GAN has no privacy: a ceiling for its kind. Seconds are processor seconds of fitting; memory is the process' peak. A row "
        "without scores failed or did not end within 600 processor seconds on one core.",
    ),
)
