"""Does the outlook of `understudy plan --data` mean anything? Moments at several sizes and budgets beside what it said.

`python benchmarks/bench_choosing.py --out benchmarks/results/choosing.json` needs the tables of UNDERSTUDY_DATA. Test rows are 30 %
of each table, drawn once; nothing was tuned on them. One run each: a figure may be off by some hundredths.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from understudy import MomentsGenerator, datasets
from understudy.benchmarks.machine import machine, versions
from understudy.evaluation import score
from understudy.methods.choosing import advise

SIZES = (100, 1000, 10_000)
EPSILONS = (0.1, 1.0, 10.0)
JUDGE = "logistic regression"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", default=["pima", "adult", "breast-cancer"])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    result = {
        "benchmark": "choosing",
        "what": f"AUROC on real test rows of {JUDGE} trained on synthetic rows, beside the outlook of `plan --data`",
        "command": f"python benchmarks/bench_choosing.py --datasets {' '.join(given.datasets)} --out benchmarks/results/choosing.json",
        "machine": machine(),
        "versions": versions(),
        "delta": 1e-5,
        "rows": [],
    }
    for name in given.datasets:
        table = datasets.load_table(name)
        assert table.target is not None
        frame = table.frame.sample(frac=1, random_state=0).reset_index(drop=True)
        held = int(0.3 * len(frame))
        test, rest = frame[: min(held, 5000)], frame[held:]
        positive = table.info.positive
        for size in sorted({min(size, len(rest)) for size in SIZES}):
            private = rest[:size]
            real = score(private, test, table.target, table.schema, JUDGE, positive=positive).auroc
            for epsilon in EPSILONS:
                choice = advise(table.schema, size, epsilon).recommended
                began = time.perf_counter()
                generator = MomentsGenerator(epsilon, 1e-5, random_state=0).fit(private, table.target, table.schema)
                seconds = time.perf_counter() - began
                made = generator.sample(5000, random_state=0)
                auroc = score(made, test, table.target, table.schema, JUDGE, positive=positive).auroc
                result["rows"].append(
                    {
                        "dataset": name,
                        "rows": size,
                        "epsilon": epsilon,
                        "outlook": choice.outlook,
                        "why": choice.why,
                        "auroc": round(auroc, 4),
                        "real": round(real, 4),
                        "kept": round((auroc - 0.5) / max(real - 0.5, 1e-9), 3),
                        "fit_seconds": round(seconds, 1),
                    }
                )
                print(result["rows"][-1], flush=True)
                by = {o: [r["kept"] for r in result["rows"] if r["outlook"] == o] for o in ("good", "thin", "hopeless")}
                result["kept_by_outlook"] = {
                    o: {"median": round(float(np.median(v)), 3), "low": min(v), "high": max(v), "count": len(v)}
                    for o, v in by.items()
                    if v
                }
                given.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
