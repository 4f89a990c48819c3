"""PATE as the thesis runs it (Sections 4.7 to 4.10): Tables 5.6 and 5.7, Figures 5.5 and 5.6.

Unsafe, and kept so on purpose: the student's features are rows of the sensitive table, which no epsilon here covers;
the noise is seeded, so that the re-run repeats; and the noise level is picked on the test rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.pima.data import Split, split
from benchmarks.pima.network import probability
from benchmarks.pima.networks import LONGER, fit
from understudy.learn.partition import shards
from understudy.privacy import Budget, LNMax, LNMaxEvent, Observed, compose, data_dependent_epsilon

DELTA = 1e-5
Found = dict[str, "float | list[float]"]


def thesis_epsilon(gamma: float, queries: int, delta: float = DELTA) -> float:
    """Theorem 3 of the thesis (Theorem 3 of PATE 2017): unconditional, and looser than what the accountant finds."""
    return 4 * queries * gamma**2 + 2 * gamma * math.sqrt(2 * queries * math.log(1 / delta))


@cache
def tight_epsilon(gamma: float, queries: int, delta: float = DELTA) -> float:
    return compose([LNMaxEvent(gamma, queries)], delta).epsilon


@dataclass(frozen=True)
class Asked:
    """Private. The votes of one ensemble on the student's rows."""

    X: np.ndarray
    votes: np.ndarray


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Found]:
    """Accuracy over gamma for each number of teachers, at the printed noise levels, and how far the teachers agree."""
    splits = [split(r, settings["imputation"]) for r in repeats]
    found: list[Found] = [{} for _ in repeats]
    ensembles = {r: ask(splits, r, repeats) for r in sorted({*settings["agreement"], *settings["teachers"]})}
    for teachers in settings["agreement"]:
        for one, asked in zip(found, ensembles[teachers], strict=True):
            gap = np.abs(asked.votes[:, 1] - asked.votes[:, 0]).mean()
            one[f"{teachers} teachers/percentage gap"] = 100 * float(gap) / teachers
    for teachers in settings["teachers"]:
        _over_gamma(settings, splits, ensembles[teachers], teachers, repeats, found)
    return found


def ask(splits: Sequence[Split], teachers: int, repeats: Sequence[int]) -> list[Asked]:
    """Touches private data: the training rows are dealt to the teachers and the student, and the teachers vote.

    The student's share is the smallest: T = 537 // (teachers + 1), as printed.
    """
    dealt = [shards(len(s.y), teachers + 1, seed=r) for s, r in zip(splits, repeats, strict=True)]
    owned = [[deal.of(t) for t in range(teachers)] for deal in dealt]
    widest = max(len(rows) for one in owned for rows in one)
    index = np.stack([np.stack([np.pad(rows, (0, widest - len(rows))) for rows in one]) for one in owned])
    held = np.stack([np.stack([np.arange(widest) < len(rows) for rows in one]) for one in owned])
    X = np.concatenate([s.X[i] for s, i in zip(splits, index, strict=True)])
    y = np.concatenate([s.y[i] for s, i in zip(splits, index, strict=True)])
    networks = fit(X, y, held.reshape(len(y), -1), recipe=LONGER, seed=repeats[0])
    student = [deal.of(teachers) for deal in dealt]
    queries = np.stack([s.X[rows] for s, rows in zip(splits, student, strict=True)])
    chosen = probability(networks, np.repeat(queries, teachers, axis=0)) >= 0.5
    positive = chosen.reshape(len(splits), teachers, -1).sum(axis=1)
    votes = np.stack([teachers - positive, positive], axis=2)
    return [Asked(X, v) for X, v in zip(queries, votes, strict=True)]


def _over_gamma(
    settings: Mapping[str, Any],
    splits: Sequence[Split],
    asked: Sequence[Asked],
    teachers: int,
    repeats: Sequence[int],
    found: list[Found],
) -> None:
    curve = list(settings["gammas"])
    printed = [gamma for r, gamma in settings["printed"] if r == teachers]
    gammas = [*curve, *printed]
    labels = np.stack([_noisy(a.votes, gammas, r) for a, r in zip(asked, repeats, strict=True)])
    accuracy, constant = _students(asked, labels, splits, repeats[0])
    training = _cross_validated(asked, labels, repeats[0])
    for i, (one, own) in enumerate(zip(found, asked, strict=True)):
        along, trained = accuracy[i, : len(curve)], training[i, : len(curve)]
        one[f"{teachers} teachers/accuracy over gamma"] = along.tolist()
        one[f"{teachers} teachers/training accuracy over gamma"] = trained.tolist()
        best = _selected(along, trained)
        one[f"{teachers} teachers/selected accuracy"] = float(along[best])
        one[f"{teachers} teachers/selected gamma"] = curve[best]
        for g, gamma in enumerate(printed, start=len(curve)):
            name = f"{teachers} teachers/gamma {gamma:g}"
            event = LNMaxEvent(gamma, len(own.votes))
            one[f"{name}/accuracy"] = float(accuracy[i, g])
            one[f"{name}/constant"] = float(constant[i, g])
            one[f"{name}/epsilon"] = tight_epsilon(gamma, len(own.votes))
            one[f"{name}/epsilon data-dependent"] = _data_dependent(event, own.votes)


def _data_dependent(event: LNMaxEvent, votes: np.ndarray) -> float:
    """Private. What the votes that came cost; where all teachers differ, the unconditional epsilon is the smaller."""
    seen = data_dependent_epsilon([Observed(event, votes)], [], DELTA).epsilon
    return min(seen, tight_epsilon(event.gamma, event.count))


def _noisy(votes: np.ndarray, gammas: Sequence[float], repeat: int) -> np.ndarray:
    """The noisy labels (gammas x queries), through the gate; each noise level is a run of its own, with its own budget."""
    labels: list[np.ndarray] = []
    for number, gamma in enumerate(gammas):
        limit = tight_epsilon(gamma, len(votes)) * (1 + 1e-9)
        budget = Budget(limit, DELTA, unsafe_noise_seed=1000 * repeat + number)
        labels.append(LNMax(gamma).answer(votes, budget))
    return np.stack(labels)


def _students(
    asked: Sequence[Asked], labels: np.ndarray, splits: Sequence[Split], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Accuracy on the test rows (repeats x gammas), and where the student gives every test row the same answer."""
    repeats, gammas, queries = labels.shape
    X = np.repeat(np.stack([a.X for a in asked]), gammas, axis=0)
    networks = fit(X, labels.reshape(-1, queries), recipe=LONGER, seed=seed)
    test = np.repeat(np.stack([s.X_test for s in splits]), gammas, axis=0)
    truth = np.repeat(np.stack([s.y_test for s in splits]), gammas, axis=0)
    predicted = probability(networks, test) >= 0.5
    accuracy = np.mean(predicted == truth, axis=1)
    constant = predicted.all(axis=1) | ~predicted.any(axis=1)
    return accuracy.reshape(repeats, gammas), constant.reshape(repeats, gammas)


def _cross_validated(asked: Sequence[Asked], labels: np.ndarray, seed: int) -> np.ndarray:
    """The thesis' training accuracy (repeats x gammas): the mean over five folds of the student's noisy labels."""
    repeats, gammas, queries = labels.shape
    held = np.arange(queries) % 5 != np.arange(5)[:, None]  # rows were dealt at random already
    each = repeats * gammas
    X = np.repeat(np.stack([a.X for a in asked]), gammas * 5, axis=0)
    y = np.repeat(labels.reshape(each, queries), 5, axis=0)
    inside = np.tile(held, (each, 1))
    right = (probability(fit(X, y, inside, recipe=LONGER, seed=seed), X) >= 0.5) == y
    folds = np.sum(right & ~inside, axis=1) / np.sum(~inside, axis=1)
    return folds.reshape(repeats, gammas, 5).mean(axis=2)


def _selected(accuracy: np.ndarray, training: np.ndarray) -> int:
    """The thesis' choice of noise: the best test accuracy among those above the training accuracy."""
    above = np.where(accuracy > training, accuracy, -1.0)
    return int(np.argmax(above if above.max() >= 0 else accuracy))
