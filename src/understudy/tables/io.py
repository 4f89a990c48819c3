"""The one door for tables: files and frames of several kinds come in as pandas, and go out whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from understudy.errors import InputError
from understudy.files import check_writable, whole_file
from understudy.tables import formats
from understudy.tables.csv_file import MOST_COLUMNS, private_csv_batches, read_csv, read_private_csv
from understudy.tables.written import plain_times
from understudy.untrusted import check_expansion, open_regular
from understudy.wording import did_you_mean, listed

_UNTYPED = (".csv", ".csv.gz")
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".feather", ".arrow")


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that speaks Arrow's C stream protocol: polars and pyarrow tables among others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Table: TypeAlias = pd.DataFrame | ArrowStream


def read_table(source: str | os.PathLike[str] | Table, *, empty_allowed: bool = False) -> pd.DataFrame:
    """A pandas frame from a path (.csv, .csv.gz, .parquet, .feather) or from a pandas, polars or pyarrow table.

    In CSV a value is missing where it is empty, NA or NaN, and types are told from the rows. Whole numbers stay whole where
    some are missing. A private file is better read by `read_private`, which refuses nothing for what its rows say.
    """
    if (other := formats.as_source(source)) is not None:
        return _checked(_from_arrow(formats.read(other), str(other)), str(other), empty_allowed)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        frame = _from_arrow(_read_file(path, read_csv), str(path))
        return _checked(frame, str(path), empty_allowed)
    return as_frame(source, empty_allowed=empty_allowed)


def has_types(path: str | os.PathLike[str]) -> bool:
    """Whether a file of this kind says the types of its columns; in a CSV they could only be told from the rows."""
    if (other := formats.as_source(path)) is not None:
        return formats.has_types(other)
    return _suffix(Path(path)) not in _UNTYPED


@dataclass(frozen=True)
class PrivateTable:
    """Private. The rows of a file; whether the file says the types of its columns; how many lines could not be read.

    In a file without types every cell is text. A line that could not be read is a row without any cell, in its place.
    """

    frame: pd.DataFrame
    typed: bool
    unreadable: int = 0


def read_private(path: str | os.PathLike[str], *, empty_allowed: bool = False) -> PrivateTable:
    """Looks at private rows. A file is refused for its header, its types or its form as a whole, never for what a row says."""
    if (other := formats.as_source(path)) is not None:
        frame = _checked(_from_arrow(formats.read(other), str(other)), str(other), empty_allowed)
        return PrivateTable(_with_missing_truths(frame), formats.has_types(other))
    file, unreadable = Path(path), 0

    def csv(path: Path) -> pa.Table:
        nonlocal unreadable
        table, unreadable = read_private_csv(path)
        return table

    frame = _checked(_from_arrow(_read_file(file, csv, own=True), str(file)), str(file), empty_allowed)
    return PrivateTable(_with_missing_truths(frame), has_types(file), unreadable)


def private_batches(path: str | os.PathLike[str]) -> tuple[Iterator[pa.Table], bool]:
    """Reads private rows of a file or database a bounded number at a time, as far as its kind allows; and whether it has types."""
    if (other := formats.as_source(path)) is not None:
        return formats.batches(other), formats.has_types(other)
    file = Path(path)
    if _suffix(file) in _UNTYPED:
        if not file.exists():
            raise InputError(f"there is no file {file}.{_neighbour(file)}")
        return private_csv_batches(file), False
    return iter([_read_file(file, read_csv, own=True)]), True


def private_frame(table: pa.Table, where: str) -> pd.DataFrame:
    """Private. Rows of an Arrow table as `read_private` has those of a file."""
    return _with_missing_truths(_from_arrow(table, where, copy=False))


def check_names(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """The frame, which may have no rows, refused where names are missing, repeated or no text."""
    return _checked(frame, where, empty_allowed=True)


def _with_missing_truths(frame: pd.DataFrame) -> pd.DataFrame:
    """Whether any truth value is missing must not choose its type."""
    truths = {name: "boolean" for name, dtype in frame.dtypes.items() if dtype == np.dtype(bool)}
    return frame.astype(truths) if truths else frame


def as_frame(table: Table, *, empty_allowed: bool = False) -> pd.DataFrame:
    """The table as pandas, refused where names are missing, repeated or no text, or where there is nothing in it.

    With `empty_allowed` a table may have columns and no rows.
    """
    if isinstance(table, pd.DataFrame):
        frame = table
    elif isinstance(table, ArrowStream):
        frame = _from_arrow(pa.table(table), "the table")
    else:
        hint = " Call .collect() on it first." if hasattr(table, "collect") else ""
        raise InputError(
            f"a table must be a path or a pandas, polars or pyarrow table, not {type(table).__name__}.{hint}"
        )
    return _checked(frame, "the table", empty_allowed)


def column_of(frame: pd.DataFrame, name: str) -> pd.Series:
    """One column of a frame whose names are known to be unique."""
    return cast(pd.Series, frame[name])


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a .csv, .csv.gz, .parquet or .feather file: a reader sees the old file or the whole new one."""
    suffix = check_table_path(path)
    frame = as_frame(table)
    with whole_file(path) as temporary:
        if suffix in _UNTYPED:
            _write_csv(frame, temporary, "gzip" if suffix == ".csv.gz" else None)
        elif suffix in (".parquet", ".pq"):
            parquet.write_table(_to_arrow(frame), temporary)
        else:
            feather.write_feather(_to_arrow(frame), os.fspath(temporary))


def _write_csv(frame: pd.DataFrame, path: Path, compression: Literal["gzip"] | None) -> None:
    if frame.shape[1] == 1:
        # Here a missing value would be an empty line, which readers skip; pandas writes quotes instead.
        frame.to_csv(path, index=False, compression=compression)
        return
    with pa.output_stream(os.fspath(path), compression=compression) as stream:
        arrow_csv.write_csv(plain_times(_to_arrow(frame)), stream)


def check_table_path(path: str | os.PathLike[str]) -> str:
    """The suffix of an output table, refused where it is unknown or the place cannot be written."""
    suffix = _suffix(Path(path))
    check_writable(path)
    return suffix


def _suffix(path: Path) -> str:
    ending = path.name.lower()
    for suffix in SUFFIXES:
        if ending.endswith(suffix):
            return suffix
    given = "".join(Path(ending).suffixes[-2:]) if ending.endswith(".gz") else Path(ending).suffix
    raise InputError(
        f"{path}: cannot tell the kind of table from the suffix {given!r}; known are {', '.join(SUFFIXES)}, and for "
        f"reading {', '.join(formats.READABLE)} as well. Text with another suffix is read with --separator, or renamed."
        + did_you_mean(given, (*SUFFIXES, *formats.READABLE))
    )


def _read_file(path: Path, csv: Callable[[Path], pa.Table], *, own: bool = False) -> pa.Table:
    """How well a file packs depends on its rows: one's `own` is not refused for it."""
    if path.is_dir():
        raise InputError(
            f"{path} is a folder; give the name of a file. A folder of Parquet files is read by `understudy synthesize`, and one "
            "that has a folder of pictures for each class in it is a set of images."
        )
    if not path.suffix and not path.exists():
        raise InputError(f"there is no file {path}, nor a folder.{_neighbour(path)}")
    suffix = _suffix(path)
    try:
        with open_regular(path) as file:
            if (stored := os.fstat(file.fileno()).st_size) == 0:
                raise InputError(f"{path} is empty.")
        if suffix in _UNTYPED:
            return csv(path)
        if suffix in (".parquet", ".pq"):
            # ParquetFile reads one file; read_table would look for partitions in the folders' names.
            with parquet.ParquetFile(path) as file:
                rows, columns = file.metadata.num_rows, file.metadata.num_columns
                if columns > MOST_COLUMNS:
                    raise InputError(f"{path} has {columns:,} columns; at most {MOST_COLUMNS:,} are read.")
                # Equal values take next to nothing in the file, and eight bytes each once they are read.
                if not own:
                    check_expansion(path, stored, 8 * rows * columns)
                table = file.read()
        else:
            if not own:
                _check_feather(path, stored)
            table = feather.read_table(os.fspath(path))
        # Lengths and offsets that point outside of the file. What the bytes of a text are depends on a row.
        for column in table.columns:
            for chunk in column.chunks:
                (_untold(chunk) if own else chunk).validate(full=True)
        return table
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.{_neighbour(path)}") from None
    except (pa.ArrowException, OverflowError, UnicodeDecodeError) as error:
        reason = str(error).rstrip(".")[:500]
        raise InputError(f"{path} is not a whole {suffix} file: {reason}. Copy or make it again.") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


def _check_feather(path: Path, stored: int) -> None:
    """Rows and columns from what the file says of itself; nothing is unpacked."""
    with pa.memory_map(os.fspath(path)) as file:
        if bytes(file.read(6)) == b"ARROW1":
            held = pa.ipc.open_file(file)
            check_expansion(path, stored, 8 * held.count_rows() * len(held.schema))


def _neighbour(path: Path) -> str:
    try:
        return did_you_mean(path.name, [file.name for file in path.parent.iterdir()])
    except OSError:
        return f" There is no folder {path.parent} either."


def _checked(frame: pd.DataFrame, where: str, empty_allowed: bool = False) -> pd.DataFrame:
    names = list(frame.columns)
    if not names:
        raise InputError(f"{where} has no columns.")
    if isinstance(frame.columns, pd.MultiIndex) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{where} has column names that are no text ({listed([n for n in names if not isinstance(n, str)], 3)}). "
            "Name the columns: frame.columns = frame.columns.astype(str)"
        )
    if nameless := [place for place, name in enumerate(names, start=1) if not name.strip()]:
        raise InputError(f"{where}: column {nameless[0]} has no name. Write one in the header.")
    if not frame.columns.is_unique:
        _refuse_duplicates(frame.columns, where)
    if len(frame) == 0 and not empty_allowed:
        raise InputError(f"{where} has columns ({listed(names, 5)}) but no rows.")
    return frame


def _refuse_duplicates(names: pd.Index, where: str) -> None:
    twice = list(dict.fromkeys(names[names.duplicated()]))
    raise InputError(f"{where} has duplicate column names: {listed(twice)}. Rename or drop one of each.")


def _from_arrow(table: pa.Table, where: str, *, copy: bool = True) -> pd.DataFrame:
    """With a `copy` columns of one type lie together in memory, which a batch that is gone soon does not need."""
    names = table.column_names
    if len(set(names)) < len(names):
        _refuse_duplicates(pd.Index(names), where)
    # pandas stores a nameless row index as a column; it is no column of the table.
    kept = [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]
    return pd.DataFrame({name: _arrow_column(table.column(name)) for name in kept}, copy=copy)


def _arrow_column(column: pa.ChunkedArray) -> pd.Series:
    column = _plain_cells(column)
    kind = column.type
    if pa.types.is_nested(kind):
        # The type stays what it is, so that the column is refused for it, or set aside, without a look at a cell.
        return column.to_pandas(types_mapper=pd.ArrowDtype)
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
    elif pa.types.is_time(kind):
        column = column.cast(pa.string())
    elif kind == pa.month_day_nano_interval():
        column = _lengths(column)
    if column.null_count and pa.types.is_integer(kind):
        # As floats, whole numbers above 2^53 would change.
        return column.to_pandas(types_mapper=_masked)
    if column.null_count and pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper=lambda _: pd.BooleanDtype())
    return column.to_pandas()


def _plain_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bytes as text, whatever they are: some programs write text so. UUIDs as text, other types of others as what they hold."""
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return pa.chunked_array([[None if cell is None else str(cell) for cell in column.to_pylist()]], pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_cells(column.cast(kind.storage_type))
    if pa.types.is_dictionary(kind) and (_is_bytes(kind.value_type) or pa.types.is_nested(kind.value_type)):
        return _plain_cells(column.cast(kind.value_type))
    words = kind.value_type if pa.types.is_dictionary(kind) else kind
    if (pa.types.is_string(words) or pa.types.is_large_string(words)) and not all(map(_is_whole, column.chunks)):
        # A file may say text where some cell's bytes are none: whoever reads it in parts has paid by then.
        return _plain_cells(column.cast(words).cast(pa.large_binary()))
    if not _is_bytes(kind):
        return column
    texts = [None if cell is None else cell.decode(errors="backslashreplace") for cell in column.to_pylist()]
    return pa.chunked_array([texts], pa.large_string())


def is_nested(dtype: Any) -> bool:
    """Whether the cells of a column are lists or records: such a column keeps Arrow's type."""
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_nested(dtype.pyarrow_dtype)


def _untold(chunk: pa.Array) -> pa.Array:
    """The same cells, those of text as bytes. Nothing is copied."""
    if isinstance(chunk, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(chunk.indices, _untold(chunk.dictionary))
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    return chunk.view(kinds[chunk.type]) if chunk.type in kinds else chunk


def _is_whole(chunk: pa.Array) -> bool:
    """Whether all text is UTF-8; the levels of a column that has such."""
    try:
        (chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_bytes(kind: pa.DataType) -> bool:
    known = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(is_this(kind) for is_this in known)


def storable(table: pa.Table) -> pa.Table:
    """Private. The table with calendar intervals, which Parquet does not know, as durations."""
    for place, field in enumerate(table.schema):
        if field.type == pa.month_day_nano_interval():
            table = table.set_column(place, field.name, _lengths(table.column(place)))
    return table


def _lengths(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Calendar intervals, as DuckDB has them, as durations; one of months has no length and is missing."""
    cells = [
        None if cell is None or cell.months else timedelta(days=cell.days, microseconds=cell.nanoseconds // 1000)
        for cell in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(cells, pa.duration("us"))])


def _masked(kind: pa.DataType) -> pd.api.extensions.ExtensionDtype:
    return pd.array([], dtype=str(kind).replace("int", "Int").replace("uI", "UI")).dtype


def _to_arrow(frame: pd.DataFrame) -> pa.Table:
    """As Arrow; a column that mixes text and numbers (codes and the word "other") is written as text."""
    mixed = {
        name: column_of(frame, name).map(str, na_action="ignore").astype("str")
        for name in frame.columns
        if column_of(frame, name).dtype == object and _text_and_numbers(column_of(frame, name))
    }
    try:
        return pa.Table.from_pandas(frame.assign(**mixed), preserve_index=False)
    except pa.ArrowException as error:
        raise InputError(f"a column cannot be written: {error}.") from None


def _text_and_numbers(series: pd.Series) -> bool:
    kinds = {type(value) for value in series.dropna()}
    return str in kinds and len(kinds) > 1 and kinds <= {str, int, float}
