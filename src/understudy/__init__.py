"""Understudy: private stand-ins for sensitive data.

Public names are loaded on first use, so that `import understudy` and `understudy --help` stay fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy._lazy import attach
from understudy._version import __version__

if TYPE_CHECKING:
    from understudy.errors import BudgetExceeded, InputError
    from understudy.methods import (
        DPGAN,
        DPKIP,
        GAN,
        GPATE,
        KIP,
        PATEGAN,
        ImageMoments,
        MomentsGenerator,
        OneLook,
        OneLookConvNet,
        PATEClassifier,
        load,
    )
    from understudy.privacy import Budget, Certificate, Ledger
    from understudy.tables import Schema

_HOMES: dict[str, str] = {
    "Budget": "understudy.privacy",
    "BudgetExceeded": "understudy.errors",
    "Certificate": "understudy.privacy",
    "DPGAN": "understudy.methods",
    "DPKIP": "understudy.methods",
    "GAN": "understudy.methods",
    "GPATE": "understudy.methods",
    "ImageMoments": "understudy.methods",
    "InputError": "understudy.errors",
    "KIP": "understudy.methods",
    "Ledger": "understudy.privacy",
    "MomentsGenerator": "understudy.methods",
    "OneLook": "understudy.methods",
    "OneLookConvNet": "understudy.methods",
    "PATEClassifier": "understudy.methods",
    "PATEGAN": "understudy.methods",
    "Schema": "understudy.tables",
    "load": "understudy.methods",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "DPGAN",
    "DPKIP",
    "GAN",
    "GPATE",
    "KIP",
    "PATEGAN",
    "Budget",
    "BudgetExceeded",
    "Certificate",
    "ImageMoments",
    "InputError",
    "Ledger",
    "MomentsGenerator",
    "OneLook",
    "OneLookConvNet",
    "PATEClassifier",
    "Schema",
    "__version__",
    "load",
]
