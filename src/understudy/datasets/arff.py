"""Read the ARFF files that OpenML serves: a header of typed columns, then comma-separated rows."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
_NUMERIC = ("numeric", "real", "integer")


def read_arff(path: Path, *, numeric: str = "float64") -> pd.DataFrame:
    """The table in a dense ARFF file; `?` is missing, text is categorical, numbers are of the type `numeric`.

    Not scipy's reader: it walks the rows in Python, and the tables here have up to half a million.
    """
    import pandas as pd

    with open(path, encoding="utf-8", errors="strict") as file:
        types: dict[str, str] = {}
        for line in iter(file.readline, ""):
            if line.strip().lower() == "@data":
                break
            if match := _ATTRIBUTE.match(line.strip()):
                types[_unquote(match[1])] = match[2].strip()
        else:
            raise InputError(f"{path.name} has no @data line, so it is not an ARFF file or is cut short.")
        start = file.tell()
        sample = "".join(islice(iter(file.readline, ""), 100))
        if sample.lstrip().startswith("{"):
            raise InputError(f"{path.name} is a sparse ARFF file, which is not read here.")
        file.seek(start)
        return pd.read_csv(
            file,
            header=None,
            names=list(types),
            dtype={name: numeric if kind.lower() in _NUMERIC else "category" for name, kind in types.items()},  # pyright: ignore[reportArgumentType]
            na_values=["?"],
            keep_default_na=False,
            skipinitialspace=True,
            quotechar='"' if '"' in sample and "'" not in sample else "'",
            escapechar="\\",
        )


def _unquote(name: str) -> str:
    if name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name
