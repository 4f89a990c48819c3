"""1000 teachers on the teacher axis against 1000 scikit-learn networks one after another.

Both sides learn from the same rows for the same epochs in batches of the same size with Adam at the same learning
rate, in 32-bit floats. The rows are scikit-learn's breast-cancer table, standardised and drawn with replacement.
Every repeat measures one side after the other, and the best time of each side counts: other work on the machine can only add
to it. Compilation is reported apart. The axis runs on one CPU device, and on as many as there are cores to show what the mesh
adds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.machine import cores, in_a_new_process, seconds_of
from benchmarks.result import Row, select
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
    return min(seconds_of(lambda: jax.block_until_ready(action()), runs))


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
        "learning_rate_init": RATE,
        "alpha": 0.0,
    }
    same |= {"max_iter": EPOCHS, "n_iter_no_change": EPOCHS + 1}

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


SIDES = ("axis", "axis over cores", "machine at most", "sklearn")


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One round of all sides. The number of devices is fixed when JAX starts, so the axis has a process of its own."""
    del repeats
    teachers, runs = settings["teachers"], settings["runs"]
    rows: list[Measured] = []
    for side, devices in zip(SIDES[:2], (1, cores()), strict=True):
        env = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "JAX_PLATFORMS": "cpu"}
        rows.append({"side": side, **in_a_new_process(on_the_axis, teachers, runs, env=env)})
    return [*rows, {"side": SIDES[2], **floor(runs)}, {"side": SIDES[3], **one_after_another(teachers, 1)}]


def summary(runs: Sequence[Row]) -> list[Row]:
    """The least of all seconds and the most of everything per second over all rounds, and how far from what a machine can do."""
    best = {side: _best_of(list(select(runs, side=side))) for side in SIDES}
    flops, stream = (best[SIDES[2]][f"{name}_per_second"] for name in ("matmul_flops", "stream_bytes"))
    for side in SIDES[:2]:
        ours, theirs = best[side], best["sklearn"]["fit_seconds"]
        lowest = ours["training_flops"] / flops, ours["adam_bytes"] / stream
        ours |= {
            "training_flop_floor_seconds": lowest[0],
            "training_adam_memory_floor_seconds": lowest[1],
            "training_times_the_sum_of_both": ours["fit_seconds"] / sum(lowest),
            "voting_flop_floor_seconds": ours["voting_flops"] / flops,
            "voting_times_the_floor": ours["votes_seconds"] * flops / ours["voting_flops"],
            "times_faster": theirs / ours["fit_seconds"],
            "times_faster_with_compilation": theirs / (ours["fit_seconds"] + ours["compile_seconds"]),
        }
    return list(best.values())


def _best_of(rounds: list[Row]) -> Row:
    chosen = {name: value for name, value in rounds[0].items() if value is not None and name != "seed"}
    for name in chosen:
        if name.endswith("per_second"):
            chosen[name] = max(each[name] for each in rounds)
        elif name.endswith("seconds"):
            chosen[name] = min(each[name] for each in rounds)
    return chosen


def parts(size: Size, repeats: int) -> list[Part]:
    settings = {"teachers": 20, "runs": 2} if size == "quick" else {"teachers": 1000, "runs": 10}
    return [Part("a round", "benchmarks.ensemble:measure", settings, repeats)]


BENCHMARK = Benchmark(
    id="ensemble",
    title="Vmapped teachers against scikit-learn's MLPClassifier one after another",
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    alone=True,
    notes=(
        "30 rows and 30 features each, one hidden layer of 30, 50 epochs in batches of 10. Every time in the summary is the best over "
        "all rounds. What the machine can do is measured under the same load, so on a busy machine the distances to it are too small.",
    ),
)
