"""PATE-GAN's iteration against smartnoise-synth 1.0.8: the same rows, the same machine, one run.

Adult's 32,561 training rows, n_T = n_S = 5, batch 64. Ours with the peer's teacher network (two hidden layers, 2d/3 and
d/3) and with the paper's teachers of depth 1. The peer lives in an environment of its own (`make_env.py`).
Each number is the best of a few iterations, in seconds of the processor, which do not depend on how busy the machine is,
and of the clock; `updates` are the teachers' five updates alone. OMP_NUM_THREADS=1 gives both sides one core.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.generators_speed import iteration_seconds
from benchmarks.peers.make_env import make
from benchmarks.splits import split
from understudy.learn import discriminators as d
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.tables import Encoder

WORKER = Path(__file__).parent / "smartnoise_worker.py"


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """The peer, ours with its network, and ours with the paper's."""
    del repeats
    data, teachers = split("adult"), settings["teachers"]
    cube = Encoder(data.schema).encode(data.train)
    width = cube.shape[1]
    peer = _theirs(cube, teachers, 5 if teachers <= 100 else 2)
    best = {"processor_seconds": min(peer["processor"]), "clock_seconds": min(peer["clock"])}
    best["updates_seconds"] = min(peer["teaching"])
    rows: list[Measured] = [{"side": "peer", **best, "torch": peer["torch"], "peer_threads": peer["threads"]}]
    for side, hidden in {"same network": (2 * width // 3, width // 3), "depth 1": ()}.items():
        _, seconds = iteration_seconds(data.train, data.schema, teachers, hidden, 12)
        clock, processor = seconds[2:].min(axis=0).tolist()
        own = updates(cube, teachers, hidden)
        faster = {
            "times_faster": best["processor_seconds"] / processor,
            "times_faster_per_update": best["updates_seconds"] / own,
        }
        rows.append(
            {"side": side, "processor_seconds": processor, "clock_seconds": clock, "updates_seconds": own, **faster}
        )
    return rows


def updates(cube: np.ndarray, teachers: int, hidden: tuple[int, ...]) -> float:
    """Seconds of the processor for five updates of all teachers, and nothing else."""
    dealt = shards(len(cube), teachers, seed=0)
    axis = TeacherAxis(teachers, one_device())
    plan = d.Discriminators(axis, cube.shape[1], hidden, 1e-4, published=True)
    rows = d.deal_rows(cube.astype(np.float32), np.zeros(len(cube), np.int32), dealt, axis, 1)
    rng = np.random.default_rng(0)
    chances = (jnp.asarray(rng.random((5, 64), dtype=np.float32)) for _ in range(2))
    values = jnp.asarray(rng.random((5, 64, cube.shape[1]), dtype=np.float32))
    fakes = d.Fakes(values, jnp.zeros((5, 64), jnp.int32), *chances)
    state = d.start_teachers(plan, (0, 0))
    taken: list[float] = []
    for _ in range(12):
        began = time.process_time()
        state = jax.block_until_ready(d.train_teachers(plan, state, rows, fakes))
        taken.append(time.process_time() - began)
    return min(taken[1:])


def _theirs(cube: np.ndarray, teachers: int, iterations: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, cube.astype(np.float64))
        command = [str(make("smartnoise")), str(WORKER), str(rows), str(teachers), str(iterations)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the peer failed with {teachers} teachers: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def parts(size: Size, repeats: int) -> list[Part]:
    counts = (10,) if size == "quick" else (10, 50, 100, 500)
    return [Part(f"{n} teachers", "benchmarks.peers.speed:measure", {"teachers": n}, repeats) for n in counts]


BENCHMARK = Benchmark(
    id="peers-speed",
    title="PATE-GAN's iteration against smartnoise-synth 1.0.8",
    datasets=("adult",),
    parts=parts,
    alone=True,
    notes=(
        "5 teacher steps, 5 student steps, batch 64. Seconds are of one iteration, of which `updates_seconds` teach.",
    ),
)
