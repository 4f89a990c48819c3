"""The teacher axis over four devices: the same votes as on one, and nothing but votes between them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

_ON_FOUR_DEVICES = """
import json
import jax, jax.numpy as jnp, numpy as np
from understudy.learn import ensemble as module
from understudy.learn.ensemble import Ensemble
from understudy.learn.partition import shards

rng = np.random.default_rng(0)
X = rng.uniform(size=(131, 3)).astype(np.float32)
y = rng.integers(0, 3, 131)
dealt = shards(131, 10, seed=0)
asked = rng.uniform(size=(200, 3))
key = jax.random.key(0)
settings = dict(hidden=(4,), classes=3, epochs=5, batch=4)

one = Ensemble(10, **settings).fit(X, y, dealt, key)
mesh = jax.make_mesh((4,), ("teachers",))
four = Ensemble(10, mesh=mesh, **settings).fit(X, y, dealt, key)

plan = module.Curriculum(four._axis, (4,), 3, "xavier", 5, 4, dealt.width)
deal = lambda values: plan.axis.deal(values, dealt, plan.slots)
held = deal(np.arange(1, 132, dtype=np.float32))
rows = module.LabelledRows(deal(X), deal(y.astype(np.int32)), deal(np.ones(131, bool)))
numbers = plan.axis.place((), np.arange(12).__getitem__)
train = module._train.lower(plan, key, jnp.float32(0.01), jnp.float32(0), numbers, rows)
count = module._count.lower(plan.axis, four.teachers_, asked.T.astype(np.float32))
print(json.dumps({
    "devices": len(jax.devices()),
    "one": one.votes(asked).tolist(),
    "four": four.votes(asked).tolist(),
    "predictions agree": bool(np.array_equal(one.predictions(asked), four.predictions(asked))),
    "predictions": list(four.predictions(asked).shape),
    "spread": len(four.teachers_.weights[0].sharding.device_set),
    "held": [sorted(np.unique(part.data).astype(int).tolist()) for part in held.addressable_shards],
    "owner": dealt.owner().tolist(),
    "train": train.compile().as_text(),
    "count": count.compile().as_text(),
}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Device counts are fixed when JAX starts, so four of them need a process of their own."""
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", _ON_FOUR_DEVICES], env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["devices"] == 4
    return found


def test_four_devices_vote_as_one(seen: dict[str, Any]) -> None:
    assert seen["spread"] == 4
    assert seen["four"] == seen["one"]
    assert seen["predictions agree"]


def test_idle_teachers_of_the_padding_have_no_vote(seen: dict[str, Any]) -> None:
    """10 teachers on 4 devices leave two places empty."""
    assert {sum(row) for row in seen["four"]} == {10}
    assert seen["predictions"] == [10, 200]


def test_a_device_holds_the_rows_of_its_own_teachers_only(seen: dict[str, Any]) -> None:
    for device, numbers in enumerate(seen["held"]):
        rows = [number - 1 for number in numbers if number]
        assert rows
        assert {seen["owner"][row] // 3 for row in rows} == {device}


def test_only_the_sum_of_votes_crosses_devices(seen: dict[str, Any]) -> None:
    crossing = (
        r"\b(all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter|collective-broadcast)(?:-start)?\("
    )
    assert re.findall(crossing, seen["train"]) == []
    assert re.findall(crossing, seen["count"]) == ["all-reduce"]
    assert re.search(r"s32\[[\d,]*\]\S* all-reduce\(", seen["count"])
