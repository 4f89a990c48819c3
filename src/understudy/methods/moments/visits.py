"""Whole persons from a moments release of visits: row by row, each kept as near to the one before as was released. Free.

The model is one of single rows. What belongs to a person is drawn from it first, the number of rows with it; then every row given
that and its place. So each row is one of the model's own, and what a row is drawn with goes on from row to row
(`understudy.methods.moments.luck`), as much of it in each column as makes two rows as alike as they are. All persons take a step at
once: there are as many steps as a person has rows at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.moments.lags import Lags, alike, by_chance, changing
from understudy.methods.moments.luck import Luck
from understudy.methods.moments.sampling import MomentsModel
from understudy.privacy.persons import GRID, person_weights
from understudy.release.arrays import fitting
from understudy.tables.coordinates import Coordinates, write_column
from understudy.tables.persons import ROWS
from understudy.tables.visits import GAP, MADE, PLACE, Timeline, Visits, pairs

# Rows of so many persons, and so many rows of each, tell how alike they are for what is kept; free.
_PERSONS, _ROWS = 2000, 5
# Where chance leaves less than this room, what is beyond it is not told from chance.
_ROOM = 0.05
_KEPT = np.array([-0.99, -0.9, -0.6, -0.3, 0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995])


def beyond_chance(alike: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """How much more often two rows are alike than by chance, of what could be more (Cohen's kappa)."""
    return (alike - chance) / np.maximum(1 - chance, _ROOM)


@dataclass(frozen=True)
class VisitsModel:
    """Public: a model of rows, how they belong to persons, and what each column that changes keeps from row to row."""

    rows: MomentsModel
    visits: Visits
    keep: np.ndarray

    @property
    def coordinates(self) -> Coordinates:
        return self.rows.target.coordinates

    @property
    def _features(self) -> Coordinates:
        """The columns that the model describes within a class."""
        return self.rows.target.features

    def _place(self, name: str) -> int | None:
        names = self._features.names
        return names.index(name) if name in names else None

    @classmethod
    def learn(cls, rows: MomentsModel, visits: Visits, lags: Lags, seed: int) -> VisitsModel:
        """What to keep so that rows are as alike as was released: rows of the model's own tell how alike they are for it."""
        rng = np.random.default_rng([seed, 53])
        blank = cls(rows, visits, np.zeros(len(lags.names)))
        tried = [blank.with_kept(kept)._alike(rng) for kept in _KEPT]
        released = [by_chance(rows.target.coordinates[name]) for name in lags.names]
        chance = np.array([own if known is None else known for known, own in zip(released, tried[0][1], strict=True)])
        wanted = beyond_chance(lags.alike, chance)
        found, nothing = np.stack([beyond_chance(*one) for one in tried]), int(np.argmin(np.abs(_KEPT)))
        # Rising from where nothing is kept, upwards and downwards; where values may be missing they need not.
        found[nothing:] = np.maximum.accumulate(found[nothing:], axis=0)
        found[nothing::-1] = np.minimum.accumulate(found[nothing::-1], axis=0)
        found += 1e-9 * np.arange(len(_KEPT))[:, None]
        keep = [np.interp(share, known, _KEPT) for share, known in zip(wanted, found.T, strict=True)]
        return replace(blank, keep=np.array(keep))

    def with_kept(self, kept: float) -> VisitsModel:
        """The model all of whose columns keep so much."""
        return replace(self, keep=np.full(len(self.keep), kept))

    def _alike(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The share of alike pairs in each column that changes, a person's pairs counted as one; and what it would be by chance."""
        cells, classes = self.rows.cells(_PERSONS, None, rng)
        owner, rows, _ = self._walk(cells, classes, np.minimum(self._counts(cells), _ROWS), rng)
        before, after = pairs(owner)
        weights = person_weights(owner[before], GRID)
        places = [self._features.names.index(name) for name in self._changing]
        columns = [self._features.columns[at] for at in places]
        same, mixed = (
            alike(rows[:, places], columns, before, other) for other in (after, after[rng.permutation(len(after))])
        )
        shares = [weights @ np.nan_to_num(one) / np.maximum(weights @ ~np.isnan(one), 1) for one in (same, mixed)]
        return shares[0], shares[1]

    @property
    def _changing(self) -> list[str]:
        known = self.coordinates
        return [known.names[at] for at in changing(self.visits, known)]

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """The rows of `n` persons in their order, with the number of their person, from 0 on, in the column that says whose they are."""
        persons, rows = self.draw_tables(n, wanted, rng)
        person = self.visits.person.column
        mine = persons.drop(columns=[person]).take(rows[person].to_numpy()).reset_index(drop=True)
        joined = pd.concat([rows, mine], axis=1)
        return joined.loc[:, [person, *(name for name in self.coordinates.names if name not in MADE)]]

    def draw_tables(
        self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """What belongs to `n` persons, and their rows in their order; both with the number of the person, from 0 on."""
        target, person = self.rows.target, self.visits.person
        cells, classes = self.rows.cells(n, target.class_of(wanted), rng)
        owner, rows, passed = self._walk(cells, classes, self._counts(cells), rng)
        above = target.attach(self._features.frame(cells), classes, rng)
        constant = [name for name in self.coordinates.names if name in self.visits.constant]
        persons = above[constant].assign(**{person.column: np.arange(n)}).loc[:, [person.column, *constant]]
        made: dict[str, Any] = {person.column: owner}
        for column in self.coordinates:
            if column.name == person.order:
                line = Timeline.of(self.coordinates, column.name, person.rows)
                made[column.name] = line.write(self._column(cells, column.name)[owner], passed)
            elif self.visits.changes(column.name) and column.name != GAP:
                made[column.name] = write_column(self._column(rows, column.name), column)
        return persons, pd.DataFrame(made)

    def _column(self, cells: np.ndarray, name: str) -> np.ndarray:
        """The cells of a column, missing where nothing could be learnt of it."""
        at = self._place(name)
        if at is None:
            return np.full(len(cells), np.nan)
        column = self._features.columns[at]
        return column.marginal.clip(cells[:, at]) if column.ordered else cells[:, at]

    def _counts(self, cells: np.ndarray) -> np.ndarray:
        """How many rows each person has."""
        drawn = np.rint(self._column(cells, ROWS))
        return np.clip(drawn, self.visits.least, self.visits.person.rows).astype(np.int64)

    def _walk(
        self, cells: np.ndarray, classes: np.ndarray, counts: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of all persons, by person and place: whose they are, their cells, and the time since the person's first.

        Where the first row of somebody with rows stands nowhere in time, `cells` are given a place.
        """
        features, model = self._features, self.rows.model
        place, gap = self._place(PLACE), self._place(GAP)
        keep = np.zeros(len(features))
        keep[[features.names.index(name) for name in self._changing]] = self.keep
        known = np.array([not self.visits.changes(name) for name in features.names])
        # What is missing only where a person has no rows, or no row before, is there in all that are drawn.
        whole = np.array(
            [self.visits.changes(c.name) and not self.visits.may_miss(c.name, self.coordinates) for c in features]
        )
        lanes = model.lanes
        self._start(cells, classes, counts, known, rng)
        luck = Luck.new(len(cells), len(lanes), rng)
        passed = np.zeros(len(cells))
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        at = np.flatnonzero(counts >= 1)
        luck = luck.of(at)
        for step in range(1, int(counts.max(initial=0)) + 1):
            if step > 1:
                on = counts[at] >= step
                at, luck = at[on], luck.of(on).kept(keep[lanes])
            given = cells[at].copy()
            if place is not None:
                given[:, place] = step
            settled = known
            if gap is not None and step == 1:
                settled, given[:, gap] = known | (np.arange(len(known)) == gap), np.nan
            drawn = model.fill(given, settled, classes[at], whole & ~settled, luck)
            if gap is not None and step > 1:
                passed[at] += self._gaps(drawn[:, gap])
            parts.append((at, drawn, passed[at]))
        if not parts:
            return at, np.empty((0, len(features))), passed[:0]
        owner, rows, since = (np.concatenate(part) for part in zip(*parts, strict=True))
        by = np.argsort(owner, kind="stable")
        return owner[by], rows[by], since[by]

    def _start(
        self, cells: np.ndarray, classes: np.ndarray, counts: np.ndarray, known: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Give a place in time to the first row of those who have one and lack it."""
        order = self.visits.person.order
        at = None if order is None else self._place(order)
        if at is None:
            return
        lacking = np.flatnonzero(np.isnan(cells[:, at]) & (counts >= 1))
        here = np.arange(len(known)) == at
        others = known & ~here & (np.array(self._features.names) != PLACE)
        luck = Luck.new(len(lacking), len(self.rows.model.lanes), rng)
        cells[lacking, at] = self.rows.model.fill(cells[lacking], others, classes[lacking], here, luck)[:, at]

    def _gaps(self, places: np.ndarray) -> np.ndarray:
        """The time between two rows, never negative."""
        from understudy.tables.coordinates.readings import from_index

        column = self.coordinates[GAP]
        return np.maximum(np.nan_to_num(from_index(column.marginal.clip(places), column.step)), 0.0)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        return self.rows.arrays() | {"keep": self.keep}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], rows: MomentsModel, visits: Visits) -> VisitsModel:
        """What `arrays` gave, from whoever."""
        known = rows.target.coordinates
        needed = [ROWS, *([] if visits.person.order is None else [visits.person.order, GAP])]
        counted = (ROWS, GAP)
        if lacking := [n for n in needed if n not in known.names or (n in counted and not known[n].ordered)]:
            raise InputError(f"the release says nothing of {lacking[0]!r}: it is damaged. Copy it again.")
        keep = fitting(arrays, "keep", len(changing(visits, known)), least=-1.0, most=1.0)
        return cls(rows, visits, keep)
