"""docs/results.md, made from the results on disk: every table with its command, machine and both kinds of epsilon."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.benchmarks import comparison, registry
from understudy.benchmarks.result import Result, read
from understudy.errors import InputError

_HEAD = """# Results

Made by `understudy bench document`, from the files in `benchmarks/results/`; do not edit. Each table says the command that
made it. "Paper" is the figure that the paper prints, "measured" ours: the mean over repeats, and its 95 % interval where
there are several. Other people's programs beside ours: [comparison](comparison.md).

ε unconditional holds for every dataset, and is what a budget enforces. ε data-dependent is what the papers report; it is
itself private, and shown only because these datasets are public. Rows marked *unsafe* do something that no guarantee
covers.
"""


def document(folder: str | Path) -> str:
    """The page for all results in a folder, in the order of `bench list`. Of quick ones only their times are shown.

    The comparison with peers has a page of its own (`comparison.py`).
    """
    found: list[Result] = []
    others: list[tuple[str, str]] = []
    for path in sorted(Path(folder).glob("*.json")):
        if path.name == comparison.FILE:
            continue
        try:
            result = read(path)
        except InputError:
            others.append((path.name, _command(path)))
            continue
        found.append(Result({**result.body, "file": path.name}))
    if not found:
        raise InputError(f"there are no results in {folder}: make some with `understudy bench run`.")
    order = {name: place for place, name in enumerate(registry.names())}
    found.sort(key=lambda r: order.get(r.body["benchmark"], len(order)))
    full = [result for result in found if result.body["size"] == "full"]
    quick = [result for result in found if result.body["size"] != "full"]
    parts = [_HEAD, *(_section(result) for result in full), _missing(full), _quick(quick)]
    if others:
        listed = "\n".join(f"| [{name}](../benchmarks/results/{name}) | {command} |" for name, command in others)
        parts.append(f"## Other measurements\n\n| file | command |\n|---|---|\n{listed}\n")
    return "\n".join(part for part in parts if part)


def _command(path: Path) -> str:
    try:
        body = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    command = body.get("command") if isinstance(body, dict) else None
    return f"`{command}`" if isinstance(command, str) else ""


def _section(result: Result) -> str:
    body = result.body
    machine = body["machine"]
    lines = [
        f"## {body['title']}",
        "",
        f"`{body['command']}`, {body['created'][:10]}: {_time(body)} ({machine['cpu']}). "
        f"[Everything measured](../benchmarks/results/{body['file']}).",
        "",
    ]
    for table, rows in result.tables().items():
        lines += _table(table, rows)
    unsafe = dict.fromkeys(row["unsafe"] for row in result.rows if "unsafe" in row)
    lines += [f"- *Unsafe*: {reason}" for reason in unsafe]
    # What is known today about a table, not only what was known on the day of the run.
    declared = registry.get(body["benchmark"]).notes if body["benchmark"] in registry.names() else body["notes"]
    lines += [f"- {note}" for note in declared]
    return "\n".join([*lines, ""])


def _time(body: Mapping[str, Any]) -> str:
    """How long a run took: its work, and the clock where it ran in one go and alone."""
    processes = body["machine"].get("processes", body["machine"]["cores"])
    work = f"{body['work_seconds']:,.0f} s of work"
    if body.get("resumed_batches") or body.get("lacking") or body.get("together", 1) > 1:
        return f"{work} on {processes} cores"
    return f"{work}, {body['seconds']:,.0f} s by the clock on {processes} cores"


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line a row of the table, its metrics side by side."""
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    papers = any(row["paper"] is not None for row in rows)
    private = any("epsilon" in row for row in rows)
    notes = {row.get("note", "") for row in rows}
    noted = len(notes) > 1
    head = [""]
    for metric in metrics:
        head += [f"{metric}, paper"] if papers else []
        head.append(metric if not papers else f"{metric}, measured")
    head += ["ε paper", "ε unconditional", "ε data-dependent"] if private else []
    head += ["note"] if noted else []
    shared = f": {next(iter(notes))}" if not noted and any(notes) else ""
    lines = [f"**{title}**{shared}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(row["row"] for row in rows):
        mine = {row["metric"]: row for row in rows if row["row"] == name}
        any_row = next(iter(mine.values()))
        cells = [name + (" *(unsafe)*" if "unsafe" in any_row else "")]
        for metric in metrics:
            row = mine.get(metric)
            cells += [_number(row["paper"] if row else None)] if papers else []
            cells.append(_measured(row) if row else "")
        if private:
            epsilon = any_row.get("epsilon", {})
            cells += [_number(epsilon.get(kind)) for kind in ("paper", "unconditional", "data_dependent")]
        if noted:
            cells.append(any_row.get("note", ""))
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _missing(kept: Sequence[Result]) -> str:
    have = {result.body["benchmark"] for result in kept if result.body["size"] == "full"}
    lacking = [name for name in registry.names() if name not in have]
    if not lacking:
        return ""
    return f"## Not yet measured at full size\n\n{', '.join(f'`{name}`' for name in lacking)}: `understudy bench run ID --size full`.\n"


def _quick(results: Sequence[Result]) -> str:
    """That a table runs at all, and how long; its figures are those of shortened training, and shown nowhere."""
    if not results:
        return ""
    lines = [
        "## Quick runs",
        "",
        "They show that a table runs, with shortened training and few rows; their figures mean nothing. What tables of one "
        "command share is counted in each.",
        "",
    ]
    lines += ["| table | command | seconds of a processor |", "|---|---|---|"]
    for result in results:
        body = result.body
        link = f"[{body['title']}](../benchmarks/results/{body['file']})"
        lines.append(f"| {link} | `{body['command']}` | {body['work_seconds']:.0f} |")
    total = sum(result.body["work_seconds"] for result in results)
    return "\n".join([*lines, f"| together | | {total:.0f} |", ""])


def _measured(row: Mapping[str, Any]) -> str:
    mean = _number(row["mean"])
    if row.get("low") is None or row.get("high") is None or not mean:
        return mean
    return f"{mean} ({_number(row['low'])} to {_number(row['high'])})"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.0f}"
