"""What a fit will take, from public sizes alone, before anything is reserved: memory, time on one processor, a delta that is safe.

An estimate is a straight line through a few measured small fits, and no more than rough. Its use is to refuse what
cannot fit by far (a column of a hundred thousand categories), and to tell minutes from days.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import InputError

# Categories that nobody declared are found or pooled; so many at most are usual.
_UNDECLARED = 20


@dataclass(frozen=True)
class PublicSizes:
    """Public: rows, numbers in an encoded row, classes of the target."""

    rows: int
    width: int
    classes: int


@dataclass(frozen=True)
class Needs:
    """What a method takes, each a measured line: for the program, a number of the encoded table, a pair of columns a class.

    `steps` are settings whose product is the number of steps; with it `per_step` is in milliseconds.
    """

    megabytes: float = 400.0
    per_cell: float = 50.0
    per_pair: float = 0.0
    seconds: float = 5.0
    per_million_cells: float = 1.0
    per_million_pairs: float = 0.0
    steps: tuple[str, ...] = ()
    per_step: float = 0.0

    def estimate(self, sizes: PublicSizes, settings: Mapping[str, Any]) -> Expected:
        cells, pairs = sizes.rows * sizes.width, sizes.classes * sizes.width**2
        steps = math.prod(settings.get(name) or 1 for name in self.steps) if self.steps else 0
        return Expected(
            sizes,
            int(self.megabytes * 2**20 + self.per_cell * cells + self.per_pair * pairs),
            self.seconds
            + (self.per_million_cells * cells + self.per_million_pairs * pairs) / 1e6
            + self.per_step * steps / 1e3,
        )


@dataclass(frozen=True)
class Expected:
    """Bytes and seconds of one processor, roughly."""

    sizes: PublicSizes
    bytes: int
    seconds: float

    def words(self) -> str:
        size = f"{self.bytes / 2**30:.1f} GB" if self.bytes > 2**30 else f"{self.bytes >> 20} MB"
        minutes = self.seconds / 60
        time = (
            f"{self.seconds:.0f} s"
            if minutes < 2
            else f"{minutes:.0f} min"
            if minutes < 120
            else f"{minutes / 60:.0f} h"
        )
        return f"about {size} of memory and {time} of one processor"

    def refuse_unfit(self, available: int | None = None) -> None:
        """Refuse what cannot fit into the memory that is left, before anything is spent."""
        room = memory_left() if available is None else available
        if room is not None and self.bytes > room:
            raise InputError(
                f"this fit needs {self.words()}, and {room / 2**30:.1f} GB are free: {self.sizes.rows:,} rows of "
                f"{self.sizes.width:,} numbers, {self.sizes.classes:,} classes. Declare fewer levels (leave rare ones to "
                "`other: true`), drop columns, choose another method, or use a larger machine. Nothing was spent."
            )


def table_sizes(frame: Any, schema: Any, target: str | None) -> PublicSizes:
    """Sizes of a table: its number of rows, its columns and their types, and what the schema declares."""
    from understudy.tables.column import LISTED, NOMINAL

    goal = target or (None if schema is None else schema.target)
    width, classes = 0, 1
    for name in frame.columns:
        column = schema[name] if schema is not None and name in schema.names else None
        if column is None:
            levels = 1 if frame.dtypes[name].kind in "iufMm" else _UNDECLARED
        elif column.kind == "boolean":
            levels = 1
        elif column.categories is not None:
            levels = len(column.labels) if column.kind in NOMINAL else 1
        else:
            levels = _UNDECLARED if column.kind in LISTED else 1
        width += levels + (column is None or column.nullable)
        if name == goal:
            classes = 2 if column is None or column.categories is None else len(column.labels)
    return PublicSizes(len(frame), width, classes)


USUAL_DELTA = 1e-5


def safe_delta(rows: int) -> float:
    """The delta where nobody names one: the usual one, or less where the rows are so many that it would not be below 1/rows."""
    return min(USUAL_DELTA, 10.0 ** (math.ceil(math.log10(1 / max(rows, 1))) - 1))


def delta_warning(delta: float, rows: int) -> str | None:
    """What every command says of a delta that is too large for so many rows; None where it is fine."""
    if rows < 1 or delta < 1 / rows:
        return None
    return (
        f"delta {delta:g} is not below 1/rows ({1 / rows:.2g}): it would allow publishing a whole row. "
        f"Use {safe_delta(rows):g} or less."
    )


def memory_left() -> int | None:
    """Bytes that this process may still take; None where the system does not say."""
    room: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                room.append(int(line.split()[1]) * 1024)
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            room.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return min(room, default=None)
