"""One paper, one file: private learning that joins `learn` and `privacy`, and what it releases."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.methods.loading import load
    from understudy.methods.pate import PATEClassifier

_HOMES = {
    "PATEClassifier": "understudy.methods.pate",
    "load": "understudy.methods.loading",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["PATEClassifier", "load"]
