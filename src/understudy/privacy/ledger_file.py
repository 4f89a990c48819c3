"""The SQLite file of a ledger: its tables, its locks, and SQLite's errors in words for people.

Another home for a history (PostgreSQL) would offer the same beside it: transactions that take the write lock first,
`append`, `names` and `lines`.
"""

from __future__ import annotations

import getpass
import os
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

from understudy.errors import InputError
from understudy.privacy.ledger_entries import Action, Cost, Damage, HistoryLine

VERSION = 1
_APPLICATION_ID = 0x554C4447  # "ULDG": tells a ledger from any other SQLite file

# Amounts are text, because SQLite would sum floats. The insert trigger keeps the numbering without gaps and
# stops INSERT OR REPLACE, which deletes rows without asking the delete trigger.
_SCHEMA = (
    """
    CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        user TEXT NOT NULL,
        action TEXT NOT NULL CHECK (action IN ('add', 'reserve', 'commit', 'release')),
        dataset TEXT NOT NULL,
        reservation INTEGER REFERENCES history (id),
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        note TEXT NOT NULL,
        certificate TEXT,
        CHECK ((reservation IS NULL) = (action IN ('add', 'reserve')))
    )
    """,
    "CREATE INDEX history_by_dataset ON history (dataset, id)",
    "CREATE INDEX history_by_reservation ON history (reservation)",
    """
    CREATE TRIGGER history_only_grows BEFORE INSERT ON history
    WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM history)
      OR EXISTS (SELECT 1 FROM history WHERE reservation = NEW.reservation)
      OR (NEW.action = 'add' AND EXISTS (SELECT 1 FROM history WHERE dataset = NEW.dataset))
    BEGIN SELECT RAISE(ABORT, 'the history of a ledger only grows'); END
    """,
    """
    CREATE TRIGGER history_is_not_rewritten BEFORE UPDATE ON history
    BEGIN SELECT RAISE(ABORT, 'the history of a ledger is never rewritten'); END
    """,
    """
    CREATE TRIGGER history_is_not_deleted BEFORE DELETE ON history
    BEGIN SELECT RAISE(ABORT, 'the history of a ledger is never deleted'); END
    """,
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
_COLUMNS = "id, at, host, pid, user, action, dataset, reservation, epsilon, delta, note, certificate"
_SELECT = f"SELECT {_COLUMNS} FROM history ORDER BY id"
_SELECT_DATASET = f"SELECT {_COLUMNS} FROM history WHERE dataset = ? ORDER BY id"
_SELECT_NAMES = "SELECT dataset FROM history WHERE action = 'add' ORDER BY id"
_INSERT = (
    f"INSERT INTO history ({_COLUMNS}) SELECT coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM history"
)


@dataclass(frozen=True)
class LedgerFile:
    """The SQLite file: transactions, and SQLite's errors in words for people."""

    path: Path
    timeout: float

    def create(self) -> bool:
        """Make the file, mode 0600; False when something is already there.

        It appears under its name only when it is whole: neither a crash nor a race leaves half a ledger.
        """
        if os.path.lexists(self.path):
            return False
        try:
            handle, name = tempfile.mkstemp(prefix=".ledger-", dir=self.path.parent)
        except OSError as error:
            raise InputError(
                f"Cannot make a ledger at {self.path}: {error.strerror}. Nothing was written. Choose a "
                f"folder that exists and that you may write."
            ) from error
        os.close(handle)
        blank = LedgerFile(Path(name), self.timeout)
        try:
            with blank.connection() as connection:
                # A write-ahead log needs memory that all processes share; network disks have none.
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute("COMMIT")
            os.link(blank.path, self.path)
        except FileExistsError:
            return False
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"Cannot make a ledger at {self.path}: {error}. Nothing was written. Choose a disk with free "
                f"space whose file system knows permissions and hard links."
            ) from error
        finally:
            for suffix in ("", "-journal"):
                Path(name + suffix).unlink(missing_ok=True)
        return True

    def check(self) -> None:
        """Refuse a file that is no ledger or is damaged."""
        with self.transaction("read") as connection:
            problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise Damage(problem)

    @contextmanager
    def connection(self) -> Generator[sqlite3.Connection]:
        uri = f"{self.path.as_uri()}?mode=rw"  # without a mode SQLite would make a missing file
        with closing(sqlite3.connect(uri, uri=True, timeout=self.timeout, isolation_level=None)) as connection:
            # Under FULL a power cut can bring a deleted journal back, and so undo a reservation that has
            # already been drawn on.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection

    @contextmanager
    def transaction(self, kind: Literal["read", "write"]) -> Generator[sqlite3.Connection]:
        """One transaction on its own connection: kept when the block ends well, undone otherwise."""
        self._check_file()
        try:
            with self.connection() as connection:
                try:
                    # The write lock comes first: what is read under it is still true when it is acted on.
                    connection.execute("BEGIN IMMEDIATE" if kind == "write" else "BEGIN")
                    self._check_version(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        with suppress(sqlite3.Error):
                            connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise self._explain(error) from error
        except Damage as error:
            raise self._damaged(error) from error

    def _check_file(self) -> None:
        # Nothing but SQLite ever opens the file: closing another handle on it would drop the locks that
        # SQLite holds for the other threads of this process.
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            raise InputError(
                f"There is no ledger at {self.path}. Correct the path, or make one with `understudy ledger init`."
            ) from None
        except OSError as error:
            raise InputError(f"Cannot open the ledger {self.path}: {error.strerror}. Correct the path.") from error
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise InputError(f"The ledger {self.path} is {what}. Give the path of a ledger file.")

    def _check_version(self, connection: sqlite3.Connection) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION_ID:
            raise self._foreign()
        if version > VERSION:
            raise InputError(
                f"The ledger {self.path} has version {version}; this Understudy knows versions up to "
                f"{VERSION}. Nothing was written. Upgrade Understudy to use it."
            )

    def _explain(self, error: sqlite3.Error) -> InputError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the family of the error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return InputError(
                f"The ledger {self.path} is locked by another process for more than {self.timeout:g} s. "
                f"Nothing was written. Wait and try again, or find out who holds it (`lsof {self.path}`)."
            )
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return InputError(
                f"The ledger {self.path} cannot be used: {error}. Nothing was written. You need permission "
                f"to write the file and its folder (SQLite keeps its journal beside the file)."
            )
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return InputError(
                f"The disk refused to write the ledger {self.path}: {error}. What it held before still "
                f"counts. Make room or repair the disk, then try again."
            )
        return self._foreign() if code == sqlite3.SQLITE_NOTADB else self._damaged(error)

    def _foreign(self) -> InputError:
        return InputError(
            f"{self.path} is not an Understudy ledger. Nothing was written. Give the path of a ledger, or "
            f"make one under another name with `understudy ledger init`."
        )

    def _damaged(self, problem: Exception) -> InputError:
        return InputError(
            f"The ledger {self.path} is damaged: {problem}. Nothing was written. Bring back its latest "
            f"backup and reserve by hand what was spent since; until then treat its datasets as spent."
        )


def append(
    connection: sqlite3.Connection,
    action: Action,
    dataset: str,
    cost: Cost,
    note: str,
    reservation: int | None = None,
    certificate: str | None = None,
) -> int:
    """Add a line, signed with host, process, user and time; its number."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # the user of a container often has no name
        user = f"uid {os.getuid()}"
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    who = (at, socket.gethostname(), os.getpid(), user)
    what = (action, dataset, reservation, repr(cost.epsilon), repr(cost.delta), note, certificate)
    return cast(int, connection.execute(_INSERT, who + what).lastrowid)


def names(connection: sqlite3.Connection) -> list[str]:
    """The datasets, oldest first."""
    return [row[0] for row in connection.execute(_SELECT_NAMES)]


def lines(connection: sqlite3.Connection, dataset: str | None = None) -> list[HistoryLine]:
    """The history, oldest first; of one dataset, or all of it."""
    cursor = connection.execute(_SELECT) if dataset is None else connection.execute(_SELECT_DATASET, (dataset,))
    return [HistoryLine(*row) for row in cursor]


def ledger_path(url: str | os.PathLike[str]) -> Path:
    """The file that a path or an address like `sqlite:///path` means."""
    text = os.fspath(url)
    scheme, separator, rest = text.partition("://")
    if separator and scheme.startswith("postgres"):
        raise InputError(
            f"A ledger in PostgreSQL ({scheme}://) is not supported yet. Give the path of a file, or sqlite:///path."
        )
    if separator and (scheme != "sqlite" or not rest.startswith("/")):
        raise InputError(
            f"A ledger cannot be at an address that begins with {scheme}://. Give the path of a file, or "
            f"sqlite:///path (sqlite:////path for one that starts at the root)."
        )
    path = rest[1:] if separator else text
    if not path or "\0" in path:
        raise InputError(f"The ledger's path (={path!r}) is not the name of a file. Give the path of a file.")
    return Path(path).absolute()
