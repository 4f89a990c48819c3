"""docs/results/likeness.md: how useful synthetic rows are and how like the real ones, by one protocol for ours and peers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from benchmarks.likeness import METHODS
from benchmarks.methods import REAL
from benchmarks.result import Results, Row, grouped, select

OURS = "moments"
BEFORE = "moments before"
_HEAD = """# Results: usefulness and likeness together

Made by `python -m benchmarks document`, from [likeness-full.json](../../benchmarks/results/likeness-full.json); do not edit.
`UNDERSTUDY_TABLES=FOLDER python -m benchmarks run likeness --size full --fill` measures what is missing (the
[guide](../guides/benchmarks.md#usefulness-and-likeness-together) says where the tables come from), `--only ": moments"` ours anew.

Twelve tables of scikit-learn, statsmodels, lifelines and R; ε = 0.1, 1 and 10, δ = 1e-5. What each figure means:
[evaluate](../guides/evaluate.md#what-you-see). Distances are total variation to the training rows on public bins, of tables of
one / two / three columns; beside them, for scale, those of the real test rows, which are few: a larger synthetic table can come
nearer. Where ours and a peer were measured, the best private figure of the row is in bold; – was not measured, or failed, which
is said below. Behind the name of a method: seeds. A standard error is over seeds; where there is one seed there is none.
"""
_HALVES = {
    "reporting": "Reporting half",
    "choosing": "Choosing half",
}
_COST = ("fit_seconds", "peak_memory_mb")
# Title, what the real rows show in such a table, and the measurements.
_SHOWN = (
    ("AUROC of five classifiers, and of boosting tuned on synthetic rows", "real rows", ("auroc", "tuned_auroc")),
    ("Distance of one / two / three columns", "real test rows", ("distance_1", "distance_2", "distance_3")),
    ("Near-certain rules broken / told from real rows (AUROC)", "real test rows", ("rules_broken", "c2st")),
    ("Processor seconds to fit / MB", "", _COST),
)


def likeness_page(result: Results) -> str:
    """The page: a verdict over the tables, then for each epsilon and half what was measured."""
    rows, about = result.table("summary"), result.about
    lines = [_HEAD, *_verdict(rows)]
    for epsilon in sorted({row["epsilon"] for row in rows if row["epsilon"] is not None}):
        lines += [f"## ε = {epsilon:g}", ""]
        for half, title in _HALVES.items():
            if any(True for _ in select(rows, half=half, epsilon=epsilon)):
                lines += [f"### {title}, ε = {epsilon:g}", "", *_tables(list(select(rows, half=half)), epsilon)]
    failed = dict.fromkeys(
        f"{row['table']}, {row['method']} at ε = {row['epsilon']:g}: {row['error']}" for row in rows if row.get("error")
    )
    notes = [*about["notes"], *failed, f"{about['created'][:10]}, {about['machine']['cpu']}, beside other work."]
    return "\n".join([*lines, "## Notes", "", *(f"- {note}" for note in notes), ""])


def _verdict(rows: Sequence[Row]) -> list[str]:
    """On how many tables moments is first or nearly: only where a peer was measured beside it."""
    heads = [
        "",
        "AUROC: first, or within a standard error",
        "1-way: first, or within .01",
        "2-way: the same",
        "3-way: the same",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for half in _HALVES:
        for epsilon in sorted({row["epsilon"] for row in select(rows, half=half) if row["epsilon"] is not None}):
            cells = [f"{half} half, ε = {epsilon:g}", *_counts(list(select(rows, half=half, epsilon=epsilon)))]
            lines.append("| " + " | ".join(cells) + " |")
    return ["Moments beside the peers that were measured on the same table:", "", *lines, ""]


def _counts(rows: Sequence[Row]) -> list[str]:
    found: list[str] = []
    for name in ("auroc", "distance_1", "distance_2", "distance_3"):
        good = many = 0
        for table in dict.fromkeys(row["table"] for row in rows):
            mine = next(select(rows, table=table, method=OURS), None)
            peers = [row for row in select(rows, table=table) if row["method"] in METHODS and row["method"] != OURS]
            others: list[Row] = [row for row in peers if row.get(name) is not None]
            if mine is None or not others:
                continue
            many += 1
            if mine.get(name) is None:
                continue  # Ours failed where another did not.
            if name == "auroc":
                best = max(others, key=lambda row: row["auroc"])
                room = max(mine.get("auroc_error") or 0.0, best.get("auroc_error") or 0.0)
                good += mine["auroc"] >= best["auroc"] - room
            else:
                good += mine[name] <= min(row[name] for row in others) + 0.01
        found.append(f"{good} of {many}" if many else "–")
    return found


def _tables(rows: Sequence[Row], epsilon: float) -> list[str]:
    """Usefulness, distances, and the rest with what it cost: tables of data sets by methods."""
    methods = [name for name in (BEFORE, *METHODS) if any(True for _ in select(rows, method=name, epsilon=epsilon))]
    lines: list[str] = []
    for title, real, keys in _SHOWN:
        head = [title, *([real] if real else []), *(_named(rows, name, epsilon) for name in methods)]
        lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for (table,), mine in grouped(rows, "table").items():
            beside = [next(select(mine, method=name, epsilon=epsilon), None) for name in methods]
            compared = any(row and row["method"] not in (BEFORE, OURS) and row["seeds"] for row in beside)
            best = {key: _best([row for row in beside if row], key) for key in keys} if compared else {}
            cells = [_cell(next(select(mine, method=REAL), None), keys, {})] if real else []
            cells += [_cell(row, keys, best) for row in beside]
            lines.append("| " + " | ".join([f"{table}, {mine[0]['rows']:,} rows", *cells]) + " |")
        lines.append("")
    return lines


def _named(rows: Sequence[Row], method: str, epsilon: float) -> str:
    """The method, and how many seeds its figures are means of."""
    seeds = sorted({row["seeds"] for row in select(rows, method=method, epsilon=epsilon) if row["seeds"]})
    return f"{method} ({seeds[0]}{f' to {seeds[-1]}' if len(seeds) > 1 else ''})" if seeds else method


def _best(rows: Sequence[Row], key: str) -> float | None:
    """Of what a method is judged by; it is not judged by what it cost."""
    values = [row[key] for row in rows if row.get(key) is not None and key not in _COST]
    return (max if "auroc" in key else min)(values, default=None)


def _cell(row: Row | None, keys: Sequence[str], best: Mapping[str, float | None]) -> str:
    if row is None or all(row.get(key) is None for key in keys):
        return "–"
    cells: list[str] = []
    for key in keys:
        value, top, places = row.get(key), best.get(key), 0 if key in _COST else 3
        text = "–" if value is None else f"{value:,.{places}f}"
        error = row.get(f"{key}_error")
        first = value is not None and top is not None and text == f"{top:,.{places}f}"
        cells.append((f"**{text}**" if first else text) + ("" if error is None else f" ± {error:.3f}"))
    return " / ".join(cells)


def reached(result: Results) -> str:
    """`methods/measured.json` of the library: what moments reached on every table, for `understudy plan`."""
    rows, lines = result.table("summary"), list[str]()
    for row in select(rows, method=OURS):
        real = next(select(rows, table=row["table"], method=REAL), None)
        if real is None or row.get("auroc") is None:
            continue
        sizes = {"rows": row["rows"], "columns": int(real["columns"]), "width": int(real["width"])}
        scores = {name: _short(row.get(name)) for name in ("auroc", "distance_1", "distance_2", "rules_broken")}
        one = {"table": row["table"], **sizes, "epsilon": row["epsilon"], "real": _short(real["auroc"]), **scores}
        lines.append(" " + json.dumps(one))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
