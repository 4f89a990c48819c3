"""What each named dataset has spent, across runs and people, in one SQLite file.

A budget protects one run; the same table released in ten runs has spent ten budgets. The ledger holds the
limit of each dataset and lets a run begin only when its whole cost fits under what is left.

Why it may be trusted:

- A run *reserves* before its first draw and *commits* after its last. What was reserved and never settled
  counts as spent for ever: nobody can tell whether a process that died had already published something.
- Entries compose by basic composition: epsilons add, deltas add. That holds even when a run is chosen after
  seeing the results of earlier ones, as long as the limit was fixed first (Rogers, Roth, Ullman and Vadhan
  2016, "Privacy Odometers and Filters").
- Amounts are decimals (the shortest text that names the float) and are summed as fractions: three times 0.1
  fits 0.3, and no rounding lets a sum creep over its limit.
- There is one table, `history`, and it only grows. What is spent and what is left are read from it.

It guards against mistakes, crashes and races, not against somebody who may write the file and means harm.
"""

from __future__ import annotations

import getpass
import json
import math
import os
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from understudy.errors import BudgetExceeded, InputError

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

Action = Literal["add", "reserve", "commit", "release"]


class Cost(NamedTuple):
    """An amount of privacy."""

    epsilon: float
    delta: float


class HistoryLine(NamedTuple):
    """One line of the history: who did what, and when. Amounts are the decimal text that the ledger holds."""

    id: int
    at: str
    host: str
    pid: int
    user: str
    action: Action
    dataset: str
    reservation: int | None
    epsilon: str
    delta: str
    note: str
    certificate: str | None


@dataclass(frozen=True)
class Entry:
    """One run against a dataset, and what it counts for.

    `state` is `reserved` from the first moment, then `committed` or `released`. `counted` is what the entry
    takes from the dataset: all of `reserved` until it is settled.
    """

    id: int
    dataset: str
    state: Literal["reserved", "committed", "released"]
    reserved: Cost
    counted: Cost
    purpose: str
    host: str
    pid: int
    user: str
    started: str
    settled: str | None
    certificate: dict[str, Any] | None

    def process_gone(self) -> bool | None:
        """Whether the process that made it is no more; None when that cannot be told from this host.

        Only for people who read the ledger: an entry that is still `reserved` counts either way.
        """
        # On Windows os.kill(pid, 0) is not a question: it ends the process.
        if os.name != "posix" or self.host != socket.gethostname():
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # it lives, and belongs to somebody else
            return False
        return False


@dataclass(frozen=True)
class Dataset:
    """A named dataset: its limit, what is spent of it (rounded up), what is left (rounded down)."""

    name: str
    limit: Cost
    spent: Cost
    remaining: Cost
    note: str
    added: str
    entries: tuple[Entry, ...]


class Ledger:
    """The spending of many datasets, in one SQLite file that many processes may charge at once.

    Each call opens its own connection and leaves none behind, so one `Ledger` may be shared by threads,
    carried through a fork or sent to a worker.
    """

    def __init__(self, url: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Open the ledger at a path or `sqlite:///path`; wait up to `timeout` seconds for other processes."""
        self._file = _File(_path(url), _amount(timeout, "ledger: timeout"))
        with self._file.transaction("read") as connection:
            problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise _Damage(problem)

    @classmethod
    def create(cls, url: str | os.PathLike[str], *, exist_ok: bool = False, timeout: float = 30.0) -> Ledger:
        """Make a new ledger, readable by its owner alone; with `exist_ok` open one that is already there."""
        file = _File(_path(url), _amount(timeout, "ledger: timeout"))
        if not file.create() and not exist_ok:
            raise InputError(
                f"There is already a file at {file.path}. Nothing was written. Open it as it is, or choose "
                f"another name."
            )
        return cls(file.path, timeout=timeout)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._file.path

    def add_dataset(self, name: str, *, epsilon: float, delta: float, note: str = "") -> None:
        """Name a dataset and fix its limit, once: composition holds only under a limit that was set first."""
        limit = check_limit(name, epsilon, delta, note)
        with self._file.transaction("write") as connection:
            if (name,) in connection.execute(_SELECT_NAMES).fetchall():
                raise InputError(
                    f"Dataset {name!r} is already in the ledger {self.path}, and its limit cannot be "
                    f"changed. See it with `understudy ledger show`; use another name for other data."
                )
            _append(connection, "add", name, limit, note=note)

    def reserve(self, dataset: str, *, epsilon: float, delta: float, purpose: str) -> Reservation:
        """Set aside the most that a run can cost, before its first draw; `BudgetExceeded` if it does not fit.

        The check and the entry are one transaction under the file's write lock, and the entry is on disk when
        this returns: no two processes can both take the last of a limit.
        """
        cost = _cost(epsilon, delta, "reserve")
        _text(purpose, "reserve: purpose")
        with self._file.transaction("write") as connection:
            remaining = self._file.dataset(connection, dataset).remaining
            for unit, requested, left in zip(Cost._fields, cost, remaining, strict=True):
                # `left` is the largest float that fits, so comparing floats here is comparing exactly.
                if requested > left:
                    what = f"A reservation on dataset {dataset!r} ({purpose})"
                    raise BudgetExceeded(requested=requested, remaining=left, what=what, unit=unit)
            number = _append(connection, "reserve", dataset, cost, note=purpose)
        return Reservation(self._file, number, dataset, *cost)

    def datasets(self) -> tuple[Dataset, ...]:
        """Every dataset with its limit, spending and entries, as of one moment."""
        with self._file.transaction("read") as connection:
            return _fold(_lines(connection.execute(_SELECT)))

    def dataset(self, name: str) -> Dataset:
        """One dataset with its limit, spending and entries, as of one moment."""
        with self._file.transaction("read") as connection:
            return self._file.dataset(connection, name)

    def spent(self, dataset: str) -> Cost:
        """What is committed or reserved, by processes living or dead; rounded up."""
        return self.dataset(dataset).spent

    def remaining(self, dataset: str) -> Cost:
        """What can still be reserved; rounded down, so that exactly this much fits."""
        return self.dataset(dataset).remaining

    def entries(self, dataset: str) -> tuple[Entry, ...]:
        """The runs against a dataset, oldest first."""
        return self.dataset(dataset).entries

    def history(self, dataset: str | None = None) -> tuple[HistoryLine, ...]:
        """Everything that was ever written, oldest first."""
        with self._file.transaction("read") as connection:
            if dataset is not None:
                self._file.dataset(connection, dataset)
                return tuple(_lines(connection.execute(_SELECT_DATASET, (dataset,))))
            lines = tuple(_lines(connection.execute(_SELECT)))
            _fold(lines)
            return lines

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


@dataclass(frozen=True)
class Reservation:
    """A share of a dataset's limit, set aside for one run. It counts as spent until it is settled.

    Only the run that made it holds one: nobody else can settle it, however long it is open.
    """

    _file: _File
    id: int
    dataset: str
    epsilon: float
    delta: float

    def commit(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        certificate: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what the run really cost, at most what was reserved; the rest goes back to the dataset.

        The cost is the one that the run's certificate states, which is unconditional: a data-dependent epsilon, or
        the realised part of an adaptive run, depends on the answers, is no bound by itself, and everybody who
        reads the ledger would see it. Left out, the whole reservation is spent.
        """
        reserved = Cost(self.epsilon, self.delta)
        cost = _cost(
            reserved.epsilon if epsilon is None else epsilon,
            reserved.delta if delta is None else delta,
            "commit",
        )
        for unit, spent, most in zip(Cost._fields, cost, reserved, strict=True):
            if spent > most:
                raise InputError(
                    f"commit: {unit} (={spent!r}) is more than the {most!r} that reservation {self.id} set "
                    f"aside on dataset {self.dataset!r}; it still counts for {most!r}. Reserve the most that "
                    f"a run can cost before its first draw; if it did cost more, reserve the difference as "
                    f"well."
                )
        self._settle("commit", cost, certificate=_certificate_text(certificate))

    def release(self, *, reason: str) -> None:
        """Give it all back. Only while nothing was drawn: calling this is the promise that nothing was.

        The reason stays in the history under the caller's name. Nothing is ever released by itself, on an
        exception for example, because a run that fails half-way has already drawn.
        """
        self._settle("release", Cost(0.0, 0.0), note=_text(reason, "release: reason"))

    def _settle(
        self,
        action: Literal["commit", "release"],
        cost: Cost,
        *,
        note: str = "",
        certificate: str | None = None,
    ) -> None:
        with self._file.transaction("write") as connection:
            entries = self._file.dataset(connection, self.dataset).entries
            entry = next((entry for entry in entries if entry.id == self.id), None)
            if entry is None:
                raise InputError(
                    f"{action}: reservation {self.id} on dataset {self.dataset!r} is not in the ledger "
                    f"{self._file.path}, so that file is not the one it was made in. Bring that one back."
                )
            if entry.state != "reserved":
                raise InputError(
                    f"{action}: reservation {self.id} on dataset {self.dataset!r} was {entry.state} at "
                    f"{entry.settled} and counts for epsilon {entry.counted.epsilon!r}, delta "
                    f"{entry.counted.delta!r}. It is settled once; make a new reservation for a new run."
                )
            _append(connection, action, self.dataset, cost, note, self.id, certificate)


def check_limit(name: str, epsilon: float, delta: float, note: str = "") -> Cost:
    """Refuse a dataset that no ledger would take, before any file is made for it."""
    _text(name, "dataset: name")
    if note:
        _text(note, f"dataset {name!r}: note")
    return _cost(epsilon, delta, f"dataset {name!r}")


class _Damage(Exception):
    """The file holds something that no ledger writes."""


@dataclass(frozen=True)
class _File:
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
        blank = _File(Path(name), self.timeout)
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
        except _Damage as error:
            raise self._damaged(error) from error

    def dataset(self, connection: sqlite3.Connection, name: str) -> Dataset:
        _text(name, "dataset")
        found = _fold(_lines(connection.execute(_SELECT_DATASET, (name,))))
        if not found:
            known = ", ".join(repr(row[0]) for row in connection.execute(_SELECT_NAMES)) or "none"
            raise InputError(
                f"Dataset {name!r} is not in the ledger {self.path}, which holds {known}. Correct the name, "
                f"or add it with `understudy ledger init`."
            )
        return found[0]

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


def _append(
    connection: sqlite3.Connection,
    action: Action,
    dataset: str,
    cost: Cost,
    note: str,
    reservation: int | None = None,
    certificate: str | None = None,
) -> int:
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # the user of a container often has no name
        user = f"uid {os.getuid()}"
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    who = (at, socket.gethostname(), os.getpid(), user)
    what = (action, dataset, reservation, repr(cost.epsilon), repr(cost.delta), note, certificate)
    return cast(int, connection.execute(_INSERT, who + what).lastrowid)


def _lines(cursor: sqlite3.Cursor) -> list[HistoryLine]:
    return [HistoryLine(*row) for row in cursor]


def _fold(lines: Sequence[HistoryLine]) -> tuple[Dataset, ...]:
    """From the history to the present state of its datasets."""
    settled = {line.reservation: line for line in lines if line.reservation is not None}
    reserved: dict[str, dict[int, HistoryLine]] = {line.dataset: {} for line in lines if line.action == "add"}
    for line in lines:
        mine = reserved.get(line.dataset)
        if mine is None or (line.reservation is not None and line.reservation not in mine):
            raise _Damage(f"line {line.id} of the history has lost the line it belongs to")
        if line.action == "reserve":
            mine[line.id] = line
    return tuple(_state(line, reserved[line.dataset].values(), settled) for line in lines if line.action == "add")


def _state(added: HistoryLine, reserved: Iterable[HistoryLine], settled: Mapping[int, HistoryLine]) -> Dataset:
    entries = tuple(_entry(line, settled.get(line.id)) for line in reserved)
    spent = [sum((_fraction(entry.counted[unit]) for entry in entries), Fraction(0)) for unit in (0, 1)]
    limit = _recorded(added)
    left = [_fraction(most) - total for most, total in zip(limit, spent, strict=True)]
    if min(left) < 0:
        raise _Damage(f"dataset {added.dataset!r} has spent more than its limit")
    return Dataset(
        name=added.dataset,
        limit=limit,
        spent=Cost(*map(_up, spent)),
        remaining=Cost(*map(_down, left)),
        note=added.note,
        added=added.at,
        entries=entries,
    )


def _entry(reserve: HistoryLine, settle: HistoryLine | None) -> Entry:
    last = settle or reserve
    reserved, counted = _recorded(reserve), _recorded(last)
    if counted.epsilon > reserved.epsilon or counted.delta > reserved.delta:
        raise _Damage(f"line {last.id} of the history settles for more than reservation {reserve.id} set aside")
    try:
        certificate = json.loads(last.certificate) if last.certificate else None
    except ValueError as error:
        raise _Damage(f"the certificate in line {last.id} of the history is not JSON") from error
    return Entry(
        id=reserve.id,
        dataset=reserve.dataset,
        state="reserved" if settle is None else "committed" if settle.action == "commit" else "released",
        reserved=reserved,
        counted=counted,
        purpose=reserve.note,
        host=reserve.host,
        pid=reserve.pid,
        user=reserve.user,
        started=reserve.at,
        settled=settle.at if settle else None,
        certificate=certificate,
    )


def _recorded(line: HistoryLine) -> Cost:
    """The amounts of a line, if they are ones that a ledger writes."""
    with suppress(TypeError, ValueError):
        cost = Cost(float(line.epsilon), float(line.delta))
        if all(math.isfinite(amount) and amount >= 0 for amount in cost) and cost.delta < 1:
            return cost
    raise _Damage(f"line {line.id} of the history holds epsilon {line.epsilon!r} and delta {line.delta!r}")


def _fraction(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


def _down(exact: Fraction) -> float:
    """The largest float whose decimal text is not above an exact amount."""
    value = float(exact)
    while _fraction(value) > exact:
        value = math.nextafter(value, 0.0)
    return value


def _up(exact: Fraction) -> float:
    """The smallest float whose decimal text is not below an exact amount."""
    value = float(exact)
    while _fraction(value) < exact:
        value = math.nextafter(value, math.inf)
    return value


def _cost(epsilon: object, delta: object, where: str) -> Cost:
    cost = Cost(_amount(epsilon, f"{where}: epsilon"), _amount(delta, f"{where}: delta"))
    if cost.delta >= 1:
        raise InputError(
            f"{where}: delta (={cost.delta!r}) must be below 1, since a delta of 1 promises nothing. Take "
            f"one far below one over the number of records, such as 1e-6."
        )
    return cost


def _amount(value: object, what: str) -> float:
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):
            number = float(value)
            if math.isfinite(number) and number >= 0:
                return number + 0.0  # minus zero becomes zero
    raise InputError(f"{what} (={value!r}) must be a finite number, zero or more. Nothing was written.")


def _text(value: object, what: str) -> str:
    if isinstance(value, str) and value.strip() == value and value.isprintable() and 0 < len(value) <= 1000:
        return value
    raise InputError(
        f"{what} (={value!r}) must be 1 to 1000 printable characters in one line, without spaces at its ends."
    )


def _certificate_text(certificate: Mapping[str, Any] | None) -> str | None:
    if certificate is None:
        return None
    try:
        return json.dumps(dict(certificate), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"commit: the certificate is not plain JSON ({error}). The reservation still counts in full. "
            f"Pass the dictionary that the certificate file holds, or None."
        ) from error


def _path(url: str | os.PathLike[str]) -> Path:
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
