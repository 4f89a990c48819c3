"""Wide outer cells of a spread become finer, with the rows where those beside them say that they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.ladder import TINY
from understudy.tables.coordinates.marginal import Marginal
from understudy.tables.coordinates.plan import plan_at
from understudy.tables.coordinates.release import describe_public
from understudy.tables.coordinates.thinning import thinned_out


@given(st.data(), st.booleans())
def test_the_range_and_the_share_of_every_old_cell_stay(data: st.DataObject, whole: bool) -> None:
    size = data.draw(st.integers(1, 8))
    widths = data.draw(st.lists(st.integers(1, 300), min_size=size, max_size=size))
    edges = np.cumsum([data.draw(st.integers(-400, 50)), *widths]).astype(float) * (1 if whole else 0.37)
    mass = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    finer, shares = thinned_out(edges, mass, whole=whole)
    assert np.all(np.diff(finer) > 0)
    assert len(shares) == len(finer) - 1
    assert np.all(shares >= 0)
    assert set(edges) <= set(finer)
    assert not whole or np.array_equal(finer, np.rint(finer))
    old = np.searchsorted(edges, finer[:-1], side="right") - 1
    assert np.bincount(old, shares, size) == pytest.approx(mass)


def test_both_ends_fall_from_the_density_beside_them() -> None:
    edges = np.array([-256.0, -64, -32, 0, 32, 64, 256])
    finer, shares = thinned_out(edges, np.array([0.05, 0.2, 0.25, 0.25, 0.2, 0.05]), whole=True)
    assert finer == pytest.approx(-finer[::-1])
    assert shares == pytest.approx(shares[::-1])
    above = Marginal(finer, shares, True)
    assert above.quantiles(np.array([0.975]))[0] < 75  # of an even spread 160
    density = (shares / np.diff(finer))[finer[:-1] >= 64]
    assert np.all(np.diff(density) < 0)
    assert density[0] == pytest.approx(0.2 / 32, rel=0.3)


def test_an_even_end_and_a_spike_at_zero_cut_nothing() -> None:
    for edges, mass in (
        ([0.0, 10, 20, 40], [0.25, 0.25, 0.5]),
        ([-TINY, TINY, 4], [0.9, 0.1]),
        ([0.0, TINY, 4], [0.9, 0.1]),
        ([-4.0, -TINY, 0], [0.1, 0.9]),
    ):
        finer, shares = thinned_out(np.array(edges), np.array(mass), whole=False)
        assert finer == pytest.approx(np.array(edges))
        assert shares == pytest.approx(np.array(mass))


def test_ages_that_nobody_declared_are_ages() -> None:
    """With much noise the ladder's cell from 64 to 256 is not looked at again; drawn evenly, a thirteenth of the rows were above 100."""
    frame = pd.DataFrame({"age": np.random.default_rng(0).integers(25, 68, 8000)})
    known = (Known("age", "number", step=1.0, nullable=False),)
    (found,) = describe_public(frame, known, plan_at(known, 8000, 120.0, 1e-6))
    drawn = found.marginal.quantiles((np.arange(4000) + 0.5) / 4000)
    assert np.mean(drawn > 100) < 0.005
    assert drawn.std() < 1.25 * frame["age"].std()
