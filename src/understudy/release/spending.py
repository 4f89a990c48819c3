"""The budget of one run, tied to a ledger: reserved before the first draw, committed after the last.

This is the only place that talks to a ledger on behalf of a run. What a ledger takes back is decided here, from the
budget's own events: a run that fails gets its reservation back only if nothing was ever charged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.learn.checkpoints import LEDGER_NOTE
from understudy.privacy import Budget, Certificate, Ledger


@dataclass
class Spending:
    """The budget of a run; set `certificate` before the end, so that the ledger records what was certified."""

    budget: Budget
    certificate: Certificate | None = None


@contextmanager
def spending(
    epsilon: float,
    delta: float,
    *,
    purpose: str,
    ledger: str | None = None,
    dataset: str | None = None,
    workspace: Path | None = None,
    unsafe_noise_seed: int | None = None,
) -> Generator[Spending]:
    """Reserve, run, commit. A run that fails before anything was charged gives its reservation back; after that it counts.

    Without a ledger this is a plain budget. `workspace` is where a run that can be resumed notes which ledger it was
    booked in, before anything is drawn: a run that goes on is not booked a second time.
    """
    check_ledger_options(ledger, dataset)
    run = Spending(Budget(epsilon, delta, unsafe_noise_seed=unsafe_noise_seed))
    held = None
    note = None if workspace is None else workspace / LEDGER_NOTE
    if ledger is not None and dataset is not None:
        book = Ledger(ledger)
        here = {"ledger": str(book.path.resolve()), "dataset": dataset}
        if not (note is not None and note.exists() and json.loads(note.read_text("utf-8")) == here):
            held = book.reserve(dataset, epsilon=run.budget.epsilon, delta=run.budget.delta, purpose=purpose)
            if note is not None:
                _write_note(note, here)
    try:
        yield run
    except BaseException:
        if held is not None and not run.budget.events:
            held.release(reason="ended before anything was drawn")
            if note is not None:
                note.unlink(missing_ok=True)
                with suppress(OSError):
                    note.parent.rmdir()  # made for the note alone
        raise
    if held is None:
        return
    if run.certificate is None:
        held.commit()
    else:
        stated = run.certificate
        held.commit(epsilon=stated.epsilon, delta=stated.delta, certificate=stated.to_json())


def spending_of(
    estimator: Any, *, purpose: str, ledger: str | None, dataset: str | None, workspace: Path | None = None
) -> Any:
    """`spending` for an estimator: its epsilon and delta are what is set aside."""
    check_ledger_options(ledger, dataset)
    if ledger is not None and not estimator.keeps_a_budget:
        raise InputError(
            "--ledger: such a run has no epsilon that holds beforehand, so there is nothing true to book. Leave --ledger "
            "out, and treat what it makes as private; or take a method and a mode that keep to a budget."
        )
    return spending(
        getattr(estimator, "epsilon", 1.0),
        getattr(estimator, "delta", 0.0),
        purpose=purpose,
        ledger=ledger,
        dataset=dataset,
        workspace=workspace,
        unsafe_noise_seed=getattr(estimator, "unsafe_noise_seed", None),
    )


def check_ledger_options(ledger: str | None, dataset: str | None) -> None:
    """Both or neither."""
    if (ledger is None) != (dataset is None):
        raise InputError("--ledger and --dataset belong together: the file, and the name of the dataset in it.")


def _write_note(note: Path, here: dict[str, str]) -> None:
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(note, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        json.dump(here, file)
