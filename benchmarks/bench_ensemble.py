"""1000 teachers on the teacher axis against 1000 scikit-learn networks one after another.

    python benchmarks/bench_ensemble.py --out benchmarks/results/ensemble.json

Both sides learn from the same rows for the same epochs in batches of the same size with Adam at the same learning
rate, in 32-bit floats. The rows are scikit-learn's breast-cancer table, standardised and drawn with replacement.
Everything is measured in several rounds, one side after the other in each, and the best time of each side counts:
other work on the machine can only add to it. Compilation is reported apart. The axis runs on one CPU device, and on as
many as there are cores (`XLA_FLAGS=--xla_force_host_platform_device_count=N`) to show what the mesh adds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import psutil
from jax.sharding import Mesh
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from understudy.learn.ensemble import Ensemble
from understudy.learn.partition import shards

HIDDEN, EPOCHS, BATCH, RATE = 30, 50, 10, 1e-3
ROWS_EACH, QUERIES = 30, 8192


def table(teachers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, and rows to ask about that share no original row with them."""
    X, y = (np.asarray(part) for part in load_breast_cancer(return_X_y=True))
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    learn, ask = rng.choice(order[:400], ROWS_EACH * teachers), rng.choice(order[400:], QUERIES)
    return X[learn], y[learn], X[ask], y[ask]


def best(action: Callable[[], Any], runs: int) -> float:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        jax.block_until_ready(action())
        times.append(time.perf_counter() - begun)
    return min(times)


def on_the_axis(teachers: int, runs: int) -> dict[str, Any]:
    X, y, asked, truth = table(teachers)
    dealt = shards(len(X), teachers, seed=0)
    mesh = Mesh(np.array(jax.devices()), ("teachers",))
    ours = Ensemble(teachers, hidden=(HIDDEN,), epochs=EPOCHS, batch=BATCH, learning_rate=RATE, mesh=mesh)
    key = jax.random.key(0)

    def fit() -> Any:
        return ours.fit(X, y, dealt, key).teachers_

    first = best(fit, 1)
    seconds = best(fit, runs)
    first_votes = best(lambda: ours.votes(asked), 1)
    asking = best(lambda: ours.votes(asked), runs)
    features = X.shape[1]
    steps = EPOCHS * ROWS_EACH // BATCH
    forward = features * HIDDEN + HIDDEN * 2
    training_flops = teachers * EPOCHS * ROWS_EACH * 2 * (2 * forward + HIDDEN * 2)
    adam_bytes = 4 * 7 * teachers * steps * (forward + HIDDEN + 2)
    voting_flops = teachers * QUERIES * 2 * forward
    return {
        "devices": len(jax.devices()),
        "fit_seconds": seconds,
        "compile_seconds": first - seconds,
        "step_seconds": seconds / steps,
        "training_flops": training_flops,
        "adam_bytes": adam_bytes,
        "queries": QUERIES,
        "votes_seconds": asking,
        "votes_compile_seconds": first_votes - asking,
        "votes_per_second": teachers * QUERIES / asking,
        "voting_flops": voting_flops,
        "mean_teacher_accuracy": float(np.mean(ours.predictions(asked) == truth)),
    }


def one_after_another(teachers: int, runs: int) -> dict[str, Any]:
    """scikit-learn on its own: no early stop, so that it makes the same epochs.

    Its matrix library is held to one thread, which is faster for such small products (measured: 15 % to fit).
    """
    X, y, asked, truth = table(teachers)
    dealt = shards(len(X), teachers, seed=0)
    fitted: list[Any] = []
    same: dict[str, Any] = {
        "hidden_layer_sizes": (HIDDEN,),
        "batch_size": BATCH,
        "max_iter": EPOCHS,
        "n_iter_no_change": EPOCHS + 1,
        "learning_rate_init": RATE,
        "alpha": 0.0,
    }

    def fit() -> None:
        fitted.clear()
        for teacher in range(teachers):
            mine = dealt.of(teacher)
            fitted.append(MLPClassifier(**same, random_state=teacher).fit(X[mine], y[mine]))

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = best(fit, runs)
        asking = best(lambda: [network.predict(asked) for network in fitted], runs)
        answers = np.stack([network.predict(asked) for network in fitted])
    assert {network.n_iter_ for network in fitted} == {EPOCHS}
    return {
        "teachers": teachers,
        "fit_seconds": seconds,
        "votes_per_second": teachers * QUERIES / asking,
        "mean_teacher_accuracy": float(np.mean(answers == truth)),
    }


def floor(runs: int) -> dict[str, float]:
    """What this machine can do, measured: a large matrix product, and passes over as many bytes as Adam holds."""
    a = jnp.ones((2048, 2048), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    jax.block_until_ready(product(a))
    b = jnp.ones(4_000_000, jnp.float32)
    passes = 50
    stream = jax.jit(lambda b: jax.lax.fori_loop(0, passes, lambda _, b: b * 0.999 + 1.0, b))
    jax.block_until_ready(stream(b))
    return {
        "matmul_flops_per_second": 2 * 2048**3 / best(lambda: product(a), 2 * runs),
        "stream_bytes_per_second": passes * 8 * b.size / best(lambda: stream(b), 2 * runs),
    }


def distance(ours: dict[str, Any], machine: dict[str, float]) -> dict[str, float]:
    flops, stream = machine["matmul_flops_per_second"], machine["stream_bytes_per_second"]
    lowest = ours["training_flops"] / flops, ours["adam_bytes"] / stream
    return {
        "training_flop_floor_seconds": lowest[0],
        "training_adam_memory_floor_seconds": lowest[1],
        "training_times_the_sum_of_both": ours["fit_seconds"] / sum(lowest),
        "voting_flop_floor_seconds": ours["voting_flops"] / flops,
        "voting_times_the_floor": ours["votes_seconds"] * flops / ours["voting_flops"],
    }


def in_a_process(devices: int, teachers: int, runs: int) -> dict[str, Any]:
    """The number of devices is fixed when JAX starts."""
    done = subprocess.run(
        [sys.executable, __file__, "--axis-only", f"--teachers={teachers}", f"--runs={runs}"],
        env=os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "JAX_PLATFORMS": "cpu"},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def best_of(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The least of all seconds and the most of everything per second, with every round's time to fit beside it."""
    chosen = dict(rounds[0])
    for name in chosen:
        if name.endswith("per_second"):
            chosen[name] = max(each[name] for each in rounds)
        elif name.endswith("seconds"):
            chosen[name] = min(each[name] for each in rounds)
    if "fit_seconds" in chosen:
        chosen["fit_seconds_by_round"] = [each["fit_seconds"] for each in rounds]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teachers", type=int, default=1000)
    parser.add_argument("--sklearn-teachers", type=int, default=1000, help="scaled up in proportion when fewer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10, help="runs of the axis in each round")
    parser.add_argument("--axis-only", action="store_true", help="print the axis' own figures and nothing else")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.axis_only:
        print(json.dumps(on_the_axis(asked.teachers, asked.runs)))
        return
    cores = os.cpu_count() or 1
    rounds: dict[str, list[dict[str, Any]]] = {"axis": [], "axis_over_cores": [], "machine": [], "sklearn": []}
    load = []
    for _ in range(asked.rounds):
        load.append(round(os.getloadavg()[0], 2))
        rounds["axis"].append(in_a_process(1, asked.teachers, asked.runs))
        rounds["axis_over_cores"].append(in_a_process(cores, asked.teachers, asked.runs))
        rounds["machine"].append(floor(asked.runs))
        rounds["sklearn"].append(one_after_another(asked.sklearn_teachers, 1))
    ours, over_cores, machine, theirs = (best_of(each) for each in rounds.values())
    all_of_theirs = theirs["fit_seconds"] * asked.teachers / asked.sklearn_teachers
    results = {
        "what": "vmapped teachers against scikit-learn MLPClassifier one after another",
        "command": "python benchmarks/bench_ensemble.py " + " ".join(sys.argv[1:]),
        "machine": {
            "processor": processor(),
            "cores": cores,
            "memory_gib": round(psutil.virtual_memory().total / 2**30),
            "load_average_before_each_round": load,
            "note": "shared with other work while measuring; every time is the best over all rounds. The ceiling in "
            "machine_at_most was measured under the same load, so on a busy machine the distances to it are too small",
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("jax", "jaxlib", "equinox", "optax", "numpy", "scikit-learn")},
        "setting": {
            "teachers": asked.teachers,
            "rows_each": ROWS_EACH,
            "features": 30,
            "hidden": HIDDEN,
            "epochs": EPOCHS,
            "batch": BATCH,
            "learning_rate": RATE,
            "rounds": asked.rounds,
            "runs_each_round": asked.runs,
        },
        "axis": ours | distance(ours, machine),
        "axis_over_cores": over_cores | distance(over_cores, machine),
        "machine_at_most": machine,
        "sklearn": theirs,
        "times_faster": all_of_theirs / ours["fit_seconds"],
        "times_faster_with_compilation": all_of_theirs / (ours["fit_seconds"] + ours["compile_seconds"]),
        "times_faster_over_cores": all_of_theirs / over_cores["fit_seconds"],
    }
    text = json.dumps(results, indent=2)
    print(text)
    if asked.out:
        asked.out.write_text(text + "\n")


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
