"""Writes `docs/licences.md`: the licences of everything that is installed with this package, as each states its own."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Any

_HEAD = """# Licences

Understudy is under the Apache License 2.0. What `pip install understudy` brings along, with the licence that each package states
for itself; `make sbom` writes the same, with versions, in CycloneDX's format. Made by `python docs/licences.py`.

| package | licence |
|---|---|
"""


def needed(name: str = "understudy", seen: set[str] | None = None) -> set[str]:
    """The packages that `name` needs, without extras."""
    found: set[str] = set() if seen is None else seen
    for text in requires(name) or ():
        wanted = re.split(r"[\s;\[<>=!~(]", text)[0].lower().replace("_", "-")
        if "extra ==" in text or "sys_platform" in text or "platform_" in text or wanted in found:
            continue
        try:
            distribution(wanted)
        except PackageNotFoundError:
            continue
        found.add(wanted)
        needed(wanted, found)
    return found


def licence(name: str) -> str:
    about: Any = distribution(name).metadata
    classes = [c.rpartition("::")[2].strip() for c in about.get_all("Classifier") or () if c.startswith("License ::")]
    said = about.get("License-Expression") or "; ".join(dict.fromkeys(classes)) or about.get("License") or "not stated"
    return said.strip().splitlines()[0][:80]


if __name__ == "__main__":
    rows = [f"| {name} | {licence(name)} |" for name in sorted(needed())]
    Path(__file__).with_name("licences.md").write_text(_HEAD + "\n".join(rows) + "\n", "utf-8")
