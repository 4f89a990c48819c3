"""A PostgreSQL server of one's own in a temporary folder, for tests and benchmarks of the ledger."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Server:
    """A running server. Its superuser is `office`; everybody who can reach the folder of its socket may come in."""

    def __init__(self, folder: Path, programs: Path, *, durable: bool) -> None:
        self.folder, self.programs = folder, programs
        # PostgreSQL refuses to run as root.
        self.account = _account() if os.getuid() == 0 else None
        self.port = _free_port()
        options = f"-k {folder} -p {self.port} -c listen_addresses='' -c max_connections=200"
        self.options = options if durable else f"{options} -c fsync=off"
        if self.account is not None:
            shutil.chown(folder, self.account)
        self._run(
            "initdb", "-D", folder / "data", "-U", "office", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        self.start()

    def url(self, database: str = "postgres", user: str = "office") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def start(self) -> None:
        log = self.folder / "log"
        self._run("pg_ctl", "-D", self.folder / "data", "-o", self.options, "-l", log, "-w", "-t", "600", "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: the next start recovers."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", mode, "-w", "-t", "600", "stop")

    def database(self, name: str) -> str:
        """A new database; its address."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')  # pyright: ignore[reportArgumentType, reportCallIssue]
        return self.url(name)

    def _run(self, program: str, *words: object) -> None:
        command = [str(self.programs / program), *map(str, words)]
        quiet = {"stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, "cwd": "/"}
        if self.account is not None:
            import pwd

            quiet |= {"user": self.account, "group": pwd.getpwnam(self.account).pw_gid, "extra_groups": []}
        subprocess.run(command, check=True, **quiet)


def programs() -> Path | None:
    """Where the server's programs are: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    if found and (Path(found).resolve().parent / "pg_ctl").exists():
        return Path(found).resolve().parent
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return kept[-1].parent if kept else None


def why_not() -> str | None:
    """Why there can be no server here; None where there can."""
    if os.name != "posix":
        return "the server is started as POSIX systems do"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'understudy[postgres]'"
    if programs() is None:
        return "PostgreSQL is not installed (Debian: apt install postgresql)"
    if os.getuid() == 0 and _account() is None:
        return "PostgreSQL does not run as root, and there is no other account to run it"
    return None


@contextmanager
def server(*, durable: bool = False) -> Iterator[Server]:
    """A server for as long as the block lasts. Only a `durable` one waits for the disk."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="understudy-pg-", dir="/tmp"))  # a socket's path has to be short
    folder.chmod(0o755)
    try:
        running = Server(folder, found, durable=durable)
        try:
            yield running
        finally:
            with suppress(subprocess.CalledProcessError):
                running.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> str | None:
    import pwd

    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
