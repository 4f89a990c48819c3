"""One table: our methods and every peer that runs here, at an honest epsilon of 1, on the same split of the same data.

    UNDERSTUDY_DATA=... python benchmarks/peers/compare.py [--datasets adult credit] [--only TEXT] [--limit 600]

Writes benchmarks/results/comparison-full.json after every run, and goes on where it stopped; `--again` measures anew what
--only names. Each synthesiser is a process with a limit of processor seconds, its peak memory is its own, and one that fails or does not
end in time is a row that says so. Scores are means over the five classifiers of `understudy.evaluation`, trained on the
synthetic rows and tested on the real test rows. `make peers` builds the environments.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WORKER = HERE / "quality_worker.py"
RESULT = HERE.parent / "results" / "comparison-full.json"
EPSILON, DELTA, ROWS = 1.0, 1e-5, 20_000
PATIENCE = 4  # by the clock, a run may take so many times its limit of processor seconds: it may share its core
OURS = ("moments", "pategan", "pategan, moments start", "gpate", "dpgan", "gan")
PEERS = {
    "smartnoise": ("mst", "aim", "pategan", "dpgan", "patectgan", "dpctgan"),
    "dpmm": ("mst", "aim", "privbayes"),
    "synthcity": ("pategan", "dpgan"),
}
NOTES = [
    "Same split, same seed, same classifiers; one setting of each method for both datasets. One run each.",
    "20,000 synthetic rows in the classes' own mix as each method draws them (here nobody draws classes in equal numbers).",
    "Peers get the public bounds: numbers come to them in [0, 1], categories as codes. smartnoise's MST and AIM bin numbers "
    "into 20 equal bins; dpmm spends a tenth of epsilon on bins of its own.",
    "smartnoise's GANs and PATE-GANs state the epsilon that their own accountants give; others have measured leaks in some "
    "of them (docs/sharp-edges.md), and nothing here vouches for it.",
    "GAN has no privacy: a ceiling for its kind. Seconds are processor seconds of fitting; memory is the process' peak. A row "
    "without scores failed or did not end within 600 processor seconds on one core.",
]


def split(name: str) -> tuple[Any, Any, Any, Any]:
    from understudy.benchmarks.synthetic import split as divide

    return divide(name, 0)


def prepare(folder: Path, train: Any, schema: Any) -> Any:
    """The training rows as a peer gets them, and as ours do."""
    import pandas as pd

    from understudy.tables import Encoder

    encoder = Encoder(schema)
    coded = encoder.encode_codes(train)
    numbers = [label for group in encoder.groups if not group.one_hot for label in group.labels]
    frame = pd.DataFrame(coded.numeric, columns=numbers).round(7)
    for place, name in enumerate(encoder.code_columns):
        frame[name] = coded.codes[:, place].astype(int)
    sizes = dict(zip(encoder.code_columns, encoder.code_sizes, strict=True))
    columns = [{"name": n, "kind": "category" if n in sizes else "number", "size": sizes.get(n)} for n in frame.columns]
    meta = {"columns": columns, "epsilon": EPSILON, "delta": DELTA, "rows": ROWS, "seed": 0}
    frame.to_csv(folder / "train.csv", index=False)
    train.to_parquet(folder / "train.parquet")
    schema.write(folder / "schema.json")
    (folder / "meta.json").write_text(json.dumps(meta))
    return encoder


def synthesise(library: str, method: str, folder: Path, limit: float) -> dict[str, Any]:
    """Run one worker; what went wrong comes back as text."""
    from make_env import interpreter

    python = Path(sys.executable) if library == "understudy" else interpreter(library)
    if not python.exists():
        return {
            "error": "not installed here: "
            + ("7 GB with its CUDA parts" if library == "synthcity" else "run `make peers`")
        }
    for old in ("made.csv", "made.parquet", "facts.json"):
        (folder / old).unlink(missing_ok=True)
    worker = [str(python), str(WORKER), library, method, str(folder)]
    # The worker limits itself: a limit set on its way in would need a fork of this process, whose threads do not like that.
    environment = os.environ | {"PEER_SECONDS": str(math.ceil(limit))}
    try:
        done = subprocess.run(
            worker, capture_output=True, text=True, timeout=PATIENCE * limit, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"error": f"did not end within {PATIENCE * limit:g} s by the clock"}
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"did not end within {limit:g} processor seconds"}
    if done.returncode != 0 or not (folder / "facts.json").exists():
        last = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"error": "failed: " + (last[-1][:200] if last else f"exit {done.returncode}")}
    return json.loads((folder / "facts.json").read_text())


def read_made(library: str, folder: Path, encoder: Any) -> Any:
    import numpy as np
    import pandas as pd

    from understudy.tables import Coded

    if library == "understudy":
        return pd.read_parquet(folder / "made.parquet")
    made = pd.read_csv(folder / "made.csv")
    numbers = [label for group in encoder.groups if not group.one_hot for label in group.labels]
    numeric = made[numbers].to_numpy(float).clip(0, 1)
    codes = np.column_stack(
        [
            made[n].to_numpy(float).round().clip(0, s - 1)
            for n, s in zip(encoder.code_columns, encoder.code_sizes, strict=True)
        ]
    ).astype(int)
    return encoder.decode_codes(Coded(np.nan_to_num(numeric), codes))


def judge(made: Any, test: Any, schema: Any, positive: Any) -> dict[str, Any]:
    import numpy as np

    from understudy.evaluation import FIVE
    from understudy.evaluation.features import Featuriser, prepare
    from understudy.evaluation.scores import fit_and_score, place_of

    features = Featuriser(schema, schema.target)
    learnt, judged = prepare(features.rows(made), features.rows(test))
    place = place_of(positive, features.classes)
    runs = {name: fit_and_score(factory, learnt, judged, 2, place, 0) for name, factory in FIVE.items()}
    notes = sorted({run.note for run in runs.values() if "constant" in run.note})
    return {
        "auroc": float(np.mean([run.auroc for run in runs.values()])),
        "auprc": float(np.mean([run.auprc for run in runs.values()])),
        "classifiers": {name: {"auroc": run.auroc, "auprc": run.auprc} for name, run in runs.items()},
        **({"note": notes[0]} if notes else {}),
    }


def write(runs: dict[str, dict[str, Any]]) -> None:
    """The same shape as a benchmark's result, so that the same page shows it; its seconds are those of all fits."""
    from understudy.benchmarks.machine import machine, versions

    rows: list[dict[str, Any]] = []
    every = wanted(["adult", "credit"])
    missing = {
        f"{d}/{lib}/{m}": {"dataset": d, "label": label, "error": "not measured yet"}
        for d, lib, m, label in every
        if f"{d}/{lib}/{m}" not in runs
    }
    shown = {**runs, **missing}
    for run in (shown[f"{d}/{lib}/{m}"] for d, lib, m, _ in every):
        table = f"{run['dataset']}, epsilon 1: mean of five classifiers"
        base = {
            "table": table,
            "row": run["label"],
            "paper": None,
            "low": None,
            "high": None,
            "run_low": None,
            "run_high": None,
        }
        if "error" in run:
            rows.append({**base, "metric": "AUROC", "mean": None, "repeats": 0, "note": run["error"]})
            continue
        for metric, key in (
            ("AUROC", "auroc"),
            ("AUPRC", "auprc"),
            ("processor seconds to fit", "fit_seconds"),
            ("peak MB", "peak_memory_mb"),
        ):
            if key in run:
                row = {**base, "metric": metric, "mean": round(run[key], 4), "repeats": 1}
                if run.get("note"):
                    row["note"] = run["note"]
                rows.append(row)
    body = {
        "format": 1, "benchmark": "comparison", "title": "Understudy and its peers at epsilon 1", "paper": "none", "size": "full",
        "command": "python benchmarks/peers/compare.py", "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(r.get("fit_seconds", 0.0) for r in runs.values()), 1), "work_seconds": round(sum(r.get("fit_seconds", 0.0) for r in runs.values()), 1),
        "resumed_batches": 0, "machine": machine(), "versions": versions(), "parts": {}, "notes": NOTES, "figures": [],
        "rows": rows, "measured": {}, "runs": runs,
    }  # fmt: skip
    RESULT.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def wanted(datasets: list[str]) -> list[tuple[str, str, str, str]]:
    """Every run: dataset, library, method, and what its row is called."""
    from understudy.benchmarks.synthetic import LABELS

    every: list[tuple[str, str, str, str]] = []
    for dataset in datasets:
        every.append((dataset, "real", "real", LABELS["real"]))
        every += [
            (dataset, "understudy", m, f"understudy: {LABELS[m]}" + (" (no privacy)" if m == "gan" else ""))
            for m in OURS
        ]
        every += [(dataset, lib, m, f"{lib}: {m.upper()}") for lib, methods in PEERS.items() for m in methods]
    return every


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", nargs="+", default=["adult", "credit"])
    parser.add_argument("--only", help="rows whose name holds this text")
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    before = json.loads(RESULT.read_text())["runs"] if RESULT.exists() else {}
    every = wanted(given.datasets)
    for dataset in given.datasets:
        train, test, schema, positive = split(dataset)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            encoder = prepare(folder, train, schema)
            for here, library, method, label in every:
                key = f"{here}/{library}/{method}"
                if here != dataset or (given.only and given.only not in f"{here} {label}"):
                    continue
                if key in before and not given.again:
                    continue
                run: dict[str, Any] = {"dataset": dataset, "library": library, "method": method, "label": label}
                if library == "real":
                    run |= judge(train.sample(min(ROWS, len(train)), random_state=0), test, schema, positive)
                else:
                    run |= synthesise(library, method, folder, given.limit)
                    if "error" not in run:
                        run |= judge(read_made(library, folder, encoder), test, schema, positive)
                shown = {k: round(v, 3) for k, v in run.items() if isinstance(v, float) and math.isfinite(v)}
                print(key, shown, run.get("error", ""), flush=True)
                before = json.loads(RESULT.read_text())["runs"] if RESULT.exists() else before
                before[key] = run
                order = {f"{d}/{lib}/{m}": i for i, (d, lib, m, _) in enumerate(wanted(["adult", "credit"]))}
                write(dict(sorted(before.items(), key=lambda item: order.get(item[0], 999))))


if __name__ == "__main__":
    main()
