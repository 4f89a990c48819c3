"""Results of attacks, as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.report.text import shown


def read_json(path: str | Path, what: str) -> Any:
    """A JSON file from elsewhere, or an error that says what it should have been."""
    from understudy.privacy.certificate import strict_json

    source = Path(path)
    try:
        text = source.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {what} {source}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {source} is not UTF-8 text (byte {error.start}).") from None
    return strict_json(text, where=str(source))


def read_audits(paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Each file holds `methods`: name -> `claimed` epsilon and `measured_lower_bound`, with `confidence` for all."""
    found: list[dict[str, Any]] = []
    for path in paths:
        document = read_json(path, "the audit")
        methods = document.get("methods") if isinstance(document, Mapping) else None
        if not isinstance(methods, Mapping):
            raise InputError(f"{path} is no audit: it has no `methods` with `claimed` and `measured_lower_bound`.")
        for name, result in methods.items():
            try:
                claimed, measured = float(result["claimed"]), float(result["measured_lower_bound"])
            except (KeyError, TypeError, ValueError):
                raise InputError(f"{path}: the audit of {shown(name)!r} lacks `claimed` or a bound.") from None
            found.append(
                {
                    "name": shown(name),
                    "claimed": claimed,
                    "measured": measured,
                    "holds": math.isfinite(measured) and measured <= claimed,
                    "confidence": document.get("confidence"),
                    "fits": document.get("fits_a_side"),
                }
            )
    return found
