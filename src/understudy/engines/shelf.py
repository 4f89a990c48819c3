"""What one pass makes of the rows and later passes need again: kept in memory up to a bound, then in a private folder.

Numbers in rising order, rows as codes: to look at them is a fraction of what reading the table again would cost. Nothing else
depends on it. What finds no room, on a disk that has little, is made again from the rows, and the sums are the same.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

IN_MEMORY = 1 << 28
"""Bytes that are kept in memory."""


@dataclass(frozen=True)
class _Files:
    """Arrays, each in a file of its own, by their places; None stands for them among the small things beside them."""

    paths: dict[int, Path]
    size: int
    beside: tuple[Any, ...]

    @classmethod
    def write(cls, folder: Path, made: tuple[Any, ...], size: int) -> _Files:
        """New files in that folder, which nobody else may open; none is left where they cannot be written."""
        files = cls({}, size, tuple(None if isinstance(one, np.ndarray) else one for one in made))
        try:
            for place, one in enumerate(made):
                if isinstance(one, np.ndarray):
                    handle, name = tempfile.mkstemp(suffix=".npy", dir=folder)
                    files.paths[place] = Path(name)
                    with open(handle, "wb") as file:
                        np.save(file, one, allow_pickle=False)
        except BaseException:
            files.remove()
            raise
        return files

    def read(self) -> tuple[Any, ...]:
        """Arrays stay in their files: a look that asks a few places of one reads these alone."""
        found = list(self.beside)
        for place, path in self.paths.items():
            found[place] = np.load(path, mmap_mode="r", allow_pickle=False)
        return tuple(found)

    def remove(self) -> None:
        for path in self.paths.values():
            path.unlink(missing_ok=True)


@dataclass
class Shelf:
    """Private: by part, batch and name a tuple of arrays and of small things beside them, none of which is None."""

    in_memory: int = IN_MEMORY
    _held: int = 0
    _written: int = 0
    _room: int = 0
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _found: dict[tuple[int, int, Hashable], tuple[Any, ...] | _Files] = field(default_factory=dict)
    _batches: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, part: int, batch: int, name: Hashable, made: tuple[Any, ...]) -> None:
        """Keep what was made of a batch, if there is room."""
        key, size = (part, batch, name), _size(made)
        with self._lock:
            if key in self._found:
                return
            if self._held + size <= self.in_memory:
                self._held += size
                self._found[key] = made
                return
            folder = self._open()
            if self._written + size > self._room:
                return
            self._written += size
        try:
            files = _Files.write(folder, made, size)
        except OSError:  # the disk is full: what was kept so far serves
            self._room = 0
            return
        with self._lock:
            self._found[key] = files

    def whole(self, part: int, batches: int) -> None:
        """A part was read to its end, in so many batches."""
        self._batches[part] = batches

    def kept(self, part: int, names: Sequence[Hashable]) -> Iterator[dict[Hashable, Any]] | None:
        """By name what was kept of each batch of a part, read as it is asked for; None if there is not all of it."""
        with self._lock:
            number = self._batches.get(part, 0)
            there = all((part, batch, name) in self._found for batch in range(number) for name in names)
        if not (names and number and there):
            return None
        return ({name: self._get(part, batch, name) for name in names} for batch in range(number))

    def forget(self, *names: Hashable) -> None:
        """Let go of what is kept by these names."""
        for key in [key for key in self._found if key[2] in names]:
            gone = self._found.pop(key)
            if isinstance(gone, _Files):
                gone.remove()
                self._written -= gone.size
            else:
                self._held -= _size(gone)

    def close(self) -> None:
        """Remove all of it."""
        self._found.clear()
        self._batches.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _get(self, part: int, batch: int, name: Hashable) -> tuple[Any, ...]:
        found = self._found[part, batch, name]
        return found.read() if isinstance(found, _Files) else found

    def _open(self) -> Path:
        """A folder that nobody else may open; half of what its disk has free may be filled."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(
                prefix="understudy-", suffix=".private", ignore_cleanup_errors=True
            )
            self._room = shutil.disk_usage(self._folder.name).free // 2
        return Path(self._folder.name)


def _size(made: tuple[Any, ...]) -> int:
    return sum(one.nbytes for one in made if isinstance(one, np.ndarray))
