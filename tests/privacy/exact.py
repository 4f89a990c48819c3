"""Exact output distributions of the noisy argmax on small ensembles, by direct summation: the truth that claims
must cover."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]


def pmf(kind: str, scale: float, reach: int) -> Floats:
    """Discrete noise: `laplace` with Pr[k] ~ exp(-scale |k|), `gaussian` with Pr[k] ~ exp(-k^2 / (2 scale^2))."""
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-scale * np.abs(k)) if kind == "laplace" else np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


def reach_of(kind: str, scale: float) -> int:
    return int(np.ceil(300 / scale)) if kind == "laplace" else int(np.ceil(35 * scale)) + 1


def argmax_distribution(counts: list[int], kind: str, scale: float) -> Floats:
    """Pr[class wins] with independent discrete noise on every count and ties broken uniformly."""
    reach = reach_of(kind, scale)
    noise = pmf(kind, scale, reach)
    low, high = min(counts) - reach, max(counts) + reach
    at = np.zeros((len(counts), high - low + 1))
    for j, count in enumerate(counts):
        at[j, count - reach - low : count + reach - low + 1] = noise
    below = np.zeros_like(at)
    below[:, 1:] = np.cumsum(at, axis=1)[:, :-1]
    wins = np.zeros(len(counts))
    for j in range(len(counts)):
        others = [i for i in range(len(counts)) if i != j]
        for size in range(len(others) + 1):
            for tied in combinations(others, size):
                term = at[j] / (1 + size)
                for i in others:
                    term = term * (at[i] if i in tied else below[i])
                wins[j] += term.sum()
    return wins


def renyi(p: Floats, q: Floats, order: float) -> float:
    total: Any = logsumexp(order * np.log(p) + (1 - order) * np.log(q))
    return float(total) / (order - 1)


def neighbours(counts: list[int]) -> list[list[int]]:
    """All histograms that one changed vote leads to."""
    result = []
    for i in range(len(counts)):
        for j in range(len(counts)):
            if i != j and counts[i] > 0:
                moved = list(counts)
                moved[i] -= 1
                moved[j] += 1
                result.append(moved)
    return result
