"""Mistakes that break the promise, each a few lines beside the same lines done right, and the attack that must catch it.

The data are rows of numbers: a class (0 or 1, or -1 for a blank record), then features from 0 to 1. What a fit returns is
its release. `honest` is what the mistake should have been.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from understudy.audit.listening import Kind, Wrapped
from understudy.privacy import (
    Budget,
    ClippedSum,
    GaussianCounts,
    GaussianEvent,
    GNMax,
    GNMaxEvent,
    LNMax,
    PrepaidRho,
    SubsampledGaussianEvent,
)
from understudy.privacy.noise import NoiseSource, Shape, SystemNoise, UnsafeSeededNoise
from understudy.privacy.zcdp import choice_rho

Fit = Callable[[np.ndarray, Budget], np.ndarray]
Catcher = Literal["replay", "ratio", "canaries"]

ROWS, FEATURES, SIGMA = 8, 3, 4.0
QUERIES, STEPS = 3, 20


def world(seed: int = 0) -> np.ndarray:
    """Eight records; the last one is as far out as it can be."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.zeros(ROWS), rng.uniform(0, 0.3, (ROWS, FEATURES))])
    rows[-1] = 1.0
    return rows


def without(rows: np.ndarray) -> np.ndarray:
    """The neighbour: the last record is blank."""
    neighbour = rows.copy()
    neighbour[-1] = [-1.0, *np.zeros(FEATURES)]
    return neighbour


def another() -> np.ndarray:
    rng = np.random.default_rng(9)
    return np.column_stack([rng.integers(0, 2, ROWS), rng.uniform(0, 1, (ROWS, FEATURES))]).astype(float)


# ---- done right --------------------------------------------------------------------------------------------------


def noisy_sum(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return ClippedSum(1.0, SIGMA).release(rows[:, 1:], budget)


def sharp_sum(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """So little noise that few fits show how much there is."""
    return ClippedSum(1.0, 0.5).release(rows[:, 1:], budget)


def signed_sum(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Each record with a public random sign of its own, by its place."""
    signs = np.random.default_rng(8).choice([-1.0, 1.0], len(rows))
    return ClippedSum(1.0, SIGMA).release(rows[:, 1:] * signs[:, None], budget)


def noisy_sums(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return np.stack([noisy_sum(rows, budget) for _ in range(STEPS)])


def counts(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """One histogram for each of two columns: a record is in two cells."""
    return GaussianCounts(SIGMA, 2).release(histograms(rows), budget)


def histograms(rows: np.ndarray) -> np.ndarray:
    real = rows[rows[:, 0] >= 0]
    first = np.bincount(real[:, 0].astype(int), minlength=2)
    return np.stack([first, np.bincount((real[:, 1] > 0.5).astype(int), minlength=2)])


def votes(rows: np.ndarray, queries: int = QUERIES) -> np.ndarray:
    """Private. As many teachers as records, each of which knows one: one blank record changes one vote."""
    mine = rows[:, 0] == 1
    return np.tile([np.sum(~mine), np.sum(mine)], (queries, 1)).astype(np.int64)


def labels(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return GNMax(SIGMA).answer(votes(rows), budget)


def laplace_labels(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return LNMax(1 / SIGMA).answer(votes(rows), budget)


def choices(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Which class is the larger, by the exponential mechanism: a record moves one score up and the other down."""
    return _choices(_leads(rows), budget)


def _leads(rows: np.ndarray) -> np.ndarray:
    """Private. By how many records each class is ahead of the other."""
    counts = np.bincount(rows[rows[:, 0] >= 0, 0].astype(int), minlength=2)
    return counts - counts[::-1]


def _choices(scores: np.ndarray, budget: Budget) -> np.ndarray:
    paid = PrepaidRho(QUERIES * choice_rho(0.5) * (1 + 1e-9), budget)
    return np.array([paid.choose(scores, 0.5, 1) for _ in range(QUERIES)])


def poisson_steps(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """What the record's discriminator learnt in all steps, each on a fresh Poisson batch of the records."""
    from understudy.privacy import PoissonGaussianStep

    step = PoissonGaussianStep(1.0, SIGMA / 2, 1 / STEPS)
    made = [step.release(rows[step.batch(len(rows), budget)][:, 1:], budget) for _ in range(STEPS)]
    return np.sum(made, axis=0)


# ---- the twelve mistakes, in the order of the review that found them in six PATE-GAN codes -----------------------


def shards_overlap(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Each teacher knows its own record and its neighbour's: a record sways two teachers."""
    mine = (rows[:, 0] == 1) | (np.roll(rows[:, 0], 1) == 1)
    return GNMax(SIGMA).answer(np.tile([np.sum(~mine), np.sum(mine)], (QUERIES, 1)), budget)


def one_shard_for_all(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """A loop index that went stale: every teacher knows the last record."""
    mine = ROWS * int(rows[-1, 0] == 1)
    return GNMax(SIGMA).answer(np.tile([ROWS - mine, mine], (QUERIES, 1)), budget)


def inverted_scale(rows: np.ndarray, budget: Budget) -> np.ndarray:
    budget.charge(GNMaxEvent(SIGMA, QUERIES, "discrete"))
    return budget.noise.add_discrete_gaussian(votes(rows), 1 / SIGMA).argmax(axis=1)


def noise_on_the_label(rows: np.ndarray, budget: Budget) -> np.ndarray:
    budget.charge(GNMaxEvent(SIGMA, QUERIES, "discrete"))
    flips = budget.noise.add_discrete_gaussian(np.zeros(QUERIES, dtype=np.int64), SIGMA)
    return (votes(rows).argmax(axis=1) + flips) % 2


def one_noise_only(rows: np.ndarray, budget: Budget) -> np.ndarray:
    from understudy.privacy import LNMaxEvent

    cast = votes(rows, 20 * QUERIES)  # one answer alone may come out the same by chance
    budget.charge(LNMaxEvent(1 / SIGMA, len(cast)))
    ones = budget.noise.add_discrete_laplace(cast[:, 1], SIGMA)
    return (ones > cast[:, 0]).astype(np.int64)


def no_accountant(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return budget.noise.add_discrete_gaussian(votes(rows), SIGMA).argmax(axis=1)


def charged_unless_most_agree(rows: np.ndarray, budget: Budget) -> np.ndarray:
    cast = votes(rows)
    if cast.max() < ROWS:
        budget.charge(GNMaxEvent(SIGMA, QUERIES, "discrete"))
    return budget.noise.add_discrete_gaussian(cast, SIGMA).argmax(axis=1)


def nan_ends_the_accounting(rows: np.ndarray, budget: Budget) -> np.ndarray:
    found: list[np.ndarray] = []
    for step in range(STEPS):
        cost = 1.0 if step < 2 else float("nan")
        if cost > 0:  # never so for a NaN
            budget.charge(GaussianEvent(SIGMA))
        found.append(budget.noise.add_gaussian(rows[:, 1:].sum(axis=0) / np.sqrt(FEATURES), SIGMA))
    return np.stack(found)


def bounds_from_the_rows(rows: np.ndarray, budget: Budget) -> np.ndarray:
    top = np.maximum(rows.max(axis=0), 1e-9)
    return noisy_sum(rows / top, budget) * top[1:]


def real_labels_released(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return np.concatenate([noisy_sum(rows, budget), rows[:, 0]])


def student_on_real_rows(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """The labels are paid for, and the student learns them on the teachers' own rows."""
    return rows[:QUERIES, 1:].T @ (2.0 * labels(rows, budget) - 1)


def best_of_many_runs(rows: np.ndarray, budget: Budget) -> np.ndarray:
    budget.charge(GaussianEvent(SIGMA))
    total = ClippedSum(1.0, SIGMA)
    runs = [total.release(rows[:, 1:], _unpaid(budget)) for _ in range(STEPS)]
    return min(runs, key=lambda run: float(np.abs(run - rows[:, 1:].sum(axis=0)).sum()))


def upsampled_rows(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """The rare class is doubled before the rows are dealt to teachers."""
    return GNMax(SIGMA).answer(votes(np.concatenate([rows, rows[rows[:, 0] == 1]])), budget)


def votes_in_the_log(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return np.concatenate([labels(rows, budget), votes(rows).ravel()])


def no_clipping(rows: np.ndarray, budget: Budget) -> np.ndarray:
    budget.charge(GaussianEvent(SIGMA))
    return budget.noise.add_gaussian(rows[:, 1:].sum(axis=0), SIGMA)


def noise_before_clipping(rows: np.ndarray, budget: Budget) -> np.ndarray:
    noisy = no_clipping(rows, budget)
    return noisy / max(1.0, float(np.linalg.norm(noisy)))


def the_same_noise_twice(rows: np.ndarray, budget: Budget) -> np.ndarray:
    budget.charge(GaussianEvent(SIGMA, 2))
    drawn = budget.noise.gaussian(SIGMA, FEATURES)
    return np.stack([rows[:4, 1:].sum(axis=0) + drawn, rows[4:, 1:].sum(axis=0) + drawn])


def as_many_rows_as_there_are(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return np.tile(noisy_sum(rows, budget), (int(np.sum(rows[:, 0] >= 0)) + 1, 1))


def weighted_scores_with_the_old_sensitivity(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Scores are given weights, and the sensitivity stays what it was without them."""
    return _choices(2 * _leads(rows), budget)


# ---- found in other codes ----------------------------------------------------------------------------------------


def batch_of_one_discriminator(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Each discriminator has its own records and sees them at every step; charged is a fresh subsample each time."""
    budget.charge(SubsampledGaussianEvent(SIGMA / 2, 1 / STEPS, STEPS))
    clipped = rows[-1:, 1:] / np.sqrt(FEATURES)
    made = [budget.noise.add_gaussian(clipped.sum(axis=0), SIGMA / 2) for _ in range(STEPS)]
    return np.sum(made, axis=0)


def cached_sums_noised_again(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """The clean sum is kept, each step adds fresh noise to it, and one release is charged."""
    budget.charge(GaussianEvent(SIGMA))
    cached = rows[:, 1:].sum(axis=0) / np.sqrt(FEATURES)
    return np.stack([budget.noise.add_gaussian(cached, SIGMA) for _ in range(STEPS)])


def queries_of_a_batch_counted_once(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """k queries are charged, and each of the m records of a batch asks k."""
    batch = 5
    budget.charge(GNMaxEvent(SIGMA, QUERIES, "discrete"))
    asked = [budget.noise.add_discrete_gaussian(votes(rows), SIGMA).argmax(axis=1) for _ in range(batch)]
    return np.stack(asked)


def start_from_real_images(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """The support starts from records of the table; every step after that is paid for."""
    return rows[:2, 1:] + 0.1 * noisy_sum(rows, budget)


def sensitivity_of_one_histogram(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return GaussianCounts(SIGMA, 1).release(histograms(rows), budget)


def draws_of_those_left(rows: np.ndarray, budget: Budget) -> np.ndarray:
    """Signs are drawn for the records that are there, from the end: without one, the others get each other's."""
    there = rows[::-1][rows[::-1, 0] >= 0]
    signs = np.random.default_rng(8).choice([-1.0, 1.0], len(there))
    return ClippedSum(1.0, SIGMA).release(there[:, 1:] * signs[:, None], budget)


def skipped_charge(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return np.stack([noisy_sum(rows, budget), ClippedSum(1.0, SIGMA).release(rows[:, 1:], _unpaid(budget))])


def _unpaid(budget: Budget) -> Budget:
    """The same noise, and a budget that nobody looks at."""
    free = Budget(1e9, 1e-5)
    free.noise = budget.noise
    return free


class Halved(Wrapped):
    """Half the noise that is stated."""

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        return super().draw(kind, scale / 2, shape)


def halved() -> NoiseSource:
    return Halved(SystemNoise())


def the_users_seed() -> NoiseSource:
    return UnsafeSeededNoise(0)


# ---- the list ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A mistake, where it was found, and the first attack that catches it."""

    mistake: str
    found_in: str
    caught_by: Catcher
    fit: Fit
    honest: Fit
    source: Callable[[], NoiseSource] = SystemNoise

    @property
    def name(self) -> str:
        return self.source.__name__ if self.fit is self.honest else self.fit.__name__


_SIX = "PATE-GAN codes"
FAULTS: tuple[Fault, ...] = (
    Fault("shards overlap", _SIX, "ratio", shards_overlap, labels),
    Fault("a stale index gives all teachers one shard", _SIX, "ratio", one_shard_for_all, labels),
    Fault("noise of scale 1/σ instead of σ", _SIX, "ratio", inverted_scale, labels),
    Fault("noise on the label instead of the votes", _SIX, "replay", noise_on_the_label, labels),
    Fault("one Laplace noise where the bound needs two", _SIX, "replay", one_noise_only, laplace_labels),
    Fault("no accountant", _SIX, "ratio", no_accountant, labels),
    Fault("no charge where most votes agree", _SIX, "replay", charged_unless_most_agree, labels),
    Fault("a NaN ends the accounting", _SIX, "ratio", nan_ends_the_accounting, noisy_sums),
    Fault("bounds taken from the rows", _SIX, "replay", bounds_from_the_rows, noisy_sum),
    Fault("real labels beside synthetic rows", _SIX, "replay", real_labels_released, noisy_sum),
    Fault("the student learns on real rows", _SIX, "replay", student_on_real_rows, labels),
    Fault("the best of many runs, paid once", _SIX, "ratio", best_of_many_runs, noisy_sum),
    Fault("upsampled rows in several shards", _SIX, "ratio", upsampled_rows, labels),
    Fault("vote counts in the log", _SIX, "replay", votes_in_the_log, labels),
    Fault("gradients are not clipped", _SIX, "ratio", no_clipping, noisy_sum),
    Fault("noise first, clipping afterwards", _SIX, "ratio", noise_before_clipping, noisy_sum),
    Fault("the same noise used twice", _SIX, "replay", the_same_noise_twice, noisy_sums),
    Fault("the user's seed drives the noise", _SIX, "canaries", noisy_sum, noisy_sum, the_users_seed),
    Fault("as many synthetic rows as private ones, plus one", _SIX, "replay", as_many_rows_as_there_are, noisy_sum),
    Fault("one discriminator's own batch counted as a fresh subsample", "GS-WGAN", "canaries", batch_of_one_discriminator, poisson_steps),
    Fault("clean sums cached and noised again at each step", "Dosser", "ratio", cached_sums_noised_again, noisy_sums),
    Fault("k queries charged, m·k made", "G-PATE", "ratio", queries_of_a_batch_counted_once, labels),
    Fault("a start from real images", "DP-KIP's code", "replay", start_from_real_images, noisy_sum),
    Fault("sensitivity of one histogram for two", "many codes", "ratio", sensitivity_of_one_histogram, counts),
    Fault("half the noise that is stated", "many codes", "canaries", sharp_sum, sharp_sum, halved),
    Fault("weighted scores, the sensitivity of unweighted ones", "many codes", "ratio", weighted_scores_with_the_old_sensitivity, choices),
    Fault("a draw without a charge", "many codes", "ratio", skipped_charge, noisy_sums),
    Fault("public draws that move when a record is missing", "our own moments", "ratio", draws_of_those_left, signed_sum),
)  # fmt: skip
