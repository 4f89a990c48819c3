"""The SQLite file of a ledger: its tables, its locks, and SQLite's errors in words for people."""

from __future__ import annotations

import getpass
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from understudy.errors import InputError
from understudy.privacy.ledger_entries import ACTIONS, ANSWERS, FIRST, Damage, HistoryLine
from understudy.privacy.ledger_fold import fold
from understudy.privacy.ledger_store import Head, Lease, chained, check_chain, check_lines

VERSION = 2
_APPLICATION_ID = 0x554C4447  # "ULDG": tells a ledger from any other SQLite file
# A draft of a ledger that is older than this was left by a process that died: making one takes milliseconds.
_STALE_SECONDS = 3600.0


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


# Amounts are text, because SQLite would sum floats. The insert trigger keeps the numbering without gaps, also over lines
# that somebody deleted, and stops INSERT OR REPLACE, which deletes rows without asking the delete trigger.
_SCHEMA = (
    f"""
    CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        user TEXT NOT NULL,
        action TEXT NOT NULL CHECK (action IN ({_quoted(ACTIONS)})),
        dataset TEXT NOT NULL,
        reservation INTEGER REFERENCES history (id),
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        note TEXT NOT NULL,
        certificate TEXT,
        detail TEXT NOT NULL,
        hash TEXT NOT NULL,
        CHECK ((reservation IS NULL) = (action IN ({_quoted(FIRST)})))
    )
    """,
    "CREATE INDEX history_by_dataset ON history (dataset, id)",
    "CREATE INDEX history_by_reservation ON history (reservation)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER NOT NULL, hash TEXT NOT NULL)",
    "INSERT INTO head VALUES (1, 0, '')",
    """
    CREATE TABLE leases (
        run INTEGER PRIMARY KEY REFERENCES history (id),
        user TEXT NOT NULL,
        place TEXT NOT NULL,
        pid INTEGER NOT NULL,
        began TEXT NOT NULL,
        expires REAL NOT NULL
    )
    """,
    f"""
    CREATE TRIGGER history_only_grows BEFORE INSERT ON history
    WHEN NEW.id IS NOT (SELECT id + 1 FROM head)
      OR EXISTS (SELECT 1 FROM history WHERE id >= NEW.id)
      OR EXISTS (SELECT 1 FROM history WHERE reservation = NEW.reservation
                 AND action IN ('commit', 'release', 'settle', {_quoted(ANSWERS)}))
      OR (NEW.action = 'add' AND EXISTS (SELECT 1 FROM history WHERE dataset = NEW.dataset))
    BEGIN SELECT RAISE(ABORT, 'the history of a ledger only grows'); END
    """,
    """
    CREATE TRIGGER history_has_a_head AFTER INSERT ON history
    BEGIN UPDATE head SET id = NEW.id, hash = NEW.hash; END
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
_OLD_COLUMNS = "id, at, host, pid, user, action, dataset, reservation, epsilon, delta, note, certificate"
_COLUMNS = f"{_OLD_COLUMNS}, detail, hash"
# Each line with the hash of the one before it, which is where the chain would show a gap.
_SELECT = (
    "SELECT h.id, h.at, h.host, h.pid, h.user, h.action, h.dataset, h.reservation, h.epsilon, h.delta, h.note, "
    "h.certificate, h.detail, coalesce(p.hash, ''), h.hash FROM history h LEFT JOIN history p ON p.id = h.id - 1"
)
_INSERT = f"INSERT INTO history ({_COLUMNS}) VALUES ({', '.join('?' * 14)})"


@dataclass(frozen=True)
class FileBook:
    """The ledger in a file within one transaction."""

    connection: sqlite3.Connection

    def now(self) -> float:
        return time.time()

    def user(self) -> str:
        try:
            return getpass.getuser()
        except (ImportError, KeyError, OSError):  # the user of a container often has no name
            return f"uid {os.getuid()}"

    def head(self) -> Head:
        row = self.connection.execute("SELECT id, hash FROM head").fetchone()
        if row is None:
            raise Damage("it has lost the head of its history")
        return Head(*row)

    def names(self) -> list[str]:
        rows = self.connection.execute("SELECT dataset FROM history WHERE action = 'add' ORDER BY id")
        return [row[0] for row in rows]

    def lines(self, dataset: str | None = None) -> list[HistoryLine]:
        if dataset is None:
            found = [HistoryLine(*row) for row in self.connection.execute(f"{_SELECT} ORDER BY h.id")]
            check_chain(found, self.head())
            return found
        rows = self.connection.execute(f"{_SELECT} WHERE h.dataset = ? ORDER BY h.id", (dataset,))
        found = [HistoryLine(*row) for row in rows]
        check_lines(found)
        return found

    def insert(self, line: HistoryLine) -> None:
        self.connection.execute(_INSERT, (*line[:-2], line.hash))

    def lease(self, run: int) -> Lease | None:
        row = self.connection.execute("SELECT * FROM leases WHERE run = ?", (run,)).fetchone()
        return None if row is None else Lease(*row)

    def keep(self, lease: Lease) -> None:
        values = (lease.run, lease.user, lease.place, lease.pid, lease.began, lease.expires)
        self.connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)", values)

    def drop(self, run: int) -> None:
        self.connection.execute("DELETE FROM leases WHERE run = ?", (run,))


@dataclass(frozen=True)
class LedgerFile:
    """The SQLite file: transactions, and SQLite's errors in words for people."""

    path: Path
    timeout: float

    @property
    def address(self) -> str:
        return str(self.path)

    def create(self) -> bool:
        """Make the file, mode 0600; False when something is already there.

        It appears under its name only when it is whole: neither a crash nor a race leaves half a ledger.
        """
        if os.path.lexists(self.path):
            return False
        self._remove_stale()
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

    def open(self) -> None:
        """Refuse a file that is no ledger or is damaged; bring a ledger of version 1 up to this one, history and all."""
        with self._transaction("read", migrate=False) as connection:
            problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise Damage(problem)
            version = _version(connection)
            if version == VERSION:
                FileBook(connection).lines()
        if version != VERSION:
            with self.transaction("write"):
                pass

    def grant(self, user: str, role: str) -> None:
        del user, role
        raise InputError(
            f"The ledger {self.path} is a file: who may write it may do everything. Say who may with the permissions of "
            f"the file and its folder, or keep the ledger in PostgreSQL."
        )

    def _remove_stale(self) -> None:
        """Drafts that a killed process left behind."""
        with suppress(OSError):
            for left in self.path.parent.glob(".ledger-*"):
                if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                    left.unlink(missing_ok=True)

    @contextmanager
    def connection(self) -> Generator[sqlite3.Connection]:
        uri = f"{self.path.as_uri()}?mode=rw"  # without a mode SQLite would make a missing file
        with closing(sqlite3.connect(uri, uri=True, timeout=self.timeout, isolation_level=None)) as connection:
            # Under FULL a power cut can bring a deleted journal back, and so undo a reservation that has
            # already been drawn on.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection

    @contextmanager
    def transaction(self, kind: Literal["read", "write"]) -> Generator[FileBook]:
        """One transaction on its own connection: kept when the block ends well, undone otherwise."""
        with self._transaction(kind) as connection:
            yield FileBook(connection)

    @contextmanager
    def _transaction(self, kind: Literal["read", "write"], *, migrate: bool = True) -> Generator[sqlite3.Connection]:
        self._check_file()
        try:
            with self.connection() as connection:
                try:
                    # The write lock comes first: what is read under it is still true when it is acted on.
                    connection.execute("BEGIN IMMEDIATE" if kind == "write" else "BEGIN")
                    self._check_version(connection)
                    if migrate and _version(connection) == 1:
                        if kind == "read":
                            raise InputError(
                                f"The ledger {self.path} has version 1. Open it again to bring it up to date."
                            )
                        _migrate(connection)
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
        version = _version(connection)
        if application != _APPLICATION_ID:
            raise self._foreign()
        if version < 1:
            raise Damage(f"it says that its version is {version}")
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


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _migrate(connection: sqlite3.Connection) -> None:
    """From version 1, which had no chain: the same lines in the same order, each with its hash."""
    rows = connection.execute(f"SELECT {_OLD_COLUMNS} FROM history ORDER BY id").fetchall()
    for trigger in ("history_only_grows", "history_is_not_rewritten", "history_is_not_deleted"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    connection.execute("DROP TABLE history")
    for statement in _SCHEMA:
        connection.execute(statement)
    book = FileBook(connection)
    for row in rows:
        line = HistoryLine(*row, detail="", before=book.head().hash, hash="")
        book.insert(line._replace(hash=chained(line)))
    # What version 1 would have refused must not become right by being written down again.
    fold(book.lines())


def ledger_path(url: str | os.PathLike[str]) -> Path:
    """The file that a path or an address like `sqlite:///path` means."""
    text = os.fspath(url)
    scheme, separator, rest = text.partition("://")
    if separator and (scheme != "sqlite" or not rest.startswith("/")):
        raise InputError(
            f"A ledger cannot be at an address that begins with {scheme}://. Give the path of a file, "
            f"sqlite:///path (sqlite:////path for one that starts at the root), or postgresql://host/database."
        )
    path = rest[1:] if separator else text
    if not path or "\0" in path:
        raise InputError(f"The ledger's path (={path!r}) is not the name of a file. Give the path of a file.")
    return Path(path).absolute()
