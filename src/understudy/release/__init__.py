"""What leaves: the one base of everything that learns from private records, the release on disk, and what it cost.

Methods import this room; everything that reads releases does too. It knows no method.
"""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.release.bundle import Bundle, check_target, read_bundle, write_bundle
    from understudy.release.drawing import TableModel
    from understudy.release.estimator import Estimator
    from understudy.release.generator import TableGenerator
    from understudy.release.spending import Spending, spending

_HOMES = {
    "Bundle": "understudy.release.bundle",
    "Estimator": "understudy.release.estimator",
    "Spending": "understudy.release.spending",
    "TableGenerator": "understudy.release.generator",
    "TableModel": "understudy.release.drawing",
    "check_target": "understudy.release.bundle",
    "read_bundle": "understudy.release.bundle",
    "spending": "understudy.release.spending",
    "write_bundle": "understudy.release.bundle",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "Bundle",
    "Estimator",
    "Spending",
    "TableGenerator",
    "TableModel",
    "check_target",
    "read_bundle",
    "spending",
    "write_bundle",
]
