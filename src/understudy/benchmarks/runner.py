"""The one runner of all benchmarks: repeats in parallel, kept as they come, summarised and written at the end."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy._parallel import share_out
from understudy.benchmarks.cache import Batch, Cache, key
from understudy.benchmarks.declare import SIZES, Benchmark, Measured, Part, Size
from understudy.benchmarks.machine import machine, versions
from understudy.benchmarks.result import FORMAT, Result, result_path, rows, summaries
from understudy.errors import InputError
from understudy.tables.files import check_writable, write_text


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
    if size not in SIZES:
        raise InputError(f"`size` (={size!r}) must be one of {', '.join(SIZES)}.")
    if repeats is not None and repeats < 1:
        raise InputError(f"`repeats` (={repeats}) must be at least 1.")
    if jobs == 0 or jobs < -1:
        raise InputError(f"`jobs` (={jobs}) must be a number of processes, or -1 for one a core.")
    target = _target(out, benchmark.id, size)
    _require(benchmark)
    started = time.monotonic()
    number = benchmark.repeats[size] if repeats is None else repeats
    parts = benchmark.parts(size, number)
    store = Cache(target.with_name(f".{target.stem}.partial.jsonl"))
    batches, resumed = _measure_all(benchmark.id, parts, store, jobs)
    measured = {
        part.name: [one for mine in part.batches() for one in batches[key(benchmark.id, part, mine)].measured]
        for part in parts
    }
    found = summaries(measured)
    body: dict[str, Any] = {
        "format": FORMAT,
        "benchmark": benchmark.id,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "size": size,
        "command": command or _command(benchmark.id, size, repeats),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 1),
        "work_seconds": round(sum(batch.seconds for batch in batches.values()), 1),
        "resumed_batches": resumed,
        "machine": machine(),
        "versions": versions(),
        "parts": {
            part.name: {
                "repeats": part.repeats,
                "first": part.first,
                "seconds": round(sum(batches[key(benchmark.id, part, mine)].seconds for mine in part.batches()), 1),
                "settings": dict(part.settings),
            }
            for part in parts
        },
        "notes": list(benchmark.notes),
        "figures": [],
        "rows": rows(benchmark, found),
        "measured": found,
    }
    result = Result(json.loads(json.dumps(body)))
    figures = _draw(benchmark, result, target)
    result = Result({**result.body, "figures": figures})
    write_text(target, result.to_json())
    store.remove()
    return result


def _target(out: str | Path, name: str, size: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror or error}. Name another with --out."
        ) from None
    return check_writable(result_path(folder, name, size))


def _require(benchmark: Benchmark) -> None:
    """Fetch or find the data before anything runs: ten processes must not each find that it is missing."""
    from understudy import datasets

    for name in benchmark.datasets:
        datasets.path(name)


def _command(name: str, size: str, repeats: int | None) -> str:
    return f"understudy bench run {name} --size {size}" + (f" --repeats {repeats}" if repeats is not None else "")


def _measure_all(name: str, parts: Any, store: Cache, jobs: int) -> tuple[dict[str, Batch], int]:
    """Every batch by its key, from the file of an interrupted run or measured now; and how many came from the file."""
    wanted = [(part, mine, key(name, part, mine)) for part in parts for mine in part.batches()]
    done = {k: batch for _, _, k in wanted if (batch := store.get(k)) is not None}
    resumed = len(done)
    missing = [(part, mine, k) for part, mine, k in wanted if k not in done]
    for k, batch in share_out(_measure, missing, jobs=jobs, total=len(wanted), done=resumed, what="measuring"):
        store.add(k, batch)
        done[k] = batch
    return done, resumed


def _measure(part: Part, repeats: list[int], k: str) -> tuple[str, Batch]:
    began = time.perf_counter()
    measured: list[Measured] = [
        {name: [float(v) for v in value] if isinstance(value, list) else float(value) for name, value in one.items()}
        for one in part.function()(part.settings, repeats)
    ]
    if len(measured) != len(repeats):
        raise InputError(f"part {part.name!r} measured {len(measured)} repeats instead of {len(repeats)}.")
    return k, Batch(measured, time.perf_counter() - began)


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
