"""Crafted files by the hundred thousand: does every one end in an answer or a plain refusal, soon and in little memory?

Each repeat is a batch of files of one kind, made from good ones and a seed, opened one after the other in a process of its
own. The process may take 1 GiB more than it has when the good files have been opened, or the system refuses it; a file
over 5 s of processor time ends its batch's good record, and so does a process that dies.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks import mutation
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.mutation import Files
from benchmarks.result import Row, grouped

SECONDS, BYTES = 5.0, 2**30
KINDS = ("release", "certificate", "schema", "table", "images")
QUICK = ("moments", "pate")
"""Methods whose releases a quick run starts from: their fits take seconds."""


def good(kind: str, methods: Sequence[str] | None = None) -> list[Files]:
    """Files of that kind as this program writes them; releases of all private methods, or of those named."""
    from understudy import registry
    from understudy.audit import worlds
    from understudy.privacy import Budget

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind == "release":
            for entry in registry.entries():
                for takes in entry.takes:
                    if entry.attacks and takes != "public rows" and (methods is None or entry.name in methods):
                        data = worlds.table() if takes == "table" else worlds.pictures()
                        worlds.fit(entry, data, Budget(1.0, 1e-5)).save(folder / f"{entry.name}-{takes}")
            return [_read(one) for one in sorted(folder.iterdir())]
        if kind == "certificate":
            stored = Path(__file__).parents[1] / "tests" / "privacy" / "certificates"
            return [{"certificate.json": file.read_bytes()} for file in sorted(stored.rglob("*.json"))]
        if kind == "schema":
            for suffix in (".yaml", ".json"):
                worlds.SCHEMA.write(folder / f"schema{suffix}")
        elif kind == "table":
            from understudy.tables import write_table

            for suffix in (".csv", ".csv.gz", ".parquet", ".feather"):
                write_table(worlds.table(40), folder / f"table{suffix}")
        else:
            from understudy.images import write_npz

            write_npz(worlds.pictures(6), folder / "images.npz")
        return [{file.name: file.read_bytes()} for file in sorted(folder.iterdir())]


_good = lru_cache(maxsize=None)(good)


def _read(folder: Path) -> Files:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def crafted(kind: str, files: Files, rng: random.Random) -> Files:
    if kind == "certificate":
        return {name: mutation.certificate(data, rng) for name, data in files.items()}
    change: dict[str, Callable[[Files, random.Random], Files]] = {
        "release": mutation.release,
        "schema": mutation.schema,
    }
    return change.get(kind, mutation.packed)(files, rng)


def opened(kind: str, folder: Path, name: str) -> None:
    """Open the file as a clerk would, and use what is in it."""
    from understudy import registry
    from understudy.images import read_npz
    from understudy.privacy import Certificate
    from understudy.tables import Schema, read_table

    path = folder / name
    match kind:
        case "release":
            loaded = registry.load(folder)
            if hasattr(loaded, "sample"):
                loaded.sample(3, random_state=0)
            elif hasattr(loaded, "labelled_rows_"):
                loaded.student_.predict(loaded.labelled_rows_[:3])
        case "certificate":
            Certificate.load(path).verify()
        case "schema":
            Schema.read(path).to_yaml()
        case "table":
            read_table(path)
        case _:
            read_npz(path)


def fuzz(
    kind: str,
    seeds: Sequence[Files],
    first: int,
    count: int,
    folder: Path,
    tell: Callable[[int], None] = lambda at: None,
) -> dict[str, Any]:
    """Open `count` crafted files. What is no `InputError` is a traceback, and is kept with the number that makes it again."""
    from understudy.errors import InputError

    accepted = refused = 0
    slowest, slow, broken = 0.0, list[int](), list[dict[str, Any]]()
    for number in range(first, first + count):
        tell(number)
        rng = random.Random(f"{kind} {number}")
        files = crafted(kind, rng.choice(seeds), rng)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        began = time.process_time()
        try:
            opened(kind, folder, next(iter(files)))
            accepted += 1
        except InputError:
            refused += 1
        except Exception:
            broken.append({"number": number, "said": traceback.format_exc(limit=-4)})
        took = time.process_time() - began
        slowest = max(slowest, took)
        if took > SECONDS:
            slow.append(number)
    return {
        "files": count, "accepted": accepted, "refused": refused, "tracebacks": len(broken), "over_5_s": len(slow),
        "slowest_seconds": round(slowest, 2), "peak_mb": peak() >> 20,
        "broken": broken, "slow": slow,
    }  # fmt: skip


def peak() -> int:
    """The most memory that this program ever held, in bytes; `getrusage` would count what its parent held at the start."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _limit_memory() -> None:
    """What is mapped now, and a gibibyte: beyond, the system says no, and that is a traceback."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def child(kind: str, first: int, count: int, store: Path) -> None:
    """One batch, in this process. The number of the file at hand is kept, in case the process dies of it."""
    warnings.simplefilter("ignore")
    seeds = [
        {name: bytes.fromhex(data) for name, data in files.items()}
        for files in json.loads((store / "seeds.json").read_text())
    ]
    work = Path(tempfile.mkdtemp(dir=store))
    for files in seeds:
        for name, data in files.items():
            (work / name).write_bytes(data)
        try:
            opened(kind, work, next(iter(files)))
        except ValueError as error:  # stored certificates of what is not private never verify
            if kind != "certificate":
                raise AssertionError("a good file was refused") from error
    _limit_memory()
    at = os.open(store / f"at-{first}", os.O_CREAT | os.O_WRONLY, 0o600)

    def tell(number: int) -> None:
        os.pwrite(at, b"%12d" % number, 0)

    found = fuzz(kind, seeds, first, count, work, tell)
    print(json.dumps(found))


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Batches of crafted files, each in a process of its own."""
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        store = Path(name)
        seeds = _good(settings["kind"], tuple(settings["methods"]) if "methods" in settings else None)
        plain = [{name: data.hex() for name, data in files.items()} for files in seeds]
        (store / "seeds.json").write_text(json.dumps(plain))
        for repeat in repeats:
            began = time.perf_counter()
            first = repeat * settings["files"]
            words = [
                sys.executable,
                "-m",
                "benchmarks.fuzz",
                settings["kind"],
                str(first),
                str(settings["files"]),
                name,
            ]
            limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
            ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **limits}, check=False)
            if ended.returncode:
                at = (store / f"at-{first}").read_text().strip() if (store / f"at-{first}").exists() else "the start"
                raise RuntimeError(f"the reader died at {settings['kind']} {at}:\n{ended.stderr[-2000:]}")
            result = json.loads(ended.stdout.splitlines()[-1])
            for one in result.pop("broken")[:5]:
                print(f"{settings['kind']} {one['number']}:\n{one['said']}", file=sys.stderr)
            result.pop("slow")
            found.append(result | {"over_1_gb": int(result["peak_mb"] > 1024), "seconds": time.perf_counter() - began})
    return found


def parts(size: Size, repeats: int) -> list[Part]:
    shares = {"release": 3_000, "certificate": 5_000, "schema": 6_000, "table": 12_000, "images": 24_000}
    methods: dict[str, Any] = {"methods": list(QUICK)} if size == "quick" else {}
    return [
        Part(kind, "benchmarks.fuzz:measure", {"kind": kind, "files": count if size == "full" else count // 20} | (methods if kind == "release" else {}), repeats)
        for kind, count in shares.items()
    ]  # fmt: skip


def summary(runs: Sequence[Row]) -> list[Row]:
    sums = ("files", "accepted", "refused", "tracebacks", "over_5_s", "over_1_gb", "seconds")
    rows: list[Row] = [
        {
            "kind": kind,
            **{name: sum(run[name] for run in mine) for name in sums},
            **{name: max(run[name] for run in mine) for name in ("slowest_seconds", "peak_mb")},
        }
        for (kind,), mine in grouped(runs, "kind").items()
    ]
    total = {name: sum(row[name] for row in rows) for name in sums}
    return [*rows, {"kind": "all", **total, **{n: max(r[n] for r in rows) for n in ("slowest_seconds", "peak_mb")}}]


BENCHMARK = Benchmark(
    id="fuzz",
    title="Crafted releases, certificates, schemas, tables and image sets: all end in an answer or a plain refusal",
    repeats={"quick": 1, "full": 20},
    parts=parts,
    summary=summary,
    notes=(
        "Checksums fit in most of the crafted files. A reader may take 1 GiB more than the program itself; "
        "peak_mb counts both.",
    ),
)


if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
