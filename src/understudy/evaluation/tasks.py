"""Many small computations: shared out to processes, each kept by the content that it was computed from.

A plain digest of private rows is a fingerprint: who holds a guess of a table could confirm it by a file's name. So all names
and keys in a cache folder are digests under a random key, which lies beside them, readable by its owner alone.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as once
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from understudy._parallel import share_out
from understudy._resumable import ResultsLog
from understudy.errors import InputError
from understudy.evaluation.features import Rows

_KEY_FILE, _KEY_BYTES = "key", 32


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
    secret = b"" if cache is None else _secret(_folder(cache))
    log = None if cache is None else ResultsLog(Path(cache) / f"{_keyed(secret, name)[:16]}.jsonl")
    results: dict[str, dict[str, Any]] = {}
    left: list[Task] = []
    for task in tasks:
        before = None if log is None else log.get(_key(secret, task))
        if before is None:
            left.append(task)
        else:
            results[task.label] = before
    left.sort(key=lambda task: -task.cost)
    work = [(task.label, _key(secret, task), task.function, task.args) for task in left]
    for label, key, result in share_out(_run, work, jobs=jobs, total=len(tasks), done=len(results), what="evaluating"):
        if log is not None:
            log.add(key, result)
        results[label] = result
    return results


def _run(label: str, key: str, function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, str, Any]:
    return label, key, function(*args)


def _key(secret: bytes, task: Task) -> str:
    return _keyed(secret, content(task.function.__name__, task.key, _source()))


def _keyed(secret: bytes, digest: str) -> str:
    return hmac.new(secret, digest.encode(), hashlib.sha256).hexdigest()


def _folder(cache: str | Path) -> Path:
    folder = Path(cache)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}. Name another --cache.") from None
    return folder


def _secret(folder: Path) -> bytes:
    """The key of a cache folder, made with the folder. It appears whole or not at all; a process that comes second takes it."""
    path = folder / _KEY_FILE
    try:
        if not path.exists():
            own = folder / f".{secrets.token_hex(8)}.new"
            with open(os.open(own, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(own, path)
            except FileExistsError:
                pass
            finally:
                own.unlink()
        secret = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot keep the key {path} of the cache: {error.strerror or error}. Name another --cache."
        ) from None
    if len(secret) != _KEY_BYTES:
        raise InputError(
            f"the key {path} of the cache is damaged: remove the folder {folder}, or name another --cache."
        )
    return secret


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
