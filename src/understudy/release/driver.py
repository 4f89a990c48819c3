"""The loop that all generators share: steps, checkpoints, Ctrl-C, progress, and a history that is safe to show."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from understudy.errors import BudgetExceeded, InputError
from understudy.learn.checkpoints import Workspace
from understudy.privacy import Budget, Event
from understudy.privacy.events import from_json, to_json

Draw = Callable[[str, Callable[[], np.ndarray], Callable[[np.ndarray], None]], np.ndarray]


class Trainer(Protocol):
    """What one method brings to the loop. `state` is a pytree and private as a whole."""

    iterations: int

    def start(self) -> Any:
        """The state before the first iteration."""
        ...

    def restore(self, state: Any) -> None:
        """Take up a checkpointed state: count what was drawn before it."""
        ...

    def step(self, iteration: int, state: Any, draw: Draw) -> tuple[Any, dict[str, float]]:
        """One generator iteration, and what of it is safe to show. Everything private leaves through `draw`."""
        ...

    def finished(self, state: Any) -> bool:
        """Whether to stop before `iterations`; only runs that are marked unsafe ever say so."""
        ...


@dataclass(frozen=True)
class Progress:
    """Where a run stands. Safe to show."""

    iteration: int
    iterations: int
    seconds: float
    seconds_left: float
    words: str = ""
    """What is under way, where that is not always the same."""


@dataclass
class Run:
    """One fit: where it keeps its checkpoints, whom it tells, whether somebody asked it to stop."""

    workspace: Workspace | None = None
    progress: Callable[[Progress], None] | None = None
    checkpoint_seconds: float = 60.0
    stopped: bool = False
    shown: Callable[[Any], None] | None = None
    """Given the state whenever a checkpoint is due: shows what of it is paid for."""

    def prelude(self, name: str, budget: Budget, make: Callable[[], np.ndarray]) -> np.ndarray:
        """A draw before training: made and charged, or, when resumed, taken from the log and charged as it was."""
        if self.workspace is None:
            return make()

        def fresh() -> tuple[dict[str, Any], np.ndarray]:
            before = budget.events
            array = make()
            return {"charged": [to_json(e) for e in _added(before, budget.events)]}, array

        header, array, replayed = self.workspace.prelude.draw(name, fresh)
        if replayed:
            budget.charge(*(from_json(e) for e in header["charged"]))
        return array

    def draw(self, name: str, make: Callable[[], np.ndarray], skip: Callable[[np.ndarray], None]) -> np.ndarray:
        """A draw that was paid for beforehand: made and logged, or replayed from the log and only counted."""
        if self.workspace is None or self.workspace.steps is None:
            return make()
        _, array, replayed = self.workspace.steps.draw(name, lambda: ({}, make()))
        if replayed:
            skip(array)
        return array


@contextmanager
def closed_after(files: Workspace | None) -> Generator[None]:
    """The files of a run, closed at its end. Refused before its first draw it leaves none: there is no run to resume."""
    try:
        yield
    except (InputError, BudgetExceeded):
        if files is not None and files.untouched:
            files.remove()
        raise
    finally:
        if files is not None:
            files.close()


def train(trainer: Trainer, run: Run) -> tuple[Any, list[dict[str, Any]]]:
    """Touches private data: the whole run, from its last checkpoint if it has one. The history is safe to show."""
    state, first, history = trainer.start(), 0, []
    if run.workspace is not None:
        first, state, history = run.workspace.load(state)
        trainer.restore(state)
    began = saved = time.monotonic()
    with _ctrl_c(run):
        for iteration in range(first, trainer.iterations):
            if run.stopped or trainer.finished(state):
                break
            state, seen = trainer.step(iteration, state, run.draw)
            history.append({"iteration": iteration + 1, **seen})
            now = time.monotonic()
            if now - saved >= run.checkpoint_seconds:
                if run.workspace is not None:
                    run.workspace.save(iteration + 1, state, history)
                if run.shown is not None:
                    run.shown(state)
                saved = time.monotonic()
            if run.progress is not None:
                each = (now - began) / (iteration + 1 - first)
                run.progress(
                    Progress(
                        iteration + 1, trainer.iterations, now - began, each * (trainer.iterations - iteration - 1)
                    )
                )
    if run.workspace is not None:
        run.workspace.save(history[-1]["iteration"] if history else 0, state, history)
    return state, history


@contextmanager
def _ctrl_c(run: Run) -> Generator[None]:
    """The first Ctrl-C ends the run after the current iteration, so that what was paid for is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        del number, frame
        run.stopped = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _added(before: Sequence[Event], after: Sequence[Event]) -> list[Event]:
    """What was charged between two looks at a budget, whose equal events are merged."""
    left = list(before)
    new: list[Event] = []
    for event in after:
        count: int | None = getattr(event, "count", None)
        for old in left:
            if old == event:
                left.remove(old)
                break
            if count is not None and type(old) is type(event) and replace(event, count=old.count) == old:  # type: ignore[call-arg, union-attr]
                left.remove(old)
                new.append(replace(event, count=count - old.count))  # type: ignore[call-arg, union-attr]
                break
        else:
            new.append(event)
    return new
