"""The pages of results, made from the files on disk: every table with its command, machine and both kinds of epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.pages.comparison import comparison
from benchmarks.pages.likeness import likeness_page, reached
from benchmarks.pages.method_tables import PAGES as PAGES_WITH_TABLES
from benchmarks.pages.method_tables import SUMMARIES, filled
from benchmarks.pages.summary import summary_page
from benchmarks.result import Results, Row, number, read
from understudy.errors import InputError

TITLES = {
    "pate": "PATE",
    "pategan": "PATE-GAN",
    "gpate": "G-PATE",
    "dpkip": "DP-KIP",
    "field": "the field",
    "other": "Our own figures, and quick runs",
}
_HEAD = """# Results: {title}

Made by `python -m benchmarks document`; do not edit. [The summary](../results.md). "Paper" is the figure that the paper prints,
"measured" ours: the mean over repeats, and its 95 % interval where there are several. Rows marked *unsafe* do something that no
guarantee covers. Commands are given by their name of today: results that are older were made by the same code under another.
"""


def documents(folder: str | Path, docs: Path) -> dict[Path, str]:
    """Every page that is made from results, with its text; and what `understudy plan` knows of them."""
    found = results_in(folder)
    pages = {docs / "results.md": summary_page(_full(found), TITLES)}
    for page in TITLES:
        pages[docs / "results" / f"{page}.md"] = topic(page, found)
    if "peers" in _full(found):
        pages[docs / "comparison.md"] = comparison(_full(found)["peers"])
    if "likeness" in _full(found):
        pages[docs / "results" / "likeness.md"] = likeness_page(_full(found)["likeness"])
        pages[docs.parent / "src" / "understudy" / "methods" / "measured.json"] = reached(_full(found)["likeness"])
    for name in PAGES_WITH_TABLES:
        path = docs / f"{name}.md"
        if path.exists():
            pages[path] = filled(name, path.read_text("utf-8"), folder)
    return pages


def results_in(folder: str | Path) -> dict[str, Results]:
    """All results of a folder by the name of their file, in the order of `list`."""
    found = {path.name: read(path) for path in sorted(Path(folder).glob("*.json"))}
    if not found:
        raise InputError(f"there are no results in {folder}: make some with `python -m benchmarks run`.")
    order = {name: place for place, name in enumerate(registry.names())}
    return dict(sorted(found.items(), key=lambda item: order.get(item[1].about["benchmark"], len(order))))


def _full(found: Mapping[str, Results]) -> dict[str, Results]:
    return {result.about["benchmark"]: result for result in found.values() if result.about["size"] == "full"}


def topic(page: str, found: Mapping[str, Results]) -> str:
    """One page. Of quick results only their times are shown."""
    mine = {
        file: result
        for file, result in found.items()
        if result.about["size"] == "full"
        and (result.about["benchmark"] in registry.PAGES[page] or (page == "other" and result.about["benchmark"] not in registry.HOMES))
    }  # fmt: skip
    parts = [_HEAD.format(title=TITLES[page])]
    if page == "other":
        parts += [_listed(mine), _quick({f: r for f, r in found.items() if r.about["size"] != "full"})]
    else:
        parts += [_section(file, result) for file, result in mine.items()]
        have = {result.about["benchmark"] for result in mine.values()}
        lacking = [f"`{name}`" for name in registry.PAGES[page] if name not in have]
        if lacking:
            parts.append(
                f"## Not yet measured at full size\n\n{', '.join(lacking)}: `python -m benchmarks run ID --size full`.\n"
            )
    return "\n".join(part for part in parts if part)


def _listed(found: Mapping[str, Results]) -> str:
    lines = ["| what | file | command |", "|---|---|---|"]
    lines += [
        f"| {result.about['title']} | [{file}](../../benchmarks/results/{file}) | `{result.about['command']}` |"
        for file, result in found.items()
    ]
    return "\n".join([*lines, ""])


def _section(file: str, result: Results) -> str:
    about = result.about
    lines = [
        f"## {about['title']}",
        "",
        f"`{about['command']}`, {_time(about)} ({about['machine']['cpu']}). "
        f"[Everything measured](../../benchmarks/results/{file}).",
        "",
    ]
    for table, rows in result.by_table().items():
        lines += _table(table, rows)
    if (make := SUMMARIES.get(about["benchmark"])) is not None:
        lines += [*make(result.table("summary")), ""]
    unsafe = dict.fromkeys(row["unsafe"] for row in result.table("rows") if row.get("unsafe"))
    lines += [f"- *Unsafe*: {reason}" for reason in unsafe]
    # What is known today about a table, not only what was known on the day of the run.
    known = about["benchmark"] in registry.names()
    lines += [f"- {note}" for note in (registry.get(about["benchmark"]).notes if known else about["notes"])]
    lines += [f"- {about['note']}"] if "note" in about else []
    return "\n".join([*lines, ""])


def _time(about: Mapping[str, Any]) -> str:
    """When, and how long it took: its work, and the clock where it ran in one go and alone."""
    if "work_seconds" not in about:
        return f"{about['machine']['cores']} cores"
    processes = about["machine"].get("processes", about["machine"]["cores"])
    work = f"{about['created'][:10]}: {about['work_seconds']:,.0f} s of work"
    if about.get("resumed_batches") or about.get("lacking") or about.get("together", 1) > 1:
        return f"{work} on {processes} cores"
    return f"{work}, {about['seconds']:,.0f} s by the clock on {processes} cores"


def _table(title: str, rows: Sequence[Row]) -> list[str]:
    """One line a row of the table, its metrics side by side."""
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    papers = any(row["paper"] is not None for row in rows)
    kinds = {"paper_epsilon": "ε paper", "epsilon": "ε unconditional", "data_dependent": "ε data-dependent"}
    private = any(row.get(kind) is not None for row in rows for kind in kinds)
    notes = {row.get("note") or "" for row in rows}
    noted = len(notes) > 1
    head = [""]
    for metric in metrics:
        head += [f"{metric}, paper", f"{metric}, measured"] if papers else [metric]
    head += kinds.values() if private else []
    head += ["note"] if noted else []
    shared = f": {next(iter(notes))}" if not noted and any(notes) else ""
    lines = [f"**{title}**{shared}", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(row["row"] for row in rows):
        mine = {row["metric"]: row for row in rows if row["row"] == name}
        any_row = next(iter(mine.values()))
        cells = [name + (" *(unsafe)*" if any_row.get("unsafe") else "")]
        for metric in metrics:
            row = mine.get(metric)
            cells += [number(row["paper"] if row else None)] if papers else []
            cells.append(_measured(row) if row else "")
        cells += [number(any_row.get(kind)) for kind in kinds] if private else []
        cells += [any_row.get("note") or ""] if noted else []
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _quick(found: Mapping[str, Results]) -> str:
    """That a table runs at all, and how long; its figures are those of shortened training, and shown nowhere."""
    if not found:
        return ""
    lines = [
        "## Quick runs",
        "",
        "They show that a table runs, with shortened training and few rows; their figures mean nothing. What tables of one "
        "command share is counted in each.",
        "",
        "| table | command | seconds of a processor |",
        "|---|---|---|",
    ]
    for file, result in found.items():
        about = result.about
        link = f"[{about['title']}](../../benchmarks/results/{file})"
        lines.append(f"| {link} | `{about['command']}` | {about['work_seconds']:.0f} |")
    total = sum(result.about["work_seconds"] for result in found.values())
    return "\n".join([*lines, f"| together | | {total:.0f} |", ""])


def _measured(row: Row) -> str:
    mean = number(row["mean"])
    if row.get("low") is None or row.get("high") is None or not mean:
        return mean
    return f"{mean} ({number(row['low'])} to {number(row['high'])})"
