"""The same sums of a Spark frame. pyspark is large and not among what the tests install: `pip install 'understudy[spark]'`, and Java."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_batches import FRAME, at_the_gate, fit, held, parted, same  # pyright: ignore[reportMissingImports]

from understudy.engines import open_source
from understudy.engines.on_spark import OnSpark, SparkSource
from understudy.errors import InputError
from understudy.tables.io import private_frame

sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install 'understudy[spark]'")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.files.maxPartitionBytes": "2000",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "37",
    }
    made = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield made
    made.stop()


@pytest.fixture
def frame(spark: Any, tmp_path: Path) -> Any:
    FRAME.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=30)
    return spark.read.parquet(str(tmp_path / "rows.parquet"))


def test_the_integers_at_the_gate_are_those_of_one_frame(frame: Any) -> None:
    whole = private_frame(frame.toArrow(), "the frame")
    pd.testing.assert_frame_equal(whole, FRAME, check_dtype=False)
    with open_source(frame) as source:  # type: ignore[union-attr]
        assert isinstance(source, SparkSource)
        assert isinstance(source.adder, OnSpark)
        assert len(source.parts) > 8  # sums are added up on the way
        assert source.rows == len(FRAME)
        assert list(source.types.columns) == list(whole.columns)
        found = at_the_gate(parted(source))
    for one, other in zip(found, at_the_gate(held(whole)), strict=True):
        assert one.dtype == other.dtype == np.int64
        np.testing.assert_array_equal(one, other)
    assert not frame.is_cached


def test_a_spark_frame_is_a_table(frame: Any) -> None:
    same(fit(frame), fit(private_frame(frame.toArrow(), "the frame")))


def test_persons_are_put_together(spark: Any) -> None:
    rng = np.random.default_rng(1)
    who = rng.integers(0, 60, 300)
    table = pd.DataFrame({"who": who, "x y": rng.integers(0, 7, 300), "class": who % 2})
    rows = [tuple(map(int, row)) for row in table.itertuples(index=False)]
    frame = spark.createDataFrame(rows, "who long, `x y` long, class long").repartition(3).persist()
    whole = private_frame(frame.toArrow(), "the frame")
    more: dict[str, Any] = {"person": "who", "rows_per_person": 5}
    same(fit(frame, **more), fit(whole, **more))
    assert frame.is_cached  # whoever told Spark to keep it tells it when to let go


def test_a_frame_without_rows_or_with_a_name_that_spark_cannot_take_is_refused(spark: Any) -> None:
    with pytest.raises(InputError, match="no name with a dot"):
        open_source(spark.createDataFrame([(1,)], "`x.y` long"))
    with pytest.raises(InputError, match="the Spark frame has no rows"):
        open_source(spark.createDataFrame([], "x long"))


def test_a_frame_that_changes_from_look_to_look_is_refused(spark: Any) -> None:
    frame = spark.range(1000).selectExpr("id AS x", "id % 2 AS class")
    source = open_source(frame)
    assert source is not None
    changed = OnSpark(frame.where("x % 7 > 0"))
    with pytest.raises(Exception, match="made anew at each look"):
        changed.results(parted(source).table._tasks(len, ("x",)), lambda done, of: None)  # type: ignore[attr-defined]
