"""A small table of patients, and what a command said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

FEATURES = ["mean radius", "mean texture", "mean area", "mean smoothness"]


def table() -> pd.DataFrame:
    loaded: Any = load_breast_cancer(as_frame=True)
    labels = np.asarray(loaded.target_names)[loaded.target]
    order = np.random.default_rng(0).permutation(len(labels))
    return loaded.data[FEATURES].assign(diagnosis=labels).iloc[order].reset_index(drop=True)


def result(printed: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = printed
    assert (code, err) == (0, ""), err
    return json.loads(out)


def files() -> set[str]:
    return {path.name for path in Path().iterdir()}


def edit(column: str, row: Any, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def edit(frame: pd.DataFrame) -> pd.DataFrame:
        changed = frame.astype({column: object})
        changed.loc[row, column] = value
        return changed

    return edit
