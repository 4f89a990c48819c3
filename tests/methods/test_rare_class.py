"""A class too rare to be found in an estimated schema must not decide whether there is a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_generators import small  # pyright: ignore[reportMissingImports]

from understudy import DPKIP, MomentsGenerator
from understudy.release.intake import check_table
from understudy.tables import Column, Coordinates, Schema

_DRAFT = Schema((Column("x", "continuous", bounds=(0.0, 1.0)), Column("y", "categorical")), "y")


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.5, "a", "b").astype(object)
    y[17] = "rare"
    return pd.DataFrame({"x": rng.random(3000), "y": y})


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(lambda: MomentsGenerator(epsilon=4.0, random_state=0), id="moments"),
        pytest.param(lambda: small("pategan", epsilon=8.0, teachers=100), id="pategan"),
        pytest.param(lambda: DPKIP(epsilon=4.0, per_class=2, epochs=1, batch=500, random_state=0), id="dpkip"),
    ],
)
def test_one_row_of_a_rare_class_stops_nothing(method: Any) -> None:
    fitted = method().fit(_table(), "y", _DRAFT)
    assert fitted.certificate_.verify() <= fitted.epsilon


def test_listed_classes_stay_and_only_the_row_itself_moves() -> None:
    complete = _DRAFT.with_column(Column("y", "categorical", categories=("a", "b")))
    frame = _table()
    settled = Coordinates.declared(complete, 3000).settled(frame, np.random.default_rng(1))["y"]
    assert set(settled) == {"a", "b"}
    others = np.arange(3000) != 17
    assert list(settled[others]) == list(frame["y"][others])
    rows, present, *_ = check_table(frame, "y", complete)
    assert (len(rows), present.sum(), present[17]) == (2999, 2999, False), "by a schema it has no class, and is blank"
