"""The nouns of a ledger: amounts, history lines, runs, datasets; and how a history adds up to them.

Nothing here knows where the history is kept.
"""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, NamedTuple

from understudy.errors import InputError

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
class LedgerEntry:
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
    entries: tuple[LedgerEntry, ...]


class Damage(Exception):
    """The file holds something that no ledger writes."""


def fold(lines: Sequence[HistoryLine]) -> tuple[Dataset, ...]:
    """From the history to the present state of its datasets."""
    settled = {line.reservation: line for line in lines if line.reservation is not None}
    reserved: dict[str, dict[int, HistoryLine]] = {line.dataset: {} for line in lines if line.action == "add"}
    for line in lines:
        mine = reserved.get(line.dataset)
        if mine is None or (line.reservation is not None and line.reservation not in mine):
            raise Damage(f"line {line.id} of the history has lost the line it belongs to")
        if line.action == "reserve":
            mine[line.id] = line
    return tuple(_state(line, reserved[line.dataset].values(), settled) for line in lines if line.action == "add")


def _state(added: HistoryLine, reserved: Iterable[HistoryLine], settled: Mapping[int, HistoryLine]) -> Dataset:
    entries = tuple(_entry(line, settled.get(line.id)) for line in reserved)
    spent = [sum((_fraction(entry.counted[unit]) for entry in entries), Fraction(0)) for unit in (0, 1)]
    limit = _recorded(added)
    left = [_fraction(most) - total for most, total in zip(limit, spent, strict=True)]
    if min(left) < 0:
        raise Damage(f"dataset {added.dataset!r} has spent more than its limit")
    return Dataset(
        name=added.dataset,
        limit=limit,
        spent=Cost(*map(_up, spent)),
        remaining=Cost(*map(_down, left)),
        note=added.note,
        added=added.at,
        entries=entries,
    )


def _entry(reserve: HistoryLine, settle: HistoryLine | None) -> LedgerEntry:
    last = settle or reserve
    reserved, counted = _recorded(reserve), _recorded(last)
    if counted.epsilon > reserved.epsilon or counted.delta > reserved.delta:
        raise Damage(f"line {last.id} of the history settles for more than reservation {reserve.id} set aside")
    try:
        certificate = json.loads(last.certificate) if last.certificate else None
    except ValueError as error:
        raise Damage(f"the certificate in line {last.id} of the history is not JSON") from error
    return LedgerEntry(
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
    raise Damage(f"line {line.id} of the history holds epsilon {line.epsilon!r} and delta {line.delta!r}")


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
