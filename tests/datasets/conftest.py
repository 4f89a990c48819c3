"""A server and a cache of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from local_server import Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server()
    monkeypatch.setenv("UNDERSTUDY_OPENML", running.url)
    yield running
    running.stop()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no folder of the user's."""
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    return tmp_path / "cache" / "datasets"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that scikit-learn would have made between attempts."""
    import sklearn.datasets._openml as theirs

    made: list[float] = []
    monkeypatch.setattr(theirs, "time", SimpleNamespace(sleep=made.append))
    return made
