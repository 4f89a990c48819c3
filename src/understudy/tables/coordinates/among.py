"""Where values lie among edges: what `numpy.searchsorted` says, several times as fast for many values and few edges.

Edges fall into even buckets. A value's bucket tells all edges but those of the bucket itself, which are few; these are compared. That
is exact: the bucket rises with the value, in floating point too, so an edge of a lower bucket is smaller, and one of a higher larger.
"""

from __future__ import annotations

import numpy as np

_BUCKETS = (1 << 12, 1 << 16)
# With more edges in one bucket, searching is as fast. A chunk stays in the processor's own memory.
_MOST, _CHUNK = 3, 1 << 14


def places_among(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each value the number of edges that are not above it. Edges rise; no value is NaN."""
    if len(values) < _CHUNK or len(edges) < 2:
        return np.searchsorted(edges, values, side="right")
    for buckets in _BUCKETS:
        with np.errstate(all="ignore"):
            scale = buckets / (edges[-1] - edges[0])
            if not (np.isfinite(scale) and scale > 0):
                break
            own = _bucket(edges, edges[0], scale, buckets)
        most = int(np.bincount(own).max())
        if most > _MOST:
            continue
        below = np.searchsorted(own, np.arange(buckets + 1))
        beyond = np.append(edges, np.full(most, np.nan))
        found = np.empty(len(values), dtype=np.intp)
        for start in range(0, len(values), _CHUNK):
            part, here = values[start : start + _CHUNK], found[start : start + _CHUNK]
            first = below.take(_bucket(part, edges[0], scale, buckets))
            here[:] = first
            for more in range(most):
                here += part >= beyond.take(first + more)
        return found
    return np.searchsorted(edges, values, side="right")


def _bucket(values: np.ndarray, low: float, scale: float, buckets: int) -> np.ndarray:
    away = np.subtract(values, low)
    away *= scale
    np.maximum(away, 0, out=away)
    np.minimum(away, buckets, out=away)
    return away.astype(np.intp)
