"""Where a figure was measured, in neutral words: what a reader needs to judge a time, and nothing that names a place."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from understudy._version import __version__

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "jax", "optax", "dp-accounting", "opendp")


def machine() -> dict[str, Any]:
    """CPU model, cores that this process may use, memory, how busy it was, and the accelerator if JAX has one."""
    found: dict[str, Any] = {
        "cpu": _cpu(),
        "cores": cores(),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if hasattr(os, "getloadavg"):
        found["load_average"] = round(os.getloadavg()[0], 1)
    if "jax" in sys.modules and (device := sys.modules["jax"].devices()[0]).platform != "cpu":
        found["accelerator"] = device.device_kind
    return found


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """The versions of what the figures depend on."""
    found = {"understudy": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def peak_memory() -> float:
    """The most memory that this process has had, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_of(call: Callable[[], Any], times: int) -> list[float]:
    """By the clock, what each of several calls takes."""
    taken: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return taken


def in_a_new_process(function: Callable[..., Any], *given: Any, env: Mapping[str, str] | None = None) -> Any:
    """What a function of this package returns in a process of its own: its memory, its threads, its devices."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context, set_start_method

    before = dict(os.environ)
    os.environ.update(env or {})
    # A worker of joblib names its own way of starting as the default, and what it starts does not know that.
    set_start_method("spawn", force=True)
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(function, *given).result()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
    except (ValueError, OSError, AttributeError):
        return None
