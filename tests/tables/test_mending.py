"""What of a private table did not fit is counted for its owner, by the same reading that the methods use."""

from __future__ import annotations

import pandas as pd

from understudy.tables import Column, PrivateTable, Schema
from understudy.tables.mending import mended

SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 100), nullable=True),
        Column("dose", "continuous", bounds=(0, 1)),
        Column("ward", "categorical", categories=("north", "south"), other=True),
        Column("sick", "boolean"),
    ),
    "sick",
)


def test_every_row_and_cell_that_does_not_fit_is_counted_once() -> None:
    rows = [
        ("50", "0.5", "north", "True"),
        ("old", "0.5", "attic", "False"),
        ("500", None, "other", "True"),
        (None, "inf", "south", "perhaps"),
        (None, None, None, None),
        (None, None, None, None),
    ]
    found = mended(PrivateTable(pd.DataFrame(rows, columns=list(SCHEMA.names)), False, unreadable=1), SCHEMA)
    assert found.to_dict() == {
        "rows": {"unreadable": 1, "blank": 1, "without_target": 1},
        "cells": {"age": {"unfit": 1, "clipped": 1}, "dose": {"missing": 1, "clipped": 1}, "ward": {"other": 1}},
    }
    said = "; ".join(found.sentences())
    assert "1 lines could not be read" in said
    assert "5 cells do not fit, in 'age', 'dose', 'ward'" in said


def test_a_table_that_fits_is_said_to() -> None:
    table = PrivateTable(pd.DataFrame({"age": [1], "dose": [0.5], "ward": ["north"], "sick": [True]}), True)
    assert mended(table, SCHEMA).sentences() == ["every row and cell fits"]
    assert mended(table, SCHEMA).to_dict() == {"rows": {}, "cells": {}}
