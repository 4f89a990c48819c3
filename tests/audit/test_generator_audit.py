"""Attack whole fits: from many releases on the worst pair of tables, a lower bound on the epsilon they really have.

The pair is the one that broke six public implementations at a claimed epsilon of 1 (they measured 2.2 to 4.7): four
rows of zeros, with and without one row of ones, two teachers. The number of rows is public here, so "without" is a
fifth row that contributes nothing. The attacker knows all but that row, and sees all that a release lets out.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from understudy.errors import UnderstudyWarning
from understudy.methods import DPGAN, GPATE, PATEGAN
from understudy.methods.generator import TableGenerator
from understudy.methods.training import Run
from understudy.privacy import Budget
from understudy.tables import Column, Encoder, Schema

# Compiles networks again and again: minutes, so a command of its own (`make test-slow`).
pytestmark = pytest.mark.slow

SCHEMA = Schema(
    (Column("a", "continuous", bounds=(0, 1)), Column("b", "continuous", bounds=(0, 1)), Column("y", "boolean")), "y"
)
DELTA = 1e-5
TINY = {"generator_hidden": (4,), "random_state": 0, "learning_rate": 0.5, "batch": 4}
VOTES = {"teachers": 2, "iterations": 2}
METHODS: dict[str, Any] = {
    "pategan-lnmax": lambda: PATEGAN(
        aggregator="lnmax", teacher_steps=2, student_steps=1, student_hidden=(4,), **VOTES, **TINY
    ),
    "pategan-gnmax": lambda: PATEGAN(teacher_steps=2, student_steps=1, student_hidden=(4,), **VOTES, **TINY),
    "pategan-conditional-warm": lambda: PATEGAN(
        teacher_steps=2,
        student_steps=1,
        student_hidden=(4,),
        conditional=True,
        warm_epsilon_share=0.5,
        warm_bins=4,
        warm_steps=20,
        **VOTES,
        **TINY,
    ),
    "gpate": lambda: GPATE(dimensions=2, bins=4, threshold=0.75, teacher_steps=4, **VOTES, **TINY),
    "dpgan": lambda: DPGAN(iterations=2, critic_steps=1, noise=6.0, critic_hidden=(4,), weight_clip=10.0, **TINY),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is the same in every fit; recomputing it a thousand times is not what is tested here."""
    monkeypatch.setattr(TableGenerator, "_certify", lambda *_: None)


def scores(make: Any, present: bool, fits: int, budget_of: Any = None) -> np.ndarray:
    """What an attacker computes from each release: fits x statistics."""
    encoder = Encoder(SCHEMA)
    cube = np.zeros((5, encoder.width), dtype=np.float32)
    cube[4] = 1.0
    there = np.array([True] * 4 + [present])
    found: list[list[float]] = []
    noise: float | None = None
    for _ in range(fits):
        generator = make()
        if noise is not None:
            generator.set_params(noise=noise)  # what the first fit has computed; public, and slow to compute
        budget = Budget(1.0, DELTA)
        if budget_of is not None:
            budget_of(budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            generator._fit(cube, there, encoder, 0, budget, Run(), [])
        noise = generator.noise or _noise(generator)
        rows = generator.sample(256, random_state=0)
        public = [v for line in generator.history_ for k, v in line.items() if k != "iteration"]
        means = [float(rows["a"].mean()), float(rows["b"].mean()), float(rows["y"].mean())]
        # DP-GAN's critic is made of noisy sums alone: whoever attacks may see it.
        critic = getattr(generator.private_["state"], "critic", None)
        weights = [] if critic is None else np.asarray(critic.network.weights[0]).ravel().tolist()
        found.append([*means, *public, *generator.sampler_.ratio.tolist(), *weights])
    return np.array(found)


def _noise(generator: Any) -> float:
    mechanism = generator.private_["trainer"].voting.mechanism
    scale = 1 / mechanism.gamma if hasattr(mechanism, "gamma") else mechanism.sigma
    return scale * (1 + 1e-9)


def lower_bound(here: np.ndarray, there: np.ndarray, confidence: float = 0.95) -> float:
    """The largest epsilon that thresholds on any statistic prove, each way round, by Clopper-Pearson.

    Thresholds are chosen on the first half of the releases and tested on the second, so that choosing is not cheating.
    """
    half = len(here) // 2
    best = (-math.inf, 0, 0.0, True, True)
    for column in range(here.shape[1]):
        both = np.concatenate([here[:half, column], there[:half, column]])
        for cut in np.unique(np.quantile(both, np.linspace(0.02, 0.98, 25))):
            for above in (True, False):
                for swapped in (True, False):
                    bound = _bound(here[:half], there[:half], column, cut, above, swapped, confidence)
                    best = max(best, (bound, column, float(cut), above, swapped))
    _, column, cut, above, swapped = best
    return max(0.0, _bound(here[half:], there[half:], column, cut, above, swapped, confidence))


def _bound(
    here: np.ndarray, there: np.ndarray, column: int, cut: float, above: bool, swapped: bool, confidence: float
) -> float:
    a, b = (there, here) if swapped else (here, there)
    hits = [int(np.sum(x[:, column] > cut if above else x[:, column] <= cut)) for x in (a, b)]
    n, alpha = len(a), (1 - confidence) / 2
    low = stats.beta.ppf(alpha, hits[0], n - hits[0] + 1) if hits[0] else 0.0
    high = stats.beta.ppf(1 - alpha, hits[1] + 1, n - hits[1]) if hits[1] < n else 1.0
    return math.log((low - DELTA) / high) if low > DELTA else -math.inf


def measured(method: str, fits: int) -> float:
    make = METHODS[method]
    return lower_bound(scores(make, True, fits), scores(make, False, fits))


@pytest.mark.parametrize("method", METHODS)
def test_measured_epsilon_is_below_the_claim(method: str) -> None:
    assert measured(method, 60) <= 1.0


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("method", METHODS)
def test_measured_epsilon_is_below_the_claim_long(method: str) -> None:
    assert measured(method, 1000) <= 1.0


class NoNoise:
    """A noise source that forgot the noise: the mistake that the attack must notice."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._source, name)
        if name == "uniform":
            return method
        return lambda scale, shape: method(1e-12 if name == "gaussian" else min(scale, 0.02), shape)


@pytest.mark.parametrize("method", ["pategan-lnmax", "gpate", "dpgan"])
def test_the_attack_notices_missing_noise(method: str) -> None:
    def forget(budget: Budget) -> None:
        budget.noise = NoNoise(budget.noise)  # type: ignore[assignment]

    make = METHODS[method]
    assert lower_bound(scores(make, True, 60, forget), scores(make, False, 60, forget)) > 1.0
