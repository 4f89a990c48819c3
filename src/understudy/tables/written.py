"""Dates that a table writes in its own way, as its schema says: read by that format, and written by it again.

The format is public: it is declared, never told from the rows. A cell that it does not fit is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.schema import Schema

_compute: Any = pyarrow.compute  # its functions are made when it is imported


def as_moments(frame: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """Private rows with moments where the schema says in which format they are written."""
    import pandas as pd
    from pandas.api import types

    made: dict[str, pd.Series] = {}
    for column in () if schema is None else schema:
        if column.format is None or column.name not in frame.columns:
            continue
        series = cast(pd.Series, frame[column.name])
        if not types.is_datetime64_any_dtype(series.dtype):
            parsed = pd.to_datetime(series.astype("str"), format=column.format, errors="coerce", utc=True)
            made[column.name] = parsed.dt.tz_localize(None)
    return frame.assign(**made) if made else frame


def as_written(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows that were drawn, with such columns as text again; as public or private as the rows."""
    import pandas as pd

    made = {
        column.name: cast(pd.Series, frame[column.name]).dt.strftime(column.format)
        for column in schema
        if column.format is not None and column.name in frame.columns
    }
    return frame.assign(**made) if made else frame


def plain_times(table: pa.Table) -> pa.Table:
    """For text files: days as 2024-12-31, other moments to the second; Arrow would write six zeros after it."""
    for place, field in enumerate(table.schema):
        if not pa.types.is_timestamp(field.type) or field.type.tz is not None:
            continue
        seconds = _compute.cast(table.column(place), pa.timestamp("s"), safe=False)
        whole = _compute.all(_compute.equal(seconds, _compute.floor_temporal(seconds, unit="day"))).as_py()
        kind = pa.date32() if whole else pa.timestamp("s")
        table = table.set_column(place, pa.field(field.name, kind), _compute.cast(seconds, kind))
    return table
