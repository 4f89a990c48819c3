"""The same sums on a cluster of processes, of which one is killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_batches import FRAME, fit, same, write_parts  # pyright: ignore[reportMissingImports]

from understudy.engines import open_source
from understudy.engines.on_dask import OnDask, cluster
from understudy.errors import InputError
from understudy.privacy import Ledger
from understudy.tables.io import read_private

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as workers, distributed.Client(workers) as made:
        yield made


def test_a_worker_that_is_killed_changes_nothing_and_charges_once(tmp_path: Path, client: Any) -> None:
    folder, book = write_parts(tmp_path / "parts", FRAME), tmp_path / "ledger.db"
    Ledger.create(book).add_dataset("ward", epsilon=6.0, delta=1e-3)
    killed: list[int] = []

    def kill(at: Any) -> None:
        if at.words.startswith("pass 2") and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    found = fit(open_source(folder, OnDask(client)), progress=kill, ledger=str(book), dataset="ward")
    assert killed
    FRAME.to_parquet(tmp_path / "whole.parquet", index=False)
    same(found, fit(read_private(tmp_path / "whole.parquet").frame))
    assert [entry.state for entry in Ledger(book).entries("ward")] == ["committed"]
    assert Ledger(book).spent("ward").epsilon <= 5.0


def test_a_dask_dataframe_is_a_table(client: Any) -> None:
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": np.arange(200) % 7, "class": np.arange(200) % 2}).astype({"class": "str"})
    same(fit(dataframe.from_pandas(frame, npartitions=3)), fit(frame))


def test_a_scheduler_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        cluster("nowhere")
    with pytest.raises(InputError, match=r"there is no nowhere\.json"):
        cluster("nowhere.json")
