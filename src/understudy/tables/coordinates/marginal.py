"""The released spread of a column that has an order: from places to ranks and back. Public once paid for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.tables.coordinates.chances import Chances
from understudy.tables.coordinates.ladder import TINY

# Ranks stay this far from 0 and 1, so that a Gaussian rank is at most about 4.8 deviations out.
_END = 1e-6
# An interval that the noise left empty keeps this much, so that every place has a rank.
_EMPTY = 1e-9


@dataclass(frozen=True)
class Marginal:
    """Half-open intervals of places, with the share of the rows in each.

    With `whole` places are whole numbers on a grid and share an interval evenly; without, an interval is even throughout,
    but for the one around zero that is no wider than it must be: it is zero.
    """

    edges: np.ndarray
    mass: np.ndarray
    whole: bool

    @cached_property
    def _running(self) -> np.ndarray:
        width = np.diff(self.edges)
        kept = self.mass + _EMPTY * width / width.sum()
        return np.concatenate([[0.0], np.cumsum(kept / kept.sum())])

    @cached_property
    def spikes(self) -> np.ndarray:
        """Which intervals are a single value."""
        width = np.diff(self.edges)
        if self.whole:
            return width <= 1
        return (self.edges[:-1] <= 0) & (self.edges[1:] > 0) & (width <= 2 * TINY * (1 + 1e-9))

    def clip(self, places: np.ndarray) -> np.ndarray:
        """Places within the bounds."""
        top = self.edges[-1] - 1 if self.whole else np.nextafter(self.edges[-1], -np.inf)
        return np.clip(places, self.edges[0], top)

    def ranks(self, places: np.ndarray, chances: Chances) -> np.ndarray:
        """Uniform ranks. Rows with the same value are spread at random over the ranks of that value."""
        inside = self.clip(places)
        at = np.searchsorted(self.edges, inside, side="right") - 1
        low, width = self.edges[at], np.diff(self.edges)[at]
        chance = chances.random(len(places))
        if self.whole:
            within = (inside - low + chance) / width
        else:
            within = np.where(self.spikes[at], chance, (inside - low) / width)
            # What lies outside the bounds is spread over the last interval, and not piled up at its end.
            within = np.where((places < self.edges[0]) | (places > self.edges[-1]), chance, within)
        return np.clip(self._running[at] + within * np.diff(self._running)[at], _END, 1 - _END)

    def places(self, ranks: np.ndarray) -> np.ndarray:
        """The places that have these uniform ranks."""
        at = np.clip(np.searchsorted(self._running, ranks, side="right") - 1, 0, len(self.mass) - 1)
        within = (ranks - self._running[at]) / np.maximum(np.diff(self._running)[at], 1e-300)
        found = self.edges[at] + np.clip(within, 0.0, 1.0) * np.diff(self.edges)[at]
        if self.whole:
            return self.clip(np.floor(found))
        return np.where(self.spikes[at], 0.0, self.clip(found))

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        """The places below which so much of the rows lies."""
        return self.places(np.asarray(levels, dtype=np.float64))

    def bins(self, number: int) -> np.ndarray:
        """Edges of about `number` bins of equal mass; an interval heavier than that is a bin by itself."""
        heavy = self.mass > 1 / number
        part = max(float(self.mass[~heavy].sum()), 1e-12) / number
        chosen = [float(self.edges[0])]
        filled = 0.0
        for place, mass in enumerate(self.mass):
            if heavy[place]:
                chosen += [float(self.edges[place]), float(self.edges[place + 1])]
                filled = 0.0
                continue
            filled += float(mass)
            if filled >= part * (1 - 1e-9):
                chosen.append(float(self.edges[place + 1]))
                filled = 0.0
        return np.unique([*chosen, float(self.edges[-1])])

    def between(self, edges: np.ndarray) -> np.ndarray:
        """The share of the rows between one edge and the next."""
        return np.diff(np.interp(edges, self.edges, self._running))

    def draw(self, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Places between edges `low` and `high`, spread as the mass is."""
        return self.places_between(low, high, rng.random(len(low)))

    def places_between(self, low: np.ndarray, high: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """The places that have these uniform ranks among those between edges `low` and `high`."""
        ends = np.interp(np.stack([low, high]), self.edges, self._running)
        return self.places(ends[0] + ranks * (ends[1] - ends[0]) * (1 - 1e-12))
