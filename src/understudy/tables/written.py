"""Columns that a table writes in its own way, as its schema says: read by that format, and written by it again.

Dates and times in any dress and zone, durations, digits with leading zeros. The format is public: it is declared, said by
the file's types or paid for, never told from the rows for free. A cell that it does not fit is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.column import Column
    from understudy.tables.schema import Schema

_compute: Any = pyarrow.compute  # its functions are made when it is imported


def as_read(frame: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """Private rows with moments, digits and codes as the schema says that they are written."""
    made: dict[str, pd.Series] = {}
    for column in () if schema is None else schema:
        if column.name in frame.columns:
            read = _read(cast("pd.Series", frame[column.name]), column)
            if read is not None:
                made[column.name] = read
    return frame.assign(**made) if made else frame


def _read(series: pd.Series, column: Column) -> pd.Series | None:
    """The column in its own type, None where it stays as it is."""
    import pandas as pd
    from pandas.api import types

    from understudy.tables.column import code_text
    from understudy.tables.texts import whole_texts
    from understudy.tables.values import moments

    series = whole_texts(series)
    if column.kind == "datetime" and (column.format is not None or column.zone is not None):
        text = types.is_string_dtype(series.dtype) or types.is_object_dtype(series.dtype)
        text |= column.format is not None and types.is_integer_dtype(series.dtype)  # as %Y%m%d writes them
        return moments(series, column.format, column.zone).dt.tz_localize(None) if text else None
    if column.kind == "code":
        return cast(
            pd.Series, series.map(lambda value: code_text(value, column.digits), na_action="ignore").astype("str")
        )
    if column.words is not None and not types.is_bool_dtype(series.dtype):
        said = {**dict(zip(column.words, (False, True), strict=True)), **{"False": False, "True": True}}
        return cast(pd.Series, series.map(lambda value: said.get(str(value)), na_action="ignore").astype("boolean"))
    if column.digits is not None and not types.is_numeric_dtype(series.dtype):
        digits = series.astype("str").str.fullmatch(r"\d+").fillna(False)
        return cast(pd.Series, pd.to_numeric(series.where(digits.to_numpy(dtype=bool)), errors="coerce"))
    return None


def as_written(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows that were drawn, with such columns as the table has them; as public or private as the rows."""
    made = {
        column.name: _written(cast("pd.Series", frame[column.name]), column)
        for column in schema
        if (column.format is not None or column.zone is not None) and column.name in frame.columns
    }
    return frame.assign(**made) if made else frame


def _written(series: pd.Series, column: Column) -> pd.Series:
    from understudy.tables.column import code_text
    from understudy.tables.forms import written_durations

    if column.kind == "datetime":
        shown = series.dt.tz_localize("UTC").dt.tz_convert(column.zone or "UTC")
        if column.format is None:
            return shown
        # Python writes +0200 where ISO 8601 and most files have +02:00.
        text = shown.dt.strftime(column.format)
        return text.str.replace(r"([+-]\d\d)(\d\d)$", r"\1:\2", regex=True) if column.format.endswith("%z") else text
    if column.kind == "duration":
        return written_durations(series, cast(str, column.format))
    if column.words is not None:
        no, yes = (int(word) if word.isdigit() and str(int(word)) == word else word for word in column.words)
        kind = "Int64" if isinstance(no, int) and isinstance(yes, int) else "str"
        return cast("pd.Series", series.map({False: no, True: yes}, na_action="ignore").astype(kind))
    return series.map(lambda value: code_text(value, column.digits), na_action="ignore").astype("str")


def plain_times(table: pa.Table) -> pa.Table:
    """For text files: days as 2024-12-31, other moments and durations to the second; Arrow would write six zeros after it."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            text = pa.array(_clocked(table.column(place)), pa.string())
            table = table.set_column(place, pa.field(field.name, pa.string()), text)
        if not pa.types.is_timestamp(field.type):
            continue
        seconds = _compute.cast(table.column(place), pa.timestamp("s", field.type.tz), safe=False)
        whole = (
            field.type.tz is None
            and _compute.all(_compute.equal(seconds, _compute.floor_temporal(seconds, unit="day"))).as_py()
        )
        kind = pa.date32() if whole else seconds.type
        table = table.set_column(place, pa.field(field.name, kind), _compute.cast(seconds, kind))
    return table


def _clocked(lengths: pa.ChunkedArray) -> list[str | None]:
    from understudy.tables.forms import duration_text

    return [None if length is None else duration_text(length) for length in lengths.cast(pa.duration("us")).to_pylist()]
