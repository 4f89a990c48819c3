"""Over a whole run every teacher sees its own shard and nothing else: all methods with teachers, all modes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.methods.paid_votes import MODES

VOTES = ("pategan votes", "gpate votes")

SCRIPT = Path(__file__).parent / "recording_teachers.py"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Device counts are fixed when JAX starts, so four of them need a process of their own."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize(
    ("method", "mode"),
    [("pategan", "unconditional"), ("gpate", "unconditional"), *((m, o) for m in VOTES for o in MODES)],
)
def test_a_teacher_sees_its_own_shard_alone(method: str, mode: str, devices: int, recorded: dict[str, Any]) -> None:
    seen = recorded["found"][f"{method} {mode} {devices}"]
    assert all(set(rows) <= set(shard) for rows, shard in zip(seen, recorded["shards"], strict=True))
    assert sum(map(len, seen)) > 100  # the recorder records: most of the 157 rows were learnt from
    assert len({row for rows in seen for row in rows}) == sum(map(len, seen))


def test_all_rows_of_a_person_go_to_one_teacher_and_nobody_else_moves_them() -> None:
    from understudy.audit import worlds
    from understudy.methods.teaching import _dealt  # pyright: ignore[reportPrivateUsage]
    from understudy.privacy import Budget
    from understudy.release.driver import Run
    from understudy.release.intake import Intake, check_persons

    def teachers(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Of each person its seats' teachers, and which seats are taken."""
        rows, declared, target, persons = check_persons(
            frame, worlds.TARGET, worlds.SCHEMA, worlds.VISITORS, 0, numbered=False, strict=False
        )
        taken = Intake(rows, persons.present, declared, target, 0, Budget(1.0, 1e-5), Run(), persons=persons)
        shape = (persons.number, persons.most)
        return _dealt(taken, 40).owner().reshape(shape), persons.present.reshape(shape)

    here = worlds.with_extreme_person(worlds.visits())
    owner, present = teachers(here)
    assert (owner == owner[:, :1]).all()
    assert (owner >= 0).all()
    there, left = teachers(worlds.without_person(here))
    assert (there == owner).all()
    assert np.count_nonzero((present != left).any(axis=1)) == 1
