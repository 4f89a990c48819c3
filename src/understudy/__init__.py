"""Understudy: private stand-ins for sensitive data.

Public names are loaded on first use, so that `import understudy` and `understudy --help` stay fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from understudy._version import __version__

_HOMES: dict[str, str] = {
    "Budget": "understudy.privacy",
    "BudgetExceeded": "understudy.errors",
    "Certificate": "understudy.privacy",
    "InputError": "understudy.errors",
    "Ledger": "understudy.privacy",
    "PATEClassifier": "understudy.methods",
    "Schema": "understudy.tables",
    "load": "understudy.methods",
}

__all__ = ["__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
