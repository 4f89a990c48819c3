"""Dask does the work: a task for each part on the workers of a cluster, and their sums added up there as a tree.

A worker that dies takes its tasks with it, and the scheduler gives them to another: a sum is the same whoever makes it, and noise is
drawn once, here, when all of them are in. Pip: `understudy[dask]`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from understudy.engines.adding import Threads, Told
from understudy.engines.parts import StandIn
from understudy.engines.sources import RowSource
from understudy.errors import InputError
from understudy.tables.batches import summed
from understudy.tables.io import check_names

# So many sums are added up by one task.
_BRANCHES = 8


@dataclass(frozen=True)
class DaskPart:
    """A partition of a Dask dataframe: its rows are made where the look is done."""

    delayed: Any
    rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        yield self.delayed.compute().loc[:, list(columns)]

    def never_missing(self) -> set[str]:
        return set()


@dataclass(frozen=True)
class OnDask:
    """The workers of a cluster, by its client."""

    client: Any

    def results(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> list[Any]:
        futures = self._begun(tasks)
        self._wait(futures, tell)
        return self.client.gather(futures)

    def total(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> Any:
        begun = self._begun(tasks)
        level = begun
        while len(level) > 1:
            level = [
                self.client.submit(_sum, *level[at : at + _BRANCHES], pure=False)
                for at in range(0, len(level), _BRANCHES)
            ]
        self._wait(begun, tell)
        return level[0].result()

    def _begun(self, tasks: Sequence[Any]) -> list[Any]:
        futures: list[Any] = []
        for task in tasks:
            part = getattr(task, "part", None)
            if isinstance(part, DaskPart):
                rows = self.client.compute(part.delayed)
                futures.append(self.client.submit(_of_rows, replace(task, part=StandIn(part.rows)), rows, pure=False))
            else:
                futures.append(self.client.submit(_run, task, pure=False))
        return futures

    def _wait(self, futures: Sequence[Any], tell: Told) -> None:
        from distributed import as_completed

        for done, _ in enumerate(as_completed(list(futures)), start=1):
            tell(done, len(futures))


def _run(task: Callable[[], Any]) -> Any:
    return task()


def _of_rows(task: Any, rows: pd.DataFrame) -> Any:
    return task.of(iter([rows.loc[:, task.read].reset_index(drop=True)]))


def _sum(*parts: Any) -> Any:
    return summed(parts)


def dask_source(frame: Any, client: Any = None) -> RowSource:
    """Private. A Dask dataframe: its partitions are the parts, and the cluster of the client at hand adds them up."""
    from dask.base import compute
    from dask.delayed import delayed
    from distributed import get_client

    try:
        client = client or get_client()
    except ValueError:
        client = None
    parts = frame.to_delayed()
    counts = [delayed(len)(part) for part in parts]
    rows = client.gather(client.compute(counts)) if client is not None else compute(*counts)
    types = check_names(frame._meta.iloc[:0], "the Dask dataframe")
    if not sum(rows):
        raise InputError("the Dask dataframe has columns but no rows.")
    names = [str(frame.__dask_tokenize__()), *map(str, rows)]
    return RowSource(
        [DaskPart(part, int(number)) for part, number in zip(parts, rows, strict=True) if number],
        types,
        "the Dask dataframe",
        identity=hashlib.sha256("\n".join(names).encode()).hexdigest(),
        adder=Threads() if client is None else OnDask(client),
    )


def cluster(address: str) -> OnDask:
    """The cluster whose scheduler is at this address, such as tcp://host:8786, or wrote this file, such as scheduler.json."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("Dask is not installed: pip install 'understudy[dask]'") from None
    if address.endswith(".json"):
        if not Path(address).is_file():
            raise InputError(
                f"there is no {address}: `dask scheduler --scheduler-file {address}` writes it. Nothing was spent."
            )
        where: dict[str, Any] = {"scheduler_file": address}
    else:
        where = {"address": address}
    try:
        return OnDask(Client(**where, timeout="10s"))
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: {error}. Nothing was spent.") from None
