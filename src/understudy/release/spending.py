"""The budget of one run, tied to a ledger: reserved before the first draw, committed after the last.

This is the only place that talks to a ledger on behalf of a run. A run is an object of the ledger, with a token that its
workspace holds: a run that goes on must be the one that was reserved, and only one process at a time is at work on it.
What a run that failed has cost is decided here, from the budget's own events.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.learn.claims import LEDGER_NOTE, WorkspaceLock, check_vacant, read_note, write_note
from understudy.privacy import Budget, Certificate, Ledger
from understudy.privacy.ledger import Reservation
from understudy.privacy.ledger_run import new_token
from understudy.privacy.ledger_store import BEAT_SECONDS

PROJECT = "UNDERSTUDY_PROJECT"
"""The environment variable that says for which project a run is, where a ledger has limits for projects."""


@dataclass
class Spending:
    """The budget of a run; set `certificate` before the end, so that the ledger records what was certified.

    `interrupted`: its owner stopped it after all of it was paid for, and it may go on from its workspace.
    """

    budget: Budget
    certificate: Certificate | None = None
    interrupted: bool = False
    run: int | None = None
    """Its number in the ledger."""
    _guard: _Guard | None = field(default=None, repr=False)

    def still_ours(self) -> None:
        """Ask the ledger, now, whether this process still holds its run: before anything is published."""
        if self._guard is not None:
            self._guard.renew()


class _Guard:
    """Asked before every charge and every draw of a run: whether the ledger still says that it is this process's.

    The first time it says in the ledger that the run draws. Later it goes by the lease: as long as that was renewed
    lately nobody else can have taken the run over, so only from time to time the ledger itself is asked.
    """

    def __init__(self, held: Reservation, *, begun: bool) -> None:
        self._held = held
        self.begun = begun
        """Whether the ledger was told that the run draws."""
        self._lock = threading.Lock()
        self._renewed = _clock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ledger lease", daemon=True)
        self._thread.start()

    def __call__(self) -> None:
        with self._lock:
            if not self.begun:
                self._renew(begin=True)
                self.begun = True
            elif _clock() - self._renewed > 2 * BEAT_SECONDS:
                self._renew()

    def renew(self) -> None:
        with self._lock:
            self._renew()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _renew(self, *, begin: bool = False) -> None:
        asked = _clock()
        if begin:
            self._held.begin()
        else:
            self._held.renew()
        self._renewed = asked

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            with suppress(InputError):  # the next draw will find out, and stop the run
                self.renew()


@contextmanager
def spending(
    epsilon: float,
    delta: float,
    *,
    purpose: str,
    method: str = "",
    ledger: str | None = None,
    dataset: str | None = None,
    workspace: Path | None = None,
    resume: bool = False,
    unsafe_noise_seed: int | None = None,
    unit: str = "row",
) -> Generator[Spending]:
    """Reserve, run, commit. A run that fails is settled at what its budget was charged; unless it can be resumed.

    Without a ledger this is a plain budget. `workspace` is where a run that can be resumed keeps what it must show to the
    ledger to go on: with `resume` it is not booked a second time.
    """
    check_ledger_options(ledger, dataset)
    run = Spending(Budget(epsilon, delta, unsafe_noise_seed=unsafe_noise_seed))
    claim = None if workspace is None else WorkspaceLock(workspace)
    try:
        if workspace is not None and not resume:
            check_vacant(workspace)
        if ledger is None or dataset is None:
            if workspace is not None:
                _check_unbooked(workspace)
            yield run
            return
        booking = _Booking(Ledger(ledger), dataset, run.budget, purpose, method, workspace, unit)
        held, begun = booking.resumed() if resume else (None, False)
        held = held or booking.reserved()
        run.budget.guard = run._guard = guard = _Guard(held, begun=begun)
        run.run = held.id
        try:
            yield run
        except BaseException:
            guard.stop()
            # What cannot be settled counts in full; the error that ended the run matters more.
            with suppress(InputError):
                booking.failed(held, drawn=guard.begun, resumed=begun)
            raise
        guard.stop()
        booking.done(held, run)
    finally:
        if claim is not None:
            claim.release()


@dataclass(frozen=True)
class _Booking:
    """One run in a ledger: how it comes to be there, and how it is settled."""

    book: Ledger
    dataset: str
    budget: Budget
    purpose: str
    method: str
    workspace: Path | None
    unit: str = "row"

    def reserved(self) -> Reservation:
        """A new run. What a process that died left here before it drew anything is given back first."""
        if self.workspace is not None:
            self._give_back(self.workspace)
        held = self.book.reserve(
            self.dataset,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            purpose=self.purpose,
            method=self.method,
            project=os.environ.get(PROJECT) or None,
            leased=True,
            resumable=self.workspace is not None,
            unit=self.unit,
        )
        if self.workspace is not None:
            try:
                write_note(self.workspace, self._note(held.id, held.token))
            except BaseException:
                held.release(reason="ended before anything was drawn")
                raise
        return held

    def resumed(self) -> tuple[Reservation | None, bool]:
        """The run of the workspace, if the ledger agrees that it is; none where it was never booked, or never drew."""
        note = None if self.workspace is None else read_note(self.workspace)
        if self.workspace is None or note is None or "run" not in note:
            return None, False
        if note.get("dataset") != self.dataset:
            raise InputError(
                f"{self.workspace} is of a run on dataset {note.get('dataset')!r}, not {self.dataset!r}: name that one."
            )
        run, tokens = int(note["run"]), [str(note[name]) for name in ("token", "next") if name in note]
        # Both are written down before the ledger changes to the second: killed in between, one of them is right.
        changed, budget = new_token(), self.budget
        known = next((token for token in tokens if self.book.held(self.dataset, run, token)), "")
        if known:
            if self.book.state(self.dataset, run) == "returned":
                return None, False
            write_note(self.workspace, self._note(run, known, next=changed))
        held = self.book.resume(
            run,
            known,
            changed,
            dataset=self.dataset,
            epsilon=budget.epsilon,
            delta=budget.delta,
            method=self.method,
            unit=self.unit,
        )
        write_note(self.workspace, self._note(run, changed))
        return held, True

    def failed(self, held: Reservation, *, drawn: bool, resumed: bool) -> None:
        """Settle a run that ended with an error, where nothing more can come of it.

        What can be resumed counts in full until it is. So does what was resumed: this process's budget does not know all
        that others before it have drawn.
        """
        if not drawn:
            held.release(reason="ended before anything was drawn")
        elif resumed or (self.workspace is not None and (self.workspace / "run.json").exists()):
            held.leave()
            return
        else:
            epsilon, delta = self.budget.cost_if_stopped()
            held.commit(epsilon=epsilon, delta=delta, reason="failed; settled at what it was charged")
        if self.workspace is not None:
            (self.workspace / LEDGER_NOTE).unlink(missing_ok=True)

    def done(self, held: Reservation, run: Spending) -> None:
        if run.certificate is None:
            held.commit()
            return
        stated = run.certificate
        resumable = run.interrupted and self.workspace is not None
        held.commit(epsilon=stated.epsilon, delta=stated.delta, certificate=stated.to_json(), resumable=resumable)

    def _note(self, run: int, token: str, **more: str) -> Mapping[str, Any]:
        return {"ledger": self.book.address, "dataset": self.dataset, "run": run, "token": token, **more}

    def _give_back(self, workspace: Path) -> None:
        note = read_note(workspace)
        if note is None or "run" not in note or note.get("dataset") != self.dataset:
            return
        left = self.book.held(self.dataset, int(note["run"]), str(note.get("token")))
        if left is not None:
            with suppress(InputError):  # it drew, or it is settled: it counts as it does
                left.release(reason="its process ended before anything was drawn")


def spending_of(
    estimator: Any,
    *,
    purpose: str,
    ledger: str | None,
    dataset: str | None,
    workspace: Path | None = None,
    resume: bool = False,
    unit: str = "row",
) -> Any:
    """`spending` for an estimator: its epsilon and delta are what is set aside, for one `unit`."""
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
        method=estimator.method,
        ledger=ledger,
        dataset=dataset,
        workspace=workspace,
        resume=resume,
        unsafe_noise_seed=getattr(estimator, "unsafe_noise_seed", None),
        unit=unit,
    )


def check_ledger_options(ledger: str | None, dataset: str | None) -> None:
    """Both or neither."""
    if (ledger is None) != (dataset is None):
        raise InputError("--ledger and --dataset belong together: the file, and the name of the dataset in it.")


def _check_unbooked(workspace: Path) -> None:
    """A run that is booked goes on under the eyes of its ledger, or not at all."""
    note = read_note(workspace)
    if note is not None and (workspace / "run.json").exists():
        raise InputError(
            f"the run in {workspace} is booked in the ledger {note.get('ledger')} on dataset {note.get('dataset')!r}: resume "
            "it with that --ledger and --dataset."
        )


def _clock() -> float:
    """Seconds that go on while the machine sleeps, as they do for everybody else."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
