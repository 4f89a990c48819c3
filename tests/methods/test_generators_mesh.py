"""Generators over four devices: the same votes as on one, and every teacher sees its own rows alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ON_FOUR_DEVICES = """
import json, sys
sys.path.insert(0, {tests!r})
import jax, jax.numpy as jnp, numpy as np
from small_generators import SCHEMA, small, table
from understudy.learn.discriminators import Discriminators, choose_slots, count_votes, deal_rows
from understudy.learn.discriminators import start_teachers, train_teachers
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.methods.gpate import count_directions
from understudy.tables import Encoder


cube = Encoder(SCHEMA).encode(table()).astype(np.float32)
d = cube.shape[1]
dealt = shards(60, 10, seed=0)
fakes = np.random.default_rng(0).uniform(size=(3, 8, d)).astype(np.float32)
asked = np.random.default_rng(1).uniform(size=(40, d)).astype(np.float32)
projections = np.random.default_rng(2).normal(size=(40, d, 2)).astype(np.float32)
changed = cube.copy()
changed[17] = 1 - changed[17]

def learn(mesh, rows):
    plan = Discriminators(TeacherAxis(10, mesh), d, (), 4, 0.05, dealt.width)
    given = deal_rows(rows, np.ones(60, bool), dealt, plan.axis)
    teachers = start_teachers(plan, (0, 0))
    slots = choose_slots(plan, np.random.default_rng(1), 3)
    teachers = train_teachers(plan, teachers, given, jnp.asarray(fakes), slots)
    votes = count_votes(plan, teachers, jnp.asarray(asked))
    directions = count_directions(plan.axis, 4, teachers, jnp.asarray(asked), jnp.asarray(projections), jnp.float32(1e-2))
    return np.asarray(teachers.networks.weights[0])[:10], np.asarray(votes), np.asarray(directions)

four = jax.make_mesh((4,), ("teachers",))
one, split, moved = learn(one_device(), cube), learn(four, cube), learn(four, changed)
print(json.dumps({{
    "devices": len(jax.devices()),
    "close": bool(np.allclose(one[0], split[0], atol=1e-5)),
    "votes": bool(np.array_equal(one[1], split[1])),
    "directions": float(np.mean(one[2] == split[2])),
    "totals": sorted(set(split[1].sum(axis=1).tolist())),
    "moved": np.flatnonzero(np.any(split[0] != moved[0], axis=(1, 2))).tolist(),
    "owner": int(dealt.owner()[17]),
}}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Device counts are fixed when JAX starts, so four of them need a process of their own."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    code = _ON_FOUR_DEVICES.format(tests=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_four_devices_vote_as_one(seen: dict[str, Any]) -> None:
    assert seen["devices"] == 4
    assert seen["close"]
    assert seen["votes"]
    assert seen["directions"] > 0.99
    assert seen["totals"] == [10]


def test_a_row_moves_its_own_teacher_alone(seen: dict[str, Any]) -> None:
    assert seen["moved"] == [seen["owner"]]
