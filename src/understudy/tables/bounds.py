"""Bounds and categories that nobody has written down, estimated privately and paid for.

How. Each column that needs bounds is counted into cells fixed beforehand: signed powers of two from 2^-20 to 2^40 with
a cell for zero, or calendar years for dates. Each column that needs categories is counted by the values that occur. All
counts get exact discrete Laplace noise in one release, and only cells whose noisy count reaches a threshold are used.

The guarantee: (epsilon, delta)-DP for one row blanked, with delta = 0 if only bounds are estimated.

Proof. Let c be the number of columns estimated. Blanking a row lowers at most one count in each of them by one, and a
missing value is in no cell to begin with. Noise of scale c/epsilon therefore makes the release for one column
epsilon/c-DP as long as the *set of cells* is the same on both sides. For bounds it is: the cells do not depend on the
data, and what is done with the noisy counts is post-processing. For categories the set is that of the values that
occur. Say a row with value v is blanked, and write D for the data with it and D' for the data without.

- If v occurs in D' too, the cells are the same: epsilon/c-DP as above.
- If not, D has one more cell, with count 1, and all other counts are equal. With t = threshold - 1, v is published
  from D with probability p = Pr[Z >= t], Z the noise. Outputs without v have on D exactly (1 - p) times their
  probability on D'; outputs with v are impossible on D'. So for every set S of outputs P_D(S) <= P_D'(S) + p, and
  P_D'(S) = P_D(S without v) / (1 - p) gives P_D'(S) <= P_D(S) + p. That is (0, p)-DP.

Each column falls in one of the two cases, so it is (epsilon/c, p)-DP. With q columns of categories the threshold is set
for p <= delta/q, and basic composition over the c columns gives (epsilon, delta). Such a step is epsilon-DP outside
events of probability delta (Bun and Steinke 2016, Lemma 8.8), so charging it as an epsilon and a delta composes with
whatever else the budget holds.

The tail. With a = exp(-epsilon/c), Pr[Z = z] = (1-a)/(1+a) a^|z|, so Pr[Z >= t] = a^t / (1+a) for whole t >= 1. (For
continuous Laplace noise it is e^(-t epsilon/c) / 2; the discrete tail is a little heavier, and is the one used here.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.privacy import Budget, DeltaEvent, LaplaceEvent, NoisyCounts
from understudy.tables import values
from understudy.tables.column import OTHER, Bound, Category, Column
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.schema import Schema
from understudy.wording import did_you_mean, listed

# About 1e-6 to 1e12; smaller counts as zero, larger as the last cell.
_LEAST_POWER, _MOST_POWER = -20, 39
_FIRST_YEAR, _LAST_YEAR = 1800, 2199
# The chance that any empty cell of the whole release passes for occupied, and so stretches some column's bounds.
_FALSE_CELL = 1e-3


def estimate_schema(table: Table, draft: Schema, budget: Budget, epsilon: float, delta: float = 0.0) -> Schema:
    """Looks at private rows; the schema that comes back is safe to publish at the (epsilon, delta) charged to `budget`.

    Fills what `draft.missing()` names and leaves the rest alone; nothing is charged if nothing is missing. A column
    for which no cell stands out from the noise stays incomplete: give it bounds by hand or spend more. Estimated
    categories come with `other: true`, since rarer values exist; the target's do not, since a class must be one that
    was found.
    """
    wanted = [draft[name] for name in draft.missing()]
    if not wanted:
        return draft
    frame = as_frame(table)
    shares = sum(column.needs == "categories" for column in wanted)
    _check(frame, wanted, epsilon, delta, shares)

    histograms = [_histogram(column_of(frame, column.name), column) for column in wanted]
    if shares:
        names = listed([column.name for column in wanted if column.needs == "categories"], 3)
        failure = DeltaEvent(delta=delta, reason=f"publishing categories that occur in {names}")
        whole = (LaplaceEvent(epsilon=epsilon), failure)
        if not budget.affords(*whole):
            budget.charge(*whole)  # refused, with both parts in the message; delta alone must not be charged
        budget.charge(failure)
    # The cell at the end is always there: whether any value occurs must not decide whether there is a release.
    counts = np.concatenate([*(histogram.counts for histogram in histograms), [0]])
    noisy = NoisyCounts(epsilon=epsilon, sensitivity=len(wanted)).release(counts, budget)

    rate = epsilon / len(wanted)
    fixed_cells = sum(len(h.counts) for h, c in zip(histograms, wanted, strict=True) if c.needs == "bounds")
    thresholds = {
        "bounds": tail_count(rate, _FALSE_CELL / fixed_cells) if fixed_cells else 0,
        "categories": 1 + tail_count(rate, delta / shares) if shares else 0,
    }
    schema, start = draft, 0
    for column, histogram in zip(wanted, histograms, strict=True):
        stop = start + len(histogram.counts)
        assert column.needs is not None
        survivors = np.flatnonzero(noisy[start:stop] >= thresholds[column.needs])
        start = stop
        if len(survivors):
            schema = schema.with_column(histogram.fill(survivors, column.name != draft.target))
    return schema


def settle_target(frame: pd.DataFrame, draft: Schema, complete: Schema, seed: int) -> pd.DataFrame:
    """Private rows whose classes are all among those that `estimate_schema` found for the target.

    A class too rare to be found must not stop the run: that would tell of a single row. Nor may its row be dropped,
    which would move others. It gets a class at random, whatever it was, so each row still stands for itself alone.
    """
    name = draft.target
    if name is None or draft[name].needs != "categories" or complete[name].needs is not None:
        return frame
    column = complete[name]
    assert column.categories is not None
    series = column_of(frame, name)
    codes = values.codes(series, replace(column, other=True))
    drawn = np.random.default_rng(seed).integers(len(column.categories), size=len(frame))
    unlisted = codes >= len(column.categories)
    listed = series.astype(object).where(~unlisted, pd.Series(column.categories, dtype=object).take(drawn).to_numpy())
    return frame.assign(**{name: listed.infer_objects()})


def tail_count(rate: float, probability: float) -> int:
    """The smallest whole t >= 1 with Pr[Z >= t] <= probability, Z discrete Laplace of scale 1/rate."""
    # A hair below, so that rounding in the logarithm never rounds the promise down.
    probability = min(probability, 1.0) * (1 - 1e-9)
    return max(1, math.ceil((-math.log(probability) - math.log1p(math.exp(-rate))) / rate))


@dataclass(frozen=True)
class _Histogram:
    """Private counts of one column, and what the surviving cells make of the column."""

    counts: np.ndarray
    fill: Callable[[np.ndarray, bool], Column]


def _histogram(series: pd.Series, column: Column) -> _Histogram:
    if column.needs == "categories":
        return _category_histogram(series, column)
    numbers, missing = values.numbers(series, column)
    grid = _years if column.kind == "datetime" else _powers
    cells, bounds_of = grid(numbers[~missing], column)
    counts = np.bincount(cells, minlength=len(bounds_of))

    def fill(survivors: np.ndarray, _: bool) -> Column:
        low, high = bounds_of[survivors[0]][0], bounds_of[survivors[-1]][1]
        return replace(column, bounds=_reach_zero(low, high, column))

    return _Histogram(counts, fill)


def _category_histogram(series: pd.Series, column: Column) -> _Histogram:
    codes, distinct = values.distinct(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    # "other" itself is left to the category of that name; a category of the type that no row has is no value.
    present = [code for code, value in enumerate(distinct) if counts[code] and value != OTHER]
    labels = [_category(distinct[code], column) for code in present]
    if len({isinstance(label, str) for label in labels}) > 1:
        raise InputError(f"column {column.name!r} mixes text and numbers. Make it all text or all numbers.")

    def fill(survivors: np.ndarray, open_ended: bool) -> Column:
        # Sorted: the order in which the rows came is private.
        chosen = sorted(labels[survivor] for survivor in survivors)  # pyright: ignore[reportArgumentType]
        return replace(column, categories=tuple(chosen), other=open_ended)

    return _Histogram(counts[present], fill)


def _powers(numbers: np.ndarray, column: Column) -> tuple[np.ndarray, list[tuple[Bound, Bound]]]:
    """The cell of each number among signed powers of two, and each cell's bounds from lowest to highest."""
    whole = column.kind == "integer"
    least = 0 if whole else _LEAST_POWER
    magnitude = np.abs(numbers.astype(np.float64))
    if column.scale == "log":
        magnitude = np.where(numbers > 0, magnitude, 0.0)
    # frexp is exact: magnitude = f 2^e with f in [1/2, 1), so the number lies in [2^(e-1), 2^e).
    power = np.clip(np.frexp(magnitude)[1] - 1, least - 1, _MOST_POWER)
    rank = np.where(magnitude == 0, 0, power - least + 1)
    levels = _MOST_POWER - least + 1
    exact: type[int] | type[float] = int if whole else float
    upward = [(exact(2.0**power), exact(2.0 ** (power + 1)) - whole) for power in range(least, _MOST_POWER + 1)]
    downward = [(-high, -low) for low, high in reversed(upward)]
    cells = levels + np.where(numbers < 0, -rank, rank)
    return cells, [*downward, (exact(0), exact(0)), *upward]


def _years(numbers: np.ndarray, _: Column) -> tuple[np.ndarray, list[tuple[Bound, Bound]]]:
    """The calendar year of each moment, and each year's first and last second."""
    years = numbers.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    cells = np.clip(years, _FIRST_YEAR, _LAST_YEAR) - _FIRST_YEAR
    return cells, [
        (datetime(year, 1, 1), datetime(year, 12, 31, 23, 59, 59)) for year in range(_FIRST_YEAR, _LAST_YEAR + 1)
    ]


def _reach_zero(low: Bound, high: Bound, column: Column) -> tuple[Bound, Bound]:
    """Stretch a range to zero where that costs less than a third of it.

    Cells shrink towards zero, so on a linear scale the small values of an ordinary column are the first to drown in the
    noise; clipping them would cost more than the room.
    """
    if isinstance(low, datetime) or isinstance(high, datetime) or column.scale == "log":
        return low, high
    room = (high - low) / 2
    if 0 < low <= room:
        return type(low)(0), high
    if 0 < -high <= room:
        return low, type(high)(0)
    return low, high


def _category(value: object, column: Column) -> Category:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        hint = "Use `kind: boolean`." if isinstance(value, bool) else "Convert the column to text."
        raise InputError(f"column {column.name!r} holds {type(value).__name__} values, no categories. {hint}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"column {column.name!r} holds {value}, which is no category. Make it missing.")
    return value


def _check(frame: pd.DataFrame, wanted: list[Column], epsilon: float, delta: float, shares: int) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"`epsilon` (={epsilon}) must be a finite number above 0.")
    if shares and not 0 < delta < 1:
        raise InputError(
            f"`delta` (={delta}) must lie strictly between 0 and 1: that a category occurs at all can only be "
            "published with a small failure probability. 1e-6 is a usual choice, well below one over the rows."
        )
    if ordinal := [column.name for column in wanted if column.kind == "ordinal"]:
        raise InputError(
            f"the categories of the ordinal {listed(ordinal)} cannot be estimated: counts do not say their order. "
            "Write them in the schema, or use `kind: categorical`."
        )
    for column in wanted:
        if column.name not in frame.columns:
            raise InputError(
                f"the table has no column {column.name!r}, which the schema has."
                + did_you_mean(column.name, frame.columns)
            )
