"""Categories that nobody declared: those that enough rows hold, published by noisy counts above a threshold.

The guarantee. Blanking a row moves one count by one in each column, and the noise on a count, averaged over the rounds, is
Gaussian of deviation sigma (or has lighter tails: a mean of discrete Gaussians). What is not fixed beforehand is the *set* of
cells: only values that at least two rows hold are counted. Charged are the Gaussian moves of all c columns and a failure
probability delta, of which each of the q columns that may publish gets p = delta / q.

Proof. Say a row is blanked; D has it, D' has not. A column falls in one of two cases.
(A) Its value is counted on both sides, or on neither, or the column's cells are public: one cell of a Gaussian release moves
    by one, or none does.
(B) Two rows of D hold its value v, one of D': v is counted on D alone, with count 2. It is published if 2 plus the noise
    reaches the threshold T = 2 + z sigma, z = sqrt(2 ln(1/p)), which has probability at most exp(-z^2 / 2) = p, since the
    noise is sub-Gaussian with parameter sigma. All other cells of the column have equal counts.
Let G be the event on D that no column of case (B) publishes its v: Pr[not G] <= q p = delta. Given G, the release on D is
that on D' but for the moves of case (A), since noise is drawn independently for each cell: a Gaussian mechanism with at
most c moved cells, as charged. So with g = Pr[G] the release on D is a mixture, g times one that a Gaussian mechanism
covers and 1 - g times anything; write the release on D' as the same mixture of itself. Telling which of the two parts came
only helps an attacker, and then the part of weight 1 - g <= delta is all that is not covered. That holds in whatever these
releases are composed with: the charged delta is added once. QED.

Persons. Where a record is a person with up to K rows, these weigh one in all (`privacy.persons`), and a value is counted if
its rows weigh more than one person does. Then (A) moves cells by parts of one, a vector of norm at most one in each column, and
of (B) there may be up to K values in a column, each with a weight of at most 2 on D: each gets p = delta / (q K).

Values that one row alone holds are never looked at; that costs one row in the threshold and saves a draw for each of a
million different names.
"""

from __future__ import annotations

import math
import re

import numpy as np

from understudy.tables.column import Category

# After the first round, what is this many deviations of its noise below the threshold is not counted again.
HOPELESS = 3.0
HELD_BY = 2
"""A value is counted if at least so many rows hold it."""


def threshold(sigma: float, delta: float, values: int) -> float:
    """The mean noisy count from which on a category is published; a record may hold so many values in all columns."""
    return HELD_BY + sigma * math.sqrt(2 * math.log(values / delta))


def plain_labels(labels: list[str], *, numbers: bool) -> list[Category]:
    """Published labels as numbers where the column's type says so or all of them are whole, else as they are."""
    if numbers or all(re.fullmatch(r"0|-?[1-9][0-9]*", label) for label in labels):
        return [float(label) if "." in label or "e" in label else int(label) for label in labels]
    return list(labels)


def ordered_labels(labels: list[Category], counts: np.ndarray) -> tuple[list[Category], np.ndarray]:
    """Sorted by name: the order in which the rows came is private."""
    order = sorted(range(len(labels)), key=lambda place: labels[place])  # pyright: ignore[reportArgumentType]
    return [labels[place] for place in order], counts[order]
