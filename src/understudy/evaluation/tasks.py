"""Many small computations: shared out to processes, each kept by the content that it was computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as once
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from understudy._kept import Kept
from understudy._parallel import share_out
from understudy.errors import InputError
from understudy.evaluation.features import Rows


@dataclass(frozen=True)
class Task:
    """`function(*args)` gives a plain dictionary; `key` stands for all that it depends on; a high `cost` goes first."""

    label: str
    key: str
    function: Callable[..., dict[str, Any]]
    args: Sequence[Any]
    cost: int = 0


def content(*parts: object) -> str:
    """A digest of rows and plain values."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Rows):
            for array in (part.x, part.y):
                digest.update(f"{array.shape} {array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
            digest.update(part.note.encode())
        else:
            digest.update(f"{part!r}\0".encode())
    return digest.hexdigest()


def run_tasks(tasks: Sequence[Task], jobs: int, cache: str | Path | None, name: str) -> dict[str, dict[str, Any]]:
    """The result of every task by its label. With a `cache` folder, what its file `name` holds is not computed again."""
    kept = None if cache is None else Kept(_file(cache, name))
    found: dict[str, dict[str, Any]] = {}
    left: list[Task] = []
    for task in tasks:
        before = None if kept is None else kept.get(_key(task))
        if before is None:
            left.append(task)
        else:
            found[task.label] = before
    left.sort(key=lambda task: -task.cost)
    work = [(task.label, _key(task), task.function, task.args) for task in left]
    results = share_out(_run, work, jobs=jobs, total=len(tasks), done=len(found), what="evaluating")
    for label, key, result in results:
        if kept is not None:
            kept.add(key, result)
        found[label] = result
    return found


def _run(label: str, key: str, function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, str, Any]:
    return label, key, function(*args)


def _key(task: Task) -> str:
    return content(task.function.__name__, task.key, _source())


def _file(cache: str | Path, name: str) -> Path:
    folder = Path(cache)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}. Name another --cache.") from None
    return folder / f"{name[:16]}.jsonl"


@once
def _source() -> str:
    """What else the numbers depend on: the code of this room, and the libraries."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    for package in ("scikit-learn", "xgboost", "xgboost-cpu", "numpy"):
        try:
            digest.update(f"{package} {version(package)}".encode())
        except PackageNotFoundError:
            continue
    return digest.hexdigest()
