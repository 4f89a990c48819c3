"""Generators over four devices: the same votes as on one, and every teacher sees its own rows alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

_ON_FOUR_DEVICES = """
import json
import jax, jax.numpy as jnp, numpy as np
from understudy.learn import discriminators as d
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device

dealt = shards(60, 10, seed=0)
rng = np.random.default_rng(0)
rows = rng.normal(size=(60, 5)).astype(np.float32)
classes = (rng.random(60) < 0.4).astype(np.int32)
asked, kinds = rng.normal(size=(40, 5)).astype(np.float32), jnp.asarray(rng.integers(0, 2, 40), jnp.int32)
projections = rng.normal(size=(40, 5, 2)).astype(np.float32)
fakes = d.Fakes(
    jnp.asarray(rng.normal(size=(3, 8, 5)), jnp.float32), jnp.asarray(rng.integers(0, 2, (3, 8)), jnp.int32),
    *(jnp.asarray(rng.random((3, 8)), jnp.float32) for _ in range(2)),
)
changed = rows.copy()
changed[17] += 1

def learn(mesh, rows):
    plan = d.Discriminators(TeacherAxis(10, mesh), 5, (8,), 0.05)
    given = d.deal_rows(rows, classes, dealt, plan.axis, 2)
    teachers = d.train_teachers(plan, d.start_teachers(plan, (0, 0)), given, fakes)
    ask = (teachers, given.counts, jnp.asarray(asked), kinds)
    votes = d.count_votes(plan, *ask)
    directions = d.count_directions(plan, 4, *ask, jnp.asarray(projections), jnp.float32(1e-2))
    vector = d.sum_directions(plan, (None, (0, 1, 2, 3, 4)), *ask)
    return np.asarray(teachers.networks.weights[0])[:10], np.asarray(votes), np.asarray(directions), np.asarray(vector)

pixels = rng.random((60, 16)).astype(np.float32)
pictures = np.concatenate([pixels, np.eye(2)[classes]], axis=1).astype(np.float32)
shown = d.Fakes(jnp.asarray(rng.random((2, 8, 18)), jnp.float32), fakes.classes[:2], fakes.row[:2], fakes.between[:2])

def look(mesh):
    plan = d.Discriminators(TeacherAxis(10, mesh), 18, (4,), 0.05, True, d.Picture((4, 4, 1), 2))
    given = d.deal_rows(pictures, classes, dealt, plan.axis, 2)
    teachers = d.train_teachers(plan, d.start_teachers(plan, (0, 0)), given, shown)
    ask = (teachers, given.counts, shown.values[0], shown.classes[0])
    return np.asarray(d.sum_directions(plan, (None, tuple(range(16))), *ask, jnp.eye(4, 16)))

four = jax.make_mesh((4,), ("teachers",))
one, split, moved = learn(one_device(), rows), learn(four, rows), learn(four, changed)
print(json.dumps({{
    "devices": len(jax.devices()),
    "close": bool(np.allclose(one[0], split[0], atol=1e-5)),
    "votes": bool(np.array_equal(one[1], split[1])),
    "directions": float(np.mean(one[2] == split[2])),
    "vector": float(np.abs(one[3] - split[3]).max() * d.GRID),
    "pictures": float(np.abs(look(one_device()) - look(four)).max() * d.GRID),
    "totals": sorted(set(split[1].sum(axis=1).tolist())),
    "moved": np.flatnonzero(np.any(split[0] != moved[0], axis=(1, 2))).tolist(),
    "owner": int(dealt.owner()[17]),
}}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Device counts are fixed when JAX starts, so four of them need a process of their own."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    code = _ON_FOUR_DEVICES.replace("{{", "{").replace("}}", "}")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_four_devices_vote_as_one(seen: dict[str, Any]) -> None:
    assert seen["devices"] == 4
    assert seen["close"]
    assert seen["votes"]
    assert seen["directions"] > 0.99
    assert seen["vector"] < 1e-2
    assert seen["pictures"] < 1e-2
    assert seen["totals"] == [10]


def test_a_row_moves_its_own_teacher_alone(seen: dict[str, Any]) -> None:
    assert seen["moved"] == [seen["owner"]]
