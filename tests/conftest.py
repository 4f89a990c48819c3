"""What all tests share: a private cache, and one place that says where the real datasets are."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.postgres_server import Server, server, why_not

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

# Tests that interrupt a real process need one that can be interrupted: a run in the background (`make test &`) hands
# its children an ignored SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs that one process has compiled, all others of this run need not: workers, and the commands that they start.
_COMPILED = Path(tempfile.gettempdir()) / f"understudy-compiled-{os.getpid()}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
# The tests' programs run for milliseconds: better to compile them quickly than well.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


def pytest_sessionfinish() -> None:
    """The process that started the others, and named the folder, ends last."""
    shutil.rmtree(_COMPILED, ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["UNDERSTUDY_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("UNDERSTUDY_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the real datasets are not here: set UNDERSTUDY_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A real PostgreSQL server in a temporary folder."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with server() as running:
        yield running


_numbers = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be made: in a file, and in a database of its own."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres").database(f"ledger{next(_numbers)}")
