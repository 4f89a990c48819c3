"""How a column of each kind is looked at, round by round: which cells are counted next, and what they make of it.

A look holds public things only: what was released so far. It names the cells of the next round (`counts` takes them from
the private tally) and takes the noisy counts. Every row stands in one cell of a round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from understudy.tables.column import OTHER, Category
from understudy.tables.coordinates import categories, reach
from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.histogram import Estimate, Level, estimate, proportions, refine, simplex
from understudy.tables.coordinates.kinds import Decided
from understudy.tables.coordinates.known import ORDERED, Kind, Known
from understudy.tables.coordinates.ladder import TINY, bounded, date_ladder, number_ladder, zero_width
from understudy.tables.coordinates.plan import Plan
from understudy.tables.coordinates.readings import TRUTH_WORDS
from understudy.tables.coordinates.tally import Tally
from understudy.tables.coordinates.thinning import thinned_out

# Of declared bounds, in the first round.
_MOST_PARTS = 64
# A target of whole numbers of which none stands out beyond this one is a class: the end of a cell of the ladder.
_LARGEST_CLASS = 16.0
# What is no more than this many deviations may be noise alone.
_NOISE = 2.5
# Words for no and yes are believed from this many deviations of the noise on.
_STANDS_OUT = 3.5


class Look(Protocol):
    """One column on its way from counts to a description."""

    def counts(self, tally: Tally) -> np.ndarray: ...
    def take(self, noisy: np.ndarray, sigma: float) -> None: ...
    def described(self) -> Described: ...


def look_at(known: Known, decided: Decided, plan: Plan, rounds: int) -> Look:
    """The look that a column of the decided kind gets."""
    if decided.classes:
        return TargetLook(known, decided, plan, rounds)
    if decided.kind in ORDERED:
        return OrderedLook(known, decided, plan, rounds)
    if decided.kind == "boolean":
        return TruthLook(known, decided, plan)
    if known.categories is not None:
        return ListedLook(known, plan)
    return OpenLook(known, plan, plan.sigma, decided.code)


class OrderedLook:
    """Numbers, moments and durations: a ladder (or the declared bounds in even parts), then finer cells where the rows are.

    Without declared bounds, what lies beyond the bounds found so far stays counted, in one cell on each side.
    """

    def __init__(self, known: Known, decided: Decided, plan: Plan, rounds: int) -> None:
        self._known, self._plan, self._rounds = known, plan, rounds
        self._kind: Kind = decided.kind
        self._format = decided.format
        self._step = decided.step or 0.0
        self._heap = round(decided.heap / self._step) if self._step > 0 else 0
        self._levels: list[Level] = []
        self._found = known.bounds is not None
        self._tiny = TINY
        if known.bounds is not None:
            parts = min(plan.bins, _MOST_PARTS)
            self._edges = bounded(known.bounds, self._step, parts, log=known.log)
            self._tiny = zero_width(*known.bounds)
        elif decided.kind == "datetime":
            self._edges = date_ladder(self._step)
        else:
            self._edges = number_ladder(self._step)

    def counts(self, tally: Tally) -> np.ndarray:
        return tally.ordered(self._kind, self._step, self._format).histogram(self._edges)

    def take(self, noisy: np.ndarray, sigma: float) -> None:
        self._levels.append(Level.of(self._edges, noisy, sigma))
        if self._known.bounds is None:
            self._narrow()
        if self._found and len(self._levels) < self._rounds:
            now = self._now(shrink=False)
            outer = 0 if self._known.bounds is not None else 1
            self._edges = refine(
                now,
                self._plan.rows,
                self._plan.bins,
                sigma,
                whole=self._step > 0,
                tiny=self._tiny,
                outer=outer,
                heap=self._heap,
            )

    def beyond(self, place: float) -> np.ndarray:
        """Which cells of the next round lie further from zero than that."""
        return (self._edges[:-1] >= place) | (self._edges[1:] <= 1 - place)

    def _now(self, *, shrink: bool) -> Estimate:
        return estimate(self._levels, self._plan.rows, shrink=shrink)

    def _narrow(self) -> None:
        """Keep to where the rows are, by what all rounds say together. Nothing found yet: the ladder is counted again."""
        now = self._now(shrink=False)
        if self._found:
            inner = slice(1, len(now.counts) - 1)
            span = reach.without_sparse_ends(now.edges[1:-1], now.counts[inner], now.deviations[inner])
            span = (span[0] + 1, span[1] + 1)
        elif self._kind == "datetime":
            span = reach.occupied(now.counts, now.deviations)
        else:
            span = reach.ladder_range(now.edges, now.counts, now.deviations)
        if span is None:
            return
        if not self._found and reach.leaves_many(now, span, self._plan.rows):
            if len(self._levels) < self._rounds - 1:
                return  # most rows are not where some are: the ladder is counted again
            span = reach.stretched(now.counts, now.deviations, span)
        # The outermost cells of the ladder are never more than what lies beyond.
        first = min(max(span[0], 1), len(now.counts) - 2)
        kept = now.edges[first : max(min(span[1], len(now.counts) - 1), first + 1) + 1]
        if not self._found and self._kind != "datetime":
            kept = _without_crumbs(kept)
        self._found = True
        self._edges = np.concatenate([now.edges[:1], kept, now.edges[-1:]])
        self._levels = [level.within(np.intersect1d(level.edges, self._edges)) for level in self._levels]

    def described(self) -> Described:
        known, rows = self._known, self._plan.rows
        if not self._found:
            return unlearnt(known, self._kind, self._plan.sigma)
        now = self._now(shrink=True)
        now = self._ended(now) if known.bounds is None else _within_reach(now)
        if known.bounds is None and self._step == 1:
            now = _from_one_on(_zeros_and_ones(now))
        mass, missing = proportions(now, rows, missing_allowed=known.nullable is not False)
        edges, mass = now.edges, mass / max(mass.sum(), 1e-300)
        if known.bounds is None:
            edges, mass = thinned_out(edges, mass, whole=self._step > 0)
        return Described(
            known.name,
            self._kind,
            step=self._step,
            edges=tuple(float(edge) for edge in edges),
            mass=tuple(float(share) for share in mass),
            missing=missing,
            nullable=_nullable(known, missing),
            target=known.target,
            sigma=self._plan.sigma,
            paid=_paid(known, "bounds" if known.bounds is None else None, "spread"),
            declared=known.column,
            format=self._format,
            zone=known.zone,
        )

    def _ended(self, now: Estimate) -> Estimate:
        """With the outer cells as wide as the rows in them need, or without them."""
        low, high = reach.ends(now.edges, now.counts, now.deviations)
        if self._step > 0:
            low, high = np.rint(low), np.rint(high)
        first, last = int(low >= now.edges[1]), len(now.counts) - int(high <= now.edges[-2])
        edges = now.edges[first : last + 1].copy()
        edges[0], edges[-1] = (
            min(low, edges[0]) if first else low,
            max(high, edges[-1]) if last < len(now.counts) else high,
        )
        part = slice(first, last)
        return Estimate(edges, now.counts[part], now.variance[part], now.missing, now.missing_variance)


def _zeros_and_ones(now: Estimate) -> Estimate:
    """Zeros and ones alone, where both stand out and what lies beyond does not: few columns hold them and a rare two."""
    at = np.searchsorted(now.edges, [0.0, 1.0, 2.0])
    if at[2] >= len(now.edges) or not np.array_equal(now.edges[at], [0.0, 1.0, 2.0]):
        return now
    part = slice(int(at[0]), int(at[2]))
    beyond = np.delete(now.counts, part).sum() / max(np.delete(now.variance, part).sum() ** 0.5, 1e-9)
    if beyond > _NOISE or np.any(now.counts[part] < _STANDS_OUT * now.deviations[part]):
        return now
    return _only(now, part)


def _from_one_on(now: Estimate) -> Estimate:
    """Without zero, where ones stand out and zeros do not: codes are often counted from one."""
    if len(now.counts) < 2 or not np.array_equal(now.edges[:3], [0.0, 1.0, 2.0]):
        return now
    score = now.counts[:2] / now.deviations[:2]
    return _only(now, slice(1, len(now.counts))) if score[0] < _NOISE and score[1] > _STANDS_OUT else now


def _only(now: Estimate, part: slice) -> Estimate:
    edges = now.edges[part.start : part.stop + 1]
    return Estimate(edges, now.counts[part], now.variance[part], now.missing, now.missing_variance)


def _within_reach(now: Estimate) -> Estimate:
    """Without what noise alone left between the rows and the declared bounds: such tail cells are no rows."""
    span = reach.occupied(now.counts, now.deviations)
    if span is None:
        return now
    inside = np.zeros(len(now.counts), dtype=bool)
    inside[slice(*span)] = True
    return replace(now, counts=np.where(inside, now.counts, 0.0))


class TruthLook:
    """Yes and no: two counts, or one for each word that could say it where the words are not known."""

    def __init__(self, known: Known, decided: Decided, plan: Plan) -> None:
        self._known, self._words, self._plan = known, decided.words, plan
        self._taken: list[np.ndarray] = []

    def counts(self, tally: Tally) -> np.ndarray:
        return tally.words() if self._words else tally.truths()

    def take(self, noisy: np.ndarray, sigma: float) -> None:
        del sigma
        self._taken.append(noisy.astype(np.float64))

    def described(self) -> Described:
        mean = np.mean(self._taken, axis=0)
        labels: tuple[Category, ...] = ("False", "True")
        kind: Kind = "boolean"
        pair = mean[:2]
        if self._words:
            pairs = mean[: 2 * len(TRUTH_WORDS)].reshape(-1, 2)
            best = int(np.argmax(pairs.sum(axis=1)))
            pair, labels = pairs[best], TRUTH_WORDS[best]
            kind = "boolean" if labels[1].lower() == "true" else "categorical"
            # Most words are in no row, and what one of them has by noise is at most this.
            if not self._known.target and pair.max() < _STANDS_OUT * self._plan.sigma:
                return unlearnt(self._known, "boolean", self._plan.sigma)
        shares, missing = _shares(pair, float(mean[-1]), self._plan, self._known)
        return Described(
            self._known.name,
            kind,
            labels=labels,
            shares=shares,
            missing=missing,
            nullable=_nullable(self._known, missing),
            target=self._known.target,
            sigma=self._plan.sigma,
            paid=_paid(self._known, None, "spread"),
            declared=self._known.column,
        )


class ListedLook:
    """Declared categories, counted."""

    def __init__(self, known: Known, plan: Plan) -> None:
        self._known, self._plan = known, plan
        self._taken: list[np.ndarray] = []

    def counts(self, tally: Tally) -> np.ndarray:
        assert self._known.categories is not None
        return tally.listed(list(self._known.categories))

    def take(self, noisy: np.ndarray, sigma: float) -> None:
        del sigma
        self._taken.append(noisy.astype(np.float64))

    def described(self) -> Described:
        known = self._known
        assert known.categories is not None
        mean = np.mean(self._taken, axis=0)
        counts = mean[:-1] if known.other else mean[:-2]
        labels = (*known.categories, OTHER) if known.other else known.categories
        shares, missing = _shares(counts, float(mean[-1]), self._plan, known)
        return Described(
            known.name,
            "categorical",
            labels=labels,
            shares=shares,
            other=known.other,
            missing=missing,
            nullable=_nullable(known, missing),
            target=known.target,
            sigma=self._plan.sigma,
            paid=_paid(known, None, "spread"),
            declared=known.column,
            code=known.code,
        )


class TargetLook:
    """A target of whole numbers: where they lie tells, in the first round, whether they stand for classes.

    Small numbers do, and are then listed as categories by the rounds that are left; others are looked at as any number is.
    """

    def __init__(self, known: Known, decided: Decided, plan: Plan, rounds: int) -> None:
        self._known, self._plan, self._rounds = known, plan, rounds
        self._step = decided.step or 1.0
        self._number = OrderedLook(known, decided, plan, rounds)
        self._look: Look | None = None

    @property
    def now(self) -> Look:
        """How it is looked at."""
        return self._look or self._number

    def counts(self, tally: Tally) -> np.ndarray:
        return self.now.counts(tally)

    def take(self, noisy: np.ndarray, sigma: float) -> None:
        if self._look is not None:
            self._look.take(noisy, sigma)
            return
        far = noisy[:-1][self._number.beyond(_LARGEST_CLASS / self._step)]
        if far.max(initial=0) > _STANDS_OUT * sigma:
            self._number.take(noisy, sigma)
            self._look = self._number
        else:
            self._look = OpenLook(self._known, self._plan, sigma / (self._rounds - 1) ** 0.5)

    def described(self) -> Described:
        return self.now.described()


@dataclass
class OpenLook:
    """Categories that nobody declared. The set of values that is counted is private until `take` has passed it on."""

    known: Known
    plan: Plan
    sigma: float
    """The noise on a count, all of its rounds taken together."""
    code: bool = False

    def __post_init__(self) -> None:
        self._places: np.ndarray | None = None
        self._tally: Tally | None = None
        self._sum = np.zeros(0)
        self._rounds = 0
        self._missing = 0.0

    def counts(self, tally: Tally) -> np.ndarray:
        """Private. Counts of the values that are still in question, then of what is missing."""
        if self._places is None:
            self._places, self._tally = tally.repeated, tally
            self._sum = np.zeros(len(self._places))
        return np.append(tally.counts[self._places], tally.missing).astype(np.int64)

    def take(self, noisy: np.ndarray, sigma: float) -> None:
        assert self._places is not None
        self._sum = self._sum + noisy[:-1]
        self._missing += float(noisy[-1])
        self._rounds += 1
        least = categories.threshold(self.sigma, self.plan.delta, self.plan.publishing * self.plan.each)
        kept = self._sum / self._rounds >= least - categories.HOPELESS * sigma / self._rounds**0.5
        self._places, self._sum = self._places[kept], self._sum[kept]

    def described(self) -> Described:
        assert self._places is not None
        assert self._tally is not None
        known, distinct = self.known, self._tally.distinct
        least = categories.threshold(self.sigma, self.plan.delta, self.plan.publishing * self.plan.each)
        mean = self._sum / max(self._rounds, 1)
        passed = mean >= least
        texts = [distinct.label(place) for place in self._places[passed]]
        numbers = distinct.labels is None
        named = [place for place, text in enumerate(texts) if text != OTHER]
        labels: list[Category] = [texts[place] for place in named]
        # Where the table's own type says text, digits stay text.
        if not self.code and not (known.kind == "categorical" and known.column is None):
            labels = categories.plain_labels([texts[place] for place in named], numbers=numbers)
        labels, counts = categories.ordered_labels(labels, mean[passed][named])
        if not labels and not known.target:
            return unlearnt(known, "categorical", self.plan.sigma)
        other = not known.target or not labels
        truth = not other and labels == ["False", "True"]
        if other:
            missing = self._missing / max(self._rounds, 1)
            rest = self.plan.rows - counts.sum() - missing
            labels, counts = [*labels, OTHER], np.append(counts, max(rest, 0.0))
        shares, missing = _shares(counts, self._missing / max(self._rounds, 1), self.plan, known)
        return Described(
            known.name,
            "boolean" if truth else "categorical",
            labels=tuple(labels),
            shares=shares,
            other=other,
            missing=missing,
            nullable=_nullable(known, missing),
            target=known.target,
            found=len(labels) > other,
            sigma=self.plan.sigma,
            paid=_paid(known, "categories", "spread"),
            declared=known.column,
            code=self.code,
        )


def unlearnt(known: Known, kind: Kind, sigma: float) -> Described:
    """A column of which nothing stood out of the noise: its cells are not looked at again, and it comes out empty."""
    ordered = kind in ORDERED
    return Described(
        known.name,
        kind,
        step=1.0 if ordered else 0.0,
        edges=(0.0, 1.0) if ordered else (),
        mass=(1.0,) if ordered else (),
        labels=() if ordered else ("False", "True") if kind == "boolean" else (OTHER,),
        shares=() if ordered else (0.5, 0.5) if kind == "boolean" else (1.0,),
        other=kind == "categorical",
        missing=1.0,
        nullable=True,
        found=False,
        sigma=sigma,
        paid=_paid(known, "categories" if kind == "categorical" else "bounds" if ordered else None, "spread"),
        declared=known.column,
    )


def _shares(counts: np.ndarray, missing: float, plan: Plan, known: Known) -> tuple[tuple[float, ...], float]:
    """Shares of the values, which sum to one, and the share of rows without any; below two deviations that is none."""
    allowed = known.nullable is not False and missing > 2 * plan.sigma
    absent = min(missing, float(plan.rows)) if allowed else 0.0
    there = simplex(counts, max(plan.rows - absent, 1e-9))
    return tuple(float(share) for share in there / there.sum()), absent / max(plan.rows, 1)


def _nullable(known: Known, missing: float) -> bool:
    return bool(missing > 0) if known.nullable is None else known.nullable


def _paid(known: Known, *also: str | None) -> tuple[str, ...]:
    asked = ("kind",) if known.kind is None else ("step",) if known.asks else ()
    return (*asked, *(what for what in also if what is not None))


def _without_crumbs(edges: np.ndarray) -> np.ndarray:
    """A ladder's cells that are tiny beside its range, put together; zero keeps its own."""
    reach_ = max(abs(edges[0]), abs(edges[-1]))
    zero = np.searchsorted(edges, 0, side="right") - 1
    around = edges[zero : zero + 2] if edges[0] <= 0 < edges[-1] else edges[:0]
    return np.unique(np.concatenate([edges[np.abs(edges) >= reach_ / 256], around, edges[[0, -1]]]))
