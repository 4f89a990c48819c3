"""Signals that a synthetic table may tell about single real rows. They warn; they prove nothing.

A generator can pass all of these and leak, and only the certificate of its mechanism promises anything. Everything here
touches private data.
"""

from __future__ import annotations

import numpy as np

from understudy.evaluation.features import Rows
from understudy.evaluation.result import Signals

ROWS = 2_000
# Rounding of float32 features puts equal rows this far apart at most.
_SAME = 1e-5


def signals(train: Rows, holdout: Rows, synthetic: Rows, seed: int = 0) -> Signals | None:
    """Touches private data: distances between synthetic rows, the rows that they were made from, and rows that they were not.

    All three are cut to one number of rows, so that chance alone makes neither side nearer. None where there are too
    few rows to say anything.
    """
    size = min(len(train), len(holdout), len(synthetic), ROWS)
    if size < 10:
        return None
    random = np.random.default_rng(seed)
    middle, spread = _scale(train.x)
    members, others, rows = (
        np.nan_to_num((side.x[random.choice(len(side), size, replace=False)] - middle) / spread)
        for side in (train, holdout, synthetic)
    )
    near_member, near_other = _closest(rows, members), _closest(rows, others)
    # Ties (rows that lie as near to both) count half: a table that copies neither side sits at one half.
    closer = np.mean((near_member < near_other) + 0.5 * (near_member == near_other))
    return Signals(
        closer_to_training=float(closer),
        closest_training=float(np.median(near_member)),
        closest_holdout=float(np.median(near_other)),
        copies=float(np.mean(near_member <= _SAME) - np.mean(near_other <= _SAME)),
        membership_auc=_membership(members, others, rows),
        rows=size,
    )


def _scale(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(x)
    count = np.maximum(known.sum(axis=0), 1)
    middle = np.where(known, x, 0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, x - middle, 0) ** 2).sum(axis=0) / count)
    return middle, np.where(spread > 0, spread, 1.0)


def _closest(rows: np.ndarray, among: np.ndarray) -> np.ndarray:
    from sklearn.metrics import pairwise_distances_argmin_min

    return pairwise_distances_argmin_min(rows, among)[1]


def _membership(members: np.ndarray, others: np.ndarray, rows: np.ndarray) -> float:
    """The attack: a real row is called a member the nearer it lies to a synthetic one."""
    from sklearn.metrics import roc_auc_score

    distance = np.concatenate([_closest(members, rows), _closest(others, rows)])
    return float(roc_auc_score(np.repeat([1, 0], [len(members), len(others)]), -distance))
