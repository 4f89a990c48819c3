"""docs/comparison.md, made from `benchmarks/results/comparison-full.json`: ours and every peer in one table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import InputError

FILE = "comparison-full.json"
NOT_PRIVATE = ("real", "gan")

_HEAD = """# Understudy and its peers

Made by `understudy bench document`, from [comparison-full.json](../benchmarks/results/comparison-full.json); do not edit.
`{command}` measures a row that is missing, and `--only TEXT --again` one anew.

Synthetic rows at ε = 1 and δ = 1e-5. AUROC and AUPRC are means over five classifiers (logistic regression, random forest,
AdaBoost, a small perceptron, XGBoost), trained on 20,000 synthetic rows and tested on the real test rows; seconds are those of a
processor for the fit, MB is the peak of the fitting process. The best private AUROC is in bold.
"""


def comparison(folder: str | Path) -> str:
    """The page: one line a method, its figures on each dataset side by side; what failed says why."""
    path = Path(folder) / FILE
    try:
        body = json.loads(path.read_text("utf-8"))
        runs: Mapping[str, Mapping[str, Any]] = body["runs"]
    except FileNotFoundError:
        raise InputError(f"there is no {path}: make it with `python benchmarks/peers/compare.py`.") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot read {path} as a comparison: {error!r}.") from None
    datasets = list(dict.fromkeys(run["dataset"] for run in runs.values()))
    methods = list(dict.fromkeys((run["label"], run["library"], run["method"]) for run in runs.values()))
    best = {dataset: _best(runs, dataset) for dataset in datasets}
    whys: list[str] = []
    head = ["", *(f"{dataset} {what}" for dataset in datasets for what in ("AUROC", "AUPRC", "seconds", "MB"))]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for label, library, method in methods:
        cells = [label]
        for dataset in datasets:
            cells += _cells(runs.get(f"{dataset}/{library}/{method}"), best[dataset], whys)
        lines.append("| " + " | ".join(cells) + " |")
    notes = [f"- ({number}) {why}" for number, why in enumerate(whys, 1)]
    machine = body["machine"]
    where = f"{body['created'][:10]}, {machine['cpu']}, one core each, beside other work."
    return "\n".join(
        [_HEAD.format(command=body["command"]), *lines, "", *notes, *(f"- {note}" for note in body["notes"]), f"- {where}", ""]
    )  # fmt: skip


def _best(runs: Mapping[str, Mapping[str, Any]], dataset: str) -> float:
    found = [
        run["auroc"]
        for run in runs.values()
        if run["dataset"] == dataset and "auroc" in run and run["method"] not in NOT_PRIVATE
    ]
    return max(found, default=2.0)


def _cells(run: Mapping[str, Any] | None, best: float, whys: list[str]) -> Sequence[str]:
    why = "not measured" if run is None else run.get("error") or run.get("note")
    mark = ""
    if why:
        if why not in whys:
            whys.append(why)
        mark = f" ({whys.index(why) + 1})"
    if run is None or "auroc" not in run:
        return [f"–{mark}", "", "", ""]
    auroc = f"{run['auroc']:.3f}"
    own = run["method"] not in NOT_PRIVATE and run["auroc"] == best
    more = [f"{run[key]:,.0f}" if key in run else "" for key in ("fit_seconds", "peak_memory_mb")]
    return [(f"**{auroc}**" if own else auroc) + mark, f"{run['auprc']:.3f}", *more]
