"""Spark does the work: a look at each partition of a Spark frame, where its rows are, and their sums added up there.

What a look says of a partition becomes one row of bytes (`mapInArrow`): whole numbers, and no row of the table. A task that fails is
done again by Spark, and a sum is the same whoever makes it; noise is drawn once, here, when all of them are in. Pip:
`understudy[spark]`.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from understudy.engines.adding import Threads, Told
from understudy.engines.parts import StandIn, rows_at_once
from understudy.engines.sources import RowSource
from understudy.errors import InputError
from understudy.tables.batches import summed
from understudy.tables.io import check_names, private_frame

# So many sums are added up by one task.
_BRANCHES = 8
_SAID = pa.schema([("part", pa.int64()), ("said", pa.binary())])
_SAID_TO_SPARK = "part long, said binary"
_WHERE = "the Spark frame"


@dataclass(frozen=True)
class SparkPart:
    """A partition of a Spark frame, by its number: a look is done where Spark has its rows."""

    frame: Any
    number: int
    rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The rows themselves, brought here: to put those of a person together."""
        some = _columns(self.frame, columns)
        yield private_frame(some.mapInArrow(_Only(self.number), some.schema).toArrow(), _WHERE)

    def never_missing(self) -> set[str]:
        return set()


@dataclass(frozen=True)
class OnSpark:
    """The cluster that has a Spark frame. It keeps the frame: partitions stay what they are from look to look."""

    frame: Any

    def results(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> list[Any]:
        if not _of_spark(tasks):
            return Threads().results(tasks, tell)
        said = {row["part"]: pickle.loads(row["said"]) for row in self._said(tasks).collect()}
        tell(len(tasks), len(tasks))
        return [said[task.part.number] for task in tasks]  # type: ignore[attr-defined]

    def total(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> Any:
        if not _of_spark(tasks):
            return Threads().total(tasks, tell)
        said, number = self._said(tasks), len(tasks)
        while number > _BRANCHES:
            number = -(-number // _BRANCHES)
            said = said.repartition(number).mapInArrow(_sums, _SAID_TO_SPARK)
        sums = said.collect()
        tell(len(tasks), len(tasks))
        return summed(pickle.loads(row["said"]) for row in sums)

    def _said(self, tasks: Sequence[Any]) -> Any:
        """A frame of what each task says of its partition: one job of Spark, which begins when it is collected."""
        columns = sorted({name for task in tasks for name in task.read})
        sent = {task.part.number: replace(task, part=StandIn(task.part.rows)) for task in tasks}
        return _columns(self.frame, columns).mapInArrow(_Looks(sent), _SAID_TO_SPARK)


class SparkSource(RowSource):
    """Private: a Spark frame, which Spark was told to keep for as long as it is looked at."""

    def close(self) -> None:
        assert isinstance(self.adder, OnSpark)
        self.adder.frame.unpersist()


def spark_source(frame: Any) -> RowSource:
    """Private. A Spark frame: its partitions are the parts, and the cluster that has them adds them up."""
    if dotted := [name for name in frame.columns if "." in name]:
        raise InputError(
            f"{_WHERE} has a column {dotted[0]!r}, and Spark's mapInArrow takes no name with a dot: name it otherwise."
        )
    kept = frame.is_cached
    if not kept:
        frame = frame.persist()
    found = sorted(
        (row["part"], *pickle.loads(row["said"])) for row in frame.mapInArrow(_count, _SAID_TO_SPARK).collect()
    )
    if not found:
        if not kept:
            frame.unpersist()
        raise InputError(f"{_WHERE} has no rows.")
    types = pa.ipc.read_schema(pa.py_buffer(found[0][2]))
    names = [types.to_string(), *map(str, sorted(frame.inputFiles())), *(f"{part}:{rows}" for part, rows, _ in found)]
    source = RowSource if kept else SparkSource
    return source(
        [SparkPart(frame, part, rows) for part, rows, _ in found],
        check_names(private_frame(types.empty_table(), _WHERE), _WHERE),
        _WHERE,
        identity=hashlib.sha256("\n".join(names).encode()).hexdigest(),
        adder=OnSpark(frame),
    )


def _of_spark(tasks: Sequence[Any]) -> bool:
    """Whether the rows are where Spark has them. Those that were put together by person are here."""
    return bool(tasks) and all(isinstance(getattr(task, "part", None), SparkPart) for task in tasks)


def _columns(frame: Any, names: Sequence[str]) -> Any:
    return frame.select(*("`" + name.replace("`", "``") + "`" for name in names))


# ---- what the workers of Spark do ------------------------------------------------------------------------------------


def _partition() -> int:
    from pyspark import TaskContext  # pyright: ignore[reportMissingImports]

    here = TaskContext.get()
    assert here is not None
    return here.partitionId()


def _row(part: int, said: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([part], pa.int64()), pa.array([pickle.dumps(said)], pa.binary())], schema=_SAID
    )


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many rows a partition has, and of which types; nothing of one that is empty."""
    rows, types = 0, b""
    for batch in batches:
        rows, types = rows + batch.num_rows, batch.schema.remove_metadata().serialize().to_pybytes()
    if rows:
        yield _row(_partition(), (rows, types))


def _sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    said = [pickle.loads(one) for batch in batches for one in batch.column("said").to_pylist()]
    if said:
        yield _row(0, summed(said))


@dataclass(frozen=True)
class _Only:
    """The rows of one partition as they are."""

    number: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches if _partition() == self.number else iter(())


@dataclass(frozen=True)
class _Looks:
    """Tasks, each for the partition of its number."""

    tasks: dict[int, Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        if number in self.tasks:
            task = self.tasks[number]
            yield _row(number, task.of(_frames(batches, task.read, task.part.rows)))


def _frames(batches: Iterator[pa.RecordBatch], columns: list[str], rows: int) -> Iterator[pd.DataFrame]:
    """Touches private data: the rows of a partition as many at a time as elsewhere; Spark's batches are small."""
    held: list[pa.RecordBatch] = []
    waiting = seen = 0
    for batch in batches:
        held.append(batch.select(columns))
        waiting, seen = waiting + batch.num_rows, seen + batch.num_rows
        if waiting >= rows_at_once(len(columns)):
            yield private_frame(pa.Table.from_batches(held), _WHERE)
            held, waiting = [], 0
    if waiting:
        yield private_frame(pa.Table.from_batches(held), _WHERE)
    if seen != rows:
        raise InputError(
            f"a partition of the Spark frame had {rows} rows and has {seen} now: the frame is made anew at each look, and differently. "
            "Write it to Parquet, or checkpoint it, first."
        )
