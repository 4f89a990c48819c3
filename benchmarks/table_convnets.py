"""The tables of docs/methods/one-look.md from benchmarks/results/distill_convnets.json.

    python benchmarks/table_convnets.py          # writes them between their marks

A test holds that the page has what this writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "distill_convnets.json"
PAGE = ROOT / "docs" / "methods" / "one-look.md"
SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
# What DP-KIP prints at epsilon 1, MNIST and Fashion-MNIST: Table 1 for kernel ridge regression, Table 2 for a ConvNet.
PRINTED = {
    ("KRR", 10): "87.5, 77.7",
    ("KRR", 50): "92.7, 78.8",
    ("ConvNet", 10): "93.5, 87.7",
    ("ConvNet", 20): "97.8, 88.3",
}
LINES: dict[tuple[str, int | None], str] = {
    ("KRR", 10): "kernel ridge regression on 10 images a class",
    ("KRR", 50): "on 50",
    ("ConvNet", 10): "a ConvNet on 10 images a class",
    ("ConvNet", 20): "on 20",
    ("ConvNet", 50): "on 50",
    ("ConvNet on samples", None): "a ConvNet on all samples, first labels",
    ("ConvNet on samples, corrected labels", None): "on all samples, corrected labels",
}
Rows = list[dict[str, Any]]


def final(summary: Rows) -> list[str]:
    """Test accuracy, ours: the mean over seeds with the least and the greatest."""
    columns = [(data, epsilon) for data in SETS for epsilon in (1.0, 10.0)]
    heads = [f"{SETS[data]}, ε = {epsilon:g}" for data, epsilon in columns]
    lines = ["| test accuracy in per cent | " + " | ".join(heads) + " | DP-KIP prints |", "|---" * 6 + "|"]
    for (learner, size), what in LINES.items():
        cells = [
            _cell(
                row
                for row in summary
                if _is(row, part="ours", dataset=data, epsilon=epsilon, learner=learner, per_class=size)
            )
            for data, epsilon in columns
        ]
        printed = PRINTED.get((learner, size or 0), "")
        lines.append(f"| {what} | " + " | ".join(cells) + f" | {printed} |")
    return lines


def ablation(summary: Rows) -> list[str]:
    """Held-out accuracy of a ConvNet on 20 images a class, and of the teachers; against the whole recipe."""
    known = [row for row in summary if row["part"] == "ablation"]
    lines = ["| held-out accuracy in per cent | " + " | ".join(SETS.values()) + " |", "|---" * 3 + "|"]
    for what in dict.fromkeys(row["what"] for row in known):
        cells = []
        for data in SETS:
            mine, whole = (
                next((row for row in known if _is(row, dataset=data, what=name, learner="ConvNet")), None)
                for name in (what, "all")
            )
            if mine is None or whole is None:
                cells.append("–")
            else:
                by = "" if what == "all" else f" ({mine['mean'] - whole['mean']:+.1f})"
                cells.append(f"{mine['mean']:.1f}{by}")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return lines


def filled(page: str) -> str:
    """The page with its tables."""
    summary = json.loads(RESULT.read_text("utf-8"))["summary"]
    for name, lines in (("final", final(summary)), ("ablation", ablation(summary))):
        start, end = f"<!-- distilled: {name} -->", "<!-- distilled: end -->"
        table = f"{start}\n" + "\n".join(lines) + f"\n{end}"
        page = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, t=table: t, page, count=1, flags=re.S)
    return page


def _is(row: dict[str, Any], **facts: Any) -> bool:
    return all(row.get(name) == value for name, value in facts.items())


def _cell(rows: Any) -> str:
    row = next(iter(rows), None)
    if row is None:
        return "–"
    if row["runs"] == 1:
        return f"{row['mean']:.2f} (one run)"
    return f"**{row['mean']:.2f}** ({row['low']:.2f} to {row['high']:.2f}, {row['runs']} runs)"


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
