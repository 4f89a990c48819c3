"""Phrases that error messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """` Did you mean 'age'?` when something known is spelled alike, else nothing."""
    names = {str(name).lower(): str(name) for name in known}
    close = difflib.get_close_matches(str(given).lower(), names, n=1)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def listed(names: Sequence[object], most: int = 10) -> str:
    """`'age', 'sex'`, cut short where a table has hundreds of columns."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def nth_row(position: int) -> str:
    """A row by its position, as a person counts."""
    return f"row {position + 1} (the first is row 1)"
