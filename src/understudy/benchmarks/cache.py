"""What an interrupted run has measured already: one line of JSON for each batch of repeats, written as it comes.

The key of a line is a digest of everything that could change the numbers: the benchmark, the part with its settings,
the repeats, and the source code of the package. Another setting or an edited line of code finds nothing here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import understudy
from understudy.benchmarks.declare import Measured, Part
from understudy.errors import InputError


@dataclass(frozen=True)
class Batch:
    """The measurements of one batch of repeats, and the seconds they took."""

    measured: list[Measured]
    seconds: float


class Cache:
    """A file of batches. Only whole lines count: the one that was being written when the power went is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, Batch] = {}
        if not path.exists():
            return
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                self._found[entry["key"]] = Batch(entry["measured"], float(entry["seconds"]))
            except (json.JSONDecodeError, KeyError, TypeError, ValueError):
                continue

    def get(self, key: str) -> Batch | None:
        return self._found.get(key)

    def add(self, key: str, batch: Batch) -> None:
        """Keep a batch, on the disk before this returns."""
        text = json.dumps({"key": key, "measured": batch.measured, "seconds": batch.seconds})
        try:
            with self.path.open("a", encoding="utf-8") as file:
                # A line of its own, even after a half-written one.
                file.write(f"\n{text}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"cannot keep results in {self.path}: {error.strerror or error}.") from None
        self._found[key] = batch

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def key(benchmark: str, part: Part, repeats: list[int]) -> str:
    """The digest of everything that a batch's numbers depend on."""
    what: Mapping[str, Any] = {
        "benchmark": benchmark,
        "part": part.name,
        "measure": part.measure,
        "settings": part.settings,
        "repeats": repeats,
        "source": source_digest(),
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@cache
def source_digest() -> str:
    """A digest of the package's source, the command line left out: it holds no logic."""
    root = Path(understudy.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        if "cli" not in file.relative_to(root).parts:
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
