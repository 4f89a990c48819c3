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
LINES: dict[tuple[str, int | None, str | None], str] = {
    ("KRR", 10, None): "kernel ridge regression on 10 images a class",
    ("KRR", 50, None): "on 50",
    ("ConvNet", 10, "pupils"): "a ConvNet on 10 images a class, labels by pupils",
    ("ConvNet", 20, "pupils"): "on 20",
    ("ConvNet", 50, "pupils"): "on 50",
    ("ConvNet", 50, "teachers"): "on 50, labels by the corrected networks",
    ("ConvNet on samples", None, None): "a ConvNet on all 40,000 samples, first labels",
    ("ConvNet on samples, corrected labels", None, None): "the same, corrected labels",
    ("corrected networks themselves", None, None): "the corrected networks themselves",
}
Rows = list[dict[str, Any]]


def final(summary: Rows) -> list[str]:
    """Test accuracy at epsilon 1, ours: the mean over seeds with the least and the greatest."""
    head = f"[test accuracy in per cent](../../benchmarks/results/{RESULT.name}), ε = 1"
    lines = [f"| {head} | {' | '.join(SETS.values())} | DP-KIP prints |", "|---" * 4 + "|"]
    for (learner, size, by), what in LINES.items():
        wanted = {"part": "ours", "epsilon": 1.0, "learner": learner, "per_class": size, "labels_by": by}
        cells = [_cell(row for row in summary if _is(row, dataset=data, **wanted)) for data in SETS]
        printed = PRINTED.get((learner, size or 0), "") if by != "teachers" else ""
        lines.append(f"| {what} | " + " | ".join(cells) + f" | {printed} |")
    return lines


def chosen(summary: Rows) -> list[str]:
    """Held-out accuracy of what was chosen between with the library itself, at epsilon 1 and one noise seed."""
    lines = ["| held-out accuracy in per cent | |", "|---|---|"]
    for row in summary:
        if row["part"] != "choose" or row["learner"] not in ("KRR", "ConvNet"):
            continue
        if row["learner"] == "KRR":
            how = row["what"]
        else:
            how = f"labels by {row['labels_by']}, softness {row['softness']:g}, {'mixed' if row['mixed'] else 'not mixed'}"
        name = "kernel ridge regression" if row["learner"] == "KRR" else "a ConvNet"
        lines.append(f"| {SETS[row['dataset']]}, {name} on {row['per_class']} a class: {how} | {row['mean']:.1f} |")
    return lines


def filled(page: str) -> str:
    """The page with its tables."""
    summary = json.loads(RESULT.read_text("utf-8"))["summary"]
    for name, lines in (("final", final(summary)), ("chosen", chosen(summary))):
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
        return f"**{row['mean']:.2f}** (one run)"
    return f"**{row['mean']:.2f}** ({row['low']:.2f} to {row['high']:.2f}, {row['runs']} runs)"


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
