"""What a home of a ledger must offer, and the chain that ties its lines together.

There are two homes: a SQLite file (`ledger_file`) and PostgreSQL (`ledger_postgres`). Each keeps a history that only grows,
the head of that history, and the leases of runs that are at work. All that is decided is decided above them, in `ledger`.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from understudy.privacy.ledger_entries import Action, Cost, Damage, HistoryLine

LEASE_SECONDS = 120.0
"""So long a run is its process's own without a sign of life."""
BEAT_SECONDS = LEASE_SECONDS / 4


class Head(NamedTuple):
    """The last line of a history: its number and its hash, which depends on every line before it."""

    id: int
    hash: str

    def __str__(self) -> str:
        return f"{self.id}:{self.hash}"


@dataclass(frozen=True)
class Lease:
    """One process's hold on a run. `began` tells a process from a later one with the same number."""

    run: int
    user: str
    place: str
    pid: int
    began: str
    expires: float

    @classmethod
    def mine(cls, run: int, user: str, now: float) -> Lease:
        """A lease of this process, from now on."""
        return cls(run, user, here(), os.getpid(), began(os.getpid()), now + LEASE_SECONDS)

    def is_mine(self) -> bool:
        return (self.place, self.pid, self.began) == (here(), os.getpid(), began(os.getpid()))

    def is_over(self, now: float) -> bool:
        """Whether its time is up, or its process is known to be gone: that is only ever said of this machine."""
        return now >= self.expires or (self.place == here() and is_gone(self.pid, self.began))


class Book(Protocol):
    """A ledger within one transaction."""

    def now(self) -> float:
        """Seconds by the clock that leases go by."""
        ...

    def user(self) -> str:
        """Who is writing."""
        ...

    def head(self) -> Head: ...
    def names(self) -> list[str]:
        """The datasets, oldest first."""
        ...

    def lines(self, dataset: str | None = None) -> list[HistoryLine]:
        """The history, oldest first; of one dataset, or all of it."""
        ...

    def insert(self, line: HistoryLine) -> None: ...
    def lease(self, run: int) -> Lease | None: ...
    def keep(self, lease: Lease) -> None:
        """Write a lease, in the place of the one before."""
        ...

    def drop(self, run: int) -> None: ...


class Store(Protocol):
    """The home of a ledger."""

    @property
    def address(self) -> str:
        """Where it is, in words that may be shown: without a password."""
        ...

    def create(self) -> bool:
        """Make it; False when something is already there."""
        ...

    def open(self) -> None:
        """Refuse what is no ledger, and bring an older version up to this one."""
        ...

    def grant(self, user: str, role: str) -> None:
        """Let somebody in, where that can be held; refused where it cannot."""
        ...

    def transaction(self, kind: Literal["read", "write"]) -> AbstractContextManager[Book]:
        """One transaction: kept when the block ends well, undone otherwise. Writers take turns."""
        ...


def append(
    book: Book,
    action: Action,
    dataset: str,
    cost: Cost,
    note: str = "",
    reservation: int | None = None,
    certificate: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> int:
    """Add a line, signed with host, process, user and time and chained to the one before; its number."""
    last = book.head()
    line = HistoryLine(
        id=last.id + 1,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        host=socket.gethostname(),
        pid=os.getpid(),
        user=book.user(),
        action=action,
        dataset=dataset,
        reservation=reservation,
        epsilon=repr(cost.epsilon),
        delta=repr(cost.delta),
        note=note,
        certificate=certificate,
        detail=json.dumps(dict(detail), sort_keys=True) if detail else "",
        before=last.hash,
        hash="",
    )
    book.insert(line._replace(hash=chained(line)))
    return line.id


def chained(line: HistoryLine) -> str:
    """The hash of a line: of all that it says, and of the hash of the line before it."""
    text = json.dumps(line[:-1], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check_lines(lines: Sequence[HistoryLine]) -> None:
    """Whether each line is as it was written, after the line that it was written after."""
    for line in lines:
        if line.hash != chained(line):
            raise Damage(f"line {line.id} of the history, or the line before it, is not as it was written")


def check_chain(lines: Sequence[HistoryLine], head: Head) -> None:
    """Whether the whole history is there, as it was written, up to its head."""
    check_lines(lines)
    for number, line in enumerate(lines, start=1):
        if line.id != number:
            raise Damage(f"line {number} of the history is missing")
    last = Head(lines[-1].id, lines[-1].hash) if lines else Head(0, "")
    if last != head:
        raise Damage(f"the history ends with line {last.id}, and {head.id} lines were written")


@lru_cache
def here() -> str:
    """This machine since it was started, and this container: where process numbers mean what they mean here."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def began(pid: int) -> str:
    """When a process began, in ticks since the machine was started; "" where the system does not say."""
    with suppress(OSError, IndexError):
        state, *facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "ended" if state in ("Z", "X") else facts[18]
    return ""


def is_gone(pid: int, since: str) -> bool:
    """Whether the process of that number that began then is no more; False where that cannot be told."""
    if os.name != "posix":  # on Windows os.kill(pid, 0) is not a question: it ends the process
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, and belongs to somebody else
        pass
    now = began(pid)
    return now == "ended" or bool(now and since and now != since)
