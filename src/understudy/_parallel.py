"""Work shared out to processes, one core each, with a bar that says how long it still takes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

# One process, one core: without this every worker would start a thread for each core, and they would fight.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(
    function: Callable[..., Any], tasks: Iterable[Sequence[Any]], *, jobs: int, total: int, done: int, what: str
) -> Iterator[Any]:
    """The result of `function(*task)` for each task, as they come. `done` of `total` were there before.

    A `KeyboardInterrupt` ends it; what was yielded until then is the caller's.
    """
    from joblib import Parallel, delayed, parallel_config

    with (
        warnings.catch_warnings(),
        _one_thread_each(),
        _progress(what, total, done) as tick,
        parallel_config("loky", inner_max_num_threads=1),
    ):
        # joblib's remarks on workers that were interrupted or renewed are no news to anybody here.
        warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
        workers = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
        for result in cast(Any, workers)(delayed(function)(*task) for task in tasks):
            yield result
            tick()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers inherit these settings; this process, whose libraries may be loaded already, gets its own back."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar with the time left, on a terminal's error stream only."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)
