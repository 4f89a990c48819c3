"""The figures of the moments generator as a table for the documentation, from the results of one or several runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from understudy.benchmarks import moments

EPSILONS = (0.1, 1.0, 10.0)
_PANELS = ("five", "four", "twelve")
_FULL = 5
_RESULT = "benchmarks/results/moments.json"
# Classifiers of the twelve that did not end in time, for real rows neither.
_NAMES = {11: "eleven of twelve"}


def part(body: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """What a result says of some tables, and of real rows. Its command names files as the documentation does."""
    kept = [one for one in body["results"] if not tables or one["dataset"] in tables or one["epsilon"] == "real"]
    command = body["command"]
    for option, name in (("scratch", "ROWS"), ("known", _RESULT), ("out", _RESULT)):
        command = re.sub(rf"--{option} \S+", f"--{option} {name}", command)
    return {**body, "command": command, "results": kept}


def merge(bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several results, perhaps merged ones, as one: the figures of the first for real rows, and of each for the rest."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for body in bodies:
        for one in body["results"]:
            key = tuple(one.get(k) for k in ("kind", "dataset", "epsilon", "seed", "panel", "classifier"))
            kept.setdefault(key, one)
    results = list(kept.values())
    about = ("command", "machine", "versions", "limit_seconds")
    runs = [run for body in bodies for run in body.get("runs", [{k: body[k] for k in about if k in body}])]
    last = {k: bodies[-1][k] for k in ("note", "draws", "papers")}
    return {
        "command": runs[0]["command"],
        "runs": runs,
        **last,
        "summary": moments.summary(results),
        "results": results,
    }


def table(body: Mapping[str, Any]) -> str:
    """A row for each table and panel: what was measured at each epsilon, on real rows, and what the papers print."""
    found = {(row["dataset"], row["epsilon"], row["panel"]): row for row in body["summary"]}
    lines = [
        "| table | panel | ε = 0.1 | ε = 1 | ε = 10 | real | papers at ε = 1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for dataset in moments.DATASETS:
        for panel in _PANELS:
            ceiling = found.get((dataset, "real", panel))
            if ceiling is None:
                continue
            cells = [_cell(found.get((dataset, epsilon, panel)), ceiling) for epsilon in EPSILONS]
            name = _NAMES.get(ceiling["classifiers"], panel) if panel == "twelve" else panel
            quoted = _papers(dataset, panel)
            lines.append(f"| {dataset} | {name} | {' | '.join(cells)} | {_figures(ceiling)} | {quoted} |")
    return "\n".join(lines) + "\n"


def _cell(row: Mapping[str, Any] | None, ceiling: Mapping[str, Any]) -> str:
    if row is None or row["classifiers"] != ceiling["classifiers"]:
        return "–"
    few = "" if row["seeds"] >= _FULL else f" ({row['seeds']})"
    return _figures(row) + few


def _figures(row: Mapping[str, Any]) -> str:
    """AUROC / AUPRC of two classes; weighted F1 and the mean over the classes of more."""
    many = row["dataset"] in ("covtype", "intrusion")
    first, second = ("weighted_f1", "f1") if many else ("auroc", "auprc")
    half = f" ± {row[f'{first}_half_width']:.3f}" if f"{first}_half_width" in row else ""
    return f"{row[first]:.3f}{half} / {row[second]:.3f}"


def _papers(dataset: str, panel: str) -> str:
    quoted = [
        f"{name.split(',')[0]} {' / '.join(f'{figure:.3f}' for figure in figures)}"
        for name, figures in moments.PAPERS[dataset].items()
        if panel in name and "real" not in name
    ]
    return ", ".join(quoted)
