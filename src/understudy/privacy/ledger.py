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

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger_entries import (
    Cost,
    Dataset,
    HistoryLine,
    LedgerEntry,
    certificate_text,
    check_amount,
    check_cost,
    check_text,
    fold,
)
from understudy.privacy.ledger_file import LedgerFile, append, ledger_path, lines, names

__all__ = ["Cost", "Dataset", "HistoryLine", "Ledger", "LedgerEntry", "Reservation", "check_limit"]


class Ledger:
    """The spending of many datasets, in one SQLite file that many processes may charge at once.

    Each call opens its own connection and leaves none behind, so one `Ledger` may be shared by threads,
    carried through a fork or sent to a worker.
    """

    def __init__(self, url: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        """Open the ledger at a path or `sqlite:///path`; wait up to `timeout` seconds for other processes."""
        self._file = LedgerFile(ledger_path(url), check_amount(timeout, "ledger: timeout"))
        self._file.check()

    @classmethod
    def create(cls, url: str | os.PathLike[str], *, exist_ok: bool = False, timeout: float = 30.0) -> Ledger:
        """Make a new ledger, readable by its owner alone; with `exist_ok` open one that is already there."""
        file = LedgerFile(ledger_path(url), check_amount(timeout, "ledger: timeout"))
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
            if name in names(connection):
                raise InputError(
                    f"Dataset {name!r} is already in the ledger {self.path}, and its limit cannot be "
                    f"changed. See it with `understudy ledger show`; use another name for other data."
                )
            append(connection, "add", name, limit, note=note)

    def reserve(self, dataset: str, *, epsilon: float, delta: float, purpose: str) -> Reservation:
        """Set aside the most that a run can cost, before its first draw; `BudgetExceeded` if it does not fit.

        The check and the entry are one transaction under the file's write lock, and the entry is on disk when
        this returns: no two processes can both take the last of a limit.
        """
        cost = check_cost(epsilon, delta, "reserve")
        check_text(purpose, "reserve: purpose")
        with self._file.transaction("write") as connection:
            remaining = _find(self._file, connection, dataset).remaining
            for unit, requested, left in zip(Cost._fields, cost, remaining, strict=True):
                # `left` is the largest float that fits, so comparing floats here is comparing exactly.
                if requested > left:
                    what = f"A reservation on dataset {dataset!r} ({purpose})"
                    raise BudgetExceeded(requested=requested, remaining=left, what=what, unit=unit)
            number = append(connection, "reserve", dataset, cost, note=purpose)
        return Reservation(self._file, number, dataset, *cost)

    def datasets(self) -> tuple[Dataset, ...]:
        """Every dataset with its limit, spending and entries, as of one moment."""
        with self._file.transaction("read") as connection:
            return fold(lines(connection))

    def dataset(self, name: str) -> Dataset:
        """One dataset with its limit, spending and entries, as of one moment."""
        with self._file.transaction("read") as connection:
            return _find(self._file, connection, name)

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
        with self._file.transaction("read") as connection:
            if dataset is not None:
                _find(self._file, connection, dataset)
                return tuple(lines(connection, dataset))
            everything = tuple(lines(connection))
            fold(everything)
            return everything

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


@dataclass(frozen=True)
class Reservation:
    """A share of a dataset's limit, set aside for one run. It counts as spent until it is settled.

    Only the run that made it holds one: nobody else can settle it, however long it is open.
    """

    _file: LedgerFile
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
        self._settle("commit", cost, certificate=text)

    def release(self, *, reason: str) -> None:
        """Give it all back. Only while nothing was drawn: calling this is the promise that nothing was.

        The reason stays in the history under the caller's name. Nothing is ever released by itself, on an
        exception for example, because a run that fails half-way has already drawn.
        """
        self._settle("release", Cost(0.0, 0.0), note=check_text(reason, "release: reason"))

    def _settle(
        self,
        action: Literal["commit", "release"],
        cost: Cost,
        *,
        note: str = "",
        certificate: str | None = None,
    ) -> None:
        with self._file.transaction("write") as connection:
            entries = _find(self._file, connection, self.dataset).entries
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
            append(connection, action, self.dataset, cost, note, self.id, certificate)


def check_limit(name: str, epsilon: float, delta: float, note: str = "") -> Cost:
    """Refuse a dataset that no ledger would take, before any file is made for it."""
    check_text(name, "dataset: name")
    if note:
        check_text(note, f"dataset {name!r}: note")
    return check_cost(epsilon, delta, f"dataset {name!r}")


def _find(file: LedgerFile, connection: sqlite3.Connection, name: str) -> Dataset:
    check_text(name, "dataset")
    datasets = fold(lines(connection, name))
    if not datasets:
        known = ", ".join(map(repr, names(connection))) or "none"
        raise InputError(
            f"Dataset {name!r} is not in the ledger {file.path}, which holds {known}. Correct the name, "
            f"or add it with `understudy ledger init`."
        )
    return datasets[0]
