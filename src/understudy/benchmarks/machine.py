"""Where a figure was measured, in neutral words: what a reader needs to judge a time, and nothing that names a place."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from understudy._version import __version__

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "jax", "optax", "dp-accounting", "opendp")


def machine() -> dict[str, Any]:
    """CPU model, cores that this process may use, and memory."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """The versions of what the figures depend on."""
    found = {"understudy": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


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
