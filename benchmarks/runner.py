"""The one runner of all benchmarks: repeats in parallel, kept as they come, summarised and written at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.cache import Batch, Cache, key
from benchmarks.declare import SIZES, Benchmark, Measured, Part, Size
from benchmarks.machine import cores, machine, versions
from benchmarks.result import RESULTS, Results, Row, merge, quoted, read, result_path, select, short, summaries
from understudy._parallel import share_out
from understudy.errors import InputError
from understudy.files import check_writable


@dataclass(frozen=True)
class Options:
    """What a run is asked for. `only` takes the parts whose name holds one of these texts, `first` adds to their first repeat.

    `fill` leaves out what the file holds already. With `as_is` nothing is measured: results are written from what an
    interrupted run has kept, and say what they lack.
    """

    size: Size = "quick"
    repeats: int | None = None
    out: str | Path = RESULTS
    jobs: int = -1
    only: tuple[str, ...] = ()
    first: int = 0
    fill: bool = False
    as_is: bool = False

    def check(self) -> None:
        if self.size not in SIZES:
            raise InputError(f"`size` (={self.size!r}) must be one of {', '.join(SIZES)}.")
        if self.repeats is not None and self.repeats < 1:
            raise InputError(f"`repeats` (={self.repeats}) must be at least 1.")
        if self.jobs == 0 or self.jobs < -1:
            raise InputError(f"`jobs` (={self.jobs}) must be a number of processes, or -1 for one a core.")
        if self.first < 0:
            raise InputError(f"`first` (={self.first}) must not be negative.")

    def command(self, names: Sequence[str]) -> str:
        said = [f"python -m benchmarks run {' '.join(names)} --size {self.size}"]
        said += [f"--repeats {self.repeats}"] if self.repeats is not None else []
        said += [f"--first {self.first}"] if self.first else []
        said += [f'--only "{text}"' for text in self.only]
        return " ".join(said)


def run(benchmark: Benchmark, **options: Any) -> Results:
    """Run a benchmark and write `<id>-<size>.json` and its figures into the folder `out`.

    An interrupted run leaves what it has measured in a hidden file beside the result; the next one goes on from there.
    """
    (result,) = run_several([benchmark], Options(**options))
    return result


def run_several(benchmarks: Sequence[Benchmark], options: Options) -> Iterator[Results]:
    """Run benchmarks together, and give each as soon as it is done and written. What several have in common is measured once.

    Every part has its first repeat before any has its second, so that an interrupted run holds something of all.
    """
    options.check()
    if not benchmarks:
        raise InputError("no benchmark was named; `python -m benchmarks list` shows them.")
    plans = [_plan(one, options) for one in benchmarks]
    more = f"+{len(plans) - 1}" if len(plans) > 1 else ""
    store = Cache(plans[0].target.with_name(f".{plans[0].benchmark.id}{more}-{options.size}.partial.jsonl"))
    if options.as_is and not store.path.exists():
        raise InputError(f"no interrupted run of this command has kept anything in {store.path.parent}.")
    if not options.as_is:
        for plan in plans:
            _require(plan)
    return _run(plans, store, options)


@dataclass(frozen=True)
class Plan:
    """What one benchmark of a run needs: its parts, and the key of each batch of their repeats."""

    benchmark: Benchmark
    target: Path
    parts: Sequence[Part]
    batches: dict[str, list[tuple[list[int], str]]]
    before: Results | None

    def tasks(self) -> Iterator[tuple[int, Part, list[int], str, bool]]:
        for part in self.parts:
            for place, (repeats, k) in enumerate(self.batches[part.name]):
                yield place, part, repeats, k, not self.benchmark.quotes

    def wanted(self) -> list[str]:
        return [k for batches in self.batches.values() for _, k in batches]


def _plan(benchmark: Benchmark, options: Options) -> Plan:
    target = _target(options.out, benchmark.id, options.size)
    repeats = benchmark.repeats[options.size] if options.repeats is None else options.repeats
    parts = [replace(part, first=part.first + options.first) for part in benchmark.parts(options.size, repeats)]
    known = [part.name for part in parts]
    if options.only:
        parts = [part for part in parts if any(text in part.name for text in options.only)]
    if not parts:
        raise InputError(f"no part of {benchmark.id} is called like `only`; there are: {'; '.join(known)}.")
    # A file that is there is added to, unless all of it is measured anew.
    add = options.only or options.fill or not benchmark.quotes
    before = read(target) if add and target.exists() else None
    there = before if options.fill else None
    batches = {
        part.name: [(mine, key(part, mine)) for mine in part.batches() if not _has(there, benchmark, part, mine)]
        for part in parts
    }
    return Plan(benchmark, target, parts, batches, before)


def _has(there: Results | None, benchmark: Benchmark, part: Part, repeats: Sequence[int]) -> bool:
    """Whether a result holds a batch."""
    if there is None:
        return False
    if benchmark.quotes:
        return any(row["repeats"] >= part.repeats for row in select(there.table("measured"), part=part.name))
    return all(any(True for _ in select(there.table("runs"), **part.settings, seed=seed)) for seed in repeats)


def _run(plans: Sequence[Plan], store: Cache, options: Options) -> Iterator[Results]:
    """Every batch from the file of an interrupted run or measured now; each result when its last batch is there."""
    started = time.monotonic()
    tasks = {task[3]: task for plan in plans for task in plan.tasks()}
    done = {k: batch for k in tasks if (batch := store.batch(k)) is not None}
    kept = frozenset(done)
    missing = sorted((task for k, task in tasks.items() if k not in done), key=lambda task: task[0])
    alone = any(plan.benchmark.alone for plan in plans)
    processes = 1 if alone else options.jobs if options.jobs > 0 else cores()
    facts = {
        "command": options.command([plan.benchmark.id for plan in plans]),
        "size": options.size,
        "processes": processes,
        "together": len(plans),
    }
    left = list(plans)

    def finished() -> Iterator[Results]:
        for plan in [p for p in left if all(k in done for k in p.wanted())]:
            left.remove(plan)
            yield _write(plan, done, kept, time.monotonic() - started, facts)

    yield from finished()
    if options.as_is:
        for plan in left:
            yield _write(plan, done, kept, time.monotonic() - started, facts)
        return
    work = [task[1:] for task in missing]
    measured: Iterable[tuple[str, Batch]] = (
        (_measure(*task) for task in work)
        if alone
        else share_out(_measure, work, jobs=options.jobs, total=len(tasks), done=len(kept), what="measuring")
    )
    for k, batch in measured:
        if batch.error is None:
            store.add_batch(k, batch)
        done[k] = batch
        yield from finished()
    if all(batch.error is None for batch in done.values()):
        store.remove()


def _write(plan: Plan, done: dict[str, Batch], kept: frozenset[str], seconds: float, facts: dict[str, Any]) -> Results:
    benchmark = plan.benchmark
    batches = {name: [(mine, done[k]) for mine, k in keys if k in done] for name, keys in plan.batches.items()}
    works = {name: sum(batch.seconds for _, batch in mine) for name, mine in batches.items()}
    lacking = {part.name: why for part in plan.parts if (why := _lacking(plan, part, batches[part.name]))}
    about: dict[str, Any] = {
        "benchmark": benchmark.id,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "size": facts["size"],
        "command": facts["command"],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "together": facts["together"],
        "work_seconds": round(sum(works.values()), 1),
        "resumed_batches": sum(k in kept for k in plan.wanted()),
        "machine": machine() | {"processes": facts["processes"]},
        "versions": versions(),
        "lacking": lacking,
        "notes": list(benchmark.notes),
    }
    parts: list[Row] = [
        {
            "name": part.name,
            "repeats": sum(len(mine) for mine, batch in batches[part.name] if batch.error is None),
            "first": part.first,
            "seconds": round(works[part.name], 1),
            "settings": dict(part.settings),
        }
        for part in plan.parts
    ]
    result = Results(about, {"parts": parts})
    if benchmark.quotes:
        measured = {name: [one for _, batch in mine for one in batch.measured] for name, mine in batches.items()}
        result.tables["measured"] = summaries({name: repeats for name, repeats in measured.items() if repeats})
        result.tables["rows"] = quoted(benchmark, result.tables["measured"], lacking)
    else:
        rows = [
            {**part.settings, "seed": mine[0], **row}
            for part in plan.parts
            for mine, batch in batches[part.name]
            for row in batch.measured
        ]
        result.facts = (*dict.fromkeys(name for part in plan.parts for name in part.settings), "seed")
        result.tables["runs"] = json.loads(json.dumps(rows))
        if benchmark.summary is not None:
            result.tables["summary"] = list(benchmark.summary(result.table("runs")))
    if plan.before is not None:
        again = {result.identity(row) for row in result.table("runs")}
        if benchmark.quotes or not all(result.identity(row) in again for row in plan.before.table("runs")):
            result = merge([result, plan.before], benchmark)
    result.about["figures"] = _draw(benchmark, result, plan.target)
    result.write(plan.target)
    return result


def _lacking(plan: Plan, part: Part, batches: Sequence[tuple[list[int], Batch]]) -> str:
    """Why a part has fewer repeats than were asked for; nothing if it has them all, now or from an earlier run."""
    failed = [batch.error for _, batch in batches if batch.error is not None]
    if failed:
        return f"failed: {failed[0]}"
    open_still = sum(len(mine) for mine, _ in plan.batches[part.name])
    there = part.repeats - open_still + sum(len(mine) for mine, _ in batches)
    return "" if there == part.repeats else f"{there} of {part.repeats} repeats, the run was interrupted"


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


def _measure(part: Part, repeats: list[int], k: str, free: bool) -> tuple[str, Batch]:
    """One batch, in seconds of the processor: they do not depend on how busy a machine is. What fails stops nothing else."""
    began = time.process_time()
    try:
        found = part.function()(part.settings, repeats)
    except Exception as error:
        said = str(error).splitlines()
        return k, Batch([], time.process_time() - began, f"{type(error).__name__}: {said[0] if said else ''}")
    measured: list[Measured] = [{name: _plain(value, free) for name, value in one.items()} for one in found]
    if not free and len(measured) != len(repeats):
        raise InputError(f"part {part.name!r} measured {len(measured)} repeats instead of {len(repeats)}.")
    return k, Batch(measured, time.process_time() - began)


def _plain(value: Any, free: bool) -> Any:
    """Numbers of the array library as plain ones; those of a run are rounded, a mean is rounded when it is taken."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return short(value) if free else [float(v) for v in value] if isinstance(value, list) else float(value)


def _draw(benchmark: Benchmark, result: Results, target: Path) -> list[str]:
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
