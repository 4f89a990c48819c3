"""docs/comparison.md, made from `benchmarks/results/peers-full.json`: ours and every peer in one table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.methods import is_private
from benchmarks.result import Results, Row, select

_HEAD = """# Understudy and its peers

Made by `python -m benchmarks document`, from [peers-full.json](../benchmarks/results/peers-full.json); do not edit.
`python -m benchmarks run peers --size full --fill` measures a row that is missing, and `--only TEXT` one anew.

Synthetic rows at ε = 1 and δ = 1e-5. AUROC and AUPRC are means over five classifiers (logistic regression, random forest,
AdaBoost, a small perceptron, XGBoost), trained on 20,000 synthetic rows and tested on the real test rows; seconds are those of a
processor for the fit, MB is the peak of the fitting process. The best private AUROC is in bold. Likeness, more tables and
other ε: [usefulness and likeness](results/likeness.md).
"""


def comparison(result: Results) -> str:
    """The page: one line a method, its figures on each dataset side by side; what failed says why."""
    runs, about = result.table("runs"), result.about
    datasets = list(dict.fromkeys(run["dataset"] for run in runs))
    best = {dataset: _best(list(select(runs, dataset=dataset))) for dataset in datasets}
    whys: list[str] = []
    head = ["", *(f"{dataset} {what}" for dataset in datasets for what in ("AUROC", "AUPRC", "seconds", "MB"))]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for label, library, method in dict.fromkeys((run["label"], run["library"], run["method"]) for run in runs):
        cells = [label]
        for dataset in datasets:
            run = next(select(runs, dataset=dataset, library=library, method=method), None)
            cells += _cells(run, best[dataset], whys)
        lines.append("| " + " | ".join(cells) + " |")
    notes = [f"- ({number}) {why}" for number, why in enumerate(whys, 1)]
    where = f"{about['created'][:10]}, {about['machine']['cpu']}, one core each, beside other work."
    return "\n".join([_HEAD, *lines, "", *notes, *(f"- {note}" for note in about["notes"]), f"- {where}", ""])


def _private(run: Row) -> bool:
    """Peers have names of their own, and all that are here keep to a budget."""
    return run["library"] not in ("real", "understudy") or is_private(run["method"])


def _best(runs: Sequence[Row]) -> float:
    found = [run["auroc"] for run in runs if run.get("auroc") is not None and _private(run)]
    return max(found, default=2.0)


def _cells(run: Row | None, best: float, whys: list[str]) -> Sequence[str]:
    why = "not measured" if run is None else run.get("error") or run.get("note")
    mark = ""
    if why:
        if why not in whys:
            whys.append(why)
        mark = f" ({whys.index(why) + 1})"
    if run is None or run.get("auroc") is None:
        return [f"–{mark}", "", "", ""]
    auroc = f"{run['auroc']:.3f}"
    own = _private(run) and run["auroc"] == best
    more = ["" if run.get(key) is None else f"{run[key]:,.0f}" for key in ("fit_seconds", "peak_memory_mb")]
    return [(f"**{auroc}**" if own else auroc) + mark, f"{run['auprc']:.3f}", *more]
