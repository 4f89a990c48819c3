"""Private cells that are no whole text: half a character (a lone surrogate), or bytes that are no UTF-8.

Neither can be written down, and an error would say that there is such a row. They are text with their codes written out.
"""

from __future__ import annotations

from typing import Any

import pandas as pd


def as_text(series: pd.Series) -> pd.Series:
    """Private. Every cell as text; how one is written hangs on no other."""
    try:
        return series.astype(str)
    except UnicodeError:
        return _whole(series).astype(str)


def whole_texts(series: pd.Series) -> pd.Series:
    """Private. The column as it is; where cells are no whole text, with those written out."""
    if series.dtype == object:
        try:
            series.astype(str)
        except UnicodeError:
            return _whole(series)
    return series


def whole_text(cell: Any) -> Any:
    """A cell as it is, or what cannot be written as text in which its codes are written out."""
    if isinstance(cell, str):
        return cell.encode(errors="backslashreplace").decode()
    if isinstance(cell, bytes):
        try:
            cell.decode()
        except UnicodeDecodeError:
            return cell.decode(errors="backslashreplace")
    return cell


def _whole(series: pd.Series) -> pd.Series:
    return pd.Series([whole_text(cell) for cell in series], series.index, dtype=object, name=series.name)
