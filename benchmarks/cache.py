"""What an interrupted run has measured already: one line of JSON for each batch of repeats, written as it comes.

The key of a line is a digest of everything that could change the numbers: what is measured with which settings, the
repeats, and the source code. Another setting or an edited line of code finds nothing here; tables that share a measurement
share its line.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import understudy
from benchmarks.declare import Measured, Part
from understudy._resumable import ResultsLog


@dataclass(frozen=True)
class Batch:
    """The measurements of one batch of repeats, the seconds they took, and what went wrong if there are none."""

    measured: list[Measured]
    seconds: float
    error: str | None = None


class Cache(ResultsLog):
    """The batches in a file of kept results."""

    def batch(self, key: str) -> Batch | None:
        try:
            return None if (found := self.get(key)) is None else Batch(found["measured"], float(found["seconds"]))
        except (KeyError, TypeError, ValueError):
            return None

    def add_batch(self, key: str, batch: Batch) -> None:
        """Keep a batch, on the disk before this returns."""
        self.add(key, {"measured": batch.measured, "seconds": batch.seconds})


def key(part: Part, repeats: list[int]) -> str:
    """The digest of everything that a batch's numbers depend on."""
    what = {"measure": part.measure, "settings": part.settings, "repeats": repeats, "source": source_digest()}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


@cache
def source_digest() -> str:
    """A digest of the source of library and benchmarks, the command line left out: it holds no logic."""
    digest = hashlib.sha256()
    for root in (Path(understudy.__file__).parent, Path(__file__).parent):
        for file in sorted(root.rglob("*.py")):
            if not {"cli", ".venvs"} & set(file.relative_to(root).parts):
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
