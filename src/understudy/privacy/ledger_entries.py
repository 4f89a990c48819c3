"""The nouns of a ledger: amounts, history lines, runs, datasets.

Nothing here knows where the history is kept.
"""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any, Literal, NamedTuple, cast, get_args

from understudy.errors import InputError

Action = Literal[
    "add",
    "limit",
    "request",
    "approve",
    "refuse",
    "reserve",
    "draw",
    "resume",
    "pause",
    "commit",
    "release",
    "lose",
    "settle",
]
State = Literal["reserved", "drawing", "committed", "returned", "lost"]

ACTIONS: tuple[str, ...] = get_args(Action)
FIRST = ("add", "limit", "request", "reserve")
"""What belongs to no line before it."""
ANSWERS = ("approve", "refuse")
STATES: dict[str, State] = {
    "reserve": "reserved",
    "draw": "drawing",
    "resume": "drawing",
    "pause": "committed",
    "commit": "committed",
    "release": "returned",
    "lose": "lost",
    "settle": "lost",
}
NEXT: dict[str, tuple[str, ...]] = {
    "reserve": ("draw", "resume", "pause", "commit", "release", "settle"),
    "draw": ("resume", "pause", "commit", "lose", "settle"),
    "resume": ("resume", "pause", "commit", "lose", "settle"),
    "pause": ("resume",),
    "lose": ("settle",),
}
"""What may follow what in the life of a run. Nothing follows a commit, a return, or what a person has settled."""


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
    detail: str
    """JSON of what only some lines say: a run's method, a limit's end."""
    before: str
    """The hash of the line before."""
    hash: str

    def says(self) -> dict[str, Any]:
        """The detail as a dictionary."""
        with suppress(ValueError):
            said = json.loads(self.detail or "{}")
            if isinstance(said, dict):
                return cast(dict[str, Any], said)
        raise Damage(f"the detail in line {self.id} of the history is not JSON")


@dataclass(frozen=True)
class LedgerEntry:
    """One run against a dataset, and what it counts for.

    `state` goes from `reserved` to `drawing` before the first draw, and ends as `committed`, as `returned` (nothing was
    drawn) or as `lost` (nobody can say what was). `counted` is what the run takes from the dataset: all of `reserved`
    until it is settled. `open` is a run that may still go on. `token` is the digest of what its holder must show.
    """

    id: int
    dataset: str
    state: State
    reserved: Cost
    counted: Cost
    purpose: str
    method: str
    project: str | None
    host: str
    pid: int
    user: str
    started: str
    settled: str | None
    reason: str
    certificate: dict[str, Any] | None
    resumable: bool
    token: str | None
    last: Action
    published: Cost
    """What it had cost when its owner stopped it and published: it never counts for less."""
    unit: str = "row"
    """What one record is to the run: lines that do not say it are of rows."""

    @property
    def open(self) -> bool:
        return bool({"commit", "resume"} & set(NEXT.get(self.last, ())))

    def may(self, action: Action) -> bool:
        """Whether a line of this kind may come next."""
        return action in NEXT.get(self.last, ())

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
class Allowance:
    """What a person or a project may spend of a dataset, until when, and what is left of that (rounded down)."""

    who: str
    limit: Cost
    remaining: Cost
    until: str | None


@dataclass(frozen=True)
class LedgerRequest:
    """What somebody asked to be allowed beyond their limit; `answer` is who approved or refused it, and why."""

    id: int
    dataset: str
    who: str
    user: str
    cost: Cost
    purpose: str
    until: str | None
    at: str
    state: Literal["waiting", "approved", "refused"]
    answer: str


@dataclass(frozen=True)
class Dataset:
    """A named dataset: its limit, what is spent of it (rounded up), what is left (rounded down)."""

    name: str
    limit: Cost
    spent: Cost
    remaining: Cost
    note: str
    added: str
    entries: tuple[LedgerEntry, ...]
    until: str | None = None
    allowances: tuple[Allowance, ...] = ()
    requests: tuple[LedgerRequest, ...] = ()

    def allowance(self, kind: Literal["person", "project"], name: str) -> Allowance | None:
        """The limit of one person or project; where they have none, what `*` says of everybody."""
        found = {one.who: one for one in self.allowances}
        return found.get(f"{kind}:{name}") or found.get(f"{kind}:*")


class Damage(Exception):
    """The ledger holds something that no ledger writes."""


def check_cost(epsilon: object, delta: object, where: str) -> Cost:
    """An amount that a ledger takes, or an error that names the argument."""
    cost = Cost(check_amount(epsilon, f"{where}: epsilon"), check_amount(delta, f"{where}: delta"))
    if cost.delta >= 1:
        raise InputError(
            f"{where}: delta (={cost.delta!r}) must be below 1, since a delta of 1 promises nothing. Take "
            f"one far below one over the number of records, such as 1e-6."
        )
    return cost


def check_amount(value: object, what: str) -> float:
    """A finite number, zero or more."""
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):
            number = float(value)
            if math.isfinite(number) and number >= 0:
                return number + 0.0  # minus zero becomes zero
    raise InputError(f"{what} (={value!r}) must be a finite number, zero or more. Nothing was written.")


def check_text(value: object, what: str) -> str:
    """A name or note that reads well in one line of a table."""
    if isinstance(value, str) and value.strip() == value and value.isprintable() and 0 < len(value) <= 1000:
        return value
    raise InputError(
        f"{what} (={value!r}) must be 1 to 1000 printable characters in one line, without spaces at its ends."
    )


def certificate_text(certificate: Mapping[str, Any] | None) -> str | None:
    """A certificate as the JSON text that the history keeps."""
    if certificate is None:
        return None
    try:
        return json.dumps(dict(certificate), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"commit: the certificate is not plain JSON ({error}). The reservation still counts in full. "
            f"Pass the dictionary that the certificate file holds, or None."
        ) from error


def check_until(value: str | None, where: str) -> str | None:
    """A day as 2027-12-31, the last on which something holds; or none."""
    if value is None:
        return None
    with suppress(ValueError):
        day = date.fromisoformat(value)
        if day.isoformat() == value:
            return value
    raise InputError(f"{where} (={value!r}) must be a day, written like 2027-12-31.")
