"""The page that people read: what was released, what is promised, what it cost, how good it is, how sure we are.

Reads releases, real test rows and measured figures; never the private table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.report.odds import Odds
    from understudy.report.page import Sources, render, write_report

_HOMES = {
    "Odds": "understudy.report.odds",
    "Sources": "understudy.report.page",
    "render": "understudy.report.page",
    "write_report": "understudy.report.page",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["Odds", "Sources", "render", "write_report"]
