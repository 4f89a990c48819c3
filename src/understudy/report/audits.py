"""Results of attacks, as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.report.text import shown
from understudy.untrusted import read_text, strict_json

_LARGEST_FILE = 32 * 2**20


def read_json(path: str | Path, what: str) -> Any:
    """A JSON file from elsewhere, or an error that says what it should have been."""
    return strict_json(read_text(path, most=_LARGEST_FILE, what=what), where=str(path))


def read_audits(paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Each file holds `methods`: name -> `claimed` epsilon and `measured_lower_bound`, with `confidence` for all.

    What `understudy audit` writes says more: whether other rows gave the same release (`replay`), how far one record
    moved what went into the gate (`ratio`), the claimed and the proved mu. A bound that was not measured is null.
    """
    found: list[dict[str, Any]] = []
    for path in paths:
        document = read_json(path, "the audit")
        methods = document.get("methods") if isinstance(document, Mapping) else None
        if not isinstance(methods, Mapping):
            raise InputError(f"{path} is no audit: it has no `methods` with `claimed` and `measured_lower_bound`.")
        for name, result in methods.items():
            try:
                found.append(_audit(name, result, document))
            except (AttributeError, KeyError, TypeError, ValueError):
                raise InputError(f"{path}: the audit of {shown(name)!r} lacks `claimed` or a bound.") from None
    return found


def _audit(name: str, result: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    claimed = float(result["claimed"])
    measured = None if result["measured_lower_bound"] is None else float(result["measured_lower_bound"])
    replay, ratio = result.get("replay"), result.get("ratio")
    within = measured is None or (math.isfinite(measured) and measured <= claimed)
    bounds = [float(one["mu"]) for one in (result.get("attackers") or {}).values()]
    return {
        "name": shown(name),
        "claimed": claimed,
        "measured": measured,
        "claimed_mu": None if result.get("claimed_mu") is None else float(result["claimed_mu"]),
        "measured_mu": max(bounds) if bounds else None,
        "replay": None if replay is None else bool(replay["holds"]),
        "ratio": None if ratio is None else math.inf if ratio["worst"] is None else float(ratio["worst"]),
        "holds": within and bool(result.get("holds", True)),
        "confidence": document.get("confidence"),
        "fits": result.get("fits_a_side", document.get("fits_a_side")),
        "private": document.get("private") is True,
    }
