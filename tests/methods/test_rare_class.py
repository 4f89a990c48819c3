"""A class too rare to be found in an estimated schema must not decide whether there is a release."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_generators import small  # pyright: ignore[reportMissingImports]

from understudy import DPKIP, MomentsGenerator, PATEClassifier
from understudy.errors import UnderstudyWarning
from understudy.methods.classes import warn_of_numbers
from understudy.methods.moments.targets import target_of
from understudy.privacy import ABSENT
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


def test_rows_of_classes_that_were_not_found_are_in_none() -> None:
    """Given a class at random they would blur the ones that were found; and the release says that they are missing."""
    frame = _table()
    frame.loc[:899, "y"] = [f"z{i}" for i in range(900)]
    found = Coordinates.declared(_DRAFT.with_column(Column("y", "categorical", categories=("a", "b"))), 3000)
    goal = target_of(replace(found, columns=tuple(replace(c, target=c.name == "y") for c in found)), None)
    classes = goal.classes(found.cells(frame, np.random.default_rng(0)), frame)
    assert set(classes[:900]) == {ABSENT}
    assert classes[900:].tolist() == [("a", "b").index(label) for label in frame["y"][900:]]
    generator = MomentsGenerator(epsilon=6.0, random_state=0, unsafe_noise_seed=1)
    with pytest.warns(UnderstudyWarning, match="rows are in none of them"):
        generator.fit(frame, "y", _DRAFT)
    assert set(generator.sample(500, random_state=0)["y"]) == {"a", "b"}


def test_a_student_with_one_answer_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((600, 2))
    y = np.array(["no"] * 597 + ["yes"] * 3)
    model = PATEClassifier(teachers=20, epsilon=8.0, classes=["no", "yes"], random_state=0)
    with pytest.warns(UnderstudyWarning, match="'no' of every public row"):
        model.fit(x, y, public=rng.random((50, 2)))


def test_so_many_numbers_are_a_quantity() -> None:
    with pytest.warns(UnderstudyWarning, match="looks like a number"):
        warn_of_numbers("age", list(range(40)), 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_numbers("digit", list(range(10)), 1000)
        warn_of_numbers("name", [f"n{i}" for i in range(40)], 1000)
