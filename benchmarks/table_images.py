"""The tables of docs/methods/image-moments.md from benchmarks/results/images.json and images_explore.json.

    python benchmarks/table_images.py          # writes them between their marks
    python benchmarks/table_images.py --join a.json b.json     # first joins the rows of these files into the result

A test holds that the page has what this writes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "images.json"
EXPLORED = RESULT.with_name("images_explore.json")
PAGE = ROOT / "docs" / "methods" / "image-moments.md"
SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
Rows = list[dict[str, Any]]


def final(rows: Rows) -> list[str]:
    """Mean over seeds, with the least and the most."""
    epsilons = sorted({row["epsilon"] for row in rows if row["part"] == "final"})
    lines = ["| test accuracy in per cent | " + " | ".join(SETS.values()) + " |", "|---|---|---|"]
    for epsilon in epsilons:
        for name, what in (("accuracy", "ConvNet on samples"), ("accuracy_of_shares", "the released shares alone")):
            cells = [
                _spread(row[name] for row in rows if _is(row, part="final", data=data, epsilon=epsilon))
                for data in SETS
            ]
            lines.append(f"| {what}, ε = {epsilon:g} | " + " | ".join(cells) + " |")
    return lines


def ablation(rows: Rows, part: str = "ablation", score: str = "accuracy") -> list[str]:
    """Held-out training images; one line a variant, and how far it is from the recommended one."""
    known = [row for row in rows if row["part"] == part and row["epsilon"] == 1.0]
    names = sorted(dict.fromkeys(row["variant"] for row in known), key=lambda name: name != "as recommended")
    lines = ["| held-out accuracy in per cent | " + " | ".join(SETS.values()) + " |", "|---|---|---|"]
    for name in names:
        cells = []
        for data in SETS:
            mine, best = (
                [row[score] for row in known if _is(row, data=data, variant=variant)]
                for variant in (name, "as recommended")
            )
            if not mine:
                cells.append("–")
            elif name == "as recommended" or not best:
                cells.append(f"{100 * np.mean(mine):.1f}")
            else:
                cells.append(f"{100 * np.mean(mine):.1f} ({100 * (np.mean(mine) - np.mean(best)):+.1f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def explored(rows: Rows) -> list[str]:
    """How settings were chosen: one line a change, labels as drawn and as the shares say."""
    columns = [(data, labels) for data in SETS for labels in ("drawn", "shares")]
    heads = [f"{SETS[data]}, labels {'as drawn' if labels == 'drawn' else 'shares'}" for data, labels in columns]
    lines = ["| held-out accuracy in per cent | " + " | ".join(heads) + " |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(row["changed"] for row in rows):
        cells = []
        for data, labels in columns:
            mine = [row["accuracy"] for row in rows if _is(row, changed=name, data=data, labels=labels)]
            cells.append(f"{100 * mine[0]:.1f}" if mine else "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def filled(page: str) -> str:
    """The page with its tables."""
    rows, early = (json.loads(path.read_text("utf-8"))["rows"] for path in (RESULT, EXPLORED))
    for name, lines in (
        ("final", final(rows)),
        ("ablation", ablation(rows)),
        ("look", ablation(rows, "look", "accuracy_of_shares")),
        ("explored", explored(early)),
    ):
        start, end = f"<!-- images: {name} -->", "<!-- images: end -->"
        table = f"{start}\n" + "\n".join(lines) + f"\n{end}"
        page = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, t=table: t, page, count=1, flags=re.S)
    return page


def join(paths: Iterable[Path]) -> dict[str, Any]:
    """One result of many: their rows and commands, in order; what the first says of the machine."""
    bodies = [json.loads(path.read_text("utf-8")) for path in paths]
    rows = [row for body in bodies for row in body["rows"]]
    commands = list(dict.fromkeys(command for body in bodies for command in body["commands"]))
    return {**bodies[0], "commands": commands, "summary": summary(rows), "rows": rows}


def summary(rows: Rows) -> list[dict[str, Any]]:
    """Of the final runs: the mean over seeds of each set and epsilon."""
    found = []
    for data, epsilon in dict.fromkeys((row["data"], row["epsilon"]) for row in rows if row["part"] == "final"):
        mine = [row["accuracy"] for row in rows if _is(row, part="final", data=data, epsilon=epsilon)]
        mean = round(float(np.mean(mine)), 4)
        found.append(
            {"data": data, "epsilon": epsilon, "runs": len(mine), "mean": mean, "range": [min(mine), max(mine)]}
        )
    return found


def _is(row: dict[str, Any], **facts: Any) -> bool:
    return all(row[name] == value for name, value in facts.items())


def _spread(values: Iterable[float | None]) -> str:
    found = [100 * value for value in values if value is not None]
    if not found:
        return "–"
    if len(found) == 1:
        return f"{found[0]:.1f} (one run)"
    return f"**{np.mean(found):.1f}** ({min(found):.1f} to {max(found):.1f}, {len(found)} runs)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--join", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.join:
        RESULT.write_text(json.dumps(join(chosen.join), indent=1) + "\n", "utf-8")
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
