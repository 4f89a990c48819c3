"""What each named dataset has spent, across runs and people, in a SQLite file or in PostgreSQL.

A budget protects one run; the same table released in ten runs has spent ten budgets. The ledger holds the
limit of each dataset and lets a run begin only when its whole cost fits under what is left.

Why it may be trusted:

- A run *reserves* before its first draw and *commits* after its last. What was reserved and never settled
  counts as spent: nobody can tell whether a process that died had already published something.
- A run is an object with an identity: who goes on with it must show its token, and one process at a time can.
- Entries compose by basic composition: epsilons add, deltas add. That holds even when a run is chosen after
  seeing the results of earlier ones, as long as the limit was fixed first (Rogers, Roth, Ullman and Vadhan
  2016, "Privacy Odometers and Filters").
- Amounts are decimals (the shortest text that names the float) and are summed as fractions: three times 0.1
  fits 0.3, and no rounding lets a sum creep over its limit.
- There is one history, and it only grows. What is spent and what is left are read from it. Each line carries a
  hash of the one before, so that no line can be changed or taken out unnoticed, and whoever wrote down the head
  (`Ledger.head`) notices an older copy as well.

In a file it guards against mistakes, crashes and races, not against somebody who may write the file and means harm.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger_entries import (
    Allowance,
    Cost,
    Dataset,
    HistoryLine,
    LedgerEntry,
    LedgerRequest,
    State,
    check_amount,
    check_cost,
    check_text,
    check_until,
)
from understudy.privacy.ledger_file import LedgerFile, ledger_path
from understudy.privacy.ledger_fold import expired, fold
from understudy.privacy.ledger_run import Reservation, digest, entry_of, find, new_token, resume, shows, sweep
from understudy.privacy.ledger_store import Book, Head, Lease, Store, append
from understudy.privacy.units import PERSON

__all__ = [
    "Allowance",
    "Cost",
    "Dataset",
    "Head",
    "HistoryLine",
    "Ledger",
    "LedgerEntry",
    "LedgerRequest",
    "Reservation",
    "check_limit",
]

NOTHING = Cost(0.0, 0.0)


class Ledger:
    """The spending of many datasets, in one place that many processes may charge at once.

    Each call opens its own connection and leaves none behind, so one `Ledger` may be shared by threads,
    carried through a fork or sent to a worker.
    """

    def __init__(self, url: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Open the ledger at a path, `sqlite:///path` or `postgresql://host/database`.

        Other processes are waited for up to `timeout` seconds.
        """
        self._store = _store(url, timeout)
        self._store.open()

    @classmethod
    def create(cls, url: str | os.PathLike[str], *, exist_ok: bool = False, timeout: float = 30.0) -> Ledger:
        """Make a new ledger, for its owner alone; with `exist_ok` open one that is already there."""
        store = _store(url, timeout)
        if not store.create() and not exist_ok:
            what = "file" if isinstance(store, LedgerFile) else "ledger"
            raise InputError(
                f"There is already a {what} at {store.address}. Nothing was written. Open it as it is, or choose "
                f"another name."
            )
        return cls(url, timeout=timeout)

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        return self._store.address

    @property
    def path(self) -> Path:
        """Where the file is."""
        if not isinstance(self._store, LedgerFile):
            raise InputError(f"The ledger {self.address} is not a file.")
        return self._store.path

    # ---- limits --------------------------------------------------------------------------------------------------

    def add_dataset(self, name: str, *, epsilon: float, delta: float, note: str = "", until: str | None = None) -> None:
        """Name a dataset and fix its limit: composition holds only under a limit that was set first."""
        limit = check_limit(name, epsilon, delta, note, until)
        with self._store.transaction("write") as book:
            if name in book.names():
                raise InputError(
                    f"Dataset {name!r} is already in the ledger {self.address}, and its limit cannot be "
                    f"changed like this. See it with `understudy ledger show`; use another name for other data."
                )
            append(book, "add", name, limit, note=note, detail=_said(until=until))

    def set_limit(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        reason: str,
        person: str | None = None,
        project: str | None = None,
        until: str | None = None,
    ) -> None:
        """Change the limit of a dataset, or set that of a person or a project in it (`*`: of each that has none).

        It stays in the history who did it and why. From then on the promise for the dataset is its new limit; it is
        never lowered under what is spent.
        """
        limit, who = check_cost(epsilon, delta, "limit"), _who(person, project)
        check_text(reason, "limit: reason")
        detail = _said(who=who, until=check_until(until, "limit: until"))
        with self._store.transaction("write") as book:
            spent = find(self._store, book, dataset).spent
            for unit, most, used in zip(Cost._fields, limit, spent, strict=True):
                if who is None and most < used:
                    raise InputError(
                        f"limit: {unit} (={most!r}) is less than the {used!r} that dataset {dataset!r} has spent already."
                    )
            append(book, "limit", dataset, limit, reason, detail=detail)

    def request(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        purpose: str,
        project: str | None = None,
        until: str | None = None,
    ) -> int:
        """Ask for more than one's limit in a dataset (or a project's): the number under which it waits for an answer."""
        cost = check_cost(epsilon, delta, "request")
        check_text(purpose, "request: purpose")
        until = check_until(until, "request: until")
        with self._store.transaction("write") as book:
            find(self._store, book, dataset)
            who = _who(None, project) or f"person:{book.user()}"
            return append(book, "request", dataset, cost, purpose, detail=_said(who=who, until=until))

    def answer(self, request: int, *, approve: bool, reason: str) -> LedgerRequest:
        """Approve or refuse a request, as somebody other than who made it. Approved, it adds to the asker's limit.

        The limit of the dataset holds all the same.
        """
        check_text(reason, "answer: reason")
        with self._store.transaction("write") as book:
            asked = _request(book, request, self.address)
            if asked.state != "waiting":
                raise InputError(f"Request {request} was {asked.state} already ({asked.answer}).")
            if asked.user == book.user():
                raise InputError(f"Request {request} is your own: somebody else has to answer it.")
            action: Literal["approve", "refuse"] = "approve" if approve else "refuse"
            append(book, action, asked.dataset, asked.cost if approve else NOTHING, reason, request)
            return _request(book, request, self.address)

    # ---- runs ----------------------------------------------------------------------------------------------------

    def reserve(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        purpose: str,
        method: str = "",
        project: str | None = None,
        leased: bool = False,
        resumable: bool = False,
        unit: str = "row",
    ) -> Reservation:
        """Set aside the most that a run can cost, before its first draw; `BudgetExceeded` if it does not fit.

        The check and the entry are one transaction under the ledger's write lock, and the entry is on disk when
        this returns: no two processes can both take the last of a limit. A `leased` run renews its lease as long as it
        lives; without, nobody can tell that its process died. A `resumable` run keeps its token in a workspace. What it
        costs is for one `unit`: runs for rows and runs for persons do not add up, and are not mixed in one dataset.
        """
        cost = check_cost(epsilon, delta, "reserve")
        check_text(purpose, "reserve: purpose")
        if project is not None:
            check_text(project, "reserve: project")
        token = new_token()
        detail = _said(token=digest(token), method=method, project=project, resumable=resumable or None)
        detail |= {} if unit == "row" else {"unit": unit}
        with self._store.transaction("write") as book:
            found = find(self._store, book, dataset)
            if sweep(book, found):
                found = find(self._store, book, dataset)
            _alike(found, unit)
            _admit(found, cost, purpose, book.user(), project)
            number = append(book, "reserve", dataset, cost, note=purpose, detail=detail)
            if leased:
                book.keep(Lease.mine(number, book.user(), book.now()))
        return Reservation(self._store, number, dataset, *cost, token)

    def resume(
        self,
        run: int,
        token: str,
        changed: str,
        *,
        dataset: str,
        epsilon: float,
        delta: float,
        method: str = "",
        unit: str = "row",
    ) -> Reservation:
        """Go on with an open run: its token is shown and replaced by `changed`, and the lease is this process's."""
        given = {"dataset": dataset, "method": method, "unit": unit}
        return resume(self._store, run, token, changed, epsilon=epsilon, delta=delta, **given)

    def held(self, dataset: str, run: int, token: str) -> Reservation | None:
        """The run that a token belongs to, if it does; whether it may go on is seen when it is asked to."""
        entry = entry_of(self.dataset(dataset), run)
        if entry is None or not shows(token, entry):
            return None
        return Reservation(self._store, run, dataset, *entry.reserved, token)

    def state(self, dataset: str, run: int) -> State | None:
        """How a run stands; None where there is no such run."""
        entry = entry_of(self.dataset(dataset), run)
        return None if entry is None else entry.state

    def grant(self, user: str, role: str) -> None:
        """Let a user in as `reader`, `spender` or `steward`, where a server can hold people to that."""
        self._store.grant(user, role)

    def settle(self, run: int, *, reason: str, epsilon: float | None = None, delta: float | None = None) -> LedgerEntry:
        """A person says what a run cost that nobody can ask any more; left out, all that it counts for.

        Refused while a process is at work on it. Who said it, and why, stays in the history.
        """
        check_text(reason, "settle: reason")
        with self._store.transaction("write") as book:
            found = next((one for one in fold(book.lines()) if entry_of(one, run) is not None), None)
            entry = None if found is None else entry_of(found, run)
            if found is None or entry is None:
                raise InputError(f"There is no run {run} in the ledger {self.address}. See `understudy ledger show`.")
            if not entry.may("settle"):
                raise InputError(
                    f"Run {run} on dataset {entry.dataset!r} was {entry.state} at {entry.settled} and counts for epsilon "
                    f"{entry.counted.epsilon!r}: that stands."
                )
            lease = book.lease(run)
            if lease is not None and not lease.is_over(book.now()):
                raise InputError(
                    f"Run {run} is at work: process {lease.pid} of {lease.user} on {lease.place.split()[0]}. End it first; "
                    f"if it is dead, its lease ends in {lease.expires - book.now():.0f} s."
                )
            most = entry.counted
            cost = check_cost(
                most.epsilon if epsilon is None else epsilon, most.delta if delta is None else delta, "settle"
            )
            if any(stated > set_aside for stated, set_aside in zip(cost, most, strict=True)):
                raise InputError(f"settle: run {run} set aside {most.epsilon!r} and {most.delta!r}, which is less.")
            if any(stated < known for stated, known in zip(cost, entry.published, strict=True)):
                raise InputError(
                    f"settle: run {run} was stopped and published at {entry.published.epsilon!r} and "
                    f"{entry.published.delta!r}: it does not count for less."
                )
            append(book, "settle", entry.dataset, cost, reason, run)
            book.drop(run)
            settled = entry_of(find(self._store, book, entry.dataset), run)
            assert settled is not None
            return settled

    # ---- reading -------------------------------------------------------------------------------------------------

    def datasets(self) -> tuple[Dataset, ...]:
        """Every dataset with its limit, spending and entries, as of one moment."""
        with self._store.transaction("read") as book:
            return fold(book.lines())

    def dataset(self, name: str) -> Dataset:
        """One dataset with its limit, spending and entries, as of one moment."""
        with self._store.transaction("read") as book:
            return find(self._store, book, name)

    def spent(self, dataset: str) -> Cost:
        """What is committed or reserved, by processes living or dead; rounded up."""
        return self.dataset(dataset).spent

    def remaining(self, dataset: str) -> Cost:
        """What can still be reserved; rounded down, so that exactly this much fits."""
        return self.dataset(dataset).remaining

    def entries(self, dataset: str) -> tuple[LedgerEntry, ...]:
        """The runs against a dataset, oldest first."""
        return self.dataset(dataset).entries

    def history(self, dataset: str | None = None) -> tuple[HistoryLine, ...]:
        """Everything that was ever written, oldest first."""
        with self._store.transaction("read") as book:
            if dataset is not None:
                find(self._store, book, dataset)
                return tuple(book.lines(dataset))
            everything = tuple(book.lines())
            fold(everything)
            return everything

    def head(self) -> Head:
        """The number and hash of the last line. Kept elsewhere, it tells later whether this history was still all there."""
        with self._store.transaction("read") as book:
            fold(book.lines())
            return book.head()

    def check(self, head: str | None = None) -> Head:
        """Recompute the whole chain; with a `head` that was written down, also whether the history goes on from there."""
        with self._store.transaction("read") as book:
            lines = book.lines()
            fold(lines)
            if head is not None:
                number, _, hash = head.strip().partition(":")
                if not number.isdecimal() or len(hash) != (64 if int(number) else 0):
                    raise InputError(
                        f"{head.strip()[:100]!r} is no head of a ledger: it looks like 17:9f86d0…, in one line."
                    )
                at = int(number)
                if at > len(lines) or (at and lines[at - 1].hash != hash):
                    raise InputError(
                        f"The ledger {self.address} is not the one whose head was {head.strip()[:20]}…: it has been rolled back "
                        f"or replaced. It has {len(lines)} lines. Bring the right one back; until then treat its datasets as "
                        f"spent."
                    )
            return book.head()

    def __repr__(self) -> str:
        return f"Ledger({self.address!r})"


def check_limit(name: str, epsilon: float, delta: float, note: str = "", until: str | None = None) -> Cost:
    """Refuse a dataset that no ledger would take, before any file is made for it."""
    check_text(name, "dataset: name")
    if note:
        check_text(note, f"dataset {name!r}: note")
    check_until(until, f"dataset {name!r}: until")
    return check_cost(epsilon, delta, f"dataset {name!r}")


def _store(url: str | os.PathLike[str], timeout: float) -> Store:
    seconds = check_amount(timeout, "ledger: timeout")
    if os.fspath(url).startswith(("postgresql://", "postgres://")):
        from understudy.privacy.ledger_postgres import LedgerDatabase

        return LedgerDatabase(os.fspath(url), seconds)
    return LedgerFile(ledger_path(url), seconds)


def _said(**facts: object) -> dict[str, object]:
    return {name: value for name, value in facts.items() if value is not None}


def _who(person: str | None, project: str | None) -> str | None:
    if person is not None and project is not None:
        raise InputError("A limit is of a person or of a project, not of both.")
    if person is not None:
        return f"person:{check_text(person, 'person')}"
    return None if project is None else f"project:{check_text(project, 'project')}"


def _request(book: Book, number: int, address: str) -> LedgerRequest:
    for one in fold(book.lines()):
        for asked in one.requests:
            if asked.id == number:
                return asked
    raise InputError(f"There is no request {number} in the ledger {address}. See `understudy ledger show`.")


def _alike(dataset: Dataset, unit: str) -> None:
    """Refuse a run for persons where runs for rows count, and the other way round."""
    other = next((e for e in dataset.entries if any(e.counted) and (e.unit == PERSON) != (unit == PERSON)), None)
    if other is not None:
        raise InputError(
            f"The runs on dataset {dataset.name!r} were charged for one {other.unit} (the first is {other.id}), and this one is "
            f"for one {unit}: their costs do not add up to a promise for either. Nothing was reserved. Make this run for one "
            f"{other.unit} too, or keep what is charged for one {unit} under a dataset name and a limit of its own."
        )


def _admit(dataset: Dataset, cost: Cost, purpose: str, user: str, project: str | None) -> None:
    """Whether a run fits the dataset's limit, and those of its person and project."""
    if expired(dataset.until):
        raise InputError(f"The limit of dataset {dataset.name!r} held until {dataset.until}: nothing was reserved.")
    _fit(cost, dataset.remaining, f"A reservation on dataset {dataset.name!r} ({purpose})")
    kinds: tuple[tuple[Literal["person", "project"], str | None], ...] = (("person", user), ("project", project))
    for kind, name in kinds:
        allowance = None if name is None else dataset.allowance(kind, name)
        if allowance is None:
            continue
        if expired(allowance.until):
            raise InputError(
                f"What {allowance.who} may spend of dataset {dataset.name!r} could be spent until {allowance.until}."
            )
        _fit(cost, allowance.remaining, f"A reservation on dataset {dataset.name!r} by {kind} {name} ({purpose})")


def _fit(cost: Cost, left: Cost, what: str) -> None:
    for unit, requested, most in zip(Cost._fields, cost, left, strict=True):
        # `most` is the largest float that fits, so comparing floats here is comparing exactly.
        if requested > most:
            raise BudgetExceeded(requested=requested, remaining=most, what=what, unit=unit)
