"""Understudy: private stand-ins for sensitive data.

Public names are loaded on first use, so that `import understudy` and `understudy --help` stay fast. The classes of the
methods are those that `understudy.registry` lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy import registry
from understudy._lazy import attach
from understudy._version import __version__

if TYPE_CHECKING:
    from understudy.errors import BudgetExceeded, InputError
    from understudy.privacy import Budget, Certificate, Ledger
    from understudy.registry import load
    from understudy.tables import Schema

_HOMES: dict[str, str] = {
    "Budget": "understudy.privacy",
    "BudgetExceeded": "understudy.errors",
    "Certificate": "understudy.privacy",
    "InputError": "understudy.errors",
    "Ledger": "understudy.privacy",
    "Schema": "understudy.tables",
    "load": "understudy.registry",
} | registry.homes()

_load, __dir__ = attach(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return _load(name)


__all__ = [
    "Budget",
    "BudgetExceeded",
    "Certificate",
    "InputError",
    "Ledger",
    "Schema",
    "__version__",
    "load",
]
__all__ += list(registry.homes())  # pyright: ignore[reportUnsupportedDunderAll]
