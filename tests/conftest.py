"""What all tests share: a private cache, and one place that says where the real datasets are."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.postgres_server import Server, server, why_not

sys.path.insert(0, str(Path(__file__).parent))

from repeatable_noise import draw_as, restore

# Rooms whose tests are about noise itself.
_TRUE_NOISE = ("privacy", "audit", "faults", "golden")

for _name, _same in (("default", True), ("explore", False)):
    settings.register_profile(_name, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=_same)
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--explore", action="store_true", help="draw new noise and new examples in all tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--explore"):
        settings.load_profile("explore")


def _named(item: pytest.Item, name: str) -> str | None:
    """Whose noise is drawn for a test, or for a fixture that several share. None is the operating system's."""
    return None if item.config.getoption("--explore") or set(_TRUE_NOISE) & set(item.path.parts) else name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    draw_as(_named(item, item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """A fixture of a module draws the same whichever of its tests comes first."""
    if fixturedef.scope == "function":
        return (yield)
    before = draw_as(
        _named(request._pyfuncitem, f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')!r}")
    )
    try:
        return (yield)
    finally:
        restore(before)


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
