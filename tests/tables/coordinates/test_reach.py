"""Where rows lie, by noisy counts: a spike beside many rows that drown one by one is not the whole column."""

from __future__ import annotations

import numpy as np

from understudy.tables.coordinates import reach
from understudy.tables.coordinates.histogram import Estimate

EDGES = np.array([-16.0, -4.0, 0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0])


def counted(counts: list[float], missing: float) -> Estimate:
    return Estimate(EDGES, np.array(counts), np.full(len(counts), 30.0**2), missing, 30.0**2)


def test_rows_that_are_not_in_the_spike_lie_somewhere() -> None:
    drowned = counted([-20, 5, 200, 25, 60, 70, 45, -40], 500)
    assert reach.leaves_many(drowned, (2, 3), rows=1000)
    assert reach.stretched(drowned.counts, drowned.deviations, (2, 3)) == (2, 7)
    assert not reach.leaves_many(drowned, (2, 7), rows=1000)


def test_a_column_that_is_all_there_is_left_alone() -> None:
    there = counted([10, -5, 480, 20, -30, 15, 5, -10], 500)
    assert not reach.leaves_many(there, (2, 3), rows=1000)
    # A spike with nothing around it is not stretched into the noise.
    quiet = np.array([0.0, 0, 200, 0, 0, 0, 0, 0])
    assert reach.stretched(quiet, np.full(8, 30.0), (2, 3)) == (2, 3)
