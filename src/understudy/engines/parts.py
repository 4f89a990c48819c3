"""Parts of a table that can be read again, each by itself: slices of a frame, row groups of Parquet files. Private, all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from understudy.errors import InputError
from understudy.tables.io import private_frame

BATCH_ROWS = 1 << 18
"""Rows that are in memory at once, for each worker, of a table of up to sixteen columns."""
_FEWEST, _CELLS = 1 << 12, 1 << 22


def rows_at_once(columns: int) -> int:
    """Fewer rows of more columns: as many cells."""
    return min(max(_CELLS // max(columns, 1), _FEWEST), BATCH_ROWS)


class TablePart(Protocol):
    """Private: some rows of a table, which stand together."""

    @property
    def rows(self) -> int: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The rows with these columns, in their order, a bounded number at a time."""
        ...

    def never_missing(self) -> set[str]:
        """Columns of which it is known, without a look at a row, that no cell is missing."""
        ...


@dataclass(frozen=True)
class StandIn:
    """In the place of a part whose rows come by another way, to whoever has them."""

    rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        raise NotImplementedError

    def never_missing(self) -> set[str]:
        return set()


@dataclass(frozen=True)
class ParquetPart:
    """Row groups of a Parquet file, that follow one another."""

    path: str
    groups: tuple[int, ...]
    rows: int
    text: tuple[str, ...] = ()
    """Columns of text: they come in the file's own codes, since a table repeats text far more often than it holds different ones."""

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        with _opened(self.path, read_dictionary=list(self.text)) as file:
            wanted = list(columns)
            most = rows_at_once(file.metadata.num_columns)
            if self.rows <= most:
                yield private_frame(file.read_row_groups(list(self.groups), wanted, use_threads=False), self.path)
                return
            for batch in file.iter_batches(most, list(self.groups), wanted, use_threads=False):
                yield private_frame(pa.Table.from_batches([batch]), self.path)

    def never_missing(self) -> set[str]:
        with _opened(self.path) as file:
            found = set(file.schema_arrow.names)
            for number in self.groups:
                group = file.metadata.row_group(number)
                chunks = [group.column(place) for place in range(group.num_columns)]
                said = {chunk.path_in_schema: chunk.statistics for chunk in chunks}
                found &= {
                    name for name, known in said.items() if known and known.has_null_count and known.null_count == 0
                }
            # A number that is none, in floating point, counts as missing.
            return {name for name in found if not pa.types.is_floating(file.schema_arrow.field(name).type)}


def parquet_parts(path: Path, *, together: bool = False) -> list[ParquetPart]:
    """A file in parts of about as many rows as are read at once; or all of it in one."""
    parts: list[ParquetPart] = []
    with _opened(str(path)) as file:
        text = tuple(
            field.name
            for field in file.schema_arrow
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        )
        most = rows_at_once(file.metadata.num_columns)
        groups: list[int] = []
        rows = 0
        for number in range(file.num_row_groups):
            more = file.metadata.row_group(number).num_rows
            if groups and rows + more > most and not together:
                parts.append(ParquetPart(str(path), tuple(groups), rows, text))
                groups, rows = [], 0
            groups.append(number)
            rows += more
        if rows:
            parts.append(ParquetPart(str(path), tuple(groups), rows, text))
    return parts


def parquet_types(path: Path) -> pa.Schema:
    """The names and types that a file says itself."""
    with _opened(str(path)) as file:
        return file.schema_arrow


def _opened(path: str, **how: Any) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(path, **how)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a whole Parquet file: {str(error).rstrip('.')[:300]}. Make it again."
        ) from None
