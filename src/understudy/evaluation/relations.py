"""What nearly always holds in the real rows, and how often synthetic rows break it.

A rule says: where X has this value, Y has that one (a route has a distance, "no internet" stands in six columns at once). Rules
are read off the real rows: they are for the owner's eyes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# A rule holds for so many of the rows that it speaks of, and these are so many at least; without it, so few rows would.
_HOLDS, _FEWEST, _SHARE, _BY_CHANCE = 0.95, 20, 0.01, 0.75
_MOST_PAIRS = 2000


@dataclass(frozen=True)
class Broken:
    """How many rules there are; the share of what they say that is broken; and the share of rows that break one or more."""

    rules: int
    share: float
    rows: float


def broken(
    causes: Mapping[str, tuple[np.ndarray, np.ndarray]],
    effects: Mapping[str, tuple[np.ndarray, np.ndarray]],
    seed: int = 0,
) -> Broken | None:
    """Touches private data: rules of the real rows (the first of each pair), broken by synthetic ones (the second).

    Columns come as small whole numbers: fine ones as causes, coarse ones as effects. None where no rule is found, or no
    synthetic row is spoken of.
    """
    pairs = list(itertools.permutations(causes, 2))
    if len(pairs) > _MOST_PAIRS:
        chosen = np.random.default_rng(seed).choice(len(pairs), _MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in np.sort(chosen)]
    rules = said = wrong = 0
    bad = np.zeros(len(next(iter(causes.values()))[1]) if causes else 0, dtype=bool)
    slots = {cause: _often(*sides) for cause, sides in causes.items()}
    for cause, effect in pairs:
        (x, made_x), (y, made_y) = slots[cause], effects[effect]
        size = int(max(y.max(initial=0), made_y.max(initial=0))) + 1
        counts = np.bincount(x * size + y, minlength=(int(x.max(initial=0)) + 1) * size).reshape(-1, size)
        there, most, then = counts.sum(axis=1), counts.max(axis=1), counts.argmax(axis=1)
        rule = (most >= _HOLDS * there) & (counts.sum(axis=0)[then] <= _BY_CHANCE * len(x))
        rule[0] = False
        if not rule.any():
            continue
        spoken = rule[made_x]
        breaks = spoken & (then[made_x] != made_y)
        rules, said, wrong = rules + int(rule.sum()), said + int(spoken.sum()), wrong + int(breaks.sum())
        bad |= breaks
    return Broken(rules, wrong / said, float(bad.mean())) if said else None


def _often(real: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values that enough real rows have, numbered from 1, and 0 for all others: of thousands of values few are left."""
    counts = np.bincount(real, minlength=int(made.max(initial=0)) + 1)
    often = counts >= max(_FEWEST, _SHARE * len(real))
    slots = np.where(often, np.cumsum(often), 0)
    return slots[real], slots[made]
