"""Whether a comparison on synthetic data comes out as it would on real data (PATE-GAN, equation 8 and Table 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import InputError


def ranking_agreement(real: ArrayLike, synthetic: ArrayLike) -> float:
    """Synthetic Ranking Agreement: the share of pairs that both settings put in the same order (eq. 8).

    A pair that is tied in *both* counts as agreement, which equation 8 leaves out: with it, a table agrees with itself.
    """
    a, c = np.asarray(real, dtype=float), np.asarray(synthetic, dtype=float)
    if a.shape != c.shape or a.ndim != 1 or len(a) < 2:
        raise InputError(f"a ranking needs the same number of scores twice, at least two; got {a.shape} and {c.shape}.")
    first, second = np.triu_indices(len(a), 1)
    left, right = a[first] - a[second], c[first] - c[second]
    return float(np.mean((left * right > 0) | ((left == 0) & (right == 0))))


def feature_importance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Touches private data where the rows are real: |Pearson correlation| of each column with the label, 0 if constant.

    With more than two classes, the largest over the classes. A label that is a fraction is a number.
    """
    if len(x) == 0:
        return np.zeros(x.shape[1])
    wide = x.astype(np.float64)
    centred = np.nan_to_num(wide - np.nanmean(wide, axis=0))
    scale = np.sqrt((centred**2).sum(axis=0))
    importance = np.zeros(x.shape[1])
    labels = np.unique(y)[-max(1, len(np.unique(y)) - 1) :]
    for told in [y] if y.dtype.kind == "f" else [y == label for label in labels]:
        truth = told - np.mean(told)
        bottom = scale * np.sqrt((truth**2).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            importance = np.maximum(importance, np.where(bottom > 0, np.abs(truth @ centred) / bottom, 0.0))
    return importance
