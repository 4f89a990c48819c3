"""What a killed writer left of a release is removed by the next, and what another one is writing is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.errors import InputError
from understudy.files import whole_folder
from understudy.tables.io import read_table

_WRITER = """
import sys, time
from pathlib import Path
from understudy.files import whole_folder
with whole_folder(Path(sys.argv[1])) as draft:
    (draft / "half").write_text("x")
    print("there", flush=True)
    time.sleep(600)
"""


def test_a_killed_writers_draft_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    target = tmp_path / "release"
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(target)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "there\n"
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        assert len(list(tmp_path.iterdir())) == 2
        with whole_folder(target) as draft:
            (draft / "whole").write_text("x")
        left = [path for path in tmp_path.iterdir() if path != target]
        assert len(left) == 1
        assert [path.name for path in target.iterdir()] == ["whole"]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()


def test_a_folder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_folder(tmp_path / "release") as draft:
            (draft / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())


def test_feather_from_a_stranger_may_not_fill_the_memory(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "large.feather"
    pd.DataFrame({"a": [0] * 30_000_000}).to_feather(path, compression="zstd")
    assert os.path.getsize(path) < 200_000
    with pytest.raises(InputError, match="would unpack"):
        read_table(path)
