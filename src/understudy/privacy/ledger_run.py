"""A run as the ledger knows it: a share of a limit that one process at a time holds, and settles once.

The holder shows a random token, of which the ledger keeps a digest. Whenever a run goes on in another process the token
is changed, so that of several copies of a workspace only one can go on. While a process is at work it keeps a lease, which
it renews; a lease that ran out, or whose process is known to be dead, is no obstacle to anybody.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.errors import InputError
from understudy.privacy.ledger_entries import (
    Action,
    Cost,
    Dataset,
    LedgerEntry,
    certificate_text,
    check_cost,
    check_text,
)
from understudy.privacy.ledger_fold import fold
from understudy.privacy.ledger_store import Book, Lease, Store, append
from understudy.privacy.units import PERSON


def new_token() -> str:
    return secrets.token_hex(16)


def digest(token: str) -> str:
    """What the ledger keeps of a token: whoever reads the ledger cannot show it."""
    return hashlib.sha256(token.encode()).hexdigest()


def shows(token: str, entry: LedgerEntry) -> bool:
    return entry.token is not None and hmac.compare_digest(entry.token, digest(token))


@dataclass(frozen=True)
class Reservation:
    """A share of a dataset's limit, set aside for one run. It counts as spent until it is settled.

    Only who holds its token can settle it, however long it is open; a person can, with a reason, when no process is at
    work on it (`Ledger.settle`).
    """

    _store: Store
    id: int
    dataset: str
    epsilon: float
    delta: float
    token: str = field(repr=False)

    def begin(self) -> None:
        """Say that from now on something may have been drawn. Called before the first draw; later it only renews."""
        with self._store.transaction("write") as book:
            entry = self._held(book, "draw")
            if entry.state == "reserved":
                append(book, "draw", self.dataset, entry.counted, reservation=self.id)
            book.keep(Lease.mine(self.id, book.user(), book.now()))

    def renew(self) -> None:
        """A sign of life. Refused when the run is no longer this process's: somebody settled it or went on with it."""
        with self._store.transaction("write") as book:
            self._held(book, "go on")
            book.keep(Lease.mine(self.id, book.user(), book.now()))

    def leave(self) -> None:
        """Give up the lease and nothing else: the run may be resumed at once."""
        with self._store.transaction("write") as book:
            lease = book.lease(self.id)
            if lease is not None and lease.is_mine():
                book.drop(self.id)

    def commit(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        certificate: Mapping[str, Any] | None = None,
        reason: str = "",
        resumable: bool = False,
    ) -> None:
        """Record what the run really cost, at most what was reserved; the rest goes back to the dataset.

        The cost is the one that the run's certificate states, which is unconditional: a data-dependent epsilon, or
        the realised part of an adaptive run, depends on the answers, is no bound by itself, and everybody who
        reads the ledger would see it. Left out, the whole reservation is spent. A `resumable` run was stopped by its
        owner after all of it was paid for: it may go on, once, and never costs more than is recorded here.
        """
        reserved = Cost(self.epsilon, self.delta)
        text = certificate_text(certificate)
        for unit, most in zip(Cost._fields, reserved, strict=True):
            stated = most if certificate is None else certificate.get(unit, most)
            if stated is None or not stated <= most:
                raise InputError(
                    f"commit: the certificate states {unit} {stated!r}, and reservation {self.id} set aside {most!r} on "
                    f"dataset {self.dataset!r}; it still counts for that. Reserve the difference as well."
                )
        cost = check_cost(
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
        unit = None if certificate is None else str(certificate.get("unit", "row"))
        self._settle("pause" if resumable else "commit", cost, note=reason, certificate=text, unit=unit)

    def release(self, *, reason: str) -> None:
        """Give it all back. Only while nothing was drawn: calling this is the promise that nothing was.

        The reason stays in the history under the caller's name. A run that has said that it draws (`begin`) cannot.
        """
        self._settle("release", Cost(0.0, 0.0), note=check_text(reason, "release: reason"))

    def _settle(
        self, action: Action, cost: Cost, *, note: str = "", certificate: str | None = None, unit: str | None = None
    ) -> None:
        with self._store.transaction("write") as book:
            entry = self._held(book, action)
            if unit is not None and (unit == PERSON) != (entry.unit == PERSON):
                raise InputError(
                    f"{action}: the certificate is for one {unit}, and reservation {self.id} on dataset {self.dataset!r} was made "
                    f"for one {entry.unit}; it still counts in full."
                )
            if not entry.may(action):
                raise InputError(
                    f"{action}: reservation {self.id} on dataset {self.dataset!r} is {entry.state}: something may have been "
                    f"drawn, so it counts. Commit what it cost."
                )
            append(book, action, self.dataset, cost, note, self.id, certificate)
            book.drop(self.id)

    def _held(self, book: Book, doing: str) -> LedgerEntry:
        """The run, if it is still open and still ours."""
        entry = entry_of(find(self._store, book, self.dataset), self.id)
        if entry is None or (entry.token is not None and entry.open and not shows(self.token, entry)):
            lost = "is not in" if entry is None else "is not ours in"
            raise InputError(
                f"{doing}: reservation {self.id} on dataset {self.dataset!r} {lost} the ledger "
                f"{self._store.address}: that ledger is not the one it was made in, or another process has gone on with "
                f"the run. Bring the right one back, or let the other finish."
            )
        if not entry.open or entry.last == "pause":
            raise InputError(
                f"{doing}: reservation {self.id} on dataset {self.dataset!r} was {entry.state} at "
                f"{entry.settled} and counts for epsilon {entry.counted.epsilon!r}, delta "
                f"{entry.counted.delta!r}. It is settled once; make a new reservation for a new run."
            )
        lease = book.lease(self.id)
        if lease is not None and not lease.is_mine() and not lease.is_over(book.now()):
            raise InputError(
                f"{doing}: run {self.id} on dataset {self.dataset!r} is held by process {lease.pid} of {lease.user} on "
                f"{lease.place.split()[0]}."
            )
        return entry


def find(store: Store, book: Book, name: str) -> Dataset:
    """A dataset of the ledger, or an error that says which there are."""
    check_text(name, "dataset")
    datasets = fold(book.lines(name))
    if not datasets:
        known = ", ".join(map(repr, book.names())) or "none"
        raise InputError(
            f"Dataset {name!r} is not in the ledger {store.address}, which holds {known}. Correct the name, "
            f"or add it with `understudy ledger init`."
        )
    return datasets[0]


def entry_of(dataset: Dataset, run: int) -> LedgerEntry | None:
    return next((entry for entry in dataset.entries if entry.id == run), None)


def resume(
    store: Store,
    run: int,
    token: str,
    changed: str,
    *,
    dataset: str,
    epsilon: float,
    delta: float,
    method: str,
    unit: str,
) -> Reservation:
    """Go on with an open run: its token is shown and replaced by `changed`, and the lease is this process's.

    A run that is another one than the ledger holds, that is settled, or that another process is at work on is refused.
    """
    with store.transaction("write") as book:
        entry = entry_of(find(store, book, dataset), run)
        where = f"run {run} on dataset {dataset!r} in the ledger {store.address}"
        if entry is None or not shows(token, entry):
            raise InputError(
                f"cannot resume: {where} is not the run of this workspace. Either the ledger is an older copy, or another "
                f"copy of this workspace has gone on with the run. Use the right ledger, the right copy, or start anew "
                f"in a new workspace: that is charged anew."
            )
        if not entry.may("resume"):
            raise InputError(
                f"cannot resume: {where} was {entry.state} at {entry.settled} and counts for epsilon "
                f"{entry.counted.epsilon!r}. Start anew in a new workspace: that is charged anew."
            )
        asked = Cost(epsilon, delta)
        if asked != entry.reserved or method != entry.method:
            raise InputError(
                f"cannot resume: {where} was reserved for {entry.method!r} with epsilon {entry.reserved.epsilon!r} and "
                f"delta {entry.reserved.delta!r}, not for {method!r} with {epsilon!r} and {delta!r}. Resume it with the "
                f"settings it was started with."
            )
        if (unit == PERSON) != (entry.unit == PERSON):
            raise InputError(
                f"cannot resume: {where} was reserved for one {entry.unit}, and this run is for one {unit}: what it cost so far is no "
                f"promise for one {unit}. Resume it for one {entry.unit}, or start anew in a new workspace: that is charged anew."
            )
        lease, now = book.lease(run), book.now()
        if lease is not None and not lease.is_mine() and not lease.is_over(now):
            raise InputError(
                f"cannot resume: process {lease.pid} of {lease.user} on {lease.place.split()[0]} is at work on {where}. "
                f"Wait for it; if it is dead, its lease ends in {lease.expires - now:.0f} s."
            )
        append(book, "resume", dataset, entry.counted, reservation=run, detail={"token": digest(changed)})
        book.keep(Lease.mine(run, book.user(), now))
    return Reservation(store, run, dataset, *entry.counted, changed)


def sweep(book: Book, dataset: Dataset) -> bool:
    """Settle the runs of processes that are gone, where the ledger knows their true cost; whether there were any.

    A run that had not begun to draw cost nothing. One that had, and that cannot be resumed, is lost: it counts in full.
    """
    found = False
    for entry in dataset.entries:
        lease = book.lease(entry.id) if entry.open else None
        if lease is None or not lease.is_over(book.now()):
            continue
        if entry.state == "reserved":
            reason = "its process ended before anything was drawn"
            append(book, "release", dataset.name, Cost(0.0, 0.0), reason, entry.id)
        elif entry.state == "drawing" and not entry.resumable:
            reason = "its process ended after it began to draw; it counts in full"
            append(book, "lose", dataset.name, entry.counted, reason, entry.id)
        else:
            continue
        book.drop(entry.id)
        found = True
    return found
