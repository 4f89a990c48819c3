"""How a history adds up: from its lines to datasets, runs, limits and requests."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from understudy.privacy.ledger_entries import (
    ANSWERS,
    NEXT,
    STATES,
    Allowance,
    Cost,
    Damage,
    Dataset,
    HistoryLine,
    LedgerEntry,
    LedgerRequest,
)


def fold(lines: Sequence[HistoryLine]) -> tuple[Dataset, ...]:
    """From the history to the present state of its datasets."""
    mine: dict[str, list[HistoryLine]] = {line.dataset: [] for line in lines if line.action == "add"}
    for line in lines:
        if line.dataset not in mine:
            raise Damage(f"line {line.id} of the history has lost the line it belongs to")
        mine[line.dataset].append(line)
    return tuple(_dataset(name, written) for name, written in mine.items())


def _dataset(name: str, lines: Sequence[HistoryLine]) -> Dataset:
    lives: dict[int, list[HistoryLine]] = {line.id: [line] for line in lines if line.action in ("reserve", "request")}
    for line in lines:
        if line.reservation is None:
            continue
        first = lives.get(line.reservation)
        if first is None or (line.action in ANSWERS) != (first[0].action == "request"):
            raise Damage(f"line {line.id} of the history has lost the line it belongs to")
        first.append(line)
    added, *more = [line for line in lines if line.action == "add"]
    if more:
        raise Damage(f"dataset {name!r} was added twice")
    entries = tuple(_entry(life) for life in lives.values() if life[0].action == "reserve")
    requests = tuple(_request(life) for life in lives.values() if life[0].action == "request")
    limits = [line for line in lines if line.action == "limit"]
    fixed = ([added] + [line for line in limits if "who" not in line.says()])[-1]
    limit, spent = _recorded(fixed), _spent(entries)
    left = _left(limit, spent)
    if min(left) < 0:
        raise Damage(f"dataset {name!r} has spent more than its limit")
    return Dataset(
        name=name,
        limit=limit,
        spent=Cost(*map(_up, spent)),
        remaining=Cost(*map(_down, left)),
        note=added.note,
        added=added.at,
        entries=entries,
        until=fixed.says().get("until"),
        allowances=_allowances(limits, requests, entries),
        requests=requests,
    )


def _allowances(
    limits: Sequence[HistoryLine], requests: Sequence[LedgerRequest], entries: Sequence[LedgerEntry]
) -> tuple[Allowance, ...]:
    """The last limit of each person and project, with what was approved beyond it and has not run out."""
    named = {line.says()["who"]: line for line in limits if "who" in line.says()}
    approved = [one for one in requests if one.state == "approved" and not expired(one.until)]
    seen = [f"person:{e.user}" for e in entries] + [f"project:{e.project}" for e in entries if e.project is not None]
    others = [who for who in (*(one.who for one in approved), *seen) if _default(who) in named]
    found: list[Allowance] = []
    for who in dict.fromkeys([*named, *others]):
        line = named.get(who) or named[_default(who)]
        total = [_fraction(amount) for amount in _recorded(line)]
        for one in approved:
            if one.who == who:
                total = [most + _fraction(more) for most, more in zip(total, one.cost, strict=True)]
        kind, _, name = who.partition(":")
        theirs = [entry for entry in entries if name == (entry.user if kind == "person" else entry.project)]
        left = [max(most - used, Fraction(0)) for most, used in zip(total, _spent(theirs), strict=True)]
        until = line.says().get("until")
        found.append(Allowance(who, Cost(*map(_down, total)), Cost(*map(_down, left)), until))
    return tuple(found)


def _default(who: str) -> str:
    return who.partition(":")[0] + ":*"


def expired(until: str | None) -> bool:
    """Whether the day that something holds until is over."""
    return until is not None and datetime.now(UTC).date().isoformat() > until


def _spent(entries: Iterable[LedgerEntry]) -> tuple[Fraction, Fraction]:
    held = list(entries)
    epsilon, delta = (sum((_fraction(entry.counted[unit]) for entry in held), Fraction(0)) for unit in (0, 1))
    return epsilon, delta


def _left(limit: Cost, spent: tuple[Fraction, Fraction]) -> list[Fraction]:
    return [_fraction(most) - total for most, total in zip(limit, spent, strict=True)]


def _request(life: Sequence[HistoryLine]) -> LedgerRequest:
    asked, *answers = life
    if len(answers) > 1:
        raise Damage(f"request {asked.id} was answered twice")
    said = asked.says()
    state, answer = "waiting", ""
    if answers:
        state = "approved" if answers[0].action == "approve" else "refused"
        answer = f"{answers[0].user}: {answers[0].note}"
    who, until = str(said.get("who")), said.get("until")
    return LedgerRequest(
        asked.id, asked.dataset, who, asked.user, _recorded(asked), asked.note, until, asked.at, state, answer
    )


def _entry(life: Sequence[HistoryLine]) -> LedgerEntry:
    reserve, last = life[0], life[-1]
    for before, line in pairwise(life):
        if line.action not in NEXT.get(before.action, ()):
            raise Damage(f"line {line.id} of the history cannot follow line {before.id}")
        if any(more > most for more, most in zip(_recorded(line), _recorded(before), strict=True)):
            raise Damage(f"line {line.id} of the history settles for more than reservation {reserve.id} set aside")
    try:
        certificate = json.loads(last.certificate) if last.certificate else None
    except ValueError as error:
        raise Damage(f"the certificate in line {last.id} of the history is not JSON") from error
    said = reserve.says()
    worker = [line for line in life if line.action in ("reserve", "resume")][-1]
    paused = [line for line in life if line.action == "pause"]
    ended = last.action in ("pause", "commit", "release", "lose", "settle")
    return LedgerEntry(
        id=reserve.id,
        dataset=reserve.dataset,
        state=STATES[last.action],
        reserved=_recorded(reserve),
        counted=_recorded(last),
        purpose=reserve.note,
        method=str(said.get("method", "")),
        project=said.get("project"),
        host=worker.host,
        pid=worker.pid,
        user=reserve.user,
        started=reserve.at,
        settled=last.at if ended else None,
        reason=last.note if ended else "",
        certificate=certificate,
        resumable=bool(said.get("resumable")),
        token=worker.says().get("token"),
        last=last.action,
        published=_recorded(paused[-1]) if paused else Cost(0.0, 0.0),
        unit=str(said.get("unit", "row")),
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
