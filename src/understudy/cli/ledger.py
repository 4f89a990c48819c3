"""`understudy ledger`: the limits of named datasets, and what runs have spent of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table

if TYPE_CHECKING:
    from understudy.privacy.ledger import Cost, Dataset, HistoryLine, LedgerEntry, LedgerRequest

ledger = typer.Typer(
    name="ledger",
    help="What each named dataset has spent, across runs and people.",
    no_args_is_help=True,
)
app.add_typer(ledger)

File = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger's file, sqlite:///path or postgresql://…")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stays in the history under your name.")]
Until = Annotated[str | None, typer.Option("--until", help="The last day on which it holds, like 2027-12-31.")]
Project = Annotated[str | None, typer.Option("--project", help="A project instead of a person.")]
Name = Annotated[str | None, typer.Option("--dataset", help="Only this dataset.")]


@ledger.command()
def init(
    path: File,
    dataset: Annotated[str, typer.Option("--dataset", help="Name of the dataset.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="All that may ever be spent of epsilon.")],
    delta: Annotated[float, typer.Option("--delta", help="All that may ever be spent of delta.")],
    note: Annotated[str, typer.Option("--note", help="Words for the people who read the ledger.")] = "",
    until: Until = None,
    as_json: Json = False,
) -> None:
    """Add a dataset with its limit; make the ledger if there is none."""
    from understudy.privacy.ledger import Ledger, check_limit

    check_limit(dataset, epsilon, delta, note, until)
    book = Ledger.create(path, exist_ok=True)
    book.add_dataset(dataset, epsilon=epsilon, delta=delta, note=note, until=until)
    added = book.dataset(dataset)
    if as_json:
        print_json({"ledger": book.address, "dataset": _dataset(added)})
    else:
        _print_datasets(book.address, [added])


@ledger.command()
def show(path: File, dataset: Name = None, as_json: Json = False) -> None:
    """Limits, what is spent, what is left, and the runs that spent it."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    found = book.datasets() if dataset is None else (book.dataset(dataset),)
    if as_json:
        print_json({"ledger": book.address, "datasets": [_dataset(one) for one in found]})
        return
    _print_datasets(book.address, found)
    entries = [entry for one in found for entry in one.entries]
    if entries:
        print_table(
            "Runs (what is reserved or drawing counts as spent)",
            ["run", "dataset", "state", "epsilon", "delta", "purpose", "who", "started", "reason"],
            [
                [
                    entry.id,
                    entry.dataset,
                    _state(entry),
                    repr(entry.counted.epsilon),
                    repr(entry.counted.delta),
                    entry.purpose,
                    f"{entry.user}@{entry.host} pid {entry.pid}",
                    _when(entry.started),
                    entry.reason,
                ]
                for entry in entries
            ],
        )
    _print_limits(found)


@ledger.command()
def history(path: File, dataset: Name = None, as_json: Json = False) -> None:
    """Everything that was ever written: who did what, and when."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    lines = book.history(dataset)
    if as_json:
        print_json({"ledger": book.address, "history": [_line(line) for line in lines]})
        return
    print_table(
        f"History of {book.address}",
        ["line", "at", "who", "action", "dataset", "reservation", "epsilon", "delta", "note"],
        [
            [
                line.id,
                _when(line.at),
                f"{line.user}@{line.host} pid {line.pid}",
                line.action,
                line.dataset,
                line.reservation,
                line.epsilon,
                line.delta,
                line.note,
            ]
            for line in lines
        ],
    )


@ledger.command()
def head(
    path: File,
    out: Annotated[Path | None, typer.Option(help="File to write it to; printed if left out.")] = None,
    as_json: Json = False,
) -> None:
    """The head of the history: kept elsewhere, it tells later whether lines were changed or taken out since."""
    from understudy.files import write_text
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    found = book.head()
    if out is not None:
        write_text(out, f"{found}\n")
    if as_json:
        print_json({"ledger": book.address, "head": str(found), "lines": found.id})
    elif out is None:
        typer.echo(str(found))


@ledger.command()
def check(
    path: File,
    head: Annotated[
        str | None, typer.Option(help="A head that was written down: the text, or the file with it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute the chain of the whole history; with --head also whether it goes on from what was written down."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    said = Path(head).read_text("utf-8") if head is not None and Path(head).is_file() else head
    found = book.check(said)
    if as_json:
        print_json({"ledger": book.address, "head": str(found), "lines": found.id, "intact": True})
    else:
        since = "" if said is None else f", and goes on from {said.strip()[:20]}…"
        typer.echo(f"Intact: all {found.id} lines of {book.address} are as they were written{since}.")


@ledger.command()
def settle(
    path: File,
    run: Annotated[int, typer.Argument(help="The number of the run, as `ledger show` has it.")],
    reason: Reason,
    epsilon: Annotated[float | None, typer.Option(help="What it cost; all that was reserved if left out.")] = None,
    delta: Annotated[float | None, typer.Option(help="What it cost; all that was reserved if left out.")] = None,
    as_json: Json = False,
) -> None:
    """Say what a run cost that died and that nobody will resume. Refused while a process is at work on it."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    settled = book.settle(run, reason=reason, epsilon=epsilon, delta=delta)
    if as_json:
        print_json({"ledger": book.address, "run": _entry(settled)})
    else:
        cost = settled.counted
        typer.echo(f"Run {run} counts for epsilon {cost.epsilon!r}, delta {cost.delta!r} from now on.")


@ledger.command()
def limit(
    path: File,
    dataset: Annotated[str, typer.Option("--dataset", help="Name of the dataset.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="The new limit of epsilon.")],
    delta: Annotated[float, typer.Option("--delta", help="The new limit of delta.")],
    reason: Reason,
    person: Annotated[str | None, typer.Option(help="Of this person in the dataset; * for each that has none.")] = None,
    project: Project = None,
    until: Until = None,
    as_json: Json = False,
) -> None:
    """Change the limit of a dataset, or set that of a person or a project in it."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    book.set_limit(dataset, epsilon=epsilon, delta=delta, reason=reason, person=person, project=project, until=until)
    changed = book.dataset(dataset)
    if as_json:
        print_json({"ledger": book.address, "dataset": _dataset(changed)})
    else:
        _print_datasets(book.address, [changed])
        _print_limits([changed])


@ledger.command()
def request(
    path: File,
    dataset: Annotated[str, typer.Option("--dataset", help="Name of the dataset.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="How much more epsilon.")],
    purpose: Annotated[str, typer.Option("--purpose", help="What for.")],
    delta: Annotated[float, typer.Option("--delta", help="How much more delta.")] = 0.0,
    project: Project = None,
    until: Until = None,
    as_json: Json = False,
) -> None:
    """Ask to spend more of a dataset than your limit, or your project's. It waits until somebody else answers it."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    number = book.request(dataset, epsilon=epsilon, delta=delta, purpose=purpose, project=project, until=until)
    if as_json:
        print_json({"ledger": book.address, "request": number})
    else:
        typer.echo(f"Request {number} waits for `understudy ledger approve {book.address} {number} --reason …`.")


@ledger.command()
def approve(
    path: File,
    number: Annotated[int, typer.Argument(metavar="REQUEST", help="The number of the request.")],
    reason: Reason,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it instead.")] = False,
    as_json: Json = False,
) -> None:
    """Answer somebody else's request. What is approved adds to their limit; the dataset's own limit holds all the same."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    answered = book.answer(number, approve=not refuse, reason=reason)
    if as_json:
        print_json({"ledger": book.address, "request": _request(answered)})
    else:
        typer.echo(f"Request {number} of {answered.user} is {answered.state}.")


@ledger.command()
def grant(
    path: File,
    user: Annotated[str, typer.Option(help="A user of the database.")],
    role: Annotated[str, typer.Option(help="reader, spender or steward.")],
) -> None:
    """Let a user of PostgreSQL look (reader), spend (spender), or also set limits and approve (steward)."""
    from understudy.privacy.ledger import Ledger

    Ledger(path).grant(user, role)
    typer.echo(f"{user} is a {role} from now on.")


def _print_datasets(path: str, datasets: list[Dataset] | tuple[Dataset, ...]) -> None:
    columns = ["dataset", "", "limit", "spent", "remaining", "note"]
    rows: list[list[str]] = []
    for one in datasets:
        # Every digit: 0.9999999 of 1 is not the same as 1.
        amounts = [[repr(number) for number in pair] for pair in zip(one.limit, one.spent, one.remaining, strict=True)]
        rows += [[one.name, "epsilon", *amounts[0], one.note], ["", "delta", *amounts[1], ""]]
    print_table(f"Ledger {path}", columns, rows)


def _print_limits(datasets: Sequence[Dataset]) -> None:
    limits = [(one.name, allowed) for one in datasets for allowed in one.allowances]
    if limits:
        columns = ["dataset", "who", "epsilon", "left", "delta", "left", "until"]
        rows = [
            [name, one.who, repr(one.limit.epsilon), repr(one.remaining.epsilon), repr(one.limit.delta),
             repr(one.remaining.delta), one.until or ""]
            for name, one in limits
        ]  # fmt: skip
        print_table("Limits of people and projects", columns, rows)
    requests = [asked for one in datasets for asked in one.requests]
    if requests:
        columns = ["request", "dataset", "who", "epsilon", "delta", "purpose", "state", "answer"]
        rows = [
            [
                one.id,
                one.dataset,
                one.who,
                repr(one.cost.epsilon),
                repr(one.cost.delta),
                one.purpose,
                one.state,
                one.answer,
            ]
            for one in requests
        ]
        print_table("Requests", columns, rows)


def _when(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"


def _state(entry: LedgerEntry) -> str:
    if entry.state not in ("reserved", "drawing"):
        return entry.state
    return entry.state + {True: " (process gone)", False: " (running)", None: ""}[entry.process_gone()]


def _cost(cost: Cost) -> dict[str, float]:
    return {"epsilon": cost.epsilon, "delta": cost.delta}


def _dataset(one: Dataset) -> dict[str, Any]:
    return {
        "name": one.name,
        "limit": _cost(one.limit),
        "spent": _cost(one.spent),
        "remaining": _cost(one.remaining),
        "note": one.note,
        "added": one.added,
        "until": one.until,
        "limits": [
            {
                "who": allowed.who,
                "limit": _cost(allowed.limit),
                "remaining": _cost(allowed.remaining),
                "until": allowed.until,
            }
            for allowed in one.allowances
        ],
        "requests": [_request(asked) for asked in one.requests],
        "entries": [_entry(entry) for entry in one.entries],
    }


def _request(asked: LedgerRequest) -> dict[str, Any]:
    return {
        "id": asked.id,
        "dataset": asked.dataset,
        "who": asked.who,
        "user": asked.user,
        "cost": _cost(asked.cost),
        "purpose": asked.purpose,
        "until": asked.until,
        "at": asked.at,
        "state": asked.state,
        "answer": asked.answer,
    }


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "state": entry.state,
        "reserved": _cost(entry.reserved),
        "counted": _cost(entry.counted),
        "purpose": entry.purpose,
        "method": entry.method,
        "unit": entry.unit,
        "project": entry.project,
        "resumable": entry.resumable and entry.open,
        "reason": entry.reason,
        "host": entry.host,
        "pid": entry.pid,
        "user": entry.user,
        "started": entry.started,
        "settled": entry.settled,
        "process_gone": entry.process_gone(),
        "certificate": entry.certificate,
    }


def _line(line: HistoryLine) -> dict[str, Any]:
    certificate = None if line.certificate is None else json.loads(line.certificate)
    amounts = {"epsilon": float(line.epsilon), "delta": float(line.delta)}
    detail = {name: value for name, value in line.says().items() if name != "token"}
    return line._asdict() | amounts | {"certificate": certificate, "detail": detail}
