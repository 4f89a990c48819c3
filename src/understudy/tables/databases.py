"""Tables in databases: SQLite and DuckDB files, DuckDB queries, PostgreSQL. Read only; nothing is written to any of them."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.errors import InputError
from understudy.tables.formats import as_text
from understudy.tables.forms import duration_of
from understudy.wording import did_you_mean, listed

# PostgreSQL's own numbers for its types; every other type is read as text.
_POSTGRES = {
    16: pa.bool_(),
    **dict.fromkeys((20, 21, 23), pa.int64()),
    **dict.fromkeys((700, 701, 1700), pa.float64()),
    **dict.fromkeys((1082, 1114), pa.timestamp("us")),
    1184: pa.timestamp("us", "UTC"),
    1186: pa.duration("us"),
}
# So many rows are asked for at once.
_ROWS = 1 << 16
_TIMES = ("date", "timestamp", "timestamptz", "time", "timetz", "interval")


def sqlite(path: Path, table: str | None) -> pa.Table:
    """A table of an SQLite file, or what a query of it says, as text: what its columns declare binds none of its cells."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            tables = [
                row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            ]
            rows = connection.execute(_query(path, table, tables))
            names = [column[0] for column in rows.description]
            return as_text(names, ([_sqlite_cell(cell) for cell in row] for row in rows))
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be read as SQLite: {error}.") from None


def _sqlite_cell(cell: object) -> object:
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else repr(cell)
    return None if isinstance(cell, bytes) else cell


def duckdb_file(path: Path, table: str | None) -> Iterator[pa.Table]:
    """A table of a DuckDB file, or what a query of it says, with its types, batch by batch."""
    library = _duckdb(str(path))
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    try:
        with library.connect(str(path), read_only=True) as connection:
            tables = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
            yield from _arrow(connection.sql(_query(path, table, tables)))
    except library.Error as error:
        raise InputError(f"{path} cannot be read as DuckDB: {error}.") from None


def duckdb_query(text: str) -> Iterator[pa.Table]:
    """What a query says, batch by batch: `duckdb:SELECT * FROM 'visits/*.parquet'`. Types that it told from rows come as text."""
    query = re.sub(r"^duckdb:(//)?", "", text).strip()
    library = _duckdb(text)
    told = re.search(r"csv|json", query, re.IGNORECASE)
    try:
        with library.connect() as connection:
            for found in _arrow(connection.sql(query)):
                yield found.cast(pa.schema([(name, pa.string()) for name in found.column_names])) if told else found
    except library.Error as error:
        raise InputError(f"DuckDB cannot answer {query!r}: {error}.") from None


def _arrow(answer: Any) -> Iterator[pa.Table]:
    reader = answer.to_arrow_reader(_ROWS) if hasattr(answer, "to_arrow_reader") else answer.fetch_record_batch(_ROWS)
    yield reader.schema.empty_table()
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _duckdb(text: str) -> Any:
    try:
        import duckdb
    except ImportError:
        raise InputError(f"{text}: DuckDB is not installed: pip install 'understudy[files]'") from None
    return duckdb


def postgresql(text: str) -> Iterator[pa.Table]:
    """Batch by batch: `postgresql://user@host/base::table`, or a query in place of the table. The password comes from PGPASSWORD or ~/.pgpass."""
    place, _, wanted = text.partition("::")
    if not wanted:
        raise InputError("postgresql://…: name a table or a query after ::, as in postgresql://me@host/base::visits")
    try:
        import psycopg
        from psycopg import sql
        from psycopg.types.string import TextLoader
    except ImportError:
        raise InputError("postgresql://…: psycopg is not installed: pip install 'understudy[files]'") from None
    query: Any = wanted
    if not _is_query(wanted):
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(*wanted.split(".")))
    try:
        with psycopg.connect(place) as connection:
            connection.read_only = True
            # Moments as text: one that Python cannot hold is missing, and the table is not refused for it.
            for name in _TIMES:
                connection.adapters.register_loader(name, TextLoader)
            connection.execute(
                "SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres'; SET LOCAL TimeZone = 'UTC'"
            )
            # A cursor of the server: rows come as they are asked for.
            with connection.cursor(name="rows") as cursor:
                cursor.execute(query)
                if cursor.description is None:
                    raise InputError("postgresql://…: the query gives no rows to read.")
                described = [
                    (column.name, _POSTGRES.get(column.type_code, pa.string())) for column in cursor.description
                ]
                while True:
                    rows = cursor.fetchmany(_ROWS)
                    columns = [[row[place] for row in rows] for place in range(len(described))]
                    yield pa.table(
                        [_typed(column, kind) for column, (_, kind) in zip(columns, described, strict=True)],
                        names=[name for name, _ in described],
                    )
                    if not rows:
                        return
    except psycopg.Error as error:
        raise InputError(f"PostgreSQL refused: {' '.join(str(error).split())}.") from None


def _typed(cells: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        import pandas as pd

        moments = pd.to_datetime(pd.Series(cells, dtype=object), errors="coerce", format="ISO8601", utc=True)
        return pa.array(moments.dt.tz_localize(None), pa.timestamp("us"), from_pandas=True).cast(kind)
    if pa.types.is_duration(kind):
        seconds = [float("nan") if cell is None else duration_of(cell) for cell in cells]
        return pa.array([None if math.isnan(one) else timedelta(seconds=one) for one in seconds], kind)
    if pa.types.is_string(kind):
        return pa.array([None if cell is None else str(cell) for cell in cells], kind)
    if pa.types.is_floating(kind):
        return pa.array([None if cell is None else float(cell) for cell in cells], kind)
    return pa.array(cells, kind)


def _is_query(text: str) -> bool:
    return re.match(r"\s*(select|with|table|values|from)\b", text, re.IGNORECASE) is not None


def _query(path: Path, asked: str | None, tables: list[str]) -> str:
    """All of a table, or the query that was asked in place of one."""
    if asked is not None and asked not in tables and re.search(r"\s", asked.strip()) and _is_query(asked):
        return asked
    return f'SELECT * FROM "{_chosen(path, asked, tables).replace(chr(34), chr(34) * 2)}"'


def _chosen(path: Path, table: str | None, tables: list[str]) -> str:
    if table is None and len(tables) == 1:
        return tables[0]
    if table is None:
        raise InputError(
            f"{path} has the tables {listed(tables)}: choose one, as in {path}::{tables[0] if tables else 'NAME'}"
        )
    if table not in tables:
        raise InputError(f"{path} has no table {table!r}; it has {listed(tables)}.{did_you_mean(table, tables)}")
    return table
