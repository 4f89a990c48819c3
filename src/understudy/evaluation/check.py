"""`--check`: a noisy score on rows that were held out, paid for with a share of the budget. Safe to publish.

Which rows are held out is decided by their place in the file before any of them is read: every fifth; of persons about every
fifth person. The generator never sees them. A classifier learns from synthetic rows to tell the most common class from the rest (of a number: above its
middle from below), and the held-out rows are counted by their class and the bin of their score.

**Sensitivity.** The synthetic rows, the classifier, the bins' edges, the class and the middle are public. A held-out row's
cell depends on that row alone, so blanking it takes one from one cell and moves no other: an L2 change of one, and
`GaussianCounts` with one cell. Where a record is a person with several rows, persons are held out, by a keyed hash of the id
that nobody else's rows move, with all of their rows, of which each weighs its part of one: the counts move by a vector of norm at
most one (`privacy.persons`). The charge is made before the generator looks at anything, so that its look is planned with
what is left, and the whole run composes like any other: a row is charged for both, though it is only ever in one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.evaluation.classifiers import FIVE
from understudy.evaluation.features import Featuriser, Rows, prepare
from understudy.evaluation.noisy import score_edges, scores_of
from understudy.privacy import Budget, GaussianCounts, GaussianEvent, PrepaidCounts
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.persons import grid_of
from understudy.privacy.units import PERSON
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates, Described, KeyedChances, RowChances, read_column
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.persons import ROWS, Person, count_persons, gather, id_column, keys_of

EVERY = 5
BINS = 8
_CLASSIFIER = "logistic regression"
# Of the normal distribution: nineteen intervals of twenty hold the score.
_WIDTH = 1.96
_TRIALS = 2000


def held_out(rows: int) -> np.ndarray:
    """Public: which rows of a file are held out, by their place alone."""
    return np.arange(rows) % EVERY == EVERY - 1


def held_out_persons(ids: pd.Series) -> np.ndarray:
    """Public, as who the persons are is: which rows are of persons who are held out; each person by the id alone."""
    keys = keys_of(ids, seed=EVERY)
    return (keys % np.uint64(EVERY) == EVERY - 1) & ids.notna().to_numpy()


def hold_out(
    frame: pd.DataFrame, target: str | None, share: float, generator: Any, owner: Person | None = None
) -> tuple[pd.DataFrame, tuple[pd.DataFrame, str]]:
    """Private rows in, private rows out: those to learn from, and what a `Check` takes. Refused before anything is spent."""
    check_share(share)
    if target is None:
        raise InputError("--check scores how well a target is told: name one with --target.")
    if generator.resumable or not generator.keeps_a_budget:
        why = (
            "goes on in many steps, and a run that is resumed could not tell whether its check was paid for"
            if generator.resumable
            else "pays for nothing"
        )
        raise InputError(
            f"--check is for methods of one look, such as moments; {generator.method!r} {why}. Leave it out, and score the rows with "
            "`understudy evaluate` (--epsilon-metrics for a score that may be published)."
        )
    aside = held_out(len(frame)) if owner is None else held_out_persons(id_column(frame, owner))
    records = [len(frame), int(aside.sum())]
    if owner is not None:
        records = [count_persons(part, owner) for part in (frame, pd.DataFrame(frame[aside]))]
    if records[1] < EVERY:
        what = "rows" if owner is None else "persons"
        raise InputError(f"{records[0]} {what} are too few to hold some out: leave --check out.")
    learnt, held = (pd.DataFrame(frame[part]).reset_index(drop=True) for part in (~aside, aside))
    return learnt, (held, target)


@dataclass(frozen=True)
class CheckScore:
    """Safe to publish: an AUROC from noisy counts, with the interval that noise and the number of rows leave."""

    auroc: float
    low: float
    high: float
    rows: int
    told: str
    unit: str = "row"

    def sentence(self) -> str:
        held = f"{self.rows:,} held-out rows" if self.unit == "row" else f"the rows of {self.rows:,} held-out persons"
        return (
            f"On {held} a classifier trained on synthetic rows tells {self.told} with an AUROC of "
            f"{self.auroc:.2f} ({self.low:.2f} to {self.high:.2f}; 0.5 is a coin)."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "auroc": self.auroc,
            "interval": [self.low, self.high],
            f"{self.unit}s": self.rows,
            "told": self.told,
            "sentence": self.sentence(),
        }


class Check:
    """Private: held-out rows and a paid count of them, to be called once with synthetic rows."""

    def __init__(self, held: Table, target: str, budget: Budget, share: float, owner: Person | None = None) -> None:
        """Charge `share` of the budget's precision, which must be unspent. Looks at no row, but for whose it is."""
        check_share(share)
        if not budget.delta:
            raise InputError("a check draws Gaussian noise, which needs a delta above 0.")
        self._held, self._target = as_frame(held), target
        column_of(self._held, target)
        self._persons, self._records, grid = None, len(self._held), 1
        if owner is not None:
            there = np.ones(len(self._held), dtype=bool)
            places, self._persons = gather(id_column(self._held, owner), there, owner, seed=0)
            self._held = self._held.iloc[places].drop(columns=[owner.column]).reset_index(drop=True)
            self._records, grid = self._persons.number, grid_of(owner.rows)
        whole = smallest_noise(lambda n: [GaussianEvent(n)], budget.epsilon, budget.delta, tolerance=1e-3)
        self._paid = PrepaidCounts(GaussianCounts(whole / math.sqrt(share), grid=grid), budget)

    def __call__(self, synthetic: pd.DataFrame, schema: Schema, coordinates: Coordinates | None) -> CheckScore:
        """Touches private data: the held-out rows, counted once with noise. Safe to publish."""
        described = coordinates or Coordinates.declared(schema, len(self._held))
        if ROWS in described.names:  # how many rows a person has is no feature of what is drawn
            described = Coordinates(tuple(c for c in described if c.name != ROWS), described.rows)
        rows = described.settled(self._held, self._chances())
        goal = replace(described[self._target], nullable=True)
        # As places or codes: a column of a frame may be of another type because of another row.
        made = read_column(column_of(synthetic, self._target), goal, _chances(synthetic))
        there = read_column(column_of(self._held, self._target), goal, self._chances())
        yes, told = _question(goal, made)
        binary = Column(self._target, "categorical", categories=("no", "yes"))
        asked = Schema(tuple(binary if c.name == self._target else c for c in schema), self._target)
        features = Featuriser(asked, self._target)
        answers = [frame.assign(**{self._target: yes(cells)}) for frame, cells in ((synthetic, made), (rows, there))]
        train, test = prepare(features.rows(answers[0]), features.rows(answers[1], unlabelled=True))
        weights = None if self._persons is None else self._persons.weights
        noisy = self._paid.release(_histogram(train, test, weights))
        unit = "row" if self._persons is None else PERSON
        return _score(noisy.astype(np.float64), self._paid.mechanism.sigma, self._records, told, unit)

    def _chances(self) -> RowChances | KeyedChances:
        """Public randomness for each held-out row, which no other row moves."""
        return _chances(self._held) if self._persons is None else KeyedChances(self._persons.keys, 0)


def check_share(share: float) -> None:
    """Refuse a share that is none, before anything is read."""
    if isinstance(share, bool) or not 0 < share < 1:
        raise InputError(f"--check (={share!r}) must be a share of the budget between 0 and 1, such as 0.05.")


def _chances(frame: pd.DataFrame) -> RowChances:
    """Public randomness for each row, which no other row moves."""
    return RowChances(np.random.default_rng(0), np.ones(len(frame), dtype=bool))


def _question(goal: Described, made: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], str]:
    """Public: what is asked of a row, from the target's places or codes in synthetic rows; no answer where it is missing."""
    known = made[~np.isnan(made)]
    if goal.ordered:
        middle = float(np.median(known)) if len(known) else 0.0
        words, told = lambda cells: cells > middle, f"{goal.name!r} above its middle from below"
    else:
        labels = [False, True] if goal.kind == "boolean" else goal.labels
        common = int(np.bincount(known.astype(np.int64), minlength=1).argmax())
        words, told = lambda cells: cells == common, f"{goal.name!r} = {labels[common]!r} from the rest"
    return (lambda cells: _answers(words(cells), np.isnan(cells))), told


def _answers(yes: np.ndarray, missing: np.ndarray) -> np.ndarray:
    answers = np.where(yes, "yes", "no").astype(object)
    answers[missing] = None
    return answers


def _histogram(train: Rows, test: Rows, weights: np.ndarray | None = None) -> np.ndarray:
    """Private: held-out rows by class and bin of their score, each once or by its weight; one without a class is in no cell."""
    ours, theirs = scores_of(FIVE[_CLASSIFIER], train, test, 2, 0)
    edges = score_edges(ours[:, 1], train.y == 1, BINS)
    bins = np.searchsorted(edges, theirs[:, 1], side="right")
    counts = np.zeros((2, BINS), dtype=np.int64)
    there = test.y >= 0
    np.add.at(counts, (test.y[there], bins[there]), 1 if weights is None else weights[there])
    return counts


def _score(noisy: np.ndarray, sigma: float, rows: int, told: str, unit: str = "row") -> CheckScore:
    """Public: from noisy counts. The interval is that of the same estimate under noise, and rows, drawn anew."""
    auroc = _auroc(noisy)
    rng = np.random.default_rng(0)
    deviation = np.sqrt(sigma**2 + np.maximum(noisy, 0.0))
    again = [_auroc(noisy + rng.normal(size=noisy.shape) * deviation) for _ in range(_TRIALS)]
    wide = _WIDTH * float(np.std(again))
    drowned = noisy.sum(axis=1).min() < _WIDTH * sigma * math.sqrt(BINS)
    low, high = (0.0, 1.0) if drowned else (max(0.0, auroc - wide), min(1.0, auroc + wide))
    return CheckScore(round(auroc, 4), round(low, 4), round(high, 4), rows, told, unit)


def _auroc(counts: np.ndarray) -> float:
    """Counts stay as they are, negative ones too: cut off at zero they would no longer be right on average."""
    outside, inside = counts
    total = max(float(inside.sum()), 1.0) * max(float(outside.sum()), 1.0)
    below = np.cumsum(outside) - outside / 2
    return float(np.clip((inside * below).sum() / total, 0.0, 1.0))
