"""What each of two processes does, and what one process does alone: teachers learn and vote. Prints JSON.

python two_processes.py TABLE.npy PORT NUMBER      (or without PORT and NUMBER: alone)
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import numpy as np

ROWS, TEACHERS, FEATURES = 203, 7, 6


def main(path: str) -> None:
    from understudy.learn.discriminators import (
        Discriminators,
        Fakes,
        count_directions,
        count_votes,
        deal_rows,
        start_teachers,
        train_teachers,
    )
    from understudy.learn.ensemble import Ensemble
    from understudy.learn.partition import shards
    from understudy.learn.processes import OwnRows, all_devices, own_rows, spans_processes
    from understudy.learn.teachers import TeacherAxis

    mesh = all_devices()
    dealt = shards(ROWS, TEACHERS, seed=3)
    mine = own_rows(dealt, mesh)
    table = np.load(path, mmap_mode="r")
    own = np.array(table[mine])  # a copy of one's own rows; the rest of the file is never read
    values = OwnRows(own[:, :-1], mine, ROWS)
    labels = OwnRows(own[:, -1].astype(np.int32), mine, ROWS)
    asked = np.random.default_rng(5).random((40, FEATURES)).astype(np.float32)

    ensemble = Ensemble(TEACHERS, hidden=(8,), epochs=5, mesh=mesh).fit(values, labels, dealt, jax.random.key(0))
    plan = Discriminators(TeacherAxis(TEACHERS, mesh), FEATURES, (), 0.05)
    rng = np.random.default_rng(6)
    shape = (3, 16)
    kinds = np.zeros(shape, np.int32)
    fakes = Fakes(rng.random((*shape, FEATURES)).astype("f4"), kinds, *rng.random((2, *shape)).astype("f4"))  # type: ignore[arg-type]
    of_one_class = OwnRows(np.zeros(len(mine), np.int32), mine, ROWS)
    given = deal_rows(values, of_one_class, dealt, plan.axis, 1)
    teachers = train_teachers(plan, start_teachers(plan, (0, 0)), given, fakes)
    projections = rng.normal(size=(40, FEATURES, 2)).astype(np.float32)
    ask = (teachers, given.counts, asked, np.zeros(40, np.int32))
    directions = count_directions(plan, 4, *ask, projections, np.float32(1e-2))
    found = {
        "devices": mesh.size,
        "spans": spans_processes(mesh),
        "rows": mine.tolist(),
        "ensemble": ensemble.votes(asked).tolist(),
        "discriminators": np.asarray(count_votes(plan, *ask)).tolist(),
        "directions": np.asarray(directions).tolist(),
    }
    if found["spans"]:
        found["refused"] = refusal(mesh)
    print(json.dumps(found))


def refusal(mesh: Any) -> str:
    """Why a generator's fit does not take a mesh over processes."""
    from understudy import PATEGAN
    from understudy.errors import InputError

    try:
        PATEGAN(mesh=mesh)._check_settings()
    except InputError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    if len(sys.argv) > 2:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", num_processes=2, process_id=int(sys.argv[3]))
    main(sys.argv[1])
