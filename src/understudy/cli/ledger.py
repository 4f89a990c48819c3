"""`understudy ledger`: the limits of named datasets, and what runs have spent of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table

if TYPE_CHECKING:
    from understudy.privacy.ledger import Cost, Dataset, HistoryLine, LedgerEntry

ledger = typer.Typer(
    name="ledger",
    help="What each named dataset has spent, across runs and people.",
    no_args_is_help=True,
)
app.add_typer(ledger)

File = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger's file, or sqlite:///path.")]
Name = Annotated[str | None, typer.Option("--dataset", help="Only this dataset.")]


@ledger.command()
def init(
    path: File,
    dataset: Annotated[str, typer.Option("--dataset", help="Name of the dataset.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="All that may ever be spent of epsilon.")],
    delta: Annotated[float, typer.Option("--delta", help="All that may ever be spent of delta.")],
    note: Annotated[str, typer.Option("--note", help="Words for the people who read the ledger.")] = "",
    as_json: Json = False,
) -> None:
    """Add a dataset with its limit; make the ledger if there is none."""
    from understudy.privacy.ledger import Ledger, check_limit

    check_limit(dataset, epsilon, delta, note)
    book = Ledger.create(path, exist_ok=True)
    book.add_dataset(dataset, epsilon=epsilon, delta=delta, note=note)
    added = book.dataset(dataset)
    if as_json:
        print_json({"ledger": str(book.path), "dataset": _dataset(added)})
    else:
        _print_datasets(str(book.path), [added])


@ledger.command()
def show(path: File, dataset: Name = None, as_json: Json = False) -> None:
    """Limits, what is spent, what is left, and the runs that spent it."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    found = book.datasets() if dataset is None else (book.dataset(dataset),)
    if as_json:
        print_json({"ledger": str(book.path), "datasets": [_dataset(one) for one in found]})
        return
    _print_datasets(str(book.path), found)
    entries = [entry for one in found for entry in one.entries]
    if entries:
        print_table(
            "Runs (a reservation counts as spent until its own run settles it)",
            ["id", "dataset", "state", "epsilon", "delta", "purpose", "who", "started"],
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
                ]
                for entry in entries
            ],
        )


@ledger.command()
def history(path: File, dataset: Name = None, as_json: Json = False) -> None:
    """Everything that was ever written: who did what, and when."""
    from understudy.privacy.ledger import Ledger

    book = Ledger(path)
    lines = book.history(dataset)
    if as_json:
        print_json({"ledger": str(book.path), "history": [_line(line) for line in lines]})
        return
    print_table(
        f"History of {book.path}",
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


def _print_datasets(path: str, datasets: list[Dataset] | tuple[Dataset, ...]) -> None:
    columns = ["dataset", "", "limit", "spent", "remaining", "note"]
    rows: list[list[str]] = []
    for one in datasets:
        # Every digit: 0.9999999 of 1 is not the same as 1.
        amounts = [[repr(number) for number in pair] for pair in zip(one.limit, one.spent, one.remaining, strict=True)]
        rows += [[one.name, "epsilon", *amounts[0], one.note], ["", "delta", *amounts[1], ""]]
    print_table(f"Ledger {path}", columns, rows)


def _when(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"


def _state(entry: LedgerEntry) -> str:
    if entry.state != "reserved":
        return entry.state
    return {True: "reserved (process gone)", False: "reserved (running)", None: "reserved"}[entry.process_gone()]


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
        "entries": [_entry(entry) for entry in one.entries],
    }


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "state": entry.state,
        "reserved": _cost(entry.reserved),
        "counted": _cost(entry.counted),
        "purpose": entry.purpose,
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
    return line._asdict() | amounts | {"certificate": certificate}
