"""The one runner of all benchmarks: repeats in parallel, kept as they come, summarised and written at the end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy._parallel import share_out
from understudy.benchmarks.cache import Batch, Cache, key
from understudy.benchmarks.declare import SIZES, Benchmark, Measured, Part, Size
from understudy.benchmarks.machine import machine, versions
from understudy.benchmarks.result import FORMAT, Result, result_path, rows, summaries
from understudy.errors import InputError
from understudy.files import check_writable, write_text


def run(
    benchmark: Benchmark,
    *,
    size: Size = "quick",
    repeats: int | None = None,
    out: str | Path = "benchmarks/results",
    jobs: int = -1,
    command: str | None = None,
) -> Result:
    """Run a benchmark and write `<id>-<size>.json` and its figures into the folder `out`.

    An interrupted run leaves what it has measured in a hidden file beside the result; the next one goes on from there.
    """
    (result,) = run_several([benchmark], size=size, repeats=repeats, out=out, jobs=jobs, command=command)
    return result


def run_several(
    benchmarks: Sequence[Benchmark],
    *,
    size: Size = "quick",
    repeats: int | None = None,
    out: str | Path = "benchmarks/results",
    jobs: int = -1,
    command: str | None = None,
    as_is: bool = False,
) -> Iterator[Result]:
    """Run benchmarks together, and give each as soon as it is done and written. What several have in common is measured once.

    Every part has its first repeat before any has its second, so that an interrupted run holds something of all.
    With `as_is` nothing is measured: results are written from what an interrupted run has kept, and say what they lack.
    """
    if size not in SIZES:
        raise InputError(f"`size` (={size!r}) must be one of {', '.join(SIZES)}.")
    if repeats is not None and repeats < 1:
        raise InputError(f"`repeats` (={repeats}) must be at least 1.")
    if jobs == 0 or jobs < -1:
        raise InputError(f"`jobs` (={jobs}) must be a number of processes, or -1 for one a core.")
    if not benchmarks:
        raise InputError("no benchmark was named; `understudy bench list` shows them.")
    command = command or _command([one.id for one in benchmarks], size, repeats)
    plans = [_plan(one, size, repeats, out) for one in benchmarks]
    more = f"+{len(plans) - 1}" if len(plans) > 1 else ""
    store = Cache(plans[0].target.with_name(f".{plans[0].benchmark.id}{more}-{size}.partial.jsonl"))
    if as_is and not store.path.exists():
        raise InputError(f"no interrupted run of this command has kept anything in {store.path.parent}.")
    if not as_is:
        for plan in plans:
            _require(plan)
    return _run(plans, store, jobs, command, as_is)


@dataclass(frozen=True)
class Plan:
    """What one benchmark of a run needs: its parts, and the key of each batch of their repeats."""

    benchmark: Benchmark
    size: Size
    target: Path
    parts: Sequence[Part]
    keys: dict[str, list[str]]

    def tasks(self) -> list[tuple[int, Part, list[int], str]]:
        return [
            (place, part, mine, self.keys[part.name][place])
            for part in self.parts
            for place, mine in enumerate(part.batches())
        ]

    def wanted(self) -> list[str]:
        return [k for keys in self.keys.values() for k in keys]


def _plan(benchmark: Benchmark, size: Size, repeats: int | None, out: str | Path) -> Plan:
    target = _target(out, benchmark.id, size)
    parts = benchmark.parts(size, benchmark.repeats[size] if repeats is None else repeats)
    keys = {part.name: [key(part, mine) for mine in part.batches()] for part in parts}
    return Plan(benchmark, size, target, parts, keys)


def _run(plans: Sequence[Plan], store: Cache, jobs: int, command: str, as_is: bool) -> Iterator[Result]:
    """Every batch from the file of an interrupted run or measured now; each result when its last batch is there."""
    started = time.monotonic()
    tasks = {task[3]: task for plan in plans for task in plan.tasks()}
    done = {k: batch for k in tasks if (batch := store.get(k)) is not None}
    kept = frozenset(done)
    missing = sorted((task for k, task in tasks.items() if k not in done), key=lambda task: task[0])
    facts = {"command": command, "processes": _processes(jobs), "together": len(plans)}
    left = list(plans)

    def finished() -> Iterator[Result]:
        for plan in [p for p in left if all(k in done for k in p.wanted())]:
            left.remove(plan)
            yield _write(plan, done, kept, time.monotonic() - started, facts)

    yield from finished()
    if as_is:
        for plan in left:
            yield _write(plan, done, kept, time.monotonic() - started, facts)
        return
    work = ((part, mine, k) for _, part, mine, k in missing)
    for k, batch in share_out(_measure, work, jobs=jobs, total=len(tasks), done=len(kept), what="measuring"):
        if batch.error is None:
            store.add(k, batch)
        done[k] = batch
        yield from finished()
    if all(batch.error is None for batch in done.values()):
        store.remove()


def _write(plan: Plan, done: dict[str, Batch], kept: frozenset[str], seconds: float, facts: dict[str, Any]) -> Result:
    benchmark = plan.benchmark
    batches = {name: [done[k] for k in keys if k in done] for name, keys in plan.keys.items()}
    measured = {name: [one for batch in mine for one in batch.measured] for name, mine in batches.items()}
    found = summaries({name: repeats for name, repeats in measured.items() if repeats})
    lacking = {part.name: why for part in plan.parts if (why := _lacking(part, batches[part.name]))}
    body: dict[str, Any] = {
        "format": FORMAT,
        "benchmark": benchmark.id,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "size": plan.size,
        "command": facts["command"],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "together": facts["together"],
        "work_seconds": round(sum(batch.seconds for mine in batches.values() for batch in mine), 1),
        "resumed_batches": sum(k in kept for k in plan.wanted()),
        "machine": machine() | {"processes": facts["processes"]},
        "versions": versions(),
        "parts": {
            part.name: {
                "repeats": len(measured[part.name]),
                "first": part.first,
                "seconds": round(sum(batch.seconds for batch in batches[part.name]), 1),
                "settings": dict(part.settings),
            }
            for part in plan.parts
        },
        "lacking": lacking,
        "notes": list(benchmark.notes),
        "figures": [],
        "rows": rows(benchmark, found, lacking),
        "measured": found,
    }
    result = Result(json.loads(json.dumps(body)))
    result = Result({**result.body, "figures": _draw(benchmark, result, plan.target)})
    write_text(plan.target, result.to_json())
    return result


def _lacking(part: Part, batches: Sequence[Batch]) -> str:
    """Why a part has fewer repeats than were asked for; nothing if it has them all."""
    failed = [batch.error for batch in batches if batch.error is not None]
    if failed:
        return f"failed: {failed[0]}"
    there = sum(len(batch.measured) for batch in batches)
    return "" if there == part.repeats else f"{there} of {part.repeats} repeats, the run was interrupted"


def _processes(jobs: int) -> int:
    return (
        jobs if jobs > 0 else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def _target(out: str | Path, name: str, size: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror or error}. Name another with --out."
        ) from None
    return check_writable(result_path(folder, name, size))


def _require(plan: Plan) -> None:
    """Fetch or find the data before anything runs: ten processes must not each find that it is missing.

    A size may leave datasets out: those that no part names are not asked for, if parts name any.
    """
    from understudy import datasets

    named = {part.settings.get("dataset") for part in plan.parts} & set(plan.benchmark.datasets)
    for name in plan.benchmark.datasets:
        if name in named or not named:
            datasets.path(name)


def _command(names: Sequence[str], size: str, repeats: int | None) -> str:
    given = f" --repeats {repeats}" if repeats is not None else ""
    return f"understudy bench run {' '.join(names)} --size {size}{given}"


def _measure(part: Part, repeats: list[int], k: str) -> tuple[str, Batch]:
    """One batch, in seconds of the processor: they do not depend on how busy a machine is. What fails stops nothing else."""
    began = time.process_time()
    try:
        found = part.function()(part.settings, repeats)
    except Exception as error:
        said = str(error).splitlines()
        return k, Batch([], time.process_time() - began, f"{type(error).__name__}: {said[0] if said else ''}")
    measured: list[Measured] = [
        {name: [float(v) for v in value] if isinstance(value, list) else float(value) for name, value in one.items()}
        for one in found
    ]
    if len(measured) != len(repeats):
        raise InputError(f"part {part.name!r} measured {len(measured)} repeats instead of {len(repeats)}.")
    return k, Batch(measured, time.process_time() - began)


def _draw(benchmark: Benchmark, result: Result, target: Path) -> list[str]:
    """The figures as SVG beside the result, the same bytes for the same numbers."""
    if benchmark.figures is None:
        return []
    import matplotlib as mpl

    names: list[str] = []
    with mpl.rc_context({"svg.hashsalt": benchmark.id, "svg.fonttype": "none", "path.simplify": True}):
        for name, figure in benchmark.figures(result).items():
            path = target.with_name(f"{target.stem}-{name}.svg")
            figure.savefig(path, format="svg", metadata={"Date": None}, bbox_inches="tight")
            names.append(path.name)
    return names
