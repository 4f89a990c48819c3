"""Rows from a released model, a bounded number at a time, none of which violates the schema or its rules. Free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from understudy._parallel import cores
from understudy.errors import InputError
from understudy.files import whole_file, whole_folder
from understudy.tables import Schema, check_table_path, write_table
from understudy.tables.aside import with_aside
from understudy.tables.io import column_of
from understudy.tables.rules import Rule, parse_rules
from understudy.tables.rules.evaluate import read_values, truth
from understudy.tables.rules.rulebook import Rulebook
from understudy.tables.rules.sorts import Sorts, check_sorts, check_values, column_sort
from understudy.tables.written import as_written, plain_times
from understudy.wording import did_you_mean

if TYPE_CHECKING:
    from understudy.release.drawing import TableModel

CHUNK = 1 << 16
# A condition that fewer than one row in this many fulfils is given up, and so are rules that fewer keep.
_PATIENCE, _RULES_PATIENCE = 2000, 200


@dataclass
class Drawn:
    """How many rows were drawn for those that were kept, and how many of them a rule sorted out."""

    rows: int = 0
    tried: int = 0
    broken: int = 0

    @property
    def drawn_again(self) -> float:
        """The share of drawn rows that broke a rule, and that others were drawn for."""
        return self.broken / self.tried if self.tried else 0.0


def stream(
    model: TableModel,
    schema: Schema,
    n: int,
    conditions: Mapping[str, Any] | None,
    random_state: int | Sequence[int] | None,
    rules: Rulebook | None = None,
    where: str | Sequence[str] = (),
    tally: Drawn | None = None,
    before: int = 0,
) -> Iterator[pd.DataFrame]:
    """Frames of together `n` rows; conditions are checked before the first. `where` says conditions as rules are said.

    `before`: so many rows were drawn already, for new ids to go on from.
    """
    asked = AskedFor.of(schema, n, conditions, where)
    return _stream(model, schema, asked, np.random.default_rng(random_state), rules, tally or Drawn(), before)


@dataclass(frozen=True)
class AskedFor:
    """How many are asked for, and which: `wanted` values of columns, and what is `said` of them as rules are."""

    n: int
    wanted: dict[str, Any]
    said: tuple[Rule, ...]

    @classmethod
    def of(cls, schema: Schema, n: int, conditions: Mapping[str, Any] | None, where: str | Sequence[str]) -> AskedFor:
        """Checked against the schema: refused where it has no such column or value."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"`n` (={n!r}) must be a whole number of rows, at least 1.")
        wanted = dict(conditions or {})
        check_conditions(wanted, schema)
        said = parse_rules([where] if isinstance(where, str) else where, where="condition")
        for rule in said:
            for name in rule.columns:
                schema[name]
        columns = {column.name: column for column in schema}
        check_sorts(said, {name: column_sort(column) for name, column in columns.items()})
        check_values(said, columns)
        return cls(int(n), wanted, tuple(said))

    @property
    def choosy(self) -> bool:
        return bool(self.wanted or self.said)

    @property
    def columns(self) -> list[str]:
        """The columns that are asked about."""
        return [*self.wanted, *(name for rule in self.said for name in rule.columns)]

    @property
    def words(self) -> str:
        return " and ".join([*([str(self.wanted)] if self.wanted else []), *(rule.short for rule in self.said)])

    def exact(self, rules: Rulebook | None) -> dict[str, Any]:
        """The conditions that name one value: a model may draw towards these, if it is the column itself that it learnt."""
        return {
            name: value
            for name, value in self.wanted.items()
            if not (callable(value) or isinstance(value, tuple | list)) and (rules is None or name in rules.own)
        }

    def holds(self, frame: pd.DataFrame, schema: Schema) -> np.ndarray:
        """The rows that are asked for."""
        return _fulfils(frame, self.wanted) & _holds(frame, self.said, schema)


def _stream(
    model: TableModel,
    schema: Schema,
    asked: AskedFor,
    rng: np.random.Generator,
    rules: Rulebook | None,
    tally: Drawn,
    before: int = 0,
) -> Iterator[pd.DataFrame]:
    n, choosy = asked.n, asked.choosy
    size = min(CHUNK, n if not choosy else max(1024, 2 * n))
    if rules is not None:  # one size throughout: a network is compiled for each
        size = min(CHUNK, max(1024, int(1.1 * size / max(rules.kept, 1 / _RULES_PATIENCE))))
    while tally.rows < n:
        frame: Any = model.draw(size, asked.exact(rules), rng)
        tally.tried += size
        _check_whole(frame, schema, rules)
        if rules is None:
            frame = frame[list(schema.names)]
        else:
            frame, kept = rules.finisher.finish(frame)
            tally.broken += size - len(frame)
            _refuse_hopeless(rules, kept, tally)
        if choosy:
            frame = frame[asked.holds(frame, schema)].reset_index(drop=True)
        frame = with_aside(as_written(frame.head(n - tally.rows), schema), schema, before + tally.rows + 1)
        tally.rows += len(frame)
        if len(frame):
            yield frame
        if tally.tried - tally.broken > _PATIENCE * max(tally.rows, 100):
            raise InputError(
                f"condition {asked.words}: {tally.rows} of {tally.tried:,} generated rows fulfil it. This generator hardly makes "
                "such rows; drop the condition or widen it."
            )


def _check_whole(frame: pd.DataFrame, schema: Schema, rules: Rulebook | None) -> None:
    """What a stranger's release draws may not be what its schema says."""
    made = set() if rules is None else {step.column for step in rules.finisher.steps}
    if lacking := [name for name in schema.names if name not in frame.columns and name not in made]:
        raise InputError(
            f"no {lacking[0]!r} is drawn, which the schema of the release names: it is damaged. Copy it again."
        )


def _refuse_hopeless(rules: Rulebook, kept: np.ndarray, tally: Drawn) -> None:
    if tally.tried >= 100 * _RULES_PATIENCE and (tally.tried - tally.broken) * _RULES_PATIENCE < tally.tried:
        raise InputError(
            f"{tally.tried - tally.broken:,} of {tally.tried:,} drawn rows keep the rules: almost none. Most break "
            f"{rules.worst(kept)}. What was learnt and the rule do not go together: `understudy schema check` counts how many "
            "real rows break it, for the owner. The release stays valid; learn again without the rule, or with another."
        )


def _holds(frame: pd.DataFrame, said: Sequence[Rule], schema: Schema) -> np.ndarray:
    """The rows in which all of these are true; where a value is missing nothing is."""
    kept = np.ones(len(frame), dtype=bool)
    sorts: Sorts = {column.name: column_sort(column) for column in schema}
    for rule in said if len(frame) else ():
        values = {name: read_values(column_of(frame, name), sorts[name]) for name in rule.columns}
        kept &= truth(rule.statement, values, sorts) == 1
    return kept


def write_stream(
    model: TableModel,
    schema: Schema,
    path: str | Path,
    n: int,
    conditions: Mapping[str, Any] | None,
    random_state: int | None,
    rules: Rulebook | None = None,
    where: str | Sequence[str] = (),
) -> Drawn:
    """Write `n` rows to a table file, a chunk at a time: memory does not grow with their number."""
    check_table_path(path)
    tally = Drawn()
    frames = stream(model, schema, n, conditions, random_state, rules, where, tally)
    if n <= CHUNK:
        write_table(pd.concat(list(frames), ignore_index=True), path)
        return tally
    with table_file(path) as add:
        for frame in frames:
            add(frame)
    return tally


def write_partitions(
    model: TableModel,
    schema: Schema,
    folder: str | Path,
    n: int,
    conditions: Mapping[str, Any] | None,
    random_state: int | None,
    partitions: int,
    rules: Rulebook | None = None,
    where: str | Sequence[str] = (),
    workers: int | None = None,
) -> Drawn:
    """Write `n` rows to a new folder of up to so many Parquet files, by several threads; it is there when all of them are.

    Rows are drawn in blocks, each with a seed of its own: they are the same however many files and threads there are.
    """
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise InputError(f"`partitions` (={partitions!r}) must be a whole number of files, at least 1.")
    AskedFor.of(schema, n, conditions, where)
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if random_state is None else random_state
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} is there already: rows are written to a new folder. Choose another, or remove it.")
    starts = np.array_split(np.arange(0, n, CHUNK), min(partitions, -(-n // CHUNK)))
    tallies = [[Drawn() for _ in mine] for mine in starts]

    def write(unready: Path, number: int) -> None:
        with _frames(unready / f"part-{number:05d}.parquet", ".parquet") as add:
            for start, tally in zip(starts[number], tallies[number], strict=True):
                rows = min(CHUNK, n - int(start))
                one = (seed, int(start) // CHUNK)
                for frame in stream(model, schema, rows, conditions, one, rules, where, tally, int(start)):
                    add(frame)

    with whole_folder(path) as unready, ThreadPoolExecutor(min(workers or cores(), len(starts))) as pool:
        list(pool.map(lambda number: write(unready, number), range(len(starts))))
    all_of = [tally for mine in tallies for tally in mine]
    return Drawn(*(sum(getattr(tally, what) for tally in all_of) for what in ("rows", "tried", "broken")))


@contextmanager
def table_file(path: str | Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A table file that takes one frame after the other; it is there when all of them are, or not at all."""
    suffix = check_table_path(path)
    with whole_file(path) as temporary, _frames(temporary, suffix) as add:
        yield add


@contextmanager
def _frames(path: Path, suffix: str) -> Iterator[Callable[[pd.DataFrame], None]]:
    import pyarrow as pa

    with ExitStack() as opened:
        writer: Any = None
        arrow: Any = None
        shown: Any = None

        def add(frame: pd.DataFrame) -> None:
            nonlocal writer, arrow, shown
            table = pa.Table.from_pandas(frame, preserve_index=False, schema=arrow)
            if writer is None:
                arrow = table.schema
                shown = plain_times(table).schema if suffix in (".csv", ".csv.gz") else arrow
                writer = _writer(path, suffix, shown, opened)
            table = table if shown == arrow else table.cast(shown, safe=False)
            writer.write_table(table)

        yield add


def _writer(path: Path, suffix: str, schema: Any, opened: ExitStack) -> Any:
    """A file that takes one table after the other, closed with `opened`."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    if suffix in (".parquet", ".pq"):
        return opened.enter_context(parquet.ParquetWriter(path, schema))
    if suffix == ".feather":
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return opened.enter_context(pa.ipc.new_file(str(path), schema, options=options))
    output = opened.enter_context(pa.output_stream(str(path), compression="gzip" if suffix == ".csv.gz" else None))
    return opened.enter_context(csv.CSVWriter(output, schema))


def check_conditions(conditions: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a condition on a column or a value that the schema does not have."""
    for name, value in conditions.items():
        column = schema[name]
        if callable(value):
            continue
        if isinstance(value, tuple):
            if len(value) != 2 or column.bounds is None:
                raise InputError(
                    f"condition: {value!r} for {name!r}: a range is two values, for a number or a date; several values are "
                    "a list."
                )
            low, high = column.bounds
            if not (value[0] <= value[1] and value[0] <= high and value[1] >= low):
                raise InputError(
                    f"condition: column {name!r} never lies in {value!r}; it lies between {low} and {high}."
                )
            continue
        if isinstance(value, list):
            for one in value:
                check_conditions({name: one}, schema)
            continue
        if pd.isna(value):
            known = column.nullable
            allowed = "its values are never missing"
        elif column.kind == "boolean":
            known, allowed = isinstance(value, bool | np.bool_), "it is true or false"
        elif column.categories is not None:
            known = value in column.labels
            allowed = f"it is one of {', '.join(map(repr, column.labels[:10]))}" + did_you_mean(
                str(value), [str(v) for v in column.labels]
            )
        else:
            low, high = column.bounds or (None, None)
            try:
                known = bool(low <= value <= high)  # type: ignore[operator]
            except TypeError:
                known = False
            allowed = f"it lies between {low} and {high}"
        if not known:
            raise InputError(f"condition: column {name!r} is never {value!r}; {allowed}.")


def _fulfils(frame: pd.DataFrame, wanted: Mapping[str, Any]) -> np.ndarray:
    kept = np.ones(len(frame), dtype=bool)
    for name, value in wanted.items():
        column = frame[name]
        if callable(value):
            hits: Any = pd.Series(np.asarray(value(column)), index=column.index)
            if hits.dtype != bool and str(hits.dtype) != "boolean":
                raise InputError(f"condition: the function for {name!r} must say true or false for each row.")
        elif isinstance(value, tuple):
            hits = column.between(*value)
        elif isinstance(value, list):
            hits = column.isin(value)
        else:
            hits = column.isna() if pd.isna(value) else column == value
        kept &= hits.fillna(False).to_numpy(dtype=bool)
    return kept
