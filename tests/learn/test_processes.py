"""Two real processes on loopback: each loads the rows of its own teachers, and together they vote as one device does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import InputError
from understudy.learn import processes
from understudy.learn.partition import shards
from understudy.learn.processes import OwnRows, Processes

SCRIPT = Path(__file__).parent / "two_processes.py"


def _run(arguments: list[list[str]]) -> list[dict[str, Any]]:
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    started = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), *given],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for given in arguments
    ]
    try:
        found = [process.communicate(timeout=1500) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, errors) in zip(started, found, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(out.splitlines()[-1]) for out, _ in found]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    path = tmp_path_factory.mktemp("table") / "table.npy"
    rng = np.random.default_rng(0)
    values = rng.random((203, 6)).astype(np.float32)
    np.save(path, np.column_stack([values, values[:, 0] > 0.5]).astype(np.float32))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alone = _run([[str(path)]])[0]
    first, second = _run([[str(path), str(port), str(number)] for number in (0, 1)])
    return alone, first, second


Seen = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def test_two_processes_vote_as_one_device(seen: Seen) -> None:
    alone, first, second = seen
    assert (alone["devices"], first["devices"]) == (1, 2)
    assert (alone["spans"], first["spans"]) == (False, True)
    for kind in ("ensemble", "discriminators", "directions"):
        assert first[kind] == second[kind] == alone[kind]
    assert {sum(counts) for counts in first["ensemble"]} == {7}
    assert "noise of its own" in first["refused"]


def test_each_process_holds_the_rows_of_its_own_teachers_alone(seen: Seen) -> None:
    alone, first, second = seen
    assert sorted(first["rows"] + second["rows"]) == alone["rows"] == list(range(203))
    dealt = shards(203, 7, seed=3)
    assert first["rows"] == sorted(np.concatenate([dealt.of(t) for t in range(4)]).tolist())
    assert second["rows"] == sorted(np.concatenate([dealt.of(t) for t in range(4, 7)]).tolist())


def test_a_row_that_was_not_loaded_is_refused() -> None:
    held = OwnRows(np.arange(6.0).reshape(3, 2), np.array([1, 4, 6]), 9)
    assert len(held) == 9
    assert held.shape == (9, 2)
    assert held[np.array([6, 1])].tolist() == [[4.0, 5.0], [0.0, 1.0]]
    for wanted in (0, 5, 8):
        with pytest.raises(InputError, match=f"row {wanted} belongs to a teacher of this process"):
            held[np.array([1, wanted])]


@pytest.mark.parametrize("positions", [[1, 1, 2], [2, 1, 3], [-1, 0, 1], [0, 1, 9]])
def test_positions_must_be_those_of_rows(positions: list[int]) -> None:
    with pytest.raises(InputError, match="must ascend"):
        OwnRows(np.zeros((3, 2)), np.array(positions), 9)
    with pytest.raises(InputError, match="has 3 rows"):
        OwnRows(np.zeros((3, 2)), np.array([1, 2]), 9)


def test_a_port_that_is_taken_is_refused_in_words() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        with pytest.raises(InputError, match="Choose another port, the same one for all processes"):
            Processes.join(f"127.0.0.1:{taken.getsockname()[1]}", 0, 2)


def test_a_process_that_meets_nobody_ends_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Is the name of its machine right"):
        Processes.join("nobody.invalid:1234", 1, 2)
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(processes, "_JOIN_SECONDS", 0)
    with pytest.raises(InputError, match=f"nobody answered at 127.0.0.1:{port} for 0 seconds"):
        Processes.join(f"127.0.0.1:{port}", 1, 2)
