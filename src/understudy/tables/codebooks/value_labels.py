"""Value labels of SPSS, Stata and SAS files: the dictionary at the head of the file, without a row of it.

Labels say what codes mean, and need not name all of them: a column with labels takes "other" for what has none. Codes stay
codes, as the rows have them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.codebooks.plain import listed
from understudy.tables.column import Column

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_MOMENTS = ("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "DATETIME", "YMDHMS", "%t", "%d", "MMDDYY", "DDMMYY", "YYMMDD")


def pyreadstat(path: Path) -> Any:
    """The library, or an error that says how to have it."""
    try:
        import pyreadstat as library
    except ImportError:
        raise InputError(
            f"{path}: SPSS, Stata and SAS files are read by pyreadstat: pip install 'understudy[files]'"
        ) from None
    return library


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry for each variable, from the file's own dictionary."""
    del table
    library = pyreadstat(path)
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    try:
        _, said = getattr(library, READERS[path.suffix.lower()])(str(path), metadataonly=True)
    except (library.ReadstatError, library.PyreadstatError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    return [_entry(name, said) for name in said.column_names]


def _entry(name: str, said: Any) -> Column | Aside:
    labels = said.variable_value_labels.get(name)
    measure = said.variable_measure.get(name, "unknown")
    form = (said.original_variable_types.get(name) or "").upper()
    text = said.readstat_variable_types.get(name) == "string"
    if labels and measure != "scale":
        ordered = measure == "ordinal"
        return listed(
            name, labels if not ordered else sorted(labels), nullable=True, ordered=ordered, other=not ordered
        )
    if form.startswith(tuple(moment.upper() for moment in _MOMENTS)):
        return Column(name, "datetime", nullable=True)
    if text or measure == "nominal":
        return Column(name, "categorical", nullable=True)
    whole = said.readstat_variable_types.get(name, "").startswith("int") or form.endswith(".0")
    return Column(name, "integer" if whole else "continuous", nullable=True)
