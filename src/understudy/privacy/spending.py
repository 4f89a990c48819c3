"""A budget for one run, tied to a ledger: reserved before the first draw, committed after the last."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate
from understudy.privacy.ledger import Ledger


@dataclass
class Spending:
    """The budget of a run; set `certificate` before the end, so that the ledger records what was certified."""

    budget: Budget
    certificate: Certificate | None = None


@contextmanager
def spending(
    epsilon: float, delta: float, *, purpose: str, ledger: str | None = None, dataset: str | None = None
) -> Generator[Spending]:
    """Reserve, run, commit. A run that fails before anything was drawn gives its reservation back; after that it counts.

    Without a ledger this is a plain budget.
    """
    check_ledger_options(ledger, dataset)
    budget = Budget(epsilon, delta)
    run = Spending(budget)
    held = None
    if ledger is not None and dataset is not None:
        held = Ledger(ledger).reserve(dataset, epsilon=budget.epsilon, delta=budget.delta, purpose=purpose)
    try:
        yield run
    except BaseException:
        if held is not None and not budget.events:
            held.release(reason="ended before anything was drawn")
        raise
    if held is not None:
        certified = run.certificate
        if certified is None:
            held.commit()
        else:
            held.commit(epsilon=certified.epsilon, delta=certified.delta, certificate=certified.to_json())


def check_ledger_options(ledger: str | None, dataset: str | None) -> None:
    if (ledger is None) != (dataset is None):
        raise InputError("--ledger and --dataset belong together: the file, and the name of the dataset in it.")
