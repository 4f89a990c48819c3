"""Codebooks that people have already, read as a schema: what they say is public, so it costs nothing.

A codebook says what may occur, not what does. Where it says nothing of a range or of the values, the gap stays, and is
learnt and paid for like any other. No row is ever read here.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.column import Column
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed

Entries = list[Column | Aside]

FORMATS = {
    "redcap": "REDCap data dictionary (.csv)",
    "spss": "SPSS file with its value labels (.sav, .zsav, .por)",
    "stata": "Stata file with its value labels (.dta)",
    "sas": "SAS file with its formats (.sas7bdat, .xpt)",
    "sdv": "SDV metadata (.json)",
    "frictionless": "JSON Table Schema or data package of Frictionless (.json)",
    "sql": "CREATE TABLE statement (.sql)",
    "arrow": "types of a Parquet or Feather file",
}
_HOMES = {"spss": "value_labels", "stata": "value_labels", "sas": "value_labels"}
_BY_SUFFIX = {
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "spss",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
    ".sql": "sql",
    ".ddl": "sql",
    ".parquet": "arrow",
    ".pq": "arrow",
    ".feather": "arrow",
    ".arrow": "arrow",
}


def import_codebook(
    path: str | os.PathLike[str], format: str | None = None, *, target: str | None = None, table: str | None = None
) -> Schema:
    """The schema that a codebook tells; `table` chooses among several tables in one codebook."""
    path = Path(path)
    chosen = detect(path) if format is None else format
    if chosen not in FORMATS:
        raise InputError(f"--format {chosen!r}: one of {', '.join(FORMATS)}.{did_you_mean(chosen, FORMATS)}")
    module = importlib.import_module(f"understudy.tables.codebooks.{_HOMES.get(chosen, chosen)}")
    read: Callable[[Path, str | None], Entries] = module.read
    try:
        entries = read(path, table)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (offset {error.start}). Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    names = [entry.name for entry in entries]
    if target is not None and target not in names:
        raise InputError(f"{path} has no column {target!r} to be the target.{did_you_mean(target, names)}")
    schema = Schema.from_entries(entries, target)
    if schema is None:
        raise InputError(f"{path}: no column in it is one that can be learnt; it has {listed(names, 5)}.")
    return schema


def detect(path: Path) -> str:
    """The format of a codebook, by its suffix and, in CSV and JSON, by the names that it uses."""
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix not in (".csv", ".json"):
        raise InputError(
            f"{path}: cannot tell which codebook this is by {suffix!r}. Say it with --format: {', '.join(FORMATS)}."
        )
    from understudy.tables.codebooks import frictionless, redcap, sdv

    for name, module in (("redcap", redcap),) if suffix == ".csv" else (("sdv", sdv), ("frictionless", frictionless)):
        if module.is_one(path):
            return name
    raise InputError(
        f"{path}: this is none of the codebooks that are known here: {'; '.join(FORMATS.values())}. "
        + ("A table of rows is read by `understudy schema init`." if suffix == ".csv" else "")
    )
