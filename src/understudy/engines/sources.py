"""Tables that are not in memory, from whatever they are in to parts that can be read again.

Parquet is read where it lies. What can be read once only, or only from its beginning (a query, a CSV file, batches from
elsewhere), is written to Parquet first, in a private folder that is removed afterwards.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from understudy.engines.adding import Adder, Threads
from understudy.engines.parts import BATCH_ROWS, TablePart, parquet_parts, parquet_types
from understudy.errors import InputError
from understudy.tables import formats
from understudy.tables.io import check_names, column_of, private_batches, private_frame, storable
from understudy.tables.persons import keys_of

_PARQUET = (".parquet", ".pq")
# Partitions by person are made so that each holds about as many rows as are read at once.
_MOST_PARTITIONS = 2048


@dataclass(frozen=True)
class RowSource:
    """Private: a table in parts, and who adds up over them. `types` has its columns and their types, and no row.

    `typed`: whether the source says the types of its columns. `identity` changes where the rows do.
    """

    parts: Sequence[TablePart]
    types: pd.DataFrame
    where: str
    typed: bool = True
    identity: str = ""
    adder: Adder = field(default_factory=Threads)
    spool: Path | None = None

    @property
    def rows(self) -> int:
        """How many rows there are, which is public."""
        return sum(part.rows for part in self.parts)

    def close(self) -> None:
        """Remove what was written on the way."""
        if self.spool is not None:
            shutil.rmtree(self.spool, ignore_errors=True)

    def __enter__(self) -> RowSource:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_source(table: Any, adder: Adder | None = None) -> RowSource | None:
    """Private. A table that is not in memory, in parts; None for one that is, or for what is no table.

    A path (a file, a folder or a pattern of Parquet files, text, a database), a DuckDB relation, a reader or an iterator of Arrow
    batches, a Dask dataframe, a Spark frame.
    """
    adder = adder or Threads()
    if isinstance(table, RowSource):
        return table
    if isinstance(table, str | os.PathLike):
        return _of_path(table, adder)
    if type(table).__module__.split(".")[0] == "dask" or hasattr(table, "to_delayed"):
        from understudy.engines.on_dask import dask_source

        return dask_source(table)
    if hasattr(table, "fetch_record_batch"):  # a DuckDB relation or connection
        reader = getattr(table, "to_arrow_reader", None) or table.fetch_record_batch
        return spooled(lambda: reader(BATCH_ROWS), "the DuckDB relation", adder)
    if hasattr(table, "toArrow") and hasattr(table, "mapInArrow"):
        from understudy.engines.on_spark import spark_source

        return spark_source(table)
    if isinstance(table, pa.RecordBatchReader | Iterator):
        return spooled(lambda: table, "the batches", adder)
    return None


def is_many(path: str | os.PathLike[str]) -> bool:
    """Whether a path names several files: a folder, or a pattern."""
    return not isinstance(path, formats.TableSource) and (Path(path).is_dir() or _is_pattern(os.fspath(path)))


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[") and text.lower().endswith(_PARQUET)


def _of_path(path: str | os.PathLike[str], adder: Adder) -> RowSource:
    if formats.as_source(path) is None:
        file = Path(path)
        if is_many(file):
            return _of_parquet(_listed(file), str(path), adder)
        if file.name.lower().endswith(_PARQUET):
            return _of_parquet([file], str(path), adder)
    batches, typed = private_batches(path)
    return spooled(lambda: batches, str(path), adder, typed=typed)


def _listed(folder: Path) -> list[Path]:
    """The Parquet files of a folder and the folders in it, or of a pattern, by name."""
    if folder.is_dir():
        found = [file for suffix in _PARQUET for file in folder.rglob(f"*{suffix}")]
        if named := next(
            (part for file in sorted(found) for part in file.relative_to(folder).parts[:-1] if "=" in part), None
        ):
            raise InputError(
                f"{folder} holds the folder {named}: is {named.partition('=')[0]!r} a column? With it the table is read by "
                f"duckdb:SELECT * FROM read_parquet('{folder}/**/*.parquet', hive_partitioning=true), without it by the pattern "
                f"'{folder}/**/*.parquet'."
            )
    else:
        found = [Path(name) for name in glob.glob(os.fspath(folder), recursive=True)]
    # Files that begin so are notes of the program that wrote the others.
    found = sorted(file for file in found if file.is_file() and not file.name.startswith(("_", ".")))
    if not found:
        raise InputError(
            f"{folder} holds no Parquet file (.parquet or .pq). Text is read as one file, or by a query: duckdb:SELECT * FROM "
            "'FOLDER/*.csv'. For images it must hold a folder of pictures for each class."
        )
    return found


def _of_parquet(files: Sequence[Path], where: str, adder: Adder) -> RowSource:
    types = parquet_types(files[0])
    identity = hashlib.sha256()
    parts: list[TablePart] = []
    for file in files:
        mine = parquet_types(file)
        if mine.names != types.names or mine.types != types.types:
            raise InputError(
                f"{file} has other columns or types than {files[0]}: {_difference(types, mine)}. All files of a table must agree: "
                "name those that belong together by a pattern, such as visits/2024-*.parquet; or have DuckDB bring them together: "
                "duckdb:SELECT * FROM read_parquet('FOLDER/*.parquet', union_by_name=true)."
            )
        stat = file.stat()
        identity.update(f"{file.name}:{stat.st_size}:{stat.st_mtime_ns}\n".encode())
        parts += parquet_parts(file)
    return _source(parts, types, where, adder, identity=identity.hexdigest())


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    for name in one.names:
        if name not in other.names:
            return f"it lacks {name!r}"
        if one.field(name).type != other.field(name).type:
            return f"{name!r} is {other.field(name).type} and not {one.field(name).type}"
    more = [name for name in other.names if name not in one.names]
    return f"it has {more[0]!r} too" if more else "they stand in another order"


def _source(
    parts: Sequence[TablePart], types: pa.Schema, where: str, adder: Adder, *, typed: bool = True, identity: str = "",
    spool: Path | None = None,
) -> RowSource:  # fmt: skip
    frame = check_names(private_frame(types.empty_table(), where), where)
    if not parts:
        raise InputError(f"{where} has columns but no rows.")
    return RowSource(parts, frame, where, typed, identity, adder, spool)


def spooled(
    batches: Callable[[], Iterable[pa.RecordBatch | pa.Table]], where: str, adder: Adder, *, typed: bool = True
) -> RowSource:
    """Private. Batches that can be had once, written to a private folder as they come."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-", suffix=".private"))
    try:
        path, writer, identity = folder / "rows.parquet", None, hashlib.sha256()
        schema: pa.Schema | None = None
        try:
            for batch in batches():
                table = storable(pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch)
                if writer is None or schema is None:
                    schema = table.schema
                    writer = _writer(path, schema, where)
                writer.write_table(table.cast(schema), row_group_size=BATCH_ROWS)
                identity.update(str(len(table)).encode())
        finally:
            if writer is not None:
                writer.close()
        if schema is None:
            raise InputError(f"{where} has no rows.")
        return _source(
            parquet_parts(path), schema, where, adder, typed=typed, identity=identity.hexdigest(), spool=folder
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _writer(path: Path, schema: pa.Schema, where: str) -> parquet.ParquetWriter:
    try:
        return parquet.ParquetWriter(path, schema, compression="lz4")
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"{where} has a column of a type that cannot be read in batches: {str(error).rstrip('.')}. Leave it out of the query, or "
            "cast it to text."
        ) from None


def by_person(source: RowSource, column: str, seed: int, tell: Callable[[int, int], None]) -> RowSource:
    """Private. The same rows in parts each of which holds all rows of a person, or none, in the order in which they came.

    Rows are dealt to files by a hash of whose they are, in a private folder.
    """
    number = min(max(2 * source.rows // BATCH_ROWS, 1), _MOST_PARTITIONS)
    folder = Path(tempfile.mkdtemp(prefix="understudy-", suffix=".private"))
    writers: dict[int, parquet.ParquetWriter] = {}
    names = list(map(str, source.types.columns))
    try:
        for done, part in enumerate(source.parts, start=1):
            for frame in part.batches(names):
                mine = (keys_of(column_of(frame, column), seed) % np.uint64(number)).astype(np.int64)
                table = pa.Table.from_pandas(frame, preserve_index=False)
                for partition in np.unique(mine):
                    rows = table.take(pa.array(np.flatnonzero(mine == partition)))
                    if partition not in writers:
                        path = folder / f"{partition:05d}.parquet"
                        writers[partition] = parquet.ParquetWriter(path, _plain(rows.schema), compression="lz4")
                    writers[partition].write_table(rows.cast(writers[partition].schema))
            tell(done, len(source.parts))
        for writer in writers.values():
            writer.close()
        files = sorted(folder.glob("*.parquet"))
        parts: list[TablePart] = [part for file in files for part in parquet_parts(file, together=True)]
        source.close()
        return RowSource(parts, source.types, source.where, source.typed, source.identity, source.adder, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _plain(schema: pa.Schema) -> pa.Schema:
    """Text as text: codes of one batch are not those of the next."""
    return pa.schema(
        [
            pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in schema
        ]
    )
