"""Runs inside an environment of its own: a library's own search for the bounds of number columns.

    python domain_worker.py LIBRARY FOLDER EPSILON REPEATS

FOLDER holds one .npy file a number column, without missing values; this prints a JSON list with one object a repeat: column
-> [low, high], or null where nothing was found. Epsilon is split evenly over the columns, as both libraries do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np


def main(library: str, folder: str, epsilon: float, repeats: int) -> None:
    if library == "dpmm":
        from dpmm.processing.utils import approx_bounds  # pyright: ignore[reportMissingImports]
    else:
        from snsql.sql._mechanisms.approx_bounds import approx_bounds  # pyright: ignore[reportMissingImports]
    columns = {path.stem: np.load(path) for path in sorted(Path(folder).glob("*.npy"))}
    found = []
    for _ in range(repeats):
        bounds: dict[str, list[float] | None] = {}
        for name, values in columns.items():
            low, high = approx_bounds(list(values), epsilon / len(columns))
            bounds[name] = None if low is None or high is None else [float(low), float(high)]
        found.append(bounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
