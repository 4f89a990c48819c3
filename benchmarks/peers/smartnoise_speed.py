"""PATE-GAN's iteration against smartnoise-synth 1.0.8: the same rows, the same machine, one run.

    UNDERSTUDY_DATA=... python benchmarks/peers/smartnoise_speed.py [--teachers 10,50,100,500] [--out FILE]

Adult's 32,561 training rows, n_T = n_S = 5, batch 64. Ours with the peer's teacher network (two hidden layers, 2d/3 and
d/3) and with the paper's teachers of depth 1. The peer lives in an environment of its own (`make_env.py smartnoise`).
Each number is the best of a few iterations, in seconds of the processor, which do not depend on how busy the machine is,
and of the clock; `updates` are the teachers' five updates alone. OMP_NUM_THREADS=1 gives both sides one core.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from make_env import make  # noqa: E402  # pyright: ignore[reportMissingImports]

RESULT = HERE.parent / "results" / "generators_peer_speed.json"


def ours(frame: Any, schema: Any, teachers: int, hidden: tuple[int, ...], iterations: int) -> dict[str, float]:
    """The best iteration; the first two, which compile, are left out."""
    from understudy import PATEGAN

    marks: list[tuple[float, float]] = []
    generator = PATEGAN(
        epsilon=100.0, teachers=teachers, iterations=iterations + 2, teacher_hidden=hidden, random_state=0
    )
    generator.fit(frame, schema=schema, progress=lambda _: marks.append((time.perf_counter(), time.process_time())))
    clock, processor = np.diff(marks[1:], axis=0).min(axis=0)
    return {"processor_seconds": float(processor), "clock_seconds": float(clock)}


def updates(cube: np.ndarray, teachers: int, hidden: tuple[int, ...]) -> float:
    """Seconds of the processor for five updates of all teachers, and nothing else."""
    import jax

    from understudy.learn import discriminators as d
    from understudy.learn.partition import shards

    dealt = shards(len(cube), teachers, seed=0)
    plan = d.TeacherPlan(teachers, cube.shape[1], hidden, 64, 1e-4, dealt.width, d.one_device())
    rows = d.deal_rows(cube.astype(np.float32), np.ones(len(cube), bool), dealt, plan)
    rng = np.random.default_rng(0)
    fakes = rng.random((5, 64, cube.shape[1]), dtype=np.float32)
    state = d.start_teachers(plan, (0, 0))
    taken: list[float] = []
    for _ in range(12):
        began = time.process_time()
        state = jax.block_until_ready(d.train_teachers(plan, state, rows, fakes, d.choose_slots(plan, rng, 5)))
        taken.append(time.process_time() - began)
    return min(taken[1:])


def theirs(python: Path, rows: Path, teachers: int, iterations: int) -> dict[str, Any]:
    command = [str(python), str(HERE / "smartnoise_worker.py"), str(rows), str(teachers), str(iterations)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the peer failed with {teachers} teachers:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main(teachers: list[int], out: Path) -> None:
    import jax

    from understudy import datasets
    from understudy.tables import Encoder

    python = make("smartnoise")
    data: Any = datasets.load("adult")
    frame = data.frame[(data.split == "train").to_numpy()].reset_index(drop=True)
    cube = Encoder(data.schema).encode(frame)
    d = cube.shape[1]
    body: dict[str, Any] = {
        "command": "python benchmarks/peers/smartnoise_speed.py",
        "machine": {"processor": platform.machine(), "cores": len(os.sched_getaffinity(0))},
        "dataset": "adult", "rows": len(cube), "columns": d, "peer": "smartnoise-synth 1.0.8", "jax": jax.__version__,
        "iteration": "5 teacher steps, 5 student steps, batch 64", "teachers": [],
    }  # fmt: skip
    networks = {"same network": (2 * d // 3, d // 3), "depth 1": ()}
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npy"
        np.save(rows, cube.astype(np.float64))
        for number in teachers:
            body["machine"]["load_average"] = os.getloadavg()[0]
            peer = theirs(python, rows, number, 5 if number <= 100 else 2)
            best = {"processor_seconds": min(peer["processor"]), "clock_seconds": min(peer["clock"])}
            best["updates_seconds"] = min(peer["teaching"])
            line: dict[str, Any] = {"teachers": number, "peer": best}
            body |= {"torch": peer["torch"], "peer_threads": peer["threads"]}
            for name, hidden in networks.items():
                own = ours(frame, data.schema, number, hidden, 10)
                own["updates_seconds"] = updates(cube, number, hidden)
                own["times_faster"] = best["processor_seconds"] / own["processor_seconds"]
                own["times_faster_per_update"] = best["updates_seconds"] / own["updates_seconds"]
                line[name] = own
            body["teachers"].append(line)
            print(json.dumps(line), flush=True)
            out.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="PATE-GAN's iteration against smartnoise-synth.")
    parser.add_argument("--teachers", default="10,50,100,500")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main([int(n) for n in given.teachers.split(",")], given.out)
