"""Every planted mistake is caught by the attack that is there for it, and nothing is said of the same code done right."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from faults import FAULTS, Catcher, Fault, Fit, another, without, world

from understudy.audit.canaries import canaries
from understudy.audit.ratio import ratio
from understudy.audit.replay import replay
from understudy.privacy.noise import NoiseSource, SystemNoise

DOCS = Path(__file__).parents[2] / "docs" / "audits.md"
EPSILON, DELTA, FITS = 40.0, 1e-5, 400
HONEST = list(dict.fromkeys(fault.honest for fault in FAULTS))
ALMOST_SURE = 1 - 1e-6
"""So that no honest code is accused in a lifetime of test runs; a fault has to be as plain as that."""


def caught(by: Catcher, fit: Fit, source: Callable[[], NoiseSource] = SystemNoise) -> bool:
    here = world()
    if by == "replay":
        return not all(replay(fit, here, there, EPSILON, DELTA).holds for there in (without(here), another()))
    if by == "ratio":
        return not ratio(replay(fit, here, without(here), EPSILON, DELTA)).holds
    attacks = canaries(fit, here, without(here), EPSILON, DELTA, FITS, source=source, confidence=ALMOST_SURE)
    return not all(attack.holds for attack in attacks)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_the_fault_is_caught(fault: Fault) -> None:
    assert caught(fault.caught_by, fault.fit, fault.source)


@pytest.mark.parametrize("fit", HONEST, ids=[fit.__name__ for fit in HONEST])
@pytest.mark.parametrize("by", ["replay", "ratio", "canaries"])
def test_the_same_done_right_is_left_alone(fit: Fit, by: Catcher) -> None:
    assert not caught(by, fit)


def test_the_table_in_the_documentation_is_this_list() -> None:
    lines = DOCS.read_text("utf-8").splitlines()
    start = lines.index("| mistake | found in | caught by |") + 2
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[start:] if line.startswith("|")
    ]
    assert rows[: len(FAULTS)] == [(fault.mistake, fault.found_in, fault.caught_by) for fault in FAULTS]


def test_a_blank_record_contributes_nothing_to_what_is_done_right() -> None:
    here = without(world())
    assert np.all(here[-1, 1:] == 0)
