"""Results written as they come, one line of JSON each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from understudy.errors import InputError


class ResultsLog:
    """A file of results under keys, from which an interrupted run goes on. A line that was cut off when the power went
    does not count.

    The file is for its owner's eyes alone: results may be private.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: dict[str, dict[str, Any]] = {}
        if not path.exists():
            return
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                self._results[entry.pop("key")] = entry
            except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
                continue

    def get(self, key: str) -> dict[str, Any] | None:
        return self._results.get(key)

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Write a result; it is on the disk when this returns."""
        text = json.dumps({"key": key, **entry})
        try:
            with open(os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "a", encoding="utf-8") as file:
                # A line of its own, even after a half-written one.
                file.write(f"\n{text}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"cannot keep results in {self.path}: {error.strerror or error}.") from None
        self._results[key] = entry

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
