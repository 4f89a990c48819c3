"""What a benchmark is, as plain data: parts that measure, and quotes from a paper to stand beside them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarks.result import Results, Row

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = ("quick", "full")

Measured = Mapping[str, Any]
"""What one repeat measured: numbers, and lists of numbers for curves, each under its own name. Runs may say words too."""

Measure = Callable[[Mapping[str, Any], Sequence[int]], Sequence[Measured]]
"""From a part's settings and the numbers of some repeats to one `Measured` for each; without quotes, to any number of rows."""


@dataclass(frozen=True)
class Part:
    """One experiment, repeated. Repeat number r uses r as its seed, so repeats are the same whoever runs them.

    `measure` is the "module:function" of a `Measure`: a name, so that a benchmark can be listed without importing what
    it needs, and handed to another process. `together` is how many repeats one call measures at once.
    """

    name: str
    measure: str
    settings: Mapping[str, Any]
    repeats: int
    first: int = 0
    together: int = 1

    def function(self) -> Measure:
        module, _, name = self.measure.partition(":")
        return getattr(importlib.import_module(module), name)

    def batches(self) -> list[list[int]]:
        numbers = list(range(self.first, self.first + self.repeats))
        return [numbers[i : i + self.together] for i in range(0, len(numbers), self.together)]


@dataclass(frozen=True)
class Quote:
    """A row of a printed table: the paper's number, and the name of the measurement that belongs beside it.

    `epsilon` and `data_dependent` name the measured epsilon of each kind. The second is itself private: a benchmark may
    show it because its data are public. `unsafe` says what the row does that no guarantee covers.
    """

    table: str
    row: str
    metric: str
    part: str
    key: str
    paper: float | None = None
    paper_epsilon: float | None = None
    epsilon: str | None = None
    data_dependent: str | None = None
    unsafe: str | None = None


@dataclass(frozen=True)
class Benchmark:
    """A paper's tables, or figures of our own. `parts` gives what to measure for a size and a number of repeats.

    With `quotes` a result holds the mean of every measurement with its interval; without, every run, with the part's settings
    as columns, and what `summary` makes of the runs. `alone`: parts run one after another in this process with all its
    threads, because they measure time or want the accelerator.
    """

    id: str
    title: str
    parts: Callable[[Size, int], Sequence[Part]]
    paper: str = "ours"
    datasets: tuple[str, ...] = ()
    repeats: Mapping[Size, int] = field(default_factory=lambda: dict.fromkeys(SIZES, 1))
    quotes: tuple[Quote, ...] = ()
    notes: tuple[str, ...] = ()
    figures: Callable[[Results], Mapping[str, Figure]] | None = None
    summary: Callable[[Sequence[Row]], Sequence[Row]] | None = None
    alone: bool = False
