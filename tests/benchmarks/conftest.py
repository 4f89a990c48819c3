"""The toy benchmark, importable here and in worker processes, with its diary."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the toy benchmark notes every repeat that it really measures."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", here + os.pathsep + os.environ.get("PYTHONPATH", ""))
    path = tmp_path / "diary"
    path.touch()
    monkeypatch.setenv("TOY_DIARY", str(path))
    return path
