"""The tables of docs/methods/dpkip.md from the results of `understudy bench run dpkip-images dpkip-2 dpkip-3 --size full`.

    python benchmarks/table_dpkip.py          # writes them between their marks

A test holds that the page has what this writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "methods" / "dpkip.md"
SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
# Repeats in small figures, where there are fewer than the whole number.
_SMALL = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Rows = dict[tuple[str, str, str], dict[str, Any]]


def rows(name: str) -> Rows:
    """The rows of a result by table, row and metric."""
    body = json.loads((RESULTS / f"{name}-full.json").read_text("utf-8"))
    return {(row["table"], row["row"], row["metric"]): row for row in body["rows"]}


def cell(row: dict[str, Any] | None, digits: int, whole: int) -> str:
    """A measured mean, with the number of runs where they are not all there."""
    if row is None or row["mean"] is None:
        return "–"
    return f"{row['mean']:.{digits}f}" + ("" if row["repeats"] >= whole else str(row["repeats"]).translate(_SMALL))


def _paper(row: dict[str, Any] | None, digits: int) -> str:
    return "–" if row is None or row["paper"] is None else f"{row['paper']:.{digits}f}"


def images(found: Rows, table: int, sizes: tuple[int, ...], whole: int) -> list[str]:
    """Tables 1 and 2: paper beside measured, for KIP and DP-KIP at each epsilon."""
    known = ["KIP, not private", "DP-KIP, epsilon 1", "DP-KIP, epsilon 10"]
    heads = ["KIP, paper", "measured", "DP-KIP ε = 1, paper", "measured", "ε = 10, paper", "measured"]
    lines = ["| images a class | | " + " | ".join(heads) + " |", "|---" * (2 + len(heads)) + "|"]
    for dataset, shown in SETS.items():
        for size in sizes:
            cells = [shown if size == sizes[0] else "", str(size)]
            for what in known:
                row = found.get((f"Table {table}, {dataset}, {size} a class", what, "accuracy"))
                cells += [_paper(row, 1), cell(row, 1, whole)]
            lines.append("| " + " | ".join(cells).strip() + " |")
    return lines


def starts(found: Rows) -> list[str]:
    """DP-KIP with and without a start from moments, and one look, at epsilon 1."""
    known = ["DP-KIP, epsilon 1", "DP-KIP from a moments start (ours), epsilon 1", "one look (ours), epsilon 1"]
    lines = ["| ε = 1 | images a class | Gaussian start | moments start | one look |", "|---|---|---|---|---|"]
    for dataset, shown in SETS.items():
        for size in (10, 50):
            mine = [found.get((f"Table 1, {dataset}, {size} a class", what, "accuracy")) for what in known]
            lines.append(f"| {shown} | {size} | " + " | ".join(cell(row, 1, 5) for row in mine) + " |")
    return lines


def tables(found: Rows) -> list[str]:
    """Table 3: every table with its own metrics."""
    lines = ["| | | paper | measured | from a moments start |", "|---|---|---|---|---|"]
    for table, metric in dict.fromkeys((table, metric) for table, _, metric in found):
        mine, warm = (
            found.get((table, what, metric))
            for what in ("DP-KIP, 10 a class", "DP-KIP from a moments start (ours), 10 a class")
        )
        cells = [table.split(", ")[1], metric, _paper(mine, 3), cell(mine, 3, 5), cell(warm, 3, 5)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def filled(page: str) -> str:
    """The page with its tables."""
    one, two, three = (rows(name) for name in ("dpkip-images", "dpkip-2", "dpkip-3"))
    for name, lines in (
        ("table 1", images(one, 1, (1, 10, 50), 5)),
        ("table 2", images(two, 2, (10, 20), 3)),
        ("table 3", tables(three)),
        ("starts", starts(one)),
    ):
        start, end = f"<!-- dpkip: {name} -->", "<!-- dpkip: end -->"
        text = f"{start}\n" + "\n".join(lines) + f"\n{end}"
        page = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, t=text: t, page, count=1, flags=re.S)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
