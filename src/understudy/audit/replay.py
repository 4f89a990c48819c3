"""Replay: with the same answers of the gate, other rows must give the same release, bit for bit.

A run on one table is recorded at the gate. The same run on another table of the same size is told the recorded answers,
whatever its own rows say. All that differs afterwards did not come through the gate: it leaks. If the second table is a
neighbour of the first, the same two runs say how far one row moves what goes into the gate (`ratio`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from understudy.audit.claims import Claim, claim
from understudy.audit.listening import Diverged, Exit, Recorder, Replayer
from understudy.privacy import Budget, Event
from understudy.privacy.noise import SystemNoise

Fit = Callable[[Any, Budget], Any]
"""Fits an estimator on some data, charging a budget, and returns it."""


@dataclass(frozen=True)
class Replay:
    """Private. What two runs with the same answers had in common. `differences` is empty where nothing leaks."""

    differences: tuple[str, ...]
    here: tuple[Exit, ...]
    there: tuple[Exit, ...]
    events: tuple[Event, ...]
    claim: Claim

    @property
    def holds(self) -> bool:
        return not self.differences


def replay(fit: Fit, here: Any, there: Any, epsilon: float, delta: float) -> Replay:
    """Touches private data (`here`, `there`): record a fit on one table, replay it on the other, compare all."""
    budget, again = Budget(epsilon, delta), Budget(epsilon, delta)
    budget.noise = recorder = Recorder(SystemNoise())
    first = fit(here, budget)
    again.noise = replayer = Replayer(SystemNoise(), tape=recorder.exits)
    second, differences = None, []
    try:
        second = fit(there, again)
    except Diverged as error:
        differences.append(str(error))
    except Exception as error:  # whatever stops the second run alone tells the two tables apart
        differences.append(f"the second table is refused: {type(error).__name__}: {error}")
    else:
        if len(recorder.exits) != len(replayer.exits):
            differences.append(f"the gate was passed {len(recorder.exits)} times and {len(replayer.exits)} times")
        if budget.events != again.events:
            differences.append(f"the charges are {budget.events} and {again.events}")
        differences += compare(released(first), released(second))
    return Replay(tuple(differences), tuple(recorder.exits), tuple(replayer.exits), budget.events, claim(budget))


def released(estimator: Any) -> dict[str, Any]:
    """All that the release of a fitted estimator holds, but for the time and the name of the run.

    A plain array is its own release.
    """
    if isinstance(estimator, np.ndarray):
        return {"arrays": {"array": estimator}}
    contents = estimator._contents()  # pyright: ignore[reportPrivateUsage]
    body = {k: v for k, v in contents.certificate.body.items() if k not in ("run", "created")}
    schema = None if contents.schema is None else contents.schema.to_dict()
    return {
        "kind": contents.kind,
        "method": contents.method,
        "parameters": contents.parameters,
        "arrays": contents.arrays,
        "certificate": body,
        "schema": schema,
    }


def compare(a: Any, b: Any, where: str = "release") -> list[str]:
    """Where two releases differ in any bit."""
    if is_dataclass(a) and not isinstance(a, type):
        a, b = asdict(a), asdict(b) if is_dataclass(b) and not isinstance(b, type) else b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if set(a) != set(b):
            return [f"{where}: keys {sorted(set(a) ^ set(b))}"]
        return [line for key in a for line in compare(a[key], b[key], f"{where}.{key}")]
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return [f"{where}: {len(a)} and {len(b)} entries"]
        return [line for i, (x, y) in enumerate(zip(a, b, strict=True)) for line in compare(x, y, f"{where}[{i}]")]
    one, two = np.asarray(a), np.asarray(b)
    if one.dtype == two.dtype and one.shape == two.shape and (one.dtype == object or one.tobytes() == two.tobytes()):
        same = one.dtype != object or bool(np.all(one == two))
        return [] if same else [f"{where}: {a!r} and {b!r}"]
    return [f"{where} differs"]
